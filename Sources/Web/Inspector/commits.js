// Commits in words, and what they changed. A commit of the log says what was asked for; what it changed is the difference
// between the states before and after it.

import {byBytes, differences, encode, isContainer} from "./json.js";
import {dateAndTime, h} from "./dom.js";

/** The steps of a commit: {target, name, detail}. Those that are no actions have the names of their requests. */
export function stepsOf(commit) {
	const steps = (commit.actions ?? []).map(action => ({
		target: action.store ?? action.type ?? "", name: action.action, detail: members(action.payload), payload: action.payload,
	}));
	if (commit.isAfterGap) steps.unshift({target: "", name: "earlier commits may be missing", detail: ""});
	for (const [address, state] of Object.entries(commit.created ?? {})) {
		steps.push({target: address, name: "create", detail: (commit.ephemeral ? "ephemeral " : "") + members(state), payload: state});
	}
	for (const address of commit.dropped ?? []) steps.push({target: address, name: "drop", detail: ""});
	const timer = (one, name, detail) => steps.push({
		target: one.store ?? one.type ?? "", name, detail: [one.timer, detail].filter(text => text).join(": "),
	});
	if (commit.scheduled) {
		const {action, payload, due} = commit.scheduled;
		timer(commit.scheduled, "schedule", `${action} ${members(payload)} at ${dateAndTime(due)}`.replace("  ", " "));
	}
	if (commit.cancelled) timer(commit.cancelled, "cancel", "");
	if (commit.fired && steps.length === 0) timer(commit.fired, "timer", "its action was rejected");
	if (commit.advanced) steps.push({target: "*", name: "advance", detail: `all timers, by ${commit.advanced} s`});
	if (commit.reverted) steps.push({target: commit.reverted.store, name: "revert", detail: `to revision ${commit.reverted.to}`});
	if (commit.definitions || commit.undefined) {
		const names = (commit.definitions ?? []).map(one => one.type).join(", ");
		const gone = commit.undefined?.length ? `without ${commit.undefined.join(", ")}` : "";
		steps.push({target: "", name: "reload", detail: [names, gone].filter(text => text).join(" ")});
	}
	return steps;
}

const members = value => isContainer(value) && Object.keys(value).length > 0 ? encode(value) : "";

const concerns = (step, store) => step.target === "" || step.target === "*" || step.target === store || store.startsWith(step.target + "/");

/** All steps in one line, or those that may concern one store. */
export function summaryOf(commit, store) {
	const steps = stepsOf(commit), relevant = store ? steps.filter(step => concerns(step, store)) : [];
	return (relevant.length ? relevant : steps).map(step => [step.target, step.name, step.detail].filter(text => text).join(" ")).join("; ");
}

/** The names of this machine's users by uid, as far as fluxbus-web tells them. */
export const users = new Map();

export const userOf = by => by.user ?? users.get(by.uid);

/** Who it was, in a few words. */
export function whoOf(by) {
	if (!by) return "";
	if (by.daemon) return "daemon";
	const uid = by.uid === undefined ? "" : userOf(by) ? `${userOf(by)} (${by.uid})` : `uid ${by.uid}`;
	const name = uid || (by.token ?? by.certificate ?? "");
	const timer = by.timer ? `timer ${by.timer}` : "";
	return [name, by.unit, timer].filter(text => text).join(" ");
}

/** Whether a commit is by somebody: a whole uid, pid or name, or a part of a unit's name. */
export function isBy(text, by) {
	if (text === "") return true;
	if (!by) return false;
	if (by.daemon) return text === "daemon";
	return [by.uid, by.pid, by.token, userOf(by), by.certificate].some(one => String(one) === text) || (by.unit?.includes(text) ?? false);
}

/** Whether a commit may concern one of these stores; null: all. */
export function isAbout(stores, commit) {
	if (stores === null) return true;
	const steps = stepsOf(commit);
	if (steps.some(step => stores.has(step.target))) return true;
	const targets = new Set(steps.map(step => step.target).filter(target => !target.includes("/")));
	for (const store of targets.size > 0 ? stores : []) {
		if (targets.has("") || targets.has("*") || targets.has(store.slice(0, store.indexOf("/")))) return true;
	}
	return false;
}

export const byFacts = by => Object.entries(by ?? {}).map(([name, value]) => `${name} ${Array.isArray(value) ? value.join(", ") : value}`).join(", ");

/** What a request of the past for these states names: stores and types that the commit may have changed. */
function scopes(commit, definitions) {
	const stores = new Set(Object.keys(commit.states ?? {})), types = new Set();
	for (const action of commit.actions ?? []) {
		if (action.store) stores.add(action.store);
		else if (action.type !== "*") types.add(action.type);
		else for (const type of definitions.names) if (Object.hasOwn(definitions.of(type).actions ?? {}, action.action)) types.add(type);
	}
	for (const address of Object.keys(commit.created ?? {})) stores.add(address);
	for (const address of commit.dropped ?? []) stores.add(address);
	if (commit.reverted) stores.add(commit.reverted.store);
	return [
		...[...stores].filter(address => !types.has(address.slice(0, address.indexOf("/")))).map(store => ({store})),
		...[...types].map(type => ({type})),
	];
}

/**
 * What a commit changed, or all since the revision `since` of it: {stores: [{address, old, new, differences}], isCut}. At most `limit` of the stores and
 * types that it names are compared, and as many stores of each type; `isCut` says that there are more.
 */
export async function readChanges(bus, commit, definitions, limit = 100) {
	const all = scopes(commit, definitions), wanted = all.slice(0, limit);
	const isGone = error => error.code === "unknown_store" || error.code === "unknown_type";
	const read = revision => wanted.map(scope => revision < 1 ? Promise.resolve({states: {}})
		: bus.request("get", {...scope, revision, ...scope.type && {limit}}).catch(error => {
			if (isGone(error)) return {states: {}};
			throw error;
		}));
	// Before, then after: the bus replays forwards.
	const replies = await Promise.all([...read(commit.since ?? commit.revision - 1), ...read(commit.revision)]);
	const result = {stores: [], isCut: all.length > limit};
	for (let i = 0; i < wanted.length; i++) {
		const [before, after] = [replies[i], replies[i + wanted.length]];
		// Where only one page was read, both end with the same address.
		const end = [before.next, after.next].filter(next => next).sort()[0];
		if (end) result.isCut = true;
		const addresses = new Set([...Object.keys(before.states), ...Object.keys(after.states)]);
		for (const address of [...addresses].sort()) if (!end || address <= end) add(result, address, before.states[address], after.states[address]);
	}
	result.stores.sort((a, b) => byBytes(a.address, b.address));
	return result;
}

function add(result, address, old, now) {
	const list = differences(old, now);
	if (list.length) result.stores.push({address, old, new: now, differences: list});
}

/** A store's state at a revision; undefined where it was not there. */
export async function stateAt(bus, store, revision) {
	if (revision < 1) return undefined;
	try {
		return (await bus.request("get", {store, revision})).states[store];
	} catch (error) {
		if (error.code === "unknown_store" || error.code === "unknown_type") return undefined;
		throw error;
	}
}

/** What a change event did, where the states before are at hand. */
export function changesBetween(pairs) {
	const result = {stores: [], isCut: false};
	for (const [address, old, now] of pairs) add(result, address, old, now);
	return result;
}

/** A short line: the first differences. */
export function changesLine(changes, own) {
	if (changes.stores.length === 0) return changes.isCut ? "no change in the first stores" : "no change";
	const parts = [];
	for (const {address, differences: list} of changes.stores) {
		const shown = own === address ? "" : `${address} `;
		if (list[0].path.length === 0) parts.push(list[0].old === undefined ? `+ ${address}` : `− ${address}`);
		else parts.push(shown + list.slice(0, 3).map(one => `${pathText(one.path)} ${short(one.old)} → ${short(one.new)}`).join(", ") + (list.length > 3 ? " …" : ""));
		if (parts.length === 3) break;
	}
	const more = changes.stores.length - parts.length;
	return parts.join(" · ") + (more > 0 || changes.isCut ? ` · ${more || ""}${changes.isCut ? "+" : ""} more` : "");
}

const short = value => {
	if (value === undefined) return "none";
	const text = isContainer(value) ? Array.isArray(value) ? `[${value.length}]` : `{${Object.keys(value).length}}` : encode(value);
	return text.length > 24 ? text.slice(0, 23) + "…" : text;
};

/** A place as people write it: items[2].name. */
export function pathText(path) {
	let text = "";
	for (const token of path) {
		if (typeof token === "number") text += `[${token}]`;
		else text += (text ? "." : "") + (/^[\p{L}\p{N}_-]+$/u.test(token) ? token : JSON.stringify(token));
	}
	return text || "(all)";
}

export const fact = (name, ...content) => [h("dt", name), h("dd", ...content)];
