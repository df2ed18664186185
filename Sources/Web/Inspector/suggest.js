// What may stand in a field: types and stores, actions, and who has been seen.

import {userOf} from "./commits.js";
import {h, replace} from "./dom.js";

/** How many are offered at most. */
const most = 100;

/** Types and stores that begin with a text. */
export function targets(app, text, limit = most) {
	const found = app.definitions.names.filter(type => type.startsWith(text)), index = app.stores.source.index;
	for (const type of index.names) {
		if (found.length >= limit) break;
		if (!type.startsWith(text.split("/")[0])) continue;
		for (const address of index.sorted(type)) if (address.startsWith(text) && found.push(address) >= limit) break;
	}
	return found;
}

/** What `history` finds beside actions. */
const others = ["create", "drop", "revert", "reload", "schedule", "cancel", "timer"];

/** Actions of a type, or of all types. */
export function actions(app, type) {
	const types = app.definitions.of(type) ? [type] : app.definitions.names;
	return [...new Set(types.flatMap(name => app.definitions.actions(name).map(([action]) => action))), ...others];
}

/** Payload members of actions, as the beginning of an expression. */
export function payloads(app, type, action) {
	const types = app.definitions.of(type) ? [type] : app.definitions.names;
	const found = types.flatMap(name => app.definitions.actions(name)).filter(([name]) => !action || name === action);
	return [...new Set(found.flatMap(([, definition]) => Object.keys(definition.payload ?? {})))].map(name => `${name} == `);
}

/** Names of those who made these commits, the most frequent first. */
export function authors(commits) {
	const seen = new Map();
	for (const {by} of commits) {
		if (!by) continue;
		const names = by.daemon ? ["daemon"] : [by.client, by.unit, by.token, by.certificate, userOf(by), by.comm];
		for (const name of names) if (name !== undefined) seen.set(String(name), (seen.get(String(name)) ?? 0) + 1);
	}
	return [...seen].sort((a, b) => b[1] - a[1]).slice(0, most).map(([name]) => name);
}

/** Gives an input a list of suggestions, made again by `find(text)` whenever somebody comes to it or types. */
export function suggests(input, find) {
	const list = h("datalist", {id: `${input.id}-choices`});
	const renew = () => replace(list, find(input.value.trim()).slice(0, most).map(value => h("option", {value})));
	input.setAttribute("list", list.id);
	input.addEventListener("focus", renew);
	input.addEventListener("input", renew);
	return list;
}
