/**
 * A client of FluxBus, the state bus: for Node over sockets, for browsers over the WebSocket of fluxbus-web.
 *
 * The bus answers in order, so what is sent is a queue. A reply that does not belong to its head, or anything else that
 * does not follow the protocol, ends the connection. `#run` makes one connection after the other, `#cut` sorts what the
 * last one left unanswered, and `#resume` continues on the next one from what was exact. A request is encoded once; its
 * key, and what it had seen, are added when it is first sent, and stay the same. States are never changed in place:
 * what a program holds stays what it was.
 */

/** So many characters may be in a line from the bus; a longer one ends the connection. */
const longestLine = 64 << 20;
/** So many requests are unanswered on a connection at most; further ones wait. */
const windowSize = 10_000;
/** So many changes or actions wait for a consumer; who is further behind gets the rest as one, or is told of a gap. */
const backlog = 1_000;
/** What commits exactly once, thanks to its key; and what only reads, or is the same when done twice. */
const keyed = new Set(["dispatch", "create", "drop", "cancel"]);
const repeatable = new Set([...keyed, ..."get stores types history blame samples sync ping stats timers will clients".split(" ")]);
/** They can't say whether a request was committed before: the bus has not looked for its key, or, with `conflict`, can't remember it. */
const unsure = new Set(["conflict", "forbidden", "unknown_type", "too_large", "limit", "unavailable"]);
/** What names a revision, which means nothing in another epoch. */
const revisions = ["ifRevision", "revision", "since", "until"];
/** Failures after which another attempt may succeed. */
const passing = new Set(["unreachable", "untrusted", "timed_out", "limit", "unavailable", "closed"]);

const ignore = () => {};
const randomName = () => globalThis.crypto?.randomUUID?.() ?? `${Math.random()}${Math.random()}`;

/** A refusal of the bus, or a failure on the way to it: `code` for programs, `message` for people. */
export class BusError extends Error {
	constructor(code, message, details = {}) {
		super(message);
		const Kind = kinds[code] ?? BusError;
		if (new.target === BusError && Kind !== BusError) return new Kind(code, message, details);
		Object.assign(this, {name: new.target.name, code, details});
	}
}
/** There is no connection, or it was lost: `unreachable`, `untrusted`, `closed`, `outcome_unknown`. */
export class BusConnectionError extends BusError {}
/** `timed_out`. */
export class BusTimeoutError extends BusError {}

const kinds = {
	unreachable: BusConnectionError, untrusted: BusConnectionError, closed: BusConnectionError,
	outcome_unknown: BusConnectionError, timed_out: BusTimeoutError,
};

const outcomeUnknown = original => new BusError("outcome_unknown",
	"The connection was lost, and whether this was committed is unknown: look, then decide.", {original});
const invalidAddress = address => new BusError("invalid_address", `\`${address}\` is not an address of a bus here: write `
	+ "unix:/path/to/socket, tcp:HOST:PORT or tls:HOST:PORT, or in a browser wss://HOST/bus.");
const elsewhere = () => new BusError("conflict", "The bus began a new epoch after this was asked for, "
	+ "in which the revision that it names means another state.");
const isFinal = ({code, details}) => !passing.has(code) || details.reason === "protocol";
const closed = (what, reason) => new BusError("closed", what, {reason});
const timedOut = () => new BusError("timed_out",
	"The bus did not answer in the time allowed; whether this was committed is unknown: look, then decide.");

/** Sets a timer, but none for 2^31 ms or more: it would be over at once. */
const timed = (time, call, set = setTimeout) => time < 2 ** 31 ? set(call, time) : undefined;

/** Has the signal and the time-out call `giveUp`. The two functions that it gives settle the promise, and let go of both. */
function limited(resolve, reject, {signal, timeout}, giveUp) {
	const aborted = () => giveUp(signal.reason);
	const timer = timed(timeout, () => giveUp(timedOut()));
	signal?.addEventListener("abort", aborted);
	return [resolve, reject].map(settle => value => {
		clearTimeout(timer);
		signal?.removeEventListener("abort", aborted);
		settle(value);
	});
}

// MARK: Values

// Integers beyond 2^53 are BigInts: they pass through JSON as texts that nobody else can have written. So do doubles beyond
// 64 bits, which the bus takes with an exponent only.
const mark = `${randomName()}:`;
const marked = new RegExp(`"${mark}([^"]+)"`, "g");
const isLarge = number => /^-?\d{16,}$/.test(number) && !Number.isSafeInteger(Number(number));
const hide = (_, value) => {
	if (typeof value === "number" && !Number.isFinite(value)) throw new RangeError(`JSON has no word for ${value}`);
	if (typeof value === "number" && Math.abs(value) >= 2 ** 63) return mark + value.toExponential();
	return typeof value === "bigint" ? mark + value : value;
};
const isMarked = value => typeof value === "string" && value.startsWith(mark);
const show = (_, value) => isMarked(value) ? BigInt(value.slice(mark.length)) : value;

function parse(text) {
	if (!/\d{16}/.test(text)) return JSON.parse(text);
	let isInString = false;
	const hidden = text.replace(/\\.|"|-?\d[\d.eE+-]*/g, found => {
		if (found === '"') isInString = !isInString;
		return !isInString && isLarge(found) ? `"${mark}${found}"` : found;
	});
	return JSON.parse(hidden, show);
}

function stringify(value) {
	try {
		const text = JSON.stringify(value);
		// A null that nobody wrote stands for NaN or Infinity, and a number of 19 digits or more may be beyond 64 bits.
		if (!text.includes("null") && !/\d{19}/.test(text)) return text;
	} catch {
		// There are BigInts in it, or it can't be written.
	}
	return JSON.stringify(value, hide).replaceAll(marked, "$1");
}

const isObject = value => Object.prototype.toString.call(value) === "[object Object]";

/** The state that a merge patch (RFC 7396) makes of another one, which stays as it is. */
export function merge(state, patch) {
	if (!isObject(patch)) return patch;
	const members = new Map(isObject(state) ? Object.entries(state) : []);
	for (const [name, part] of Object.entries(patch)) {
		if (part === null) members.delete(name);
		else members.set(name, merge(members.get(name), part));
	}
	return Object.fromEntries(members);
}

const targetOf = target => target.includes("/") ? {store: target} : {type: target};
const patternOf = target => /[*?]/.test(target) ? {match: target} : targetOf(target);
const stepOf = step => {
	if (!Array.isArray(step)) return step;
	const [target, action, payload] = step;
	return {...targetOf(target), action, payload};
};

// MARK: Subscriptions

/** What waits for one consumer: a bounded queue. */
class Feed {
	#items = [];
	#waiters = [];
	#end = null;
	#isBehind = false;
	/** `catchUp()` makes what stands for all that did not fit, when its turn has come. */
	constructor(catchUp, onReturn) { Object.assign(this, {_catchUp: catchUp, _onReturn: onReturn}); }
	[Symbol.asyncIterator]() { return this; }
	async next() {
		while (this.#items.length === 0 && !this.#end) await new Promise(resolve => this.#waiters.push(resolve));
		return (this.#items.shift() ?? this.#end)();
	}
	async return() {
		this.#items = [];
		this._end();
		this._onReturn(this);
		return {value: undefined, done: true};
	}
	_push(item) {
		// What catches up stands for all that comes until its turn.
		if (this.#isBehind) return;
		this.#isBehind = this.#items.length === backlog;
		this.#items.push(this.#isBehind ? () => this.#caughtUp() : () => ({value: item, done: false}));
		this.#wake();
	}
	#caughtUp() {
		this.#isBehind = false;
		return {value: this._catchUp(), done: false};
	}
	_end(error) {
		this.#end ??= () => error ? Promise.reject(error) : {value: undefined, done: true};
		this.#wake();
	}
	#wake() { for (const wake of this.#waiters.splice(0)) wake(); }
}

/** The states of all stores that match, kept as they are on the bus. `for await` gives every change from then on. */
export class Mirror extends Map {
	#parts = [];
	#feeds = new Set();
	#end = null;
	constructor(subscription) { Object.assign(super(), subscription); }
	get revision() { return this._position?.since ?? 0; }
	get error() { return this.#end?.error; }
	close() { this._leave(this); }
	[Symbol.asyncIterator]() { return this.changes(); }
	changes() {
		const others = {dropped: new Set(), reset: true, coalesced: 1};
		const whole = () => ({revision: this.revision, states: new Map(this), ...others});
		const feed = new Feed(whole, () => this.#feeds.delete(feed));
		this.#feeds.add(feed);
		if (this.#end) feed._end(this.#end.error);
		return feed;
	}
	_granted() { this.#parts = []; }
	_take(event, epoch) {
		// Only the first part of a change has `from`. In the middle of one it means that the bus has restarted the change.
		if (event.from !== undefined) this.#parts = [];
		if (event.event === "change") this.#parts.push(event);
		if (event.more) return;
		const parts = this.#parts.splice(0), {reset = false, from} = parts[0] ?? {reset: true};
		if (!reset && from !== this.revision) throw new Error(`changes before revision ${from} are missing`);
		this._position = {since: event.revision, epoch};
		if (parts.length > 0) this.#apply(parts, reset);
		this._ready(this);
	}
	#apply(parts, reset) {
		if (reset) this.clear();
		const touched = new Set();
		for (const {states = {}, changes = {}, dropped = []} of parts) {
			for (const [address, state] of Object.entries(states)) this.set(address, state);
			for (const [address, patch] of Object.entries(changes)) this.set(address, merge(this.get(address), patch));
			for (const address of dropped) this.delete(address);
			for (const address of [...Object.keys(states), ...Object.keys(changes), ...dropped]) touched.add(address);
		}
		if (!reset && touched.size === 0) return;
		const there = [...touched].filter(address => this.has(address));
		const states = new Map(there.map(address => [address, this.get(address)]));
		const dropped = new Set([...touched].filter(address => !this.has(address)));
		const {revision, coalesced = 1} = parts.at(-1), {cause} = parts.find(part => part.cause) ?? {};
		for (const feed of this.#feeds) feed._push({revision, states, dropped, reset, coalesced, cause});
	}
	_end(error) {
		this.#end ??= {error};
		for (const feed of this.#feeds) feed._end(error);
	}
}

/** Actions as they happen. A commit may hold several: it is asked for again as a whole; what is known is skipped. */
class Actions extends Feed {
	#last = {};
	/** That of the last event, also of a gap. */
	#revision = 0;
	constructor(subscription) {
		Object.assign(super(() => ({gap: true, revision: this.#revision}), subscription._leave), subscription);
	}
	_granted({revision, epoch}) { this._position ??= {since: revision, epoch}; }
	_take({event, revision, index, store, type, action, payload, by, time, result, results, traceparent}, epoch) {
		const last = this.#last, isAction = event === "action";
		// One without an index is the only one of its commit.
		this._position = {since: isAction && index >= 0 ? revision - 1 : revision, epoch};
		this.#revision = revision;
		if (event === "gap") this._push({gap: true, revision});
		if (!isAction || last.epoch === epoch && last.revision === revision && last.index >= (index ?? 0)) return;
		this.#last = {revision, epoch, index: index ?? 0};
		this._push({gap: false, revision, target: store ?? type, action, payload, by, time, result, results, traceparent});
	}
}

// MARK: Transports

/** A WebSocket, of which each message is a line. */
function openWebSocket(address, on) {
	const socket = new WebSocket(address);
	socket.onopen = on.opened;
	socket.onmessage = ({data}) => on.received(`${data}\n`);
	socket.onclose = ({code, reason}) => on.ended(reason || `the WebSocket was closed with ${code}`);
	return {write: lines => lines.forEach(line => socket.send(line.trimEnd())), close: () => socket.close()};
}

/** A socket of Node's. */
function openSocket(connect, isTLS, on) {
	const socket = connect().setNoDelay(true);
	// A write that fails would end it before all is read, and the bus may have said why it goes: only reading ends it.
	for (const name of ["_write", "_writev"]) {
		const write = socket[name];
		socket[name] = (...given) => write.call(socket, ...given.slice(0, -1), () => given.at(-1)());
	}
	socket.on(isTLS ? "secureConnect" : "connect", on.opened);
	socket.on("data", on.received);
	socket.on("error", ({message, code}) => on.ended(message, /CERT|SELF_SIGNED|ALTNAME|UNABLE_TO/.test(code)));
	socket.on("close", () => on.ended());
	return {write: lines => socket.write(lines.join("")), close: () => socket.destroy()};
}

/** What opens a connection to the address, and tells `opened`, `received` and `ended` what becomes of it. */
async function transport(address, tls) {
	if (/^wss?:/.test(address)) return on => openWebSocket(address, on);
	const [isOne, path, scheme, host, port] = /^(?:unix:(\/.*)|(tcp|tls):(\[.+\]|[^:]+):(\d+))$/.exec(address) ?? [];
	if (!isOne || !globalThis.process) throw invalidAddress(address);
	const name = host?.replaceAll(/[[\]]/g, ""), isTLS = scheme === "tls";
	const {connect} = await import(isTLS ? "node:tls" : "node:net");
	const options = {path, host: name, port, servername: name, ...(isTLS && tls)};
	return on => openSocket(() => connect(options), isTLS, on);
}

const namesIn = text => text.split(/[\s,]+/).filter(name => name);

async function defaultAddress() {
	const {FLUXBUS_ADDRESS, XDG_RUNTIME_DIR} = globalThis.process?.env ?? {};
	const own = `${XDG_RUNTIME_DIR}/fluxbus/bus.sock`;
	const isThere = own.startsWith("/") && (await import("node:fs")).existsSync(own);
	return namesIn(FLUXBUS_ADDRESS ?? "").join() || `unix:${isThere ? own : "/run/fluxbus/bus.sock"}`;
}

// MARK: The bus

/** A client of the bus, made by `connect()`. It reconnects by itself. */
export class Bus {
	greeting = {};
	status = {phase: "connecting"};
	revision = 0;
	#options;
	#connection = null;
	#running = null;
	#rest;
	#endWait = ignore;
	#end = null;
	#closing = null;
	/** Requests without an answer: those of this connection, in their order, and those that are not sent. */
	#sent = [];
	#waiting = new Set();
	#count = 0;
	#prefix = randomName();
	#will = null;
	/** Those who take events; and by their numbers, those who do on this connection. */
	#takers = new Set();
	#numbers = new Map();

	constructor(options) { this.#options = options; }
	get connected() { return this.#connection?.isLive ?? false; }

	/** Any request of the protocol, and its reply: `bus.request("history", {since: 4})`. */
	request(op, body, options) { return this.#request({op, ...body, ...options}); }
	/**
	 * Commits an action now, or later with `in` or `at`, exactly once; resolves to the reply. The action is a target, its name and
	 * perhaps a payload; or one element of a batch, and the options behind it.
	 */
	dispatch(target, action, payload, options) {
		if (typeof target === "object") return this.request("dispatch", stepOf(target), action);
		return this.#request({op: "dispatch", ...targetOf(target), action, payload, ...options});
	}
	/** Several actions as one commit: `bus.batch([["counter/a", "increment", {by: 2}], ["counter/b", "reset"]])`. */
	batch(actions, options) { return this.request("dispatch", {actions: Array.from(actions, stepOf)}, options); }
	create(address, state, options) { return this.request("create", {store: address, state}, options); }
	drop(target, options) { return this.request("drop", targetOf(target), options); }
	/** The state of one store. */
	async get(address, options) { return (await this.request("get", {store: address}, options)).states[address]; }
	/** All states that match, page by page. */
	async states(target, options) {
		const states = new Map();
		for (let after; after !== null;) {
			const reply = await this.request("get", {...patternOf(target), after}, options);
			for (const [address, state] of Object.entries(reply.states)) states.set(address, state);
			after = reply.next ?? null;
		}
		return states;
	}
	/** One store, or every store of a type, whose state and actions TypeScript knows. */
	store(target) { return new Store(this, target); }
	/** Leaves actions for the end of this client: the bus dispatches them, however it ends. */
	async will(actions, options) {
		// All it takes are actions, so that they do not say so.
		await this.request("will", {actions: Array.from(actions, step => ({...stepOf(step), op: undefined}))}, options);
	}
	/** A mirror of all stores that match, once it has their states. */
	mirror(target, {where, select, cause, ...limits} = {}) {
		return this.#subscribe(Mirror, {...patternOf(target), where, select, cause}, limits);
	}
	/** Actions as they are committed, and gaps where some may be missing, to be iterated over with `for await`. */
	actions(target, {where, ...limits} = {}) {
		return this.#subscribe(Actions, {...patternOf(target), where, actions: true}, limits);
	}
	/** Makes the next attempt at once. */
	reconnect() { this.#endWait(); }
	/** Waits until every request is answered or the timeout has passed, then disconnects: requests still waiting fail with `closed`. */
	close({timeout = 5000} = {}) { return this.#closing ??= this.#close(timeout); }

	// MARK: Requests

	#check() { if (this.#end ?? this.#closing) throw this.#end ?? closed("This program is closing the bus."); }
	#request(body) {
		return new Promise((resolve, reject) => {
			this.#check();
			const {id, ack, signal, timeout = this.#options.timeout} = body;
			if (id !== undefined) throw new BusError("invalid_request", "The client numbers its requests itself: leave out `id`.");
			if (ack !== undefined) throw new BusError("invalid_request", "The client matches replies by order and needs them all: leave out `ack`.");
			signal?.throwIfAborted();
			if (signal) delete body.signal;
			if (body.timeout !== undefined) delete body.timeout;
			const request = this.#send(body, resolve, reject);
			if (!signal && timeout === undefined) return;
			[request.resolve, request.reject] = limited(resolve, reject, {signal, timeout}, error => {
				request.isGivenUp = true;
				this.#waiting.delete(request);
				request.reject(error);
			});
		});
	}
	/** Puts a request behind those that wait; or, where it is of this connection only, sends it before them. */
	#send(body, resolve = ignore, reject = ignore, isOwn = false) {
		const id = ++this.#count, isKeyed = keyed.has(body.op) && !body.dryRun;
		if (isKeyed) body.key ??= `${this.#prefix}-${id}`;
		const text = this.#encode(body), isRepeatable = !isOwn && repeatable.has(body.op);
		const tellsSeen = isKeyed && body.after === undefined && body.epoch === undefined;
		// A copy: what the program changes later must not reach the will.
		const will = body.op === "will" ? this.#options.json.parse(text) : null, parts = [body].concat(body.actions ?? []);
		const namesRevision = parts.some(part => revisions.some(name => part?.[name] !== undefined));
		// Such a store goes with its session, which may have ended since it was made.
		const isEphemeral = isKeyed && parts.some(part => part?.ephemeral);
		const request = {
			id, text, line: "", seen: "", isKeyed, tellsSeen, isRepeatable, will, isEphemeral, resolve, reject,
			epoch: namesRevision ? this.greeting.epoch : undefined, wasCut: false, isTorn: false, isGivenUp: false,
		};
		if (isOwn) this.#connection?.write([this.#sending(request)]);
		else if (this.#waiting.add(request).size === 1) queueMicrotask(() => this.#flush());
		return request;
	}
	#encode(body) {
		try {
			return this.#options.json.stringify(body);
		} catch (error) {
			throw new BusError("invalid_request", `This can't be written as JSON: ${error.message}.`, {original: error});
		}
	}
	#own(body, resolve, reject) { this.#send(body, resolve, reject, true); }
	/** The line of a request that is sent now. */
	#sending(request) {
		request.isTorn ||= request.line !== "" && !this.greeting.resumed;
		// A line that is sent again says, too, what had been seen before it was first sent.
		request.line = `{"id":${request.id},${request.text.slice(1, -1)}${request.seen}}\n`;
		if (request.tellsSeen) request.seen ||= `,"after":${this.revision},"epoch":"${this.greeting.epoch}"`;
		this.#sent.push(request);
		return request.line;
	}
	#flush() {
		const room = windowSize - this.#sent.length;
		if (!this.connected || room < windowSize / 2 || this.#waiting.size === 0) return;
		const lines = [];
		for (const request of this.#waiting) {
			if (lines.length === room) break;
			this.#waiting.delete(request);
			// One with a key says itself of which epoch it is, once it was sent.
			const fits = [undefined, this.greeting.epoch].includes(request.epoch) || request.isKeyed && request.line;
			if (fits) lines.push(this.#sending(request));
			else request.reject(elsewhere());
		}
		this.#connection.write(lines);
	}
	#take(message) {
		const {event, sub, revision, more} = message, taker = this.#numbers.get(sub);
		if (event === undefined) this.#answer(message);
		else if (event === "goodbye") this.#connection.goodbye = message;
		else if (this.#takers.has(taker) && revision >= 0) taker._take(message, this.greeting.epoch);
		if (revision > this.revision && !more) this.revision = revision;
	}
	#answer(reply) {
		const request = this.#sent[0], isOK = reply.ok === true;
		// A line that the bus could not read is answered without its id.
		const isNext = request && (reply.id === request.id || !isOK && reply.id === undefined);
		if (!isNext) throw new Error("a reply came out of turn");
		this.#sent.shift();
		if (isOK && request.will) this.#will = request.will;
		if (isOK && request.isEphemeral && request.isTorn && reply.duplicate) {
			const why = closed("The store may have gone with the connection over which it was made.");
			return request.reject(outcomeUnknown(why));
		}
		if (isOK) return request.resolve(reply);
		const {code = "unexpected_reply", message = "The bus did not say why.", ...details} = reply.error ?? {};
		const error = new BusError(code, message, details);
		// A conflict over `ifRevision` names a revision, and is certain.
		const isUnknown = unsure.has(code) && request.wasCut && request.isKeyed && details.revision === undefined;
		request.reject(isUnknown ? outcomeUnknown(error) : error);
	}

	// MARK: Subscribing

	#subscribe(Taker, body, {signal, timeout = this.#options.timeout}) {
		return new Promise((resolve, reject) => {
			this.#check();
			signal?.throwIfAborted();
			// A copy: what the program changes later must not reach the subscription.
			const _body = this.#options.json.parse(this.#encode(body));
			const taker = new Taker({_body, _position: null, _leave: this.#leave});
			[taker._ready, taker._fail] = limited(resolve, reject, {signal, timeout}, error => this.#leave(taker, error));
			this.#takers.add(taker);
			if (this.connected) this.#follow(taker);
		});
	}
	/** Asks for what comes after what it has. */
	#follow(taker) {
		this.#own({op: "subscribe", ...taker._body, ...taker._position}, reply => {
			if (!this.#takers.has(taker)) return this.#unsubscribe(reply.sub);
			this.#numbers.set(reply.sub, taker);
			taker._granted(reply);
			if (taker._position) taker._ready(taker);
		}, error => this.connected && this.#leave(taker, error));
	}
	#unsubscribe(sub) { this.#own({op: "unsubscribe", sub}, () => this.#numbers.delete(sub)); }
	#leave = (taker, error) => {
		if (!this.#takers.delete(taker)) return;
		for (const [sub, one] of this.#numbers) if (one === taker) this.#unsubscribe(sub);
		taker._end(error);
		taker._fail(error ?? closed("The subscription was closed by this program."));
	};

	// MARK: Connections

	_start() {
		const run = (resolve, reject) => this.#running = this.#run(resolve).then(() => reject(this.#end), reject);
		return new Promise(run);
	}
	/** One connection after the other, until there is to be no more. */
	async #run(started) {
		const {backOff: [first, longest], patience} = this.#options, patient = Date.now() + patience;
		for (let attempt = 0; !this.#end; attempt++) {
			const error = await this.#attempt(started);
			if (this.status.phase === "live") attempt = 0;
			// Cut at random by up to half, so that many clients of one bus do not come back in step.
			const wait = Math.min(first * 2 ** attempt, longest) * (0.5 + Math.random() / 2);
			const isLate = !this.greeting.epoch && Date.now() + wait > patient;
			if (isLate || isFinal(error) || this.#end) return this.#finish(error);
			this.#say({phase: "lost", error, retryAt: Date.now() + wait});
			const timer = timed(wait, this.#endWait);
			await this.#rest;
			clearTimeout(timer);
		}
	}
	/** Tries the addresses, which share the time, from the one that answered last; resolves to why the last connection has ended. */
	async #attempt(started) {
		const {places, connectTimeout} = this.#options, deadline = Date.now() + connectTimeout;
		for (let left = places.length;; left--) {
			const error = await this.#converse(places[0], (deadline - Date.now()) / left, started);
			if (this.status.phase === "live" || this.#end || isFinal(error)) return error;
			places.push(places.shift());
			if (left === 1) return error;
		}
	}
	/** One connection; resolves to why it has ended. */
	#converse({address, open, token}, patience, started) {
		const {hello, json, keepAlive} = this.#options;
		const decoder = new TextDecoder("utf-8", {fatal: true});
		let fault, pulse, silence = 0, tail = "", resolve;
		const ended = (why, isUntrusted) => {
			if (this.#connection !== connection) return;
			this.#connection = null;
			clearTimeout(late);
			clearInterval(pulse);
			// Whoever hears of the loss may ask for the next attempt at once.
			this.#rest = new Promise(resolve => this.#endWait = resolve);
			resolve(this.#cut(this.#endOf(connection, fault ?? why ?? "the connection was lost", isUntrusted)));
		};
		const failed = why => {
			fault ??= why;
			connection.close();
			ended();
		};
		const opened = () => {
			connection.isOpen = true;
			this.#own({...hello, token}, greeted, failed);
		};
		const greeted = greeting => {
			clearTimeout(late);
			const beats = [ignore, () => this.#own({op: "ping"}), () => failed("the bus does not answer any more")];
			pulse = timed(keepAlive, () => beats[silence++](), setInterval);
			this.#resume(greeting);
			started(this);
		};
		const received = data => {
			silence = 0;
			try {
				const text = typeof data === "string" ? data : decoder.decode(data, {stream: true});
				const lines = text.includes("\n") ? (tail + text).split("\n") : [tail + text];
				tail = lines.pop();
				if (tail.length > longestLine) throw new Error("a line is too long");
				for (const line of lines) if (line && !fault) this.#take(json.parse(line));
				this.#flush();
			} catch (error) {
				failed(`what came does not follow the protocol: ${error.message}`);
			}
		};
		const silent = new BusError("timed_out", "The bus did not answer in the time allowed; see whether it is busy.");
		const late = timed(patience, () => failed(silent));
		const connection = this.#connection = {address, failed};
		const end = new Promise(settle => resolve = settle);
		try {
			Object.assign(connection, open({opened, received, ended}));
		} catch ({message}) {
			ended(new BusError("invalid_address", `No connection to ${address} can be tried: ${message}; check the address and \`tls\`.`));
		}
		return end;
	}
	#endOf({address, goodbye, isOpen}, why, isUntrusted) {
		if (why instanceof BusError) return why;
		if (isUntrusted) return new BusError("untrusted", `The bus can't prove that it is the one: ${why}.`);
		if (isOpen) return closed(`The connection has ended: ${goodbye?.message ?? why}`, goodbye?.code);
		return new BusError("unreachable", `Nothing answers at ${address}: ${why}.`);
	}
	/** What was sent, and may be sent again, comes before what waits; whether the rest was committed is unknown. */
	#cut(error) {
		this.#numbers.clear();
		const cut = this.#sent.splice(0).map(request => Object.assign(request, {wasCut: true}));
		for (const {isRepeatable, reject} of cut) if (!isRepeatable) reject(outcomeUnknown(error));
		const again = cut.filter(({isRepeatable, isGivenUp}) => isRepeatable && !isGivenUp);
		this.#waiting = new Set([...again, ...this.#waiting]);
		return error;
	}
	/** Continues on a new connection: will, subscriptions, requests. */
	#resume(greeting) {
		if (greeting.epoch !== this.greeting.epoch || greeting.revision > this.revision) this.revision = greeting.revision;
		this.greeting = greeting;
		this.#connection.isLive = true;
		if (this.#will && !greeting.resumed) this.#own(this.#will);
		for (const taker of this.#takers) this.#follow(taker);
		this.#flush();
		this.#say({phase: "live"});
	}
	#say(status) { Promise.resolve(this.status = status).then(this.#options.onStatus); }
	/** No connection after this one: whoever waits hears why. */
	#finish(error, isWanted = false) {
		if (this.#end) return;
		this.#end = error;
		this.#connection?.failed(error);
		this.#endWait();
		for (const taker of this.#takers) this.#leave(taker, isWanted ? undefined : error);
		// What was sent once may have been committed, and a will left.
		for (const {line, isKeyed, will, reject} of this.#waiting) reject(line && (isKeyed || will) ? outcomeUnknown(error) : error);
		this.#waiting.clear();
		this.#say({phase: "closed", error});
	}
	async #close(timeout) {
		const finish = () => this.#finish(closed("The bus was closed by this program."), true);
		const late = timed(timeout, finish);
		const answered = (body, isOwn) => new Promise(resolve => this.#send(body, resolve, resolve, isOwn));
		if (this.#sent.length + this.#waiting.size > 0) await answered({op: "ping"});
		const {session} = this.#options.hello;
		if (this.connected && session) await answered({op: "hello", session, linger: 0}, true);
		clearTimeout(late);
		finish();
		await this.#running;
	}
}

/** One store, or every store of a type. */
class Store {
	#bus;
	constructor(bus, target) { Object.assign(this, {target}).#bus = bus; }
	/** Commits an action, as `Bus.dispatch` does. */
	dispatch(action, payload, options) { return this.#bus.dispatch(this.target, action, payload, options); }
	/** Its state. */
	get(options) { return this.#bus.get(this.target, options); }
	/** A mirror of it, once it has the states. */
	mirror(options) { return this.#bus.mirror(this.target, options); }
}

/** Connects to the bus: one attempt, or as many as `patience` allows. A connection that is lost later is made again by itself. */
export async function connect(address, {client, token, tls, session, linger, ...options} = {}) {
	const json = {parse, stringify}, secret = token ?? globalThis.process?.env.FLUXBUS_TOKEN;
	const hello = {op: "hello", protocol: 1, client, linger, session: session ?? (linger ? randomName() : undefined)};
	const placeOf = async address => {
		const token = address.startsWith("unix:") ? undefined : secret;
		return {address, token, open: await transport(address, tls)};
	};
	const places = await Promise.all(namesIn([address].join() || await defaultAddress()).map(placeOf));
	const defaults = {json, connectTimeout: 5000, patience: 0, keepAlive: 30_000, backOff: [50, 10_000]};
	return await new Bus({...defaults, ...options, places, hello})._start();
}
