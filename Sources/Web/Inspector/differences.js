// Differences as people read them: where, what it was, what it is.

import {count, foreign, h, longValue} from "./dom.js";
import {pathText} from "./commits.js";

const mostStores = 50, mostParts = 100;

/** A table of one or more stores' differences: [{address, differences}]. `onStore` gets a click on an address. */
export function differenceList(stores, {isCut = false, empty = "Nothing differs.", onStore} = {}) {
	if (stores.length === 0) return h("p.muted", isCut ? "Nothing differs in the stores that were compared; there are more." : empty);
	const list = h("div.differences");
	let shown = 0;
	const more = h("button.link", {onclick: () => show()});
	const show = () => {
		for (const one of stores.slice(shown, shown + mostStores)) list.insertBefore(storeDifferences(one, onStore), more);
		shown = Math.min(stores.length, shown + mostStores);
		more.hidden = shown === stores.length;
		more.textContent = `${count(stores.length - shown)} more`;
	};
	list.append(more);
	show();
	if (isCut) list.append(h("p.muted", "There are more stores than were compared."));
	return list;
}

function storeDifferences({address, differences}, onStore) {
	const title = onStore ? h("button.link", {onclick: () => onStore(address)}, foreign(address)) : foreign(address);
	const rows = differences.slice(0, mostParts).map(one => one.path.length === 0
		? h("div.difference", h("span.path", one.old === undefined ? "created" : one.new === undefined ? "dropped" : "(all)"), sides(one))
		: h("div.difference", h("span.path", foreign(pathText(one.path))), sides(one)));
	if (differences.length > mostParts) rows.push(h("p.muted", `${count(differences.length - mostParts)} more`));
	return h("section.store-differences", h("h4", title), rows);
}

function sides({old, new: now}) {
	return h("span.sides",
		old !== undefined && h("del", h("span.sign", {"aria-hidden": "true"}, "− "), longValue(old)),
		now !== undefined && h("ins", h("span.sign", {"aria-hidden": "true"}, "+ "), longValue(now)),
		now === undefined && old !== undefined && h("span.muted", "removed"));
}
