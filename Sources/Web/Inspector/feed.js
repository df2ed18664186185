// The commits that the log view shows: read from the action log, every one, as they come; and on a bus without a log, those
// that are seen while the page is open.

import {changesBetween} from "./commits.js";
import {apply, follow} from "./follow.js";

/** How many commits are kept, how many are read at first, and how long to wait between two looks at the log, in milliseconds. */
const most = 10_000, first = 200, rhythm = 200;

/** Times are of whole milliseconds: so much before one is before all that has it. */
export const moment = 0.001;

const scopeOf = target => !target ? {} : target.includes("/") ? {store: target} : {type: target};

/** The newest revision at a time; before all that is kept, where that begins. */
export async function revisionAt(bus, time) {
	try {
		return (await bus.request("history", {time, limit: 1})).since;
	} catch (error) {
		if (error.code === "conflict" && error.details.oldest !== undefined) return error.details.oldest;
		throw error;
	}
}

export class Feed {
	/** Oldest first. */
	commits = [];
	changes = new Map();
	/** Nothing is missing: the log has been read back to its beginning, or, without a log, every commit from now on is seen. */
	isWhole = false;
	/** Commits are only seen as they happen. */
	isLiveOnly = false;
	#isPaused = false;
	/** Without a log, what was committed during a pause. */
	#held = [];
	#generation = 0;
	#timer = 0;
	/** Commits after this revision are meant. */
	#begin = 0;
	#newest = 0;
	/** What was committed after this revision has been read; 0 where nothing came before. */
	#unread = 0;
	/** The generation for which earlier commits are being read; 0: none are. */
	#reading = 0;
	#subscriptions = [];

	/** `onNews(added, trimmed)` is called with new commits, `onOlder(number)` for earlier ones, `onError` with why there are none. */
	constructor(app, callbacks) {Object.assign(this, {app, ...callbacks});}

	get bus() {return this.app.past();}

	/** A pause holds the list; what comes meanwhile is in it afterwards. */
	get isPaused() {return this.#isPaused;}

	set isPaused(isPaused) {
		this.#isPaused = isPaused;
		if (!isPaused) this.#add(this.#held.splice(0));
	}

	/** What the log is asked for, apart from when that was. */
	get question() {
		const {by, action, where} = this;
		return {...scopeOf(this.target), ...by && {by}, ...action && {action}, ...where !== undefined && {where}};
	}

	/** Whether only some commits are asked for. */
	get isNarrow() {return Object.keys(this.question).length > 0;}

	/** No more are read: what is there fills the page's memory. */
	get isFull() {return this.commits.length >= 5 * most;}

	/** The revision from which on all has been looked at. */
	get oldest() {return this.#unread ? this.#unread + 1 : 1;}

	/**
	 * Begins with the newest commits: all, or those about a type or store, by somebody, with an action, with a payload for
	 * which `where` holds, and of the time from `from` to `until`. With `until` none come afterwards.
	 */
	async start({target, by, action, where, from, until} = {}) {
		this.stop();
		const generation = ++this.#generation;
		Object.assign(this, {target, by, action, where, from, until, commits: [], isWhole: false, isLiveOnly: false});
		this.#unread = 0;
		this.#held = [];
		this.changes.clear();
		this.onReset();
		try {
			const [start, end] = await Promise.all([this.#at(from && from - moment, 0), this.#at(until)]);
			if (generation !== this.#generation) return;
			this.#begin = start;
			this.#newest = this.#unread = end;
			await this.#readOlder(generation, first);
			if (generation === this.#generation && until === undefined) this.#follow(generation);
		} catch (error) {
			if (generation !== this.#generation) return;
			if (error.code === "unavailable") this.#watch(generation);
			else this.onError(error);
		}
	}

	/** The revision of a time; where none is given, this one, or the newest. */
	async #at(time, otherwise) {
		if (time === undefined) return otherwise ?? (await this.bus.request("sync")).revision;
		return revisionAt(this.bus, time);
	}

	stop() {
		this.#generation++;
		clearTimeout(this.#timer);
		for (const subscription of this.#subscriptions) subscription.close();
		this.#subscriptions = [];
	}

	// MARK: With a log

	#follow(generation) {
		this.#timer = setTimeout(async () => {
			try {
				if (!this.isPaused && !document.hidden) await this.#readNews(generation);
			} catch (error) {
				if (generation === this.#generation) this.onError(error);
				if (error.code === "forbidden") return;
			}
			if (generation === this.#generation) this.#follow(generation);
		}, rhythm);
	}

	async #readNews(generation) {
		// With a filter the log does not say how far it was read.
		const until = this.isNarrow ? (await this.bus.request("sync")).revision : undefined;
		let since = this.#newest;
		if (until === since) return;
		for (let pages = 0; pages < 20; pages++) {
			const reply = await this.bus.request("history", {since, ...until && {until}, limit: 1000, ...this.question});
			// A pause holds the list, also for what was asked before it.
			if (generation !== this.#generation || this.isPaused) return;
			this.#add(reply.commits);
			this.#newest = reply.next ?? until ?? reply.commits.at(-1)?.revision ?? since;
			if (!reply.next) return;
			since = reply.next;
		}
	}

	/** Reads what came before, at least so many commits if there are. */
	async older(number = first) {
		if (this.#reading === this.#generation || this.isWhole || this.isLiveOnly || !this.#unread || this.isFull) return;
		try {
			await this.#readOlder(this.#generation, number);
		} catch (error) {
			this.onError(error);
		}
	}

	async #readOlder(generation, number) {
		this.#reading = generation;
		try {
			let found = 0;
			while (found < number && this.#unread > this.#begin) {
				const {commits, next} = await this.bus.request("history", {
					order: "newest", ...this.#begin && {since: this.#begin}, until: this.#unread, limit: Math.min(1000, number - found), ...this.question,
				});
				if (generation !== this.#generation) return;
				this.commits = [...commits.reverse(), ...this.commits];
				found += commits.length;
				this.onOlder(commits.length);
				this.#unread = next ?? 0;
			}
			this.isWhole = this.#unread <= this.#begin;
			// An empty range tells nothing by itself.
			if (found === 0) this.onOlder(0);
		} finally {
			if (this.#reading === generation) this.#reading = 0;
		}
	}

	#add(commits) {
		if (commits.length === 0) return;
		// Those of rows for several commits are never taken out one by one.
		if (this.changes.size > 6 * most) this.changes.clear();
		for (const commit of commits) this.commits.push(commit);
		let trimmed = 0;
		if (this.commits.length > most * 1.2) {
			trimmed = this.commits.length - most;
			for (const commit of this.commits.splice(0, trimmed)) this.changes.delete(commit.revision);
			// What was let go can be read again from here.
			this.#unread = this.commits[0].revision - 1;
			this.isWhole = false;
		}
		this.onNews(commits.length, trimmed);
	}

	// MARK: Without a log

	/** A pause holds the newest commits; the first of them says where others came before it. */
	#take(commit) {
		if (!this.isPaused) return this.#add([commit]);
		this.#held.push(commit);
		if (this.#held.length <= most) return;
		this.changes.delete(this.#held.shift().revision);
		this.#held[0].isAfterGap = true;
	}

	#watch(generation) {
		this.isLiveOnly = true;
		// No more commits of a time that has passed will come.
		this.isWhole = this.until !== undefined;
		if (this.isWhole) return this.onError(null);
		const target = this.target ?? "*/*", states = new Map();
		const byRevision = new Map();
		const commitAt = (revision, by, time = Date.now() / 1000) => {
			let commit = byRevision.get(revision);
			if (!commit) {
				commit = {revision, time, by, actions: []};
				byRevision.set(revision, commit);
				if (byRevision.size > 100) byRevision.delete(byRevision.keys().next().value);
				this.#take(commit);
			}
			return commit;
		};
		let isFirst = true;
		// Until both subscriptions stand, a commit may pass unseen.
		let missing = 2;
		const stands = () => {
			if (generation !== this.#generation || --missing > 0) return;
			this.isWhole = true;
			this.onError(null);
		};
		const onError = error => generation === this.#generation && this.onError(error);
		this.#subscriptions = [
			this.#watchActions(target, ({gap, target, action, payload, by, time, revision}) => {
				const commit = commitAt(revision, by, time);
				if (gap) commit.isAfterGap = true;
				else if (!commit.isCaused) commit.actions.push({...scopeOf(target), action, payload});
				this.onNews(0, 0);
			}, stands, onError),
			follow(this.app.bus, target, {cause: true}, change => {
				const pairs = [];
				apply(change, states, (...pair) => pairs.push(pair));
				if (isFirst) {
					isFirst = false;
					return stands();
				}
				const {revision, cause, coalesced} = change;
				const commit = commitAt(revision, cause?.by, cause?.time);
				if (cause) Object.assign(commit, {actions: cause.actions, isCaused: true});
				else commit.merged = coalesced;
				for (const [address, old, now] of pairs) {
					if (old === undefined) commit.created = {...commit.created, [address]: now};
					if (now === undefined) commit.dropped = [...commit.dropped ?? [], address];
				}
				this.changes.set(revision, changesBetween(pairs));
				this.onNews(0, 0);
			}, onError),
		];
		this.onError(null);
	}

	/** Calls `stands` once subscribed, then `take` with every action and every gap, until `close()` of what it returns. */
	#watchActions(target, take, stands, fail) {
		const actions = this.app.bus.actions(target);
		const run = async () => {
			const all = await actions;
			stands();
			for await (const action of all) take(action);
		};
		run().catch(fail);
		return {close: () => actions.then(one => one.return(), () => {})};
	}
}
