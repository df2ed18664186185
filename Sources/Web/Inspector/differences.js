// Differences as people read them: where, what it was, what it is.

import { count, foreign, h, longValue } from "./dom.js";
import { pathText } from "./commits.js";

const mostStores = 50, mostParts = 100;

/** A table of one or more stores' differences: [{address, differences}]. `at` gets a click on an address. */
export function differenceList(stores, { isCut = false, empty = "Nothing differs.", onStore } = {}) {
	if (stores.length === 0) return h("p", { class: "muted" }, isCut ? "Nothing differs in the stores that were compared; there are more." : empty);
	const list = h("div", { class: "differences" });
	let shown = 0;
	const more = h("button", { type: "button", class: "link", on: { click: () => show() } });
	const show = () => {
		for (const one of stores.slice(shown, shown + mostStores)) list.insertBefore(storeDifferences(one, onStore), more);
		shown = Math.min(stores.length, shown + mostStores);
		more.hidden = shown === stores.length;
		more.textContent = `${count(stores.length - shown)} more`;
	};
	list.append(more);
	show();
	if (isCut) list.append(h("p", { class: "muted" }, "There are more stores than were compared."));
	return list;
}

function storeDifferences({ address, differences }, onStore) {
	const title = onStore ? h("button", { type: "button", class: "link", on: { click: () => onStore(address) } }, foreign(address)) : foreign(address);
	const rows = differences.slice(0, mostParts).map(one => one.path.length === 0
		? h("div", { class: "difference" }, h("span", { class: "path" }, one.old === undefined ? "created" : one.new === undefined ? "dropped" : "(all)"), sides(one))
		: h("div", { class: "difference" }, h("span", { class: "path" }, foreign(pathText(one.path))), sides(one)));
	if (differences.length > mostParts) rows.push(h("p", { class: "muted" }, `${count(differences.length - mostParts)} more`));
	return h("section", { class: "store-differences" }, h("h4", {}, title), rows);
}

function sides({ old, new: now }) {
	return h("span", { class: "sides" },
		old !== undefined && h("del", {}, h("span", { class: "sign", "aria-hidden": "true" }, "− "), longValue(old)),
		now !== undefined && h("ins", {}, h("span", { class: "sign", "aria-hidden": "true" }, "+ "), longValue(now)),
		now === undefined && old !== undefined && h("span", { class: "muted" }, "removed"));
}
