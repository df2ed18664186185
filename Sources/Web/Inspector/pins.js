// Stores and values that somebody wants before the eyes: above the tree, with what they are now, kept in this browser.

import {addressOf} from "./address.js";
import {pathText} from "./commits.js";
import {brief, draw, foreign, h, replace, safe, setText} from "./dom.js";
import {pointerOf, resolve} from "./json.js";

const key = "fluxbus-pins";
/** How many there are at most: each is subscribed to. */
const most = 24;

export class Pins {
	/** [{address, path}] */
	#pins = JSON.parse(localStorage.getItem(key) ?? "[]");
	#row = null;
	#drawing = () => this.#draw();
	#values = [];

	/** `onChange` is called when other stores are pinned. */
	constructor(source, onChange) {
		Object.assign(this, {source, onChange});
		this.button = h("button.quiet", {"aria-pressed": "false", hidden: true, onclick: () => this.#toggle()}, "Pin");
		this.element = h("ul.pins", {"aria-label": "Pinned", hidden: this.#pins.length === 0});
		this.#layOut();
	}

	/** Stores that are pinned. */
	get addresses() {return this.#pins.map(one => one.address);}

	/** What is selected can be pinned, or taken away. */
	show(row) {
		this.#row = row?.address ? {address: row.address, path: row.path ?? []} : null;
		this.button.hidden = this.#row === null;
		this.#say();
	}

	#find(one) {return this.#pins.findIndex(other => other.address === one.address && pointerOf(other.path) === pointerOf(one.path));}

	#say() {
		const isPinned = this.#row !== null && this.#find(this.#row) >= 0;
		this.button.setAttribute("aria-pressed", String(isPinned));
		this.button.disabled = !isPinned && this.#pins.length >= most;
		setText(this.button, isPinned ? "Unpin" : "Pin");
	}

	#toggle() {
		const place = this.#find(this.#row);
		if (place >= 0) this.#pins.splice(place, 1);
		else this.#pins.push(this.#row);
		this.#keep();
	}

	#keep() {
		localStorage.setItem(key, JSON.stringify(this.#pins));
		this.#layOut();
		this.#say();
		this.onChange();
	}

	#layOut() {
		this.element.hidden = this.#pins.length === 0;
		this.#values = this.#pins.map(() => h("bdi.value"));
		replace(this.element, this.#pins.map((pin, i) => {
			const name = pin.address + (pin.path.length ? " " + pathText(pin.path) : "");
			return h("li", h("a", {href: addressOf("stores", pin.address, {path: pointerOf(pin.path)})}, foreign(name)), " ", this.#values[i],
				h("button.quiet", {"aria-label": `Unpin ${safe(name)}`, onclick: () => {this.#pins.splice(i, 1); this.#keep();}}, "✕"));
		}));
		this.refresh();
	}

	refresh() {draw(this.#drawing);}

	#draw() {
		this.#pins.forEach(({address, path}, i) => {
			const state = this.source.state(address), value = state === undefined ? undefined : resolve(state, path);
			setText(this.#values[i], value !== undefined ? brief(value, 40) : this.source.isReady && !this.source.index.has(address) ? "gone" : "…");
		});
	}
}
