// The values of one member over time, as the log tells them, with who set each.

import {encode, kindOf} from "./json.js";
import {whoOf} from "./commits.js";

/** A value by its address and pointer in one text, counter/kitchen/count; undefined where it is none. */
export function valueAt(text) {
	const match = /^([^/\s]+\/[^/\s]+)(\/.*)$/.exec(text.trim());
	return match ? {store: match[1], path: match[2]} : undefined;
}

/** Whether a value is charted: a number, a boolean, a text or nothing, but not what holds others. */
export const isCharted = value => !["array", "object", "none"].includes(kindOf(value));

/** Who set a value, as its colour stands for: the user, and the program. */
export function authorOf(by) {
	if (!by) return "unknown";
	const program = by.client ?? by.comm;
	return whoOf(by) + (program ? ` ${program}` : "");
}

/** From when on the log is asked where nobody has chosen: the first of these lengths, in seconds, with so many changes; 0: all. */
const lengths = [900, 3600, 86_400, 30 * 86_400, 0], enough = 5;

const isLost = error => error.code === "conflict" || error.code === "gone";

/**
 * The samples of {store, path}: {from, to, last, samples, isNew}, new where it had no value before. The range is {from, to},
 * {last} seconds until now (0: all that the log keeps), or nothing. Each sample has `time`, `revision`, `value` and `by`, and `least`, `most`, `changes` where it stands for several.
 */
export async function readSeries(bus, {store, path}, range, most) {
	if (range.from === undefined && range.last === undefined) {
		for (const last of lengths) {
			const found = await readSeries(bus, {store, path}, {last}, most);
			// What is newer than that fills the chart.
			if (found.isNew) found.from = Math.min(found.samples[0].time, found.to - 1);
			if (last === 0 || found.samples.reduce((sum, one) => sum + (one.changes ?? 1), -1) >= enough) return found;
		}
	}
	const now = Date.now() / 1000, begin = range.last === undefined ? range.from : range.last ? now - range.last : undefined;
	const question = {store, path, most, cause: true};
	// A revision is asked for by its time; a time that is still to come is no end.
	if (range.to < now) {
		const reply = await bus.request("history", {time: range.to, limit: 1}).catch(error => {
			if (isLost(error)) return {since: error.details.oldest ?? 0};
			throw error;
		});
		question.until = reply.since;
	}
	const read = more => bus.request("samples", {...question, ...more});
	const {samples} = await read(begin === undefined ? {} : {time: begin}).catch(error => {
		if (!isLost(error) || error.details.oldest === undefined) throw error;
		return read({since: error.details.oldest});
	});
	const first = samples[0];
	// What was so at the beginning was set before it.
	if (begin !== undefined && first.by === undefined && first.value !== undefined) {
		const {values} = await bus.request("blame", {store, path, revision: first.revision});
		const commit = values[0]?.commit;
		if (commit) Object.assign(first, {revision: commit.revision, time: commit.time, by: commit.by});
		else first.revision = undefined;
	}
	// Before it was there it had no value.
	const isNew = first.value === undefined && first.by === undefined && samples.length > 1;
	if (isNew) samples.shift();
	const to = range.to ?? Math.max(now, samples.at(-1).time);
	return {from: begin ?? Math.min(samples[0].time || to - 1, to - 1), to, last: range.last, samples, isNew};
}

/** Where values stand that are no numbers: a lane for each, in the order in which a type lists them, at most so many. */
export class Lanes {
	static most = 8;

	constructor(values, known = []) {
		const texts = new Set([...known, false, true, null].map(encode));
		const found = new Set(values.filter(value => value !== undefined).map(encode));
		this.texts = [...[...texts].filter(text => found.has(text)), ...[...found].filter(text => !texts.has(text))].slice(0, Lanes.most);
		this.isCut = found.size > Lanes.most;
		if (this.isCut) this.texts.push("others");
	}

	/** The lane of a value, from the bottom. */
	of(value) {
		const place = this.texts.indexOf(encode(value));
		return place < 0 ? this.texts.length - 1 : place;
	}
}
