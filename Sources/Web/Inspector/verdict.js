// What is wrong with a bus now, in plain sentences, the worst first.

import {whoOf} from "./commits.js";
import {bytes, count, duration, safe} from "./dom.js";

/** How much of a limit is used when it is said, how late a timer is, how slow a write, and how far a member is behind. */
const nearly = 0.8, late = 5, slow = 1, far = 1000;

/** Refusals with which programs count. */
const ordinary = ["conflict", "exists", "rejected"];

/**
 * Sentences about a bus, [text, address of the page that shows more]. `earlier` are the counters of some seconds ago, `seconds`
 * how many; of `clients`, `cluster` and `effects` those that can't be asked for are null.
 */
export function problemsOf({stats, earlier, seconds, limits = {}, clients, cluster, effects, now}) {
	const found = [], say = (text, address = "") => found.push([text, address]);
	if (cluster?.suspended) say(`This member has committed nothing for ${duration(Math.max(0, now - cluster.suspended.since))}: ${cluster.suspended.reason}`);
	else if (cluster && !cluster.attached) say(`This member has not reached the log of the bus for ${duration(Math.max(0, now - cluster.since))}: ${cluster.reason ?? "nothing can be committed."}`);
	for (const one of cluster?.members ?? []) {
		if (one.agrees === false) say(`Member ${one.name} has another state than the others; take a copy of its log, and let it join again.`);
		else if (one.behind > far) say(`Member ${one.name} is ${count(one.behind, "revision")} behind.`);
	}
	const used = Number(stats.accountedMemory) / Number(limits.memory);
	if (used > nearly) say(`Memory is used up to ${Math.round(used * 100)} % of its limit, ${bytes(limits.memory)}; raise limits.memory, or drop stores.`);
	if (stats.log?.sync === "always" && stats.revision - stats.log.durable > far) say(`${count(stats.revision - stats.log.durable, "commit")} wait for the disk.`);
	if (stats.nextDue && stats.nextDue < now - late) say(`A timer is overdue by ${duration(now - stats.nextDue)}.`);
	const fsync = growth(stats, earlier, one => one.histograms?.fsync?.sum), writes = growth(stats, earlier, one => one.histograms?.fsync?.count);
	if (writes > 0 && fsync / writes > slow) say(`A sync of the log takes ${duration(fsync / writes)}.`);
	const lagging = (clients ?? []).filter(one => one.lagging);
	if (lagging.length > 0) say(`${count(lagging.length, "client")} ${lagging.length === 1 ? "is" : "are"} behind: ${lagging.slice(0, 3).map(nameOf).join(", ")}${lagging.length > 3 ? " …" : ""}.`, "#clients");
	const ended = growth(stats, earlier, one => one.totals.slowConsumers);
	if (ended > 0) say(`${count(ended, "client")} that read too slowly ${ended === 1 ? "was" : "were"} disconnected in the last ${duration(Math.ceil(seconds))}.`, "#clients");
	for (const {name, state} of effects ?? []) {
		const aside = Object.keys(state.failed ?? {}).length;
		if (state.paused) say(`Effect ${name} is paused: ${state.paused}.`, `#stores/effect/${name}`);
		else if (state.owner === "") say(`No service handles effect ${name}; start fluxbus-effects.`, `#stores/effect/${name}`);
		if (aside > 0) say(`Effect ${name} has set ${count(aside, "event")} aside.`, `#stores/effect/${name}`);
	}
	// What asks a bus without a log for its past finds out that there is none.
	const isOrdinary = code => ordinary.includes(code) || code === "unavailable" && !stats.log;
	const refused = Object.entries(stats.errors ?? {}).map(([code, number]) => [code, number - (earlier?.errors?.[code] ?? 0)]).filter(([code, number]) => number > 0 && !isOrdinary(code)).sort((a, b) => b[1] - a[1]);
	const total = refused.reduce((sum, [, number]) => sum + number, 0);
	if (total > 0) say(`${count(total, "request")} ${total === 1 ? "was" : "were"} refused in the last ${duration(Math.ceil(seconds))}: ${refused.length === 1 ? "" : "mostly "}${refused[0][0]}.`);
	return found.map(([text, address]) => [safe(text), address]);
}

const growth = (now, before, take) => before ? Number(take(now) ?? 0) - Number(take(before) ?? 0) : 0;
const nameOf = one => one.client ?? whoOf(one.by);
