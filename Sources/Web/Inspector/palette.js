// Ctrl-K: any view, type, store, action, revision or time by a few letters.

import {addressOf, timeText} from "./address.js";
import {dateAndTime, dialog, draw, h, replace, safe, setAttribute} from "./dom.js";
import {revisionAt} from "./feed.js";

/** How many are shown. */
const most = 40;
const units = {s: 1, m: 60, h: 3600, d: 86_400};

/** How well a text has the letters of another in their order, higher is better; null: it lacks one. */
export function score(text, letters) {
	const low = text.toLowerCase();
	if (letters === "") return 0;
	const place = low.indexOf(letters);
	if (place >= 0) return 100 - (place === 0 ? 0 : /[\W_]/.test(low[place - 1]) ? 5 : 20) - text.length / 100;
	let found = -1, gaps = 0;
	for (const letter of letters) {
		const next = low.indexOf(letter, found + 1);
		if (next < 0) return null;
		if (next > found + 1) gaps++;
		found = next;
	}
	return 50 - 5 * gaps - text.length / 100;
}

/** A time that somebody writes: 14:03, 2026-11-27 14:03, 5m (ago); null: it is none. */
export function readTime(text, now = new Date()) {
	const ago = /^(\d+)\s*([smhd])(\s+ago)?$/.exec(text);
	if (ago) return now.getTime() / 1000 - Number(ago[1]) * units[ago[2]];
	const clock = /^(\d{1,2}):(\d{2})(?::(\d{2}))?$/.exec(text);
	if (clock) {
		const time = new Date(now).setHours(Number(clock[1]), Number(clock[2]), Number(clock[3] ?? 0), 0);
		// What is still to come today was yesterday.
		return (time > now ? new Date(time).setDate(new Date(time).getDate() - 1) : time) / 1000;
	}
	if (!/^\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2})?)?$/.test(text)) return null;
	const time = new Date(text.length === 10 ? `${text}T00:00` : text.replace(" ", "T")).getTime() / 1000;
	return Number.isFinite(time) ? time : null;
}

export class Palette {
	#found = [];
	#place = 0;
	#drawing = () => this.#draw();

	/** `views` are [name, label]; `visit(name)` goes to one as it was left. */
	constructor(app, views, visit) {Object.assign(this, {app, views, visit});}

	open() {
		this.input = h("input", {
			type: "text", id: "palette-input", role: "combobox", "aria-expanded": "true", "aria-controls": "palette-list", "aria-autocomplete": "list", "aria-label": "Go to", autocomplete: "off", spellcheck: "false",
			placeholder: "View, type, store, action, revision or time", oninput: () => this.#search(), onkeydown: event => this.#key(event),
		});
		this.list = h("ul.plain", {id: "palette-list", role: "listbox", "aria-label": "Found", onclick: event => this.#go(this.#indexOf(event.target))});
		this.dialog = dialog("Go to", h("div.palette", this.input, this.list), []);
		this.#search();
		this.input.focus();
	}

	#indexOf(element) {return [...this.list.children].indexOf(element.closest("[role=option]"));}

	// MARK: Finding

	/** [label, kind, action]; the action gives an address, or a promise of one. */
	#search() {
		const text = this.input.value.trim(), letters = text.toLowerCase().replaceAll(" ", ""), rated = [];
		const add = (label, kind, go, bonus = 0) => {
			const rating = score(label.replaceAll(" ", ""), letters);
			if (rating !== null) rated.push({label, kind, go, rating: rating + bonus});
		};
		for (const [name, label] of this.views) add(label, "view", () => {this.visit(name);}, 8);
		if (letters !== "") {
			const index = this.app.stores.source.index;
			for (const type of this.app.definitions.names) {
				add(type, "type", () => `#stores/${type}`, 4);
				for (const [action] of this.app.definitions.actions(type)) add(`${type} ${action}`, "dispatch", () => addressOf("dispatch", type, {action}));
			}
			for (const names of index.types.values()) for (const address of names) add(address, "store", () => `#stores/${address}`, 2);
		}
		rated.sort((a, b) => b.rating - a.rating || (a.label < b.label ? -1 : 1));
		this.#found = [...this.#moments(text), ...rated].slice(0, most);
		this.#place = 0;
		draw(this.#drawing);
	}

	#moments(text) {
		const newest = this.app.bus.revision;
		if (/^\d+$/.test(text) && Number(text) <= newest) {
			return [{label: `Revision ${text}`, kind: "commit", go: () => `#log/${text}`}, {label: `Stores at revision ${text}`, kind: "time", go: () => `#time/${text}`}];
		}
		const time = readTime(text);
		if (time === null) return [];
		const label = dateAndTime(time).slice(0, 19);
		return [
			{label: `Commits since ${label}`, kind: "log", go: () => addressOf("log", "", {from: timeText(time)})},
			{label: `Stores at ${label}`, kind: "time", go: async () => `#time/${await revisionAt(this.app.past(), time)}`},
		];
	}

	// MARK: Drawing and choosing

	#draw() {
		replace(this.list, this.#found.length === 0 ? h("li.muted", {role: "option", "aria-selected": "false", "aria-disabled": "true"}, "No matches.")
			: this.#found.map(({label, kind}, i) => h("li", {role: "option", id: `palette-${i}`, "aria-selected": String(i === this.#place)}, h("bdi", safe(label)), " ", h("span.badge", kind))));
		setAttribute(this.input, "aria-activedescendant", this.#found.length ? `palette-${this.#place}` : null);
		this.list.children[this.#place]?.scrollIntoView({block: "nearest"});
	}

	#key(event) {
		const last = this.#found.length - 1, next = {ArrowDown: this.#place + 1, ArrowUp: this.#place - 1, PageDown: this.#place + 8, PageUp: this.#place - 8}[event.key];
		if (event.key === "Enter") this.#go(this.#place);
		else if (next === undefined) return;
		else this.#place = Math.max(0, Math.min(last, next));
		event.preventDefault();
		draw(this.#drawing);
	}

	async #go(place) {
		const found = this.#found[place];
		if (!found) return;
		this.dialog.close();
		const address = await found.go();
		if (address) this.app.go(address);
	}
}
