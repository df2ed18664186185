// What differs between two moments: the states of both are read page by page and merged by address.

import {byBytes, differences} from "./json.js";

/** The states at a revision, [address, state], in the order of their addresses. */
async function* statesAt(bus, match, revision) {
	if (revision < 1) return;
	let after, limit = 1000;
	do {
		let reply;
		try {
			reply = await bus.request("get", {match, revision, limit, ...after && {after}});
		} catch (error) {
			if (error.code !== "too_large" || limit === 1) throw error;
			limit = Math.max(1, limit >> 2);
			continue;
		}
		yield* Object.keys(reply.states).sort(byBytes).map(address => [address, reply.states[address]]);
		after = reply.next;
		if (!after) return;
	} while (true);
}

/** The stores that differ: {stores: [{address, old, new, differences}], compared, isCut}; at most `limit` of them. */
export async function compare(bus, from, to, match = "*/*", test = () => true, limit = 1000) {
	const sides = [statesAt(bus, match, from), statesAt(bus, match, to)];
	const heads = await Promise.all(sides.map(side => side.next()));
	const result = {stores: [], compared: 0, isCut: false};
	while (!heads[0].done || !heads[1].done) {
		const order = heads[0].done ? 1 : heads[1].done ? -1 : byBytes(heads[0].value[0], heads[1].value[0]);
		const old = order <= 0 ? heads[0].value : undefined, now = order >= 0 ? heads[1].value : undefined;
		const address = (old ?? now)[0];
		if (test(address)) {
			result.compared++;
			const list = differences(old?.[1], now?.[1]);
			if (list.length) {
				if (result.stores.length === limit) return {...result, isCut: true};
				result.stores.push({address, old: old?.[1], new: now?.[1], differences: list});
			}
		}
		if (order <= 0) heads[0] = await sides[0].next();
		if (order >= 0) heads[1] = await sides[1].next();
	}
	return result;
}
