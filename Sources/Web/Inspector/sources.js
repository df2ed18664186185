// Where the tree of stores gets its stores and states from: the bus as it is, or as it was at a revision. Both know all
// addresses, and the states of those that are on screen only.

import {follow} from "./follow.js";
import {byBytes} from "./json.js";
import {Trends} from "./trends.js";
import {Choice, conditionOf, nothing} from "./where.js";

/** The addresses, sorted within their types. */
export class Index {
	types = new Map();
	size = 0;
	#sorted = new Map();
	#cost = 0;
	#sortedAt = 0;

	clear() {
		this.types.clear();
		this.#sorted.clear();
		this.size = 0;
	}

	add(address) {
		const type = address.slice(0, address.indexOf("/"));
		let names = this.types.get(type);
		if (!names) this.types.set(type, names = new Set());
		if (names.has(address)) return;
		names.add(address);
		this.size++;
		this.#spoil(type);
	}

	delete(address) {
		const type = address.slice(0, address.indexOf("/"));
		const names = this.types.get(type);
		if (!names?.delete(address)) return;
		this.size--;
		if (names.size === 0) this.types.delete(type);
		this.#spoil(type);
	}

	has(address) {return this.types.get(address.slice(0, address.indexOf("/")))?.has(address) ?? false;}

	#spoil(type) {
		const entry = this.#sorted.get(type);
		if (entry) entry.isStale = true;
	}

	get names() {return [...this.types.keys()].sort(byBytes);}

	/** The addresses of a type in order. Where sorting takes long it is done at most a tenth of the time. */
	sorted(type) {
		const entry = this.#sorted.get(type), now = performance.now();
		if (entry && (!entry.isStale || now < this.#sortedAt + 10 * this.#cost)) return entry.list;
		const list = [...this.types.get(type) ?? []].sort(byBytes);
		this.#sorted.set(type, {list, isStale: false});
		this.#sortedAt = performance.now();
		this.#cost = this.#sortedAt - now;
		return list;
	}
}

/** The bus as it is: one subscription to the addresses, and one to each store that is looked at. */
export class LiveSource {
	index = new Index();
	trends = new Trends();
	isReady = false;
	#states = new Map();
	#watched = new Map();
	#clock = 0;

	/** How many stores stay subscribed after they went off the screen. */
	static spare = 120;

	constructor(bus, {onIndex, onState, onError, onChoice}) {
		Object.assign(this, {bus, onIndex, onState});
		this.choice = new Choice(() => bus, onChoice);
		follow(bus, "*/*", {select: nothing}, change => this.#take(change), onError);
	}

	get revision() {return this.bus.revision;}

	/** Those for which the expression holds that was chosen by; null: all. */
	get chosen() {return this.choice.addresses;}

	choose(expression) {this.choice.set(expression);}

	state(address) {return this.#states.get(address);}

	#take({reset, states, dropped}) {
		if (reset) this.index.clear();
		for (const address of states.keys()) this.index.add(address);
		for (const address of dropped) this.index.delete(address);
		this.isReady = true;
		this.onIndex();
	}

	/** These are on screen. */
	want(addresses) {
		this.#clock++;
		for (const address of addresses) {
			const entry = this.#watched.get(address);
			if (entry) entry.wanted = this.#clock;
			else this.#watch(address);
		}
		const excess = this.#watched.size - addresses.length - LiveSource.spare;
		if (excess <= 0) return;
		const idle = [...this.#watched].filter(([, entry]) => entry.wanted < this.#clock).sort((a, b) => a[1].wanted - b[1].wanted);
		for (const [address, entry] of idle.slice(0, excess)) {
			entry.subscription.close();
			this.#watched.delete(address);
			this.#states.delete(address);
			this.trends.forget(address);
		}
	}

	#watch(address) {
		const entry = {wanted: this.#clock};
		this.#watched.set(address, entry);
		entry.subscription = follow(this.bus, address, {}, ({states}) => {
			const old = this.#states.get(address), state = states.get(address);
			if (state === undefined) this.#states.delete(address);
			else this.#states.set(address, state);
			this.trends.record(address, state);
			this.onState(address, old, state);
		}, () => this.#watched.delete(address));
	}
}

/** The bus as it was. States are read as they are looked at; what was asked for another revision is forgotten. */
export class PastSource {
	index = new Index();
	trends = null;
	isReady = false;
	revision = null;
	#states = new Map();
	#asked = new Set();
	#generation = 0;
	#where = "";
	chosen = null;

	constructor(getBus, callbacks) {Object.assign(this, {getBus, ...callbacks});}

	get bus() {return this.getBus();}

	state(address) {return this.#states.get(address);}

	/** Goes to a revision. The stores stay as they were until those of then are known. */
	async go(revision) {
		if (revision === this.revision) return;
		const generation = ++this.#generation;
		this.revision = revision;
		this.#asked.clear();
		this.isStale = true;
		const index = new Index();
		try {
			for await (const address of this.#addresses(revision)) {
				if (generation !== this.#generation) return;
				index.add(address);
			}
		} catch (error) {
			if (generation === this.#generation) this.onError(error);
			return;
		}
		await this.#choose(revision);
		if (generation !== this.#generation) return;
		this.index = index;
		this.isStale = false;
		for (const address of this.#states.keys()) if (!index.has(address)) this.#states.delete(address);
		this.isReady = true;
		this.onIndex();
	}

	/** Only those for which the expression held at the revision. */
	async choose(expression) {
		this.#where = expression;
		if (this.revision !== null && await this.#choose(this.revision)) this.onIndex();
	}

	/** True unless another revision or expression was chosen meanwhile. */
	async #choose(revision) {
		const where = this.#where, chosen = new Set();
		let problem = null;
		try {
			if (where !== "") for await (const address of this.#addresses(revision, conditionOf(where))) chosen.add(address);
		} catch (error) {
			problem = error;
		}
		if (where !== this.#where || revision !== this.revision) return false;
		if (!problem) this.chosen = where === "" ? null : chosen;
		this.onChoice(problem);
		return true;
	}

	async *#addresses(revision, where) {
		let after;
		do {
			const reply = await this.bus.request("get", {match: "*/*", where, select: nothing, revision, limit: 1000, after});
			yield* Object.keys(reply.states);
			after = reply.next;
		} while (after);
	}

	want(addresses) {
		// Addresses of another moment need not be there.
		if (this.isStale || this.revision === null) return;
		const generation = this.#generation, revision = this.revision;
		if (this.#states.size > 2000) for (const address of this.#states.keys()) if (!addresses.includes(address)) this.#states.delete(address);
		for (const address of addresses) {
			if (this.#asked.has(address)) continue;
			this.#asked.add(address);
			this.bus.request("get", {store: address, revision}).then(reply => {
				if (generation !== this.#generation) return;
				const old = this.#states.get(address);
				this.#states.set(address, reply.states[address]);
				this.onState(address, old, reply.states[address]);
			}, error => {
				if (generation === this.#generation && error.code !== "unknown_store") this.onError(error);
			});
		}
	}
}
