// Which commit last changed a value: the log is read backwards in windows that double, the states within each forwards.

import {isEqual, keysOf, pointerOf, resolve} from "./json.js";

const firstWindow = 256;

/** All commits after `since` through `until` that concern the target, oldest first. */
export async function readHistory(bus, {since, until, target}) {
	const commits = [];
	let from = since, limit = 1000;
	for (;;) {
		let reply;
		try {
			reply = await bus.request("history", {since: from, until, limit, ...scopeOf(target)});
		} catch (error) {
			if (error.code !== "too_large" || limit === 1) throw error;
			limit = limit >> 1;
			continue;
		}
		commits.push(...reply.commits);
		if (reply.next === undefined) return commits;
		from = reply.next;
	}
}

export const scopeOf = target => !target ? {} : target.includes("/") ? {store: target} : {type: target};

/** Windows from the newest revision backwards, each twice as wide: {since, until}. `raise` says that history begins later. */
export class Windows {
	floor = 0;
	constructor(end, width) {Object.assign(this, {end, width});}
	get next() {return this.end > this.floor ? {since: Math.max(this.floor, this.end - this.width), until: this.end} : null;}
	turn() {
		this.end = Math.max(this.floor, this.end - this.width);
		this.width *= 2;
	}
	/** Goes on where an error says that history begins; throws it if it says something else. */
	raise(error) {
		if (error.code !== "conflict" || !this.next || !(error.details.oldest > this.next.since)) throw error;
		this.floor = error.details.oldest;
	}
}

/**
 * The last change of the part at `path`, or of each top-level member without one, as they are at `revision`:
 * {floor, findings: [{path, value, commit, old}]}. Without a `commit`, it is older than the revision `floor`.
 */
export async function blame(bus, store, path, revision) {
	const select = path?.length ? {select: [pointerOf(path)]} : {};
	const read = at => bus.request("get", {store, revision: at, ...select});
	const now = (await read(revision)).states[store];
	const findings = (path ? [path] : keysOf(now).map(key => [key])).map(path => ({path, value: resolve(now, path)}));
	const windows = new Windows(revision, firstWindow);
	while (windows.next && findings.some(finding => !finding.commit)) {
		let commits;
		try {
			commits = await readHistory(bus, {...windows.next, target: store});
		} catch (error) {
			windows.raise(error);
			continue;
		}
		if (commits.length) await search(read, store, commits, windows.next.since, findings.filter(finding => !finding.commit));
		windows.turn();
	}
	return {floor: windows.floor, findings};
}

async function search(read, store, commits, since, findings) {
	const stateAt = at => at === 0 ? undefined : read(at).then(reply => reply.states[store], error => {
		if (error.code === "unknown_store" || error.code === "unknown_type") return undefined;
		throw error;
	});
	const states = await Promise.all([since, ...commits.map(commit => commit.revision)].map(stateAt));
	for (const finding of findings) {
		let value = resolve(states[0], finding.path);
		for (const [place, commit] of commits.entries()) {
			const next = resolve(states[place + 1], finding.path);
			if (!isEqual(next, value)) Object.assign(finding, {commit, old: value});
			value = next;
		}
	}
}
