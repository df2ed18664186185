/**
 * A client of FluxBus, the state bus: for Node over sockets, for browsers over the WebSocket of fluxbus-web.
 *
 * The bus answers in order, so what is unanswered is a queue. A reply that does not belong to the head of it, or anything else
 * that does not follow the protocol, ends the connection; the next one continues from what was exact. A request is encoded
 * once; its key, and what it had seen, are added when it is first written, and stay the same. States are never changed in
 * place: what a program holds stays what it was.
 */

/** So many characters may be in a line from the bus; a longer one ends the connection. */
const longestLine = 64 << 20;
/** So many requests are unanswered at most; further ones wait for room. */
const windowSize = 10_000;
/** So many changes or actions wait for a consumer; more changes are merged, more actions become a gap. */
const backlog = 1_000;
/** Operations that only read, or that are the same when done twice. */
const repeatable = new Set(
	["get", "stores", "types", "history", "sync", "ping", "stats", "timers", "will", "clients", "unsubscribe"]);
const keyed = new Set(["dispatch", "create", "drop", "cancel"]);
/** Refusals of `hello` and failures after which another attempt may succeed. */
const passing = new Set(["unreachable", "untrusted", "timed_out", "limit", "unavailable", "closed"]);
const ignore = () => {};

/** A refusal of the bus, or a failure on the way to it: `code` for programs, `message` for people. */
export class BusError extends Error {
	constructor(code, message, details = {}) {
		super(message);
		this.name = "BusError";
		this.code = code;
		this.details = details;
	}
}

function errorOf({error}) {
	const {code = "unexpected_reply", message = "The bus refused the request without saying why.", ...details} = error ?? {};
	return new BusError(code, message, details);
}

function outcomeUnknown(original) {
	return new BusError("outcome_unknown",
		"The connection was lost, and whether this was committed is unknown: look, then decide.", {original});
}

// Integers beyond 2^53 are BigInts: they pass through JSON as texts that nobody else can have written.
const mark = `${Array.from({length: 4}, () => Math.random().toString(36).slice(2)).join("")}:`;
const bigOrText = /"(?:[^"\\]|\\.)*"|-?\d{16,}(?![\d.eE])/g;
const restore = (_, value) => typeof value === "string" && value.startsWith(mark) ? BigInt(value.slice(mark.length)) : value;

function parse(line) {
	if (!/\d{16}/.test(line)) return JSON.parse(line);
	const marked = line.replace(bigOrText, found =>
		found[0] === '"' || Number.isSafeInteger(Number(found)) ? found : `"${mark}${found}"`);
	return JSON.parse(marked, restore);
}

function encode(body) {
	try {
		return JSON.stringify(body);
	} catch (error) {
		if (!(error instanceof TypeError) || !/BigInt/.test(error.message)) throw error;
		const text = JSON.stringify(body, (_, value) => typeof value === "bigint" ? mark + value : value);
		return text.replaceAll(new RegExp(`"${mark}(-?\\d+)"`, "g"), "$1");
	}
}

/** A member of any name, also `__proto__`. */
function set(object, name, value) {
	if (name === "__proto__") Object.defineProperty(object, name, {value, enumerable: true, configurable: true, writable: true});
	else object[name] = value;
}

/** RFC 7396; makes a new state. */
function merged(state, patch) {
	if (patch === null || typeof patch !== "object" || Array.isArray(patch)) return patch;
	const result = state !== null && typeof state === "object" && !Array.isArray(state) ? {...state} : {};
	for (const [name, value] of Object.entries(patch)) {
		if (value === null) delete result[name];
		else set(result, name, merged(Object.hasOwn(result, name) ? result[name] : undefined, value));
	}
	return result;
}

const targetOf = target => target.includes("/") ? {store: target} : {type: target};
const patternOf = target => /[*?]/.test(target) ? {match: target} : targetOf(target);
const actionsOf = actions =>
	Array.from(actions, ([target, action, payload]) => ({...targetOf(target), action, payload}));

/** What waits for one consumer: a bounded queue. */
class Feed {
	#queue = [];
	#waiters = [];
	#end;
	constructor(combine, onReturn = ignore) {
		this.combine = combine;
		this.onReturn = onReturn;
	}
	[Symbol.asyncIterator]() { return this; }
	push(item) {
		if (this.#waiters.length) return this.#waiters.shift().resolve({value: item, done: false});
		if (this.#queue.length < backlog) this.#queue.push(item);
		else this.combine(this.#queue, item);
	}
	end(error) {
		this.#end ??= {error};
		for (const waiter of this.#waiters.splice(0)) this.#finish(waiter);
	}
	#finish({resolve, reject}) {
		if (this.#end.error) reject(this.#end.error);
		else resolve({value: undefined, done: true});
	}
	next() {
		return new Promise((resolve, reject) => {
			if (this.#queue.length) resolve({value: this.#queue.shift(), done: false});
			else if (this.#end) this.#finish({resolve, reject});
			else this.#waiters.push({resolve, reject});
		});
	}
	async return() {
		this.#queue = [];
		this.end();
		this.onReturn(this);
		return {value: undefined, done: true};
	}
}

function combineChanges(queue, change) {
	if (change.reset) return queue[queue.length - 1] = change;
	const last = queue[queue.length - 1];
	last.revision = change.revision;
	last.coalesced += change.coalesced;
	for (const address of change.dropped) last.states.delete(address), last.dropped.add(address);
	for (const [address, state] of change.states) last.states.set(address, state), last.dropped.delete(address);
}

function combineActions(queue, {revision}) {
	queue.length = 0;
	queue.push({gap: true, revision});
}

/** The states of all stores that match, kept as they are on the bus. `for await` gives every change from then on. */
export class Mirror {
	#bus;
	#parts = [];
	#feeds = new Set();
	#states = new Map();
	#end;
	constructor(bus, body) {
		this.#bus = bus;
		this.body = body;
		this.position = null;
		this.ready = new Promise((resolve, reject) => Object.assign(this, {resolve, reject}));
		this.ready.catch(ignore);
	}
	get(address) { return this.#states.get(address); }
	has(address) { return this.#states.has(address); }
	get size() { return this.#states.size; }
	keys() { return this.#states.keys(); }
	values() { return this.#states.values(); }
	entries() { return this.#states.entries(); }
	[Symbol.iterator]() { return this.#states.entries(); }
	get revision() { return this.position?.revision ?? 0; }
	get error() { return this.#end?.error; }

	changes() {
		const feed = new Feed(combineChanges, feed => this.#feeds.delete(feed));
		if (this.#end) feed.end(this.#end.error);
		else this.#feeds.add(feed);
		return feed;
	}
	[Symbol.asyncIterator]() { return this.changes(); }
	close() { this.#bus._unsubscribe(this); }

	_resumePoint() { return this.position; }
	_granted() { this.#parts = []; }
	_take(event, epoch) {
		const {revision} = event;
		if (event.event === "bookmark") this.position = {revision, epoch};
		if (event.event !== "change") return;
		this.#parts.push(event);
		if (event.more) return;
		const parts = this.#parts;
		this.#parts = [];
		const {reset = false, from} = parts[0];
		if (!reset && from !== this.position?.revision) throw new Error(`changes before revision ${from} are missing`);
		if (!Number.isInteger(revision)) throw new Error("a change has no revision");
		if (reset) this.#states = new Map();
		const states = new Map(), dropped = new Set();
		for (const part of parts) {
			for (const [address, state] of Object.entries(part.states ?? {})) {
				this.#states.set(address, state);
				states.set(address, state);
				dropped.delete(address);
			}
			for (const [address, patch] of Object.entries(part.changes ?? {})) {
				const state = merged(this.#states.get(address), patch);
				this.#states.set(address, state);
				states.set(address, state);
			}
			for (const address of part.dropped ?? []) {
				this.#states.delete(address);
				states.delete(address);
				dropped.add(address);
			}
		}
		this.position = {revision, epoch};
		this.resolve();
		if (!reset && !states.size && !dropped.size) return;
		for (const feed of this.#feeds) {
			// Each its own: one that is merged into must not be another's.
			feed.push({revision, states: new Map(states), dropped: new Set(dropped), reset, coalesced: event.coalesced ?? 1});
		}
	}
	_end(error) {
		this.#end ??= {error};
		this.reject(error ?? new BusError("closed", "The subscription was closed by this program."));
		for (const feed of this.#feeds) feed.end(error);
	}
}

/**
 * Actions as they happen. A commit may hold several: when only some of them came, it is asked for again as a whole, and those
 * are skipped.
 */
class Actions {
	#seen = 0;
	#skip = 0;
	constructor(bus, body) {
		this.body = body;
		this.position = null;
		this.feed = new Feed(combineActions, () => bus._unsubscribe(this));
		this.ready = new Promise((resolve, reject) => Object.assign(this, {resolve, reject}));
		this.ready.catch(ignore);
	}
	_resumePoint() {
		return this.position && this.#seen ? {...this.position, revision: this.position.revision - 1} : this.position;
	}
	_granted(revision, epoch) {
		this.#skip = this.#seen;
		this.position ??= {revision, epoch};
		this.resolve();
	}
	_take(event, epoch) {
		const {revision} = event;
		if (event.event === "action") {
			const same = this.position?.revision === revision;
			if (same && this.#skip > 0) return void this.#skip--;
			this.#seen = same ? this.#seen + 1 : 1;
			this.#skip = 0;
			const {store, type, action, payload, by, time} = event;
			this.feed.push({gap: false, revision, target: store ?? type, action, payload, by, time});
		} else {
			this.#seen = this.#skip = 0;
			if (event.event === "gap") this.feed.push({gap: true, revision});
		}
		this.position = {revision, epoch};
	}
	_end(error) {
		this.reject(error ?? new BusError("closed", "The subscription was closed by this program."));
		this.feed.end(error);
	}
}

/** A socket of Node's. */
async function openSocket(address, tls, on) {
	const [scheme, rest] = [address.slice(0, 4), address.slice(address.indexOf(":") + 1)];
	const place = /^(?:\[(.+)\]|([^:]+)):(\d+)$/.exec(rest);
	const isUnix = address.startsWith("unix:/");
	if (!isUnix && !(["tcp:", "tls:"].includes(scheme) && place)) {
		throw new BusError("invalid_address",
			`“${address}” is no address of a bus: write unix:/path/to/socket, tcp:HOST:PORT or tls:HOST:PORT.`);
	}
	const options = isUnix ? {path: rest} : {host: place[1] ?? place[2], port: Number(place[3])};
	const module = await import(scheme === "tls:" ? "node:tls" : "node:net");
	const socket = module.connect({servername: options.host, ...options, ...(scheme === "tls:" ? tls : {})});
	if (!isUnix) socket.setNoDelay(true);
	const decoder = new TextDecoder("utf-8", {fatal: true});
	let tail = "", failure;
	socket.on(scheme === "tls:" ? "secureConnect" : "connect", on.open);
	socket.on("error", error => failure = error);
	socket.on("close", () => on.lost(failure?.message, /CERT|SELF_SIGNED|ALTNAME|UNABLE_TO/.test(failure?.code)));
	socket.on("data", chunk => {
		try {
			const text = decoder.decode(chunk, {stream: true});
			const end = text.lastIndexOf("\n");
			if (end < 0) {
				tail += text;
				if (tail.length > longestLine) throw new Error("a line is too long");
				return;
			}
			const lines = (tail + text.slice(0, end)).split("\n");
			tail = text.slice(end + 1);
			on.lines(lines);
		} catch (error) {
			on.fault(error);
		}
	});
	return {write: lines => socket.write(lines.join("")), close: () => socket.destroy()};
}

/** A WebSocket, of which each message is a line. */
function openWebSocket(address, on) {
	const socket = new WebSocket(address);
	let closed = false;
	const lose = reason => closed || (closed = true, on.lost(reason, false));
	socket.onopen = on.open;
	socket.onmessage = ({data}) => typeof data === "string" ? on.lines([data]) : on.fault(new Error("a message is no text"));
	socket.onclose = event => lose(event.reason || `the WebSocket was closed with ${event.code}`);
	const write = lines => { for (const line of lines) socket.send(line.slice(0, -1)); };
	// A browser takes its time to close what does not answer.
	return {write, close: () => { socket.close(); setTimeout(lose, 0, "the connection was given up"); }};
}

/** A client of the bus, made by `connect()`. It reconnects by itself. */
export class Bus {
	#options;
	#connection = null;
	#isOpen = false;
	#error = null;
	#closing = null;
	#waiting = [];
	#unanswered = [];
	#head = 0;
	#lines = [];
	#room = [];
	#subscriptions = new Set();
	#numbers = new Map();
	#epoch = "";
	#revision = 0;
	#count = 0;
	#prefix = randomName();
	#attempt = 0;
	#will = null;
	#goodbye = null;
	#fault = null;
	#heard = true;
	#timers = new Set();
	#onLost = ignore;

	constructor(options) {
		this.#options = options;
		this.greeting = {};
	}
	get connected() { return this.#isOpen; }

	/** Any request of the protocol, and its reply: `bus.request("history", {since: 4})`. */
	request(op, body, {signal} = {}) {
		return this.#request({op, ...body}, signal);
	}
	#request(body, signal) {
		const full = this.#unanswered.length - this.#head + this.#waiting.length >= windowSize;
		return full && !this.#error ? this.#submitWhenThereIsRoom(body, signal) : this.#submit(body, signal);
	}
	async #submitWhenThereIsRoom(body, signal) {
		await new Promise(resolve => this.#room.push(resolve));
		return this.#submit(body, signal);
	}
	#submit(body, signal) {
		return new Promise((resolve, reject) => {
			if (this.#error || this.#closing) throw this.#error ?? new BusError("closed", "The bus is being closed by this program.");
			if (signal) signal.throwIfAborted();
			const request = this.#send(body, resolve, reject, false);
			signal?.addEventListener("abort", () => {
				request.givenUp = true;
				reject(signal.reason);
			}, {once: true});
		});
	}
	#send(body, resolve, reject, own) {
		const {op} = body;
		const key = !keyed.has(op) || body.dryRun ? 0 : body.key !== undefined ? 2 : 1;
		const repeats = key > 0 || op === "dispatch" || repeatable.has(op);
		const request = {id: 0, text: encode(body), line: "", key, repeats, own, givenUp: false, isRepeated: false, resolve, reject};
		if (op === "will") this.#will = body;
		if (this.#isOpen || own) this.#write(request);
		else this.#waiting.push(request);
		return request;
	}
	#write(request) {
		if (!request.line) {
			const id = request.id = ++this.#count;
			request.line = `{"id":${id},${request.text.slice(1, -1)}`
				+ (request.key ? `,"after":${this.#revision},"epoch":"${this.#epoch}"` : "")
				+ (request.key === 1 ? `,"key":"${this.#prefix}-${id}"}\n` : "}\n");
			request.text = "";
		}
		this.#unanswered.push(request);
		if (this.#lines.push(request.line) === 1) queueMicrotask(() => this.#flush());
	}
	#flush() {
		const lines = this.#lines;
		this.#lines = [];
		if (lines.length) this.#connection?.write(lines);
	}
	#own(body) {
		this.#send(body, ignore, ignore, true);
	}
	#answered(reply) {
		const request = this.#unanswered[this.#head], isOK = reply.ok === true;
		if (!request) throw new Error("a reply came without a request");
		// A line that the bus could not read is answered without its id.
		if (reply.id !== request.id && (isOK || reply.id !== undefined)) throw new Error("a reply came out of turn");
		if (++this.#head === 1024) {
			this.#unanswered.splice(0, this.#head);
			this.#head = 0;
		}
		if (isOK && reply.revision > this.#revision) this.#revision = reply.revision;
		if (isOK) request.resolve(reply);
		else {
			const error = errorOf(reply);
			// A conflict over `ifRevision` names the store's revision; the other kind can't say whether it was committed before.
			const isUnknown = error.code === "conflict" && request.isRepeated && request.key && error.details.revision === undefined;
			request.reject(isUnknown ? outcomeUnknown(error) : error);
		}
		this.#makeRoom();
	}
	#makeRoom() {
		const free = windowSize - (this.#unanswered.length - this.#head + this.#waiting.length);
		if (this.#room.length && (this.#error || free > windowSize / 2)) {
			for (const resolve of this.#room.splice(0, this.#error ? this.#room.length : free)) resolve();
		}
	}

	/** Commits an action now, or later with `in` or `at`, exactly once; resolves to the reply. */
	dispatch(target, action, payload, options) {
		const isStore = target.includes("/");
		const body = {op: "dispatch", store: isStore ? target : undefined, type: isStore ? undefined : target, action, payload};
		if (!options) return this.#request(body);
		const {signal, ...others} = options;
		return this.#request(Object.assign(body, others), signal);
	}
	/** Several actions as one commit: `bus.batch([["counter/a", "increment", {by: 2}], ["counter/b", "reset"]])`. */
	batch(actions, {signal, ...options} = {}) {
		return this.request("dispatch", {actions: actionsOf(actions), ...options}, {signal});
	}
	create(address, state, options = {}) {
		return this.request("create", {store: address, state, ...options});
	}
	drop(address) {
		return this.request("drop", {store: address});
	}
	/** The state of one store. */
	async get(address, options = {}) {
		return (await this.request("get", {store: address, ...options})).states[address];
	}
	/** All states that match, page by page. */
	async states(target, options = {}) {
		const states = new Map();
		for (let after; ;) {
			const reply = await this.request("get", {...patternOf(target), ...options, after});
			for (const [address, state] of Object.entries(reply.states)) states.set(address, state);
			if ((after = reply.next) === undefined) return states;
		}
	}
	/** Leaves actions for the end of this client: the bus dispatches them, however it ends. */
	async will(actions) {
		await this.request("will", {actions: actionsOf(actions)});
	}
	/** A mirror of all stores that match, once it has their states. */
	async mirror(target, {select} = {}) {
		return await this.#subscribe(new Mirror(this, {...patternOf(target), select}));
	}
	/** Actions as they are committed, and gaps where some may be missing, to be iterated over with `for await`. */
	async actions(target) {
		return (await this.#subscribe(new Actions(this, {...patternOf(target), actions: true}))).feed;
	}

	async #subscribe(subscription) {
		if (this.#error || this.#closing) throw this.#error ?? new BusError("closed", "The bus is being closed by this program.");
		this.#subscriptions.add(subscription);
		if (this.#isOpen) this.#askFor(subscription);
		await subscription.ready;
		return subscription;
	}
	#askFor(subscription) {
		const point = subscription._resumePoint();
		const body = {op: "subscribe", ...subscription.body, ...(point && {since: point.revision, epoch: point.epoch})};
		this.#send(body, ({sub, revision, epoch}) => {
			if (!this.#subscriptions.has(subscription)) return this.#own({op: "unsubscribe", sub});
			subscription._granted(revision, epoch);
			subscription.sub = sub;
			this.#numbers.set(sub, subscription);
		}, error => this.#subscriptions.delete(subscription) && subscription._end(error), true);
	}
	_unsubscribe(subscription) {
		if (!this.#subscriptions.delete(subscription)) return;
		if (this.#numbers.get(subscription.sub) === subscription) {
			this.#numbers.delete(subscription.sub);
			this.#own({op: "unsubscribe", sub: subscription.sub});
		}
		subscription._end();
	}

	// The connection

	async _start() {
		await this.#connect();
		return this;
	}
	/** One attempt; settles when the bus has answered `hello`, or can't. */
	#connect() {
		const {address, tls, connectTimeout} = this.#options;
		return new Promise((resolve, reject) => {
			const on = {
				open: () => this.#greet(resolve, reject),
				lines: lines => this.#takeAll(lines),
				fault: error => this.#giveUp(error.message),
				lost: (why, isUntrusted) => {
					this.#cancel(patience);
					this.#lost(why, isUntrusted, reject);
				},
			};
			const patience = this.#after(connectTimeout, () => {
				reject(new BusError("timed_out", "The bus did not answer in the time allowed; see whether it is busy."));
				this.#giveUp("there was no answer in time");
			});
			this.#goodbye = this.#fault = null;
			this.#heard = true;
			this.greeted = () => this.#cancel(patience);
			const opening = /^wss?:/.test(address) ? openWebSocket(address, on) : openSocket(address, tls, on);
			Promise.resolve(opening).then(connection => {
				this.#connection = connection;
				if (this.#error || this.#fault) connection.close();
			}).catch(error => {
				this.#cancel(patience);
				reject(error);
			});
		});
	}
	#greet(resolve, reject) {
		const {client, token, address, session, linger} = this.#options;
		const body = {op: "hello", protocol: 1, client, token: address.startsWith("unix:") ? undefined : token, session, linger};
		this.#send(body, greeting => {
			if (greeting.epoch !== this.#epoch) {
				this.#epoch = greeting.epoch;
				this.#revision = greeting.revision;
			}
			this.greeting = greeting;
			this.#isOpen = true;
			this.#attempt = 0;
			this.greeted();
			if (this.#will && !greeting.resumed) this.#own(this.#will);
			for (const subscription of this.#subscriptions) this.#askFor(subscription);
			for (const request of this.#waiting.splice(0)) if (!request.givenUp) this.#write(request);
			this.#watch(this.#connection, false);
			resolve();
		}, error => {
			reject(error);
			if (!passing.has(error.code)) this.#finish(error);
			this.#giveUp(error.message);
		}, true);
	}
	/** Asks a connection that is silent whether it is still one. */
	#watch(connection, wasAsked) {
		this.watching = this.#after(this.#options.keepAlive, () => {
			if (connection !== this.#connection || !this.#isOpen) return;
			if (!this.#heard && wasAsked) return this.#giveUp("the bus has said nothing for a long time");
			const asks = !this.#heard;
			this.#heard = false;
			if (asks) this.#own({op: "ping"});
			this.#watch(connection, asks);
		});
		this.watching.unref?.();
	}
	#takeAll(lines) {
		this.#heard = true;
		try {
			for (const line of lines) if (line && !this.#fault) this.#take(parse(line));
		} catch (error) {
			this.#giveUp(`what came does not follow the protocol: ${error.message}`);
		}
	}
	#take(message) {
		if (message.event === undefined) return this.#answered(message);
		if (message.event === "goodbye") return this.#goodbye = message;
		const subscription = this.#numbers.get(message.sub);
		if (!subscription) return;
		subscription._take(message, this.#epoch);
		if (message.revision > this.#revision && !message.more) this.#revision = message.revision;
	}
	#giveUp(fault) {
		this.#fault ??= fault;
		this.#connection?.close();
	}
	#lost(why, isUntrusted, reject) {
		const wasGreeted = this.#isOpen;
		const unanswered = this.#unanswered.slice(this.#head);
		this.#cancel(this.watching);
		this.#isOpen = false;
		this.#connection = null;
		this.#unanswered = [];
		this.#head = 0;
		this.#lines = [];
		this.#numbers.clear();
		const reason = this.#goodbye?.message ?? this.#fault ?? why ?? "the connection was lost";
		const error = isUntrusted ? new BusError("untrusted", `The bus can't prove that it is the one: ${reason}.`)
			: wasGreeted || this.#goodbye ? new BusError("closed", `The connection to the bus has ended: ${reason}`, {reason: this.#goodbye?.code})
				: new BusError("unreachable", `Nothing answers at ${this.#options.address}: ${reason}.`);
		const again = [];
		for (const request of unanswered) {
			if (request.own) continue;
			request.isRepeated = true;
			if (request.repeats) again.push(request);
			else request.reject(outcomeUnknown(error));
		}
		this.#waiting = again.concat(this.#waiting);
		if (this.#goodbye?.code === "protocol") this.#finish(error);
		reject(error);
		this.#onLost();
		if (wasGreeted) this.#reconnect();
	}
	#reconnect() {
		if (this.#error) return;
		// Cut at random by up to half, so that many clients of one bus do not come back in step.
		const [first, longest] = this.#options.backOff;
		const wait = Math.min(first * 2 ** Math.min(this.#attempt++, 30), longest) * (0.5 + Math.random() / 2);
		this.#after(wait, () => this.#connect().catch(error => {
			if (passing.has(error.code)) this.#reconnect();
			else this.#finish(error);
		}));
	}
	#after(milliseconds, work) {
		const timer = setTimeout(() => {
			this.#timers.delete(timer);
			work();
		}, milliseconds);
		this.#timers.add(timer);
		return timer;
	}
	#cancel(timer) {
		clearTimeout(timer);
		this.#timers.delete(timer);
	}

	/** No connection after this one: whoever waits hears why. */
	#finish(error, isWanted = false) {
		if (this.#error) return;
		this.#error = error;
		for (const timer of this.#timers) this.#cancel(timer);
		for (const {line, repeats, key, reject} of [...this.#unanswered.slice(this.#head), ...this.#waiting]) {
			// What was written once may have been committed.
			reject(!line || repeats && !key ? error : outcomeUnknown(error));
		}
		this.#unanswered = [];
		this.#head = 0;
		this.#waiting = [];
		for (const subscription of this.#subscriptions) subscription._end(isWanted ? undefined : error);
		this.#makeRoom();
		this.#connection?.close();
	}
	/** Leaves when everything asked for is answered, or after the timeout; then whoever waits is told `closed`. */
	close({timeout = 5000} = {}) {
		return this.#closing ??= this.#close(timeout);
	}
	async #close(timeout) {
		const answer = (body, own) => Promise.race([
			new Promise(resolve => this.#send(body, resolve, resolve, own)),
			new Promise(resolve => this.#after(timeout, resolve)),
		]);
		if (this.#error) return;
		if (this.#unanswered.length > this.#head || this.#waiting.length) await answer({op: "ping"}, false);
		const {session} = this.#options;
		if (this.#isOpen && session) await answer({op: "hello", session, linger: 0}, true);
		const lost = new Promise(resolve => this.#connection ? this.#onLost = resolve : resolve());
		this.#finish(new BusError("closed", "The bus was closed by this program."), true);
		await lost;
	}
}

function randomName() {
	return Array.from({length: 3}, () => Math.floor(Math.random() * 2 ** 48).toString(36)).join("");
}

async function defaultAddress() {
	const environment = globalThis.process?.env;
	if (!environment) throw new BusError("invalid_address", "A browser has no bus of its own: connect to wss://HOST/bus.");
	const runtime = `${environment.XDG_RUNTIME_DIR ?? ""}/fluxbus/bus.sock`;
	const {statSync} = await import("node:fs");
	const isThere = runtime.startsWith("/") && statSync(runtime, {throwIfNoEntry: false})?.isSocket();
	return environment.FLUXBUS_ADDRESS || `unix:${isThere && environment.XDG_RUNTIME_DIR ? runtime : "/run/fluxbus/bus.sock"}`;
}

/** Connects to the bus; one attempt. A connection that is lost later is made again by itself. */
export async function connect(address, {token, session, linger, ...options} = {}) {
	return await new Bus({
		connectTimeout: 5000, keepAlive: 30_000, backOff: [50, 10_000], ...options, linger,
		address: String(address ?? await defaultAddress()),
		token: token ?? globalThis.process?.env.FLUXBUS_TOKEN,
		session: session ?? (linger ? randomName() : undefined),
	})._start();
}
