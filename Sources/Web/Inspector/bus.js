// The connection to the bus: one JSON text per WebSocket message. It connects again by itself, sends again what is safe to
// send again, and goes on with subscriptions where they were.

import {encode, merge, parse} from "./json.js";

/** What the bus said against a request, or `lost`, `offline` and `closed` where it could not say anything. */
export class BusError extends Error {
	constructor(error) {
		super(error.message);
		Object.assign(this, error);
	}
}

/** Requests that read, or that the bus commits only once thanks to their key, may be sent a second time. */
const repeatable = new Set(["get", "stores", "types", "history", "stats", "clients", "timers", "sync", "ping"]);

/** How long lines are taken before frames get their turn, in milliseconds. */
const slice = 6;

export class Bus {
	#socket = null;
	#lines = [];
	#next = 0;
	#draining = false;
	#waiting = new Map();
	#subscriptions = new Set();
	#bySub = new Map();
	#lastId = 0;
	#attempts = 0;
	#timer = 0;
	#pulse = 0;
	#channel = new MessageChannel();
	#ending = "";
	#goodbye = "";

	/** `phase` is "closed", "connecting", "live", "lost" or "refused"; `reason` a sentence, `retryAt` a time of performance.now(). */
	status = {phase: "closed", reason: "", retryAt: 0};
	epoch = null;
	hello = {};

	/**
	 * @param url where the WebSocket is
	 * @param greeting gives the members of `hello`
	 * @param probe asked when no connection comes about: resolves to {refused} or {reason}, sentences
	 */
	constructor({url, greeting, probe, onStatus, onEpoch}) {
		Object.assign(this, {url, greeting, probe});
		this.onStatus = onStatus ?? (() => {});
		this.onEpoch = onEpoch ?? (() => {});
		this.#channel.port1.onmessage = () => this.#drain();
	}

	// MARK: Opening and losing

	open() {
		clearTimeout(this.#timer);
		if (this.#socket) return;
		this.#ending = this.#goodbye = "";
		this.#say("connecting", this.status.reason);
		const socket = this.#socket = new WebSocket(this.url);
		let wasOpen = false;
		const patience = setTimeout(() => socket.close(), 10_000);
		socket.onopen = () => {
			wasOpen = true;
			this.#transmit({op: "hello", protocol: 1, ...this.greeting()}, reply => {
				clearTimeout(patience);
				this.#greeted(reply);
			});
		};
		socket.onmessage = event => {
			this.#lines.push(event.data);
			if (!this.#draining) {
				this.#draining = true;
				this.#channel.port2.postMessage(0);
			}
		};
		socket.onclose = event => {
			clearTimeout(patience);
			if (this.#socket === socket) this.#closed(event, wasOpen);
		};
	}

	/** Ends the connection for good; what waits is told so. */
	close(phase = "closed", reason = "") {
		clearTimeout(this.#timer);
		clearInterval(this.#pulse);
		const socket = this.#socket;
		this.#socket = null;
		socket?.close();
		this.#forget();
		for (const entry of this.#waiting.values()) entry.fail?.(new BusError({code: "closed", message: reason || "The connection is closed."}));
		this.#waiting.clear();
		this.#say(phase, reason);
	}

	#greeted(reply) {
		if (!reply.ok) return this.close("refused", reply.error.message);
		this.#attempts = 0;
		this.hello = reply;
		const earlier = this.epoch;
		this.epoch = reply.epoch;
		this.#say("live");
		if (earlier !== null && earlier !== reply.epoch) this.onEpoch(earlier, reply.epoch);
		for (const entry of this.#waiting.values()) if (entry.line && !entry.isSent) this.#sendEntry(entry);
		for (const subscription of this.#subscriptions) subscription.start();
		this.#pulse = setInterval(() => this.#beat(), 20_000);
	}

	/** A connection that does not answer within 20 s is none. */
	#beat() {
		const socket = this.#socket;
		if (this.#isSilent) return socket?.close();
		this.#isSilent = true;
		this.#transmit({op: "ping"}, () => {this.#isSilent = false;});
	}
	#isSilent = false;

	async #closed(event, wasOpen) {
		clearInterval(this.#pulse);
		this.#socket = null;
		this.#drainAll();
		this.#forget();
		if (this.#ending === "kicked") return this.close("refused", this.#goodbye);
		let reason = this.#goodbye || event.reason || "The connection was lost.";
		for (const [id, entry] of this.#waiting) {
			if (entry.isRepeatable) {entry.isSent = false; continue;}
			this.#waiting.delete(id);
			entry.fail?.(new BusError({code: "lost", message: "The connection was lost before the answer: it may have been done or not. Look before you try again."}));
		}
		if (!wasOpen) {
			const found = await this.probe();
			if (this.status.phase !== "connecting") return;
			if (found.refused) return this.close("refused", found.refused);
			reason = found.reason ?? reason;
		}
		const pause = Math.min(15_000, 400 * 2 ** this.#attempts++) * (0.75 + Math.random() / 2);
		this.#say("lost", reason, performance.now() + pause);
		clearTimeout(this.#timer);
		this.#timer = setTimeout(() => this.open(), pause);
	}

	#forget() {
		this.#lines = [];
		this.#next = 0;
		this.#isSilent = false;
		this.#bySub.clear();
		for (const subscription of this.#subscriptions) subscription.parts = [];
	}

	#say(phase, reason = "", retryAt = 0) {
		this.status = {phase, reason, retryAt};
		this.onStatus(this.status);
	}

	// MARK: Requests

	/** Sends a request and gives its reply. While the connection is lost, what can be sent again waits for the next one. */
	request(members, {isRepeatable = repeatable.has(members.op) || members.key !== undefined} = {}) {
		return new Promise((resolve, reject) => {
			if (this.status.phase === "refused" || this.status.phase === "closed") {
				return reject(new BusError({code: "offline", message: this.status.reason || "There is no connection to the bus."}));
			}
			if (this.status.phase !== "live" && !isRepeatable) {
				return reject(new BusError({code: "offline", message: "There is no connection to the bus now."}));
			}
			const id = ++this.#lastId;
			const entry = {
				line: encode({id, ...members}), isRepeatable, isSent: false, fail: reject,
				take: reply => reply.ok ? resolve(reply) : reject(new BusError(reply.error)),
			};
			this.#waiting.set(id, entry);
			if (this.status.phase === "live") this.#sendEntry(entry);
		});
	}

	#sendEntry(entry) {
		entry.isSent = true;
		this.#socket.send(entry.line);
	}

	/** Sends at once and only on this connection. */
	#transmit(members, take) {
		const id = ++this.#lastId;
		this.#waiting.set(id, {line: null, isRepeatable: false, isSent: true, take, fail: null});
		this.#socket.send(encode({id, ...members}));
	}

	// MARK: Lines

	#drain() {
		const end = performance.now() + slice;
		while (this.#next < this.#lines.length) {
			this.#take(this.#lines[this.#next++]);
			if (performance.now() > end) break;
		}
		if (this.#next < this.#lines.length) {
			if (this.#next > 4096) {
				this.#lines = this.#lines.slice(this.#next);
				this.#next = 0;
			}
			return this.#channel.port2.postMessage(0);
		}
		this.#lines = [];
		this.#next = 0;
		this.#draining = false;
	}

	/** What came before the end counts. */
	#drainAll() {
		while (this.#next < this.#lines.length) this.#take(this.#lines[this.#next++]);
	}

	#take(line) {
		const message = parse(line);
		if (message.event === undefined) {
			const entry = this.#waiting.get(message.id);
			this.#waiting.delete(message.id);
			entry?.take(message);
		} else if (message.event === "goodbye") {
			this.#ending = message.code;
			this.#goodbye = message.message;
		} else {
			this.#bySub.get(message.sub)?.take(message);
		}
	}

	// MARK: Subscriptions

	/**
	 * Subscribes until `close()` of what it returns. `onChange` gets the parts of one event, in order, to apply at once;
	 * `onAction` single actions, `onRevision` how far all is known, `onError` why there is no subscription.
	 */
	subscribe(members, handlers) {
		const subscription = new Subscription(members, handlers, {
			send: (request, take) => this.status.phase === "live" && this.#transmit(request, take),
			join: (sub, one) => this.#bySub.set(sub, one),
			leave: sub => {
				this.#bySub.delete(sub);
				if (this.status.phase === "live") this.#transmit({op: "unsubscribe", sub}, () => {});
			},
			end: one => this.#subscriptions.delete(one),
		});
		this.#subscriptions.add(subscription);
		if (this.status.phase === "live") subscription.start();
		return subscription;
	}
}

class Subscription {
	sub = null;
	revision = null;
	epoch = null;
	parts = [];
	#generation = 0;
	#isClosed = false;

	constructor(members, handlers, wire) {
		Object.assign(this, {members, handlers, wire});
	}

	/** Subscribes on this connection, from the revision that is known if there is one. */
	start() {
		const generation = ++this.#generation;
		this.parts = [];
		this.sub = null;
		const request = {op: "subscribe", ...this.members};
		if (this.revision !== null) {
			delete request.initial;
			Object.assign(request, {since: this.revision, epoch: this.epoch});
		}
		this.wire.send(request, reply => {
			if (!reply.ok) return this.#isClosed || this.handlers.onError?.(new BusError(reply.error));
			if (this.#isClosed || generation !== this.#generation) return this.wire.leave(reply.sub);
			this.sub = reply.sub;
			this.epoch = reply.epoch;
			if (this.revision === null && this.members.initial === false || this.members.actions) this.revision ??= reply.revision;
			this.wire.join(reply.sub, this);
		});
	}

	close() {
		this.#isClosed = true;
		this.wire.end(this);
		if (this.sub !== null) this.wire.leave(this.sub);
	}

	take(event) {
		if (event.event === "action") {
			this.revision = event.revision;
			return this.handlers.onAction?.(event);
		}
		if (event.event === "change") {
			if (this.parts.length === 0 && !event.reset && event.from !== this.revision) return this.#restart();
			this.parts.push(event);
			if (event.more) return;
			this.revision = event.revision;
			this.handlers.onChange?.(this.parts);
			this.parts = [];
		} else {
			this.revision = event.revision;
			if (event.event === "gap") this.handlers.onGap?.(event);
		}
		this.handlers.onRevision?.(event.revision);
	}

	/** Something is missing: from the beginning. */
	#restart() {
		this.wire.leave(this.sub);
		this.revision = null;
		this.start();
	}
}

/** A copy of states, kept by the events of one subscription. */
export class Mirror {
	states = new Map();

	/** Applies the parts of one event; `changed(address, old, new)` is called for each store that differs, undefined where none is. */
	apply(parts, changed = () => {}) {
		for (const part of parts) {
			if (part.reset) {
				for (const [address, old] of this.states) if (!part.states || !Object.hasOwn(part.states, address)) changed(address, old, undefined);
				this.states = new Map([...this.states].filter(([address]) => part.states && Object.hasOwn(part.states, address)));
			}
			for (const address of Object.keys(part.states ?? {})) this.#set(address, part.states[address], changed);
			for (const address of Object.keys(part.changes ?? {})) {
				this.#set(address, merge(this.states.get(address), part.changes[address]), changed);
			}
			for (const address of part.dropped ?? []) {
				const old = this.states.get(address);
				this.states.delete(address);
				changed(address, old, undefined);
			}
		}
	}

	#set(address, state, changed) {
		const old = this.states.get(address);
		this.states.set(address, state);
		changed(address, old, state);
	}
}
