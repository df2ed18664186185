// How often who dispatches what to which types: counted per second, over the last minute.

import {stepsOf, userOf} from "./commits.js";

/** Over how many seconds rates are taken, and for how many a flow without commits is still shown. */
export const span = 60, kept = 600;

/** Who made a commit, by the name that the log finds it by. */
export function authorOf(by) {
	if (!by) return "unknown";
	return String(by.daemon ? "daemon" : by.client ?? by.unit ?? by.token ?? by.comm ?? userOf(by) ?? by.uid ?? by.certificate ?? "unknown");
}

export class Flows {
	#flows = new Map();
	/** From when on commits are counted, in seconds since 1970. */
	since = Infinity;

	clear() {
		this.#flows.clear();
		this.since = Infinity;
	}

	/** Counts a commit once for each action and type. `typesWith(action)` gives the types of an action that goes to all of them. */
	add(commit, typesWith) {
		const who = authorOf(commit.by), second = Math.floor(commit.time), seen = new Set();
		this.since = Math.min(this.since, second);
		for (const {target, name} of stepsOf(commit)) {
			for (const type of target === "*" ? typesWith(name) : [target.split("/")[0]]) {
				const key = `${who}\n${type}\n${name}`;
				if (type === "" || seen.has(key)) continue;
				seen.add(key);
				let flow = this.#flows.get(key);
				if (!flow) this.#flows.set(key, flow = {key, who, type, action: name, counts: new Map(), last: 0});
				flow.counts.set(second, (flow.counts.get(second) ?? 0) + 1);
				flow.last = Math.max(flow.last, second);
			}
		}
	}

	/** All flows, [{who, type, action, commits, rate}], the most frequent first; a rate is per second. */
	at(now) {
		const seconds = Math.max(1, Math.min(span, now - this.since)), found = [];
		for (const flow of this.#flows.values()) {
			for (const second of flow.counts.keys()) if (second < now - span) flow.counts.delete(second);
			if (flow.last < now - kept) {
				this.#flows.delete(flow.key);
				continue;
			}
			const commits = [...flow.counts.values()].reduce((sum, one) => sum + one, 0), {who, type, action} = flow;
			found.push({who, type, action, commits, rate: commits / seconds});
		}
		return found.sort((a, b) => b.rate - a.rate || (a.who + a.type + a.action < b.who + b.type + b.action ? -1 : 1));
	}
}
