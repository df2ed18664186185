// The tree of stores beside the details of what is selected in it. Shows the bus as it is in Stores, and as it was in Time.

import {count, debounce, h, safe, setAttribute, setText, brief} from "./dom.js";
import {encodeStart, isContainer, isEqual, keysOf, kindOf, pointerOf, resolve, tokensOf} from "./json.js";
import {Details} from "./details.js";
import {Pins} from "./pins.js";
import {drawCurve} from "./trends.js";
import {Tree, sizeText} from "./tree.js";
import {VirtualList, moveTo} from "./virtual.js";
import {WhereField} from "./where.js";

/** How long a change can be seen, and how long a row that an address names is kept on screen, in milliseconds. */
const flashTime = 700, settleTime = 2000;

export class Explorer {
	#seen = new Map();
	#hot = new Map();
	#previews = new WeakMap();
	#cooling = 0;
	#want = debounce(40, () => this.source.want(this.#wanted));
	#wanted = [];
	selected = null;

	/** `makeSource` makes what the stores come from, with what it is to call; `onPlace(isStep)` is called when something else is shown; null: by an address, which says so already. */
	constructor(app, prefix, makeSource, onPlace) {
		Object.assign(this, {app, prefix, onPlace});
		this.source = makeSource({
			onIndex: () => this.#indexChanged(), onState: (...change) => this.#stateChanged(...change),
			onChoice: error => {this.where.say(error); this.#indexChanged();},
		});
		this.tree = new Tree(this.source, app.definitions);
		this.filter = h("input", {type: "search", id: `${prefix}-filter`, placeholder: "counter/* or a part of a name", spellcheck: "false", autocomplete: "off", oninput: () => this.#filterChanged()});
		this.where = new WhereField(`${prefix}-where`, expression => {this.box.scrollTop = 0; this.source.choose(expression); this.onPlace(false);});
		this.counts = h("output.muted", {id: `${prefix}-counts`, for: `${prefix}-filter`});
		this.box = h("div.tree.scroll", {role: "tree", tabindex: "0", "aria-label": "Stores", id: `${prefix}-tree`, onkeydown: event => this.#key(event), onclick: event => this.#click(event), ondblclick: event => this.#toggle(this.list.shownBy(event.target))});
		for (const kind of ["wheel", "pointerdown", "keydown"]) this.box.addEventListener(kind, () => {this.#settling = 0;}, {passive: true});
		this.empty = h("p.empty", {hidden: true});
		this.list = new VirtualList(this.box, {count: () => this.tree.count, make: makeRow, fill: (row, index) => this.#fill(row, index), onWindow: (first, last) => this.#drawn(first, last), current: () => this.#place, idPrefix: `${prefix}-row`});
		// What is pinned is shown as it is now.
		this.pins = this.source.trends && new Pins(this.source, () => this.list.draw());
		this.details = new Details(app, this, () => this.select(null));
		this.element = h("div.explorer",
			h("div.bar",
				h("label", {for: `${prefix}-filter`}, "Filter"), this.filter, this.where.element,
				h("button.quiet", {onclick: () => this.#openAll(true)}, "Expand types"),
				h("button.quiet", {onclick: () => this.#openAll(false)}, "Collapse all"),
				this.counts),
			this.pins?.element, h("div.split", h("div.pane.main", this.box, this.empty), this.details.element));
	}

	// MARK: What has changed

	#indexChanged() {
		this.pins?.refresh();
		this.tree.spoil();
		this.list.draw();
		this.details.refresh();
		this.#arrive();
	}

	#stateChanged(address) {
		this.tree.spoilState(address);
		this.list.draw();
		if (performance.now() < this.#settling && this.#place >= 0) this.list.reveal(this.#place);
		if (this.#awaited?.address === address) this.#arrive();
		if (this.selected?.address === address) this.details.refresh();
		this.pins?.refresh();
	}

	definitionsChanged() {
		this.tree.spoil();
		this.list.draw();
		this.details.refresh();
	}

	#filterChanged() {
		this.tree.setFilter(this.filter.value);
		this.box.scrollTop = 0;
		this.list.draw();
		this.onPlace(false);
	}

	#openAll(isOpen) {
		for (const type of this.source.index.names) this.tree.setOpen({kind: "type", key: type}, isOpen);
		if (!isOpen) this.box.scrollTop = 0;
		this.list.draw();
	}

	// MARK: Drawing

	#drawn(first, last) {
		const seen = new Map();
		for (let i = first; i < last; i++) {
			const row = this.tree.row(i);
			if (row.kind === "member" || row.kind === "store") seen.set(row.key, row.value);
		}
		this.#seen = seen;
		this.#wanted = this.tree.addresses(first, last);
		if (this.selected?.address && !this.#wanted.includes(this.selected.address) && this.source.index.has(this.selected.address)) this.#wanted.push(this.selected.address);
		if (this.pins) this.#wanted.push(...this.pins.addresses.filter(address => !this.#wanted.includes(address) && this.source.index.has(address)));
		this.#want();
		this.list.activate(this.#place);
		this.#say();
		if (this.#hot.size === 0) return;
		const now = performance.now();
		for (const [key, until] of this.#hot) if (until <= now) this.#hot.delete(key);
		if (this.#hot.size > 0 && this.#cooling === 0) this.#cooling = setTimeout(() => {this.#cooling = 0; this.list.draw();}, flashTime);
	}

	/** The row that is selected; -1: none. */
	get #place() {return this.selected ? this.tree.find(this.selected.key) : -1;}

	#say() {
		const {index, isReady} = this.source, total = index.size;
		const types = count(index.types.size, "type");
		const text = !isReady ? "Loading…" : !this.tree.isFiltered ? `${count(total, "store")} of ${types}` : `${count(this.tree.matching)} of ${count(total, "store")}`;
		setText(this.counts, text);
		const isEmpty = isReady && this.tree.matching === 0;
		this.empty.hidden = !isEmpty && !this.problem;
		setText(this.empty, this.problem ?? (total === 0 ? "There are no stores, or none that you may read." : "No store matches this filter."));
		this.box.classList.toggle("stale", this.source.isStale === true);
	}

	/** A sentence in place of the stores; null takes it away. */
	fail(problem) {
		this.problem = problem;
		this.empty.hidden = !problem;
		setText(this.empty, problem ?? "");
		this.list.draw();
	}

	#fill(element, index) {
		const row = this.tree.row(index), shown = element.shown;
		const flashes = this.#isHot(row);
		element.classList.toggle("flash", flashes);
		setAttribute(element, "aria-selected", String(this.selected?.key === row.key));
		const isSame = shown && shown.key === row.key && shown.isOpen === row.isOpen && shown.position === row.position && shown.size === row.size && shown.isComputed === row.isComputed;
		if (isSame && shown.value === row.value && shown.count === row.count && shown.hidden === row.hidden) return;
		element.shown = row;
		if (!isSame) this.#fillFrame(element, row);
		const {value, name, curve} = element.parts;
		if (row.kind === "type") {
			setText(name, row.type);
			setText(value, count(row.count, "store"));
		} else if (row.kind === "store") {
			setText(name, row.address.slice(row.type.length + 1));
			setText(value, row.isOpen ? "" : row.value === undefined ? "…" : this.#preview(row.value));
		} else if (row.kind === "member") {
			setText(name, safe(String(row.name)) + ":");
			setText(value, isContainer(row.value) ? row.isOpen ? sizeText(row.value) : `${sizeText(row.value)} ${brief(row.value, 120)}` : brief(row.value, 300));
		} else {
			setText(name, "");
			setText(value, row.kind === "more" ? `${count(row.hidden)} more` : "Loading…");
		}
		value.className = `value ${row.kind === "member" ? kindOf(row.value) : row.kind}`;
		this.#curve(curve, row);
	}

	#fillFrame(element, row) {
		element.className = `row ${row.kind}`;
		element.style.setProperty("--level", row.level);
		setAttribute(element, "aria-level", row.level);
		setAttribute(element, "aria-posinset", row.position);
		setAttribute(element, "aria-setsize", row.size);
		const canOpen = row.kind === "type" || row.kind === "store" || row.childCount > 0;
		setAttribute(element, "aria-expanded", canOpen ? String(row.isOpen) : null);
		setText(element.parts.twisty, canOpen ? row.isOpen ? "▾" : "▸" : "");
		setText(element.parts.badge, row.isComputed ? "computed" : "");
		element.parts.badge.hidden = !row.isComputed;
	}

	/** Whether a row's value has changed since it was drawn last, or shortly before. */
	#isHot(row) {
		const now = performance.now();
		if (this.source.trends && this.#seen.has(row.key)) {
			const before = this.#seen.get(row.key);
			const isVisible = row.kind === "store" ? !row.isOpen : row.kind === "member" && !(isContainer(row.value) && row.isOpen);
			if (before !== undefined && before !== row.value && isVisible && !isEqual(before, row.value)) this.#hot.set(row.key, now + flashTime);
		}
		return (this.#hot.get(row.key) ?? 0) > now;
	}

	#preview(state) {
		let text = this.#previews.get(state);
		if (text !== undefined) return text;
		text = "";
		for (const key of keysOf(state).slice(0, 8)) {
			if (text.length > 160) break;
			text += `${text ? " · " : ""}${safe(encodeStart(key, 40).slice(1, -1))} ${brief(state[key], 40)}`;
		}
		this.#previews.set(state, text);
		return text;
	}

	#curve(canvas, row) {
		let points;
		if (this.source.trends && row.kind === "member" && kindOf(row.value) === "number") points = this.source.trends.of(row.address, pointerOf(row.path));
		if (this.source.trends && row.kind === "store" && !row.isOpen && row.value) {
			const key = keysOf(row.value).slice(0, 20).find(key => kindOf(row.value[key]) === "number" && !this.app.definitions.isComputed(row.type, key));
			if (key !== undefined) points = this.source.trends.of(row.address, pointerOf([key]));
		}
		const has = points?.length > 1;
		if (canvas.hidden === has) canvas.hidden = !has;
		if (has) drawCurve(canvas, points);
	}

	// MARK: The address of the page

	#awaited = null;
	/** Until when the selected row is kept on screen: states that come make rows above it. */
	#settling = 0;

	/** What is shown, as an address has it: `rest` names a type or store, the options a member, the filters and the range of a chart. */
	get place() {
		const row = this.details.row, pointer = row?.kind === "member" ? pointerOf(row.path) : undefined;
		return {rest: row?.address ?? row?.type ?? "", options: {path: pointer, filter: this.filter.value.trim(), where: this.where.expression, ...pointer !== undefined && this.details.chart?.options}};
	}

	/** Shows what an address says. A store may have to arrive first. */
	go(rest, options) {
		const [filter, where] = ["filter", "where"].map(name => options.get(name) ?? "");
		if (filter !== this.filter.value.trim()) {
			this.filter.value = filter;
			this.tree.setFilter(filter);
		}
		if (where !== this.where.expression) {
			this.where.input.value = where;
			this.source.choose(where);
		}
		this.#settling = performance.now() + settleTime;
		this.#awaited = rest ? {address: rest, path: tokensOf(options.get("path") ?? ""), options} : null;
		if (!rest) this.select(null, {isNoted: false});
		this.#arrive();
		this.list.draw();
	}

	/** Selects what is awaited, as far as it is there: a store before its members. */
	#arrive() {
		if (!this.#awaited || !this.source.isReady) return;
		const {address, path, options} = this.#awaited, isType = !address.includes("/");
		if (isType ? !this.source.index.types.has(address) : !this.source.index.has(address)) return;
		const state = this.source.state(address), isThere = path.length === 0 || resolve(state, path) !== undefined;
		if (isThere || state !== undefined) this.#awaited = null;
		this.reveal(address, isThere ? path : [], options);
	}

	// MARK: Selecting

	/** With `isStep`, Back leads to what was selected before. */
	select(row, {open = true, isStep = true, isNoted = true, options} = {}) {
		this.selected = row && row.kind !== "loading" ? row : null;
		if (open || !row) this.details.show(this.selected, options);
		this.pins?.show(this.selected);
		this.element.classList.toggle("has-details", this.details.isShown);
		this.list.draw();
		if (isNoted) this.#awaited = null;
		this.onPlace(isNoted && (open || !row) ? isStep : null);
	}

	/** Goes to a type or store that is there. */
	reveal(address, path = [], options = undefined) {
		if (address.includes("/") && !this.source.index.has(address)) return false;
		if (this.tree.isFiltered && this.tree.find(address) < 0) {
			this.filter.value = this.where.input.value = "";
			this.tree.setFilter("");
			this.source.choose("");
		}
		this.tree.openTo(address, path);
		const place = this.tree.find(path.length ? address + " " + pointerOf(path) : address);
		const row = this.tree.row(place);
		if (row?.key !== this.selected?.key || !this.details.isShown || options) this.select(row, {isNoted: !options, options});
		this.list.reveal(Math.max(0, place));
		return true;
	}

	#toggle(row) {
		if (row?.isOpen === undefined) return;
		this.tree.setOpen(row, !row.isOpen);
		this.list.draw();
	}

	#click(event) {
		const row = this.list.shownBy(event.target);
		if (!row) return;
		if (row.kind === "more") this.#more(row);
		else {
			this.select(row);
			if (event.target.closest(".twisty") && event.detail < 2) this.#toggle(row);
		}
	}

	#more(row) {
		this.tree.showMore(row);
		this.list.draw();
	}

	#key(event) {
		if (event.ctrlKey || event.metaKey || event.altKey) return;
		const total = this.tree.count;
		if (total === 0) return;
		let place = this.#place;
		const row = place < 0 ? null : this.tree.row(place);
		let next = moveTo(event.key, place, this.list, total);
		if (event.key === "ArrowRight" && row) {
			if (row.isOpen === false) this.#toggle(row);
			else if (row.isOpen) next = place + 1;
		} else if (event.key === "ArrowLeft" && row) {
			if (row.isOpen) this.#toggle(row);
			else for (next = place; next > 0 && this.tree.row(next).level >= row.level; next--);
		} else if ((event.key === "Enter" || event.key === " ") && row) {
			if (row.kind === "more") this.#more(row);
			else if (event.key === " ") this.#toggle(row);
			else this.select(row);
		} else if (event.key === "Escape" && this.details.isShown) this.select(null);
		else if (next === null) return;
		event.preventDefault();
		if (next === null) return;
		place = Math.max(0, Math.min(next, total - 1));
		this.select(this.tree.row(place), {open: this.details.isShown, isStep: false});
		this.list.reveal(place);
	}
}

function makeRow() {
	const parts = {
		twisty: h("span.twisty", {"aria-hidden": "true"}), name: h("bdi.name"),
		value: h("bdi.value"), curve: h("canvas.curve", {"aria-hidden": "true", hidden: true}), badge: h("span.badge"),
	};
	const row = h("div.row", {role: "treeitem"}, parts.twisty, parts.name, " ", parts.value, " ", parts.curve, parts.badge);
	row.parts = parts;
	return row;
}
