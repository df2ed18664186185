// A list of which only what is on screen is drawn: rows of one height, reused as they scroll.

import {draw, h, setAttribute} from "./dom.js";

export class VirtualList {
	#rows = [];
	#drawing = () => this.#draw();
	/** The height that the content has at least: a list that is shorter can't be scrolled to where it was. */
	least = 0;
	first = 0;
	last = 0;

	/**
	 * @param box the scrolling element, with the role of the list
	 * @param make makes an empty row; `fill(row, index)` shows a row in it, and notes in `row.shown` which one
	 * @param onWindow is told which rows are on screen after each drawing
	 * @param head an element in the box that stays above the rows
	 * @param current the row that stays on screen when the box gets smaller; -1: none
	 */
	constructor(box, {count, make, fill, onWindow, current, idPrefix, head}) {
		Object.assign(this, {box, count, make, fill, current, idPrefix, head});
		this.onWindow = onWindow ?? (() => {});
		this.spacer = h("div.spacer", {role: "none"});
		this.window = h("div.window", {role: "none"});
		this.spacer.append(this.window);
		box.append(this.spacer);
		box.addEventListener("scroll", () => this.draw(), {passive: true});
		let before = 0;
		new ResizeObserver(() => {
			this.#height = 0;
			const place = this.current(), top = place * this.rowHeight - box.scrollTop;
			if (place >= 0 && top >= 0 && top < before && box.clientHeight > 0) this.reveal(place);
			else this.draw();
			before = box.clientHeight;
		}).observe(box);
	}
	#height = 0;

	/** The height of a row, which the style decides. */
	get rowHeight() {
		if (this.#height === 0) this.#height = parseFloat(getComputedStyle(this.box).getPropertyValue("--row")) || 26;
		return this.#height;
	}

	draw() {draw(this.#drawing);}

	/** The height that is left for rows. */
	get #room() {return this.box.clientHeight - (this.head?.offsetHeight ?? 0);}

	#draw() {
		if (this.box.clientHeight === 0) return;
		const height = this.#room;
		const row = this.rowHeight, total = this.count();
		const size = `${Math.max(total * row, this.least)}px`;
		if (this.spacer.style.height !== size) this.spacer.style.height = size;
		const top = Math.min(this.box.scrollTop, Math.max(0, Math.max(total * row, this.least) - height));
		this.first = Math.max(0, Math.floor(top / row) - 3);
		this.last = Math.min(total, Math.ceil((top + height) / row) + 3);
		const shift = `translateY(${this.first * row}px)`;
		if (this.window.style.transform !== shift) this.window.style.transform = shift;
		const needed = this.last - this.first;
		while (this.#rows.length < needed) {
			const element = this.make();
			element.id = `${this.idPrefix}-${this.#rows.length}`;
			this.#rows.push(element);
		}
		while (this.window.childElementCount > needed) this.window.lastElementChild.remove();
		while (this.window.childElementCount < needed) this.window.append(this.#rows[this.window.childElementCount]);
		for (let i = 0; i < needed; i++) this.fill(this.#rows[i], this.first + i);
		this.onWindow(this.first, this.last);
	}

	/** The element that shows a row; undefined while it is not on screen. */
	element(index) {
		return index >= this.first && index < this.last ? this.#rows[index - this.first] : undefined;
	}

	/** What the row shows that an element belongs to; undefined if none. By now the list may have something else at its place, which is not drawn yet. */
	shownBy(element) {return this.#rows.find(row => row.contains(element))?.shown;}

	/** Scrolls as little as needed. */
	reveal(index) {
		const row = this.rowHeight, top = index * row;
		if (top < this.box.scrollTop) this.box.scrollTop = top;
		else if (top + row > this.box.scrollTop + this.#room) this.box.scrollTop = top + row - this.#room;
		this.draw();
	}

	/** Says to assistive technology which row is current. */
	activate(index) {
		setAttribute(this.box, "aria-activedescendant", this.element(index)?.id);
	}

	/** The number of rows that fit. */
	get page() {return Math.max(1, Math.floor(this.#room / this.rowHeight) - 1);}
}

/** The row to go to for a key, or null. */
export function moveTo(key, current, list, total) {
	switch (key) {
	case "ArrowDown": return Math.min(total - 1, current + 1);
	case "ArrowUp": return Math.max(0, current - 1);
	case "PageDown": return Math.min(total - 1, current + list.page);
	case "PageUp": return Math.max(0, current - list.page);
	case "Home": return 0;
	case "End": return total - 1;
	default: return null;
	}
}
