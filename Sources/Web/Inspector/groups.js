// Commits of one kind that follow one another, as one row: measured × 42 in 10 s.

import {stepsOf, whoOf} from "./commits.js";
import {count, duration} from "./dom.js";
import {kindOf} from "./json.js";

/** How many commits make a group at least, and how long may pass between two of them, in seconds. */
const least = 3, longest = 60;

/** What a commit did, and where, which each drawing asks of thousands: `kind` says who did what to stores of which types, the same for commits that are alike. */
const known = Symbol("known");
function aboutOf(commit) {
	const size = commit.actions.length, about = commit[known];
	if (about?.size === size) return about;
	const steps = stepsOf(commit).map(({target, name}) => ({target, type: target.split("/")[0], name}));
	const kind = commit.merged ? `merged ${commit.revision}` : `${whoOf(commit.by)}: ${[...new Set(steps.map(({type, name}) => `${type} ${name}`))].join("; ")}`;
	return commit[known] = {size, kind, steps};
}

/** A row that stands for several commits. Its revision and time are those of the newest. */
export class Group {
	constructor(commits) {
		const last = commits.at(-1);
		Object.assign(this, {commits, first: commits[0].revision, revision: last.revision, time: last.time, by: last.by, seconds: last.time - commits[0].time});
	}

	/** Whether nothing else happened in between. */
	get isWhole() {return this.revision - this.first === this.commits.length - 1;}

	/** What each of them did, and where: "measured × 42 in 10 s · thermostat/living". */
	get title() {
		const names = new Set(), targets = new Map();
		for (const commit of this.commits) {
			for (const {target, type, name} of aboutOf(commit).steps) {
				const seen = targets.get(type);
				names.add(name);
				targets.set(type, seen === undefined || seen === target ? target : `${type}/*`);
			}
		}
		return `${[...names].join(", ")} × ${count(this.commits.length)} in ${duration(this.seconds)} · ${[...targets.values()].join(", ")}`;
	}

	/** The numbers of their payloads, [name, min, max]. */
	get numbers() {
		const found = new Map();
		for (const commit of this.commits) {
			for (const {payload} of commit.actions) {
				for (const [name, value] of Object.entries(payload ?? {})) {
					if (kindOf(value) !== "number") continue;
					const [low, high] = found.get(name) ?? [Infinity, -Infinity];
					found.set(name, [Math.min(low, Number(value)), Math.max(high, Number(value))]);
				}
			}
		}
		return [...found].map(([name, [low, high]]) => [name, low, high]);
	}

	/** As a commit that did all of it, to find out what it changed. */
	get asCommit() {
		const merged = {revision: this.revision, since: this.first - 1, time: this.time, by: this.by, actions: []};
		const seen = new Set();
		for (const {actions, created, dropped, reverted} of this.commits) {
			for (const action of actions) {
				const key = `${action.store ?? action.type} ${action.action}`;
				if (!seen.has(key)) merged.actions.push(action);
				seen.add(key);
			}
			if (created) merged.created = {...merged.created, ...created};
			if (dropped) merged.dropped = [...merged.dropped ?? [], ...dropped];
			if (reverted) merged.states = {...merged.states, [reverted.store]: null};
		}
		return merged;
	}
}

export const keyOf = row => row instanceof Group ? `group ${row.first}` : row?.revision;

/** Rows of commits, oldest first; those whose keys are in `opened` stay apart. */
export function grouped(commits, opened) {
	const rows = [];
	let run = [], kind = "";
	const end = () => {
		if (run.length < least || opened.has(`group ${run[0].revision}`)) rows.push(...run);
		else rows.push(new Group(run));
		run = [];
	};
	for (const commit of commits) {
		const own = aboutOf(commit).kind;
		if (own !== kind || commit.time - run.at(-1)?.time > longest) end();
		kind = own;
		run.push(commit);
	}
	end();
	return rows;
}
