// A type as a table: its stores as rows and their members as columns, sorted, narrowed by an expression, and chosen for a
// dispatch to all of them.

import {brief, count, h, safe, sentence, setAttribute, setText} from "./dom.js";
import {apply, follow} from "./follow.js";
import {byBytes, globTest, isContainer, kindOf, pointerOf} from "./json.js";
import {Trends, drawCurve} from "./trends.js";
import {VirtualList, moveTo} from "./virtual.js";
import {WhereField, conditionOf} from "./where.js";

/** How many members have a column, how many chosen stores the page's address names, and how many one dispatch may reach. */
const mostColumns = 24, mostNamed = 50, mostChosen = 500;

/** The order of values: numbers by size, then texts and others; what is not there comes last. */
function compare(a, b) {
	const [left, right] = [a, b].map(kindOf);
	if (left === "number" && right === "number") return Number(a) - Number(b);
	const ranks = ["number", "boolean", "string", "null", "array", "object", "none"], order = ranks.indexOf(left) - ranks.indexOf(right);
	return order !== 0 ? order : left === "string" ? byBytes(a, b) : left === "boolean" ? a - b : isContainer(a) ? Object.keys(a).length - Object.keys(b).length : 0;
}

export class TypeTable {
	#type = null;
	#states = new Map();
	#chosen = new Set();
	#columns = [];
	#order = [];
	#isStale = true;
	#sortedAt = 0;
	#cost = 0;
	#current = null;
	#sort = "";
	#isDown = false;
	#subscription = null;
	#asked = null;
	#isThere = false;
	#visible = new Set();
	#trends = new Trends();
	#test = () => true;

	constructor(app) {
		this.app = app;
		this.title = h("h2", {id: "table-title"});
		this.filter = h("input", {type: "search", id: "table-filter", placeholder: "a part of a name", spellcheck: "false", autocomplete: "off", oninput: () => this.#filterChanged()});
		this.where = new WhereField("table-where", () => {this.#follow(); this.#note(false);});
		this.counts = h("output.muted", {id: "table-counts", for: "table-filter table-where"});
		this.all = h("button.quiet", {onclick: () => this.#chooseAll()}, "Select all");
		this.none = h("button.quiet", {onclick: () => {this.#chosen.clear(); this.#chosenChanged();}}, "Clear selection");
		this.send = h("button", {id: "table-dispatch", onclick: () => this.#dispatch()});
		this.head = h("div.row.table-head", {role: "row"});
		this.box = h("div.scroll.table-grid", {role: "grid", tabindex: "0", id: "table-grid", "aria-multiselectable": "true", onkeydown: event => this.#key(event), onclick: event => this.#click(event), ondblclick: event => this.#open(event)}, this.head);
		this.empty = h("p.empty", {role: "status"});
		this.list = new VirtualList(this.box, {count: () => this.#rows.length, make: () => this.#makeRow(), fill: (row, index) => this.#fill(row, index), onWindow: (...range) => this.#drawn(...range), current: () => this.#place, idPrefix: "table-row", head: this.head});
		this.element = h("section.type-table", {"aria-labelledby": "table-title", hidden: true},
			h("div.bar", this.title, h("label", {for: "table-filter"}, "Filter"), this.filter, this.where.element, this.counts),
			h("div.bar", this.all, this.none, this.send),
			h("div.pane.main", this.box, this.empty));
	}

	// MARK: Showing and leaving

	show(type, options) {
		const where = options.get("where") ?? "", isOther = type !== this.#type || where !== this.where.expression || !this.#subscription;
		if (type !== this.#type) {
			this.hide();
			this.#states.clear();
			this.#chosen.clear();
			this.#columns = [];
			this.#isThere = false;
			this.box.scrollTop = this.box.scrollLeft = 0;
		}
		this.#type = type;
		this.problem = null;
		this.where.input.value = where;
		this.filter.value = options.get("filter") ?? "";
		this.#test = globTest(this.filter.value);
		this.#sort = options.get("sort") ?? "";
		this.#isDown = options.has("down");
		if (options.has("chosen")) this.#chosen = new Set(options.get("chosen").split(",").map(name => `${type}/${name}`));
		this.#current = options.has("row") ? `${type}/${options.get("row")}` : null;
		setText(this.title, safe(type));
		setAttribute(this.box, "aria-label", `Stores of ${safe(type)}`);
		if (isOther) this.#follow();
		this.#columns = [];
		this.#spoil();
		this.#chosenChanged(false);
	}

	hide() {
		for (const one of [this.#subscription, this.#asked]) one?.close();
		this.#subscription = this.#asked = null;
	}

	definitionsChanged() {
		this.#columns = [];
		this.#spoil();
	}

	/** In other colours. */
	redraw() {this.list.draw();}

	/** Another history: it is told by a reset. */
	renew() {this.#chosen.clear();}

	#note(isStep) {
		if (this.app.view !== "table") return;
		const name = address => address.slice(this.#type.length + 1), chosen = [...this.#chosen].map(name);
		this.app.note(this.#type, {
			filter: this.filter.value.trim(), where: this.where.expression, sort: this.#sort, down: this.#isDown,
			row: this.#current && name(this.#current), chosen: chosen.length <= mostNamed && chosen.join(","),
		}, isStep);
	}

	/** The stores of the type for which the expression holds; those of the last one stay until these are known. */
	#follow() {
		let where;
		try {
			where = this.where.expression === "" ? undefined : conditionOf(this.where.expression);
		} catch (error) {
			return this.where.say(error);
		}
		if (this.#asked !== this.#subscription) this.#asked?.close();
		const own = this.#asked = follow(this.app.bus, `${this.#type}/*`, {where}, change => {
			if (this.#asked !== own && this.#subscription !== own) return;
			if (this.#subscription !== own) {
				this.#subscription?.close();
				this.#subscription = own;
				this.where.say(null);
			}
			this.#isThere = true;
			apply(change, this.#states, (address, old, now) => {
				if (this.#visible.has(address)) this.#trends.record(address, now);
				if (now === undefined && this.#chosen.delete(address)) this.#chosenChanged();
			});
			this.#spoil();
		}, error => {
			if (where !== undefined && error.code === "invalid_request") return this.where.say(error);
			this.#isThere = true;
			this.problem = error;
			this.list.draw();
		});
	}

	#filterChanged() {
		this.#test = globTest(this.filter.value);
		this.box.scrollTop = 0;
		this.#spoil();
		this.#note(false);
	}

	#spoil() {
		this.#isStale = true;
		this.list.draw();
	}

	// MARK: Rows and columns

	/** The addresses in order. Where sorting takes long it is done at most a tenth of the time. */
	get #rows() {
		const now = performance.now();
		if (!this.#isStale) return this.#order;
		if (now < this.#sortedAt + 10 * this.#cost) {
			setTimeout(() => this.list.draw(), 10 * this.#cost);
			return this.#order;
		}
		this.#isStale = false;
		const value = address => this.#states.get(address)[this.#sort], sign = this.#isDown ? -1 : 1;
		this.#order = [...this.#states.keys()].filter(this.#test).sort((a, b) => this.#sort === "" ? sign * byBytes(a, b) : sign * compare(value(a), value(b)) || byBytes(a, b));
		if (this.#columns.length === 0 && this.#order.length > 0) this.#makeColumns();
		this.#sortedAt = performance.now();
		this.#cost = this.#sortedAt - now;
		return this.#order;
	}

	#makeColumns() {
		this.#columns = this.app.definitions.ordered(this.#type, this.#states.get(this.#order[0])).slice(0, mostColumns);
		this.box.style.setProperty("--columns", this.#columns.length);
		const head = (name, label) => {
			const isSorted = this.#sort === name;
			return h("span", {role: "columnheader", "aria-sort": isSorted ? this.#isDown ? "descending" : "ascending" : "none"},
				h("button.quiet", {onclick: () => this.#sortBy(name)}, safe(label), isSorted ? this.#isDown ? " ↓" : " ↑" : ""));
		};
		this.head.replaceChildren(h("span", {role: "columnheader"}, h("span.hidden", "Selected")), head("", "Store"), ...this.#columns.map(name => head(name, name)));
		setAttribute(this.box, "aria-colcount", this.#columns.length + 2);
	}

	#sortBy(name) {
		this.#isDown = this.#sort === name && !this.#isDown;
		this.#sort = name;
		this.#columns = [];
		this.#cost = 0;
		this.#spoil();
		this.#note(true);
	}

	#makeRow() {
		const check = h("input", {type: "checkbox", tabindex: "-1"}), name = h("a");
		const row = h("div.row.table-row", {role: "row"}, h("span", {role: "gridcell"}, check), h("bdi", {role: "gridcell"}, name));
		row.parts = {check, name, cells: []};
		return row;
	}

	#fill(element, index) {
		const address = element.shown = this.#order[index], state = this.#states.get(address) ?? {}, {check, name, cells} = element.parts;
		setAttribute(element, "aria-rowindex", index + 2);
		setAttribute(element, "aria-selected", String(this.#chosen.has(address)));
		element.classList.toggle("current", address === this.#current);
		if (check.checked !== this.#chosen.has(address)) check.checked = this.#chosen.has(address);
		setAttribute(check, "aria-label", `Select ${safe(address)}`);
		setText(name, safe(address.slice(this.#type.length + 1)));
		setAttribute(name, "href", `#store/${address}`);
		while (cells.length > this.#columns.length) cells.pop().cell.remove();
		while (cells.length < this.#columns.length) {
			const value = h("bdi"), curve = h("canvas.curve", {"aria-hidden": "true", hidden: true}), cell = h("span", {role: "gridcell"}, value, curve);
			cells.push({cell, value, curve});
			element.append(cell);
		}
		this.#columns.forEach((column, i) => {
			const {cell, value, curve} = cells[i], kind = kindOf(state[column]), points = kind === "number" ? this.#trends.of(address, pointerOf([column])) : undefined;
			if (cell.className !== `value ${kind}`) cell.className = `value ${kind}`;
			setText(value, kind === "none" ? "" : brief(state[column], 60));
			if (curve.hidden !== !(points?.length > 1)) curve.hidden = !curve.hidden;
			if (!curve.hidden) drawCurve(curve, points);
		});
	}

	#drawn(first, last) {
		const rows = this.#order.slice(first, last), shown = new Set(rows);
		for (const address of this.#visible) if (!shown.has(address)) this.#trends.forget(address);
		for (const address of rows) if (!this.#visible.has(address)) this.#trends.record(address, this.#states.get(address));
		this.#visible = shown;
		this.list.activate(this.#place);
		setAttribute(this.box, "aria-rowcount", this.#order.length + 1);
		setText(this.counts, this.#isThere ? `${count(this.#order.length, "store")}${this.filter.value.trim() || this.where.expression ? " match" : ""}` : "Loading…");
		this.head.hidden = this.#order.length === 0;
		setText(this.empty, this.problem ? safe(sentence(this.problem)) : this.#isThere && this.#order.length === 0 ? "No store matches, or none that you may read." : "");
	}

	get #place() {return this.#current === null ? -1 : this.#order.indexOf(this.#current);}

	// MARK: Choosing

	#chosenChanged(isNoted = true) {
		const number = this.#chosen.size;
		this.send.disabled = number === 0 || number > mostChosen;
		setText(this.send, number > mostChosen ? `${count(number)} are too many for one commit; at most ${mostChosen}` : `Dispatch to ${number === 0 ? "selected stores" : number === 1 ? "1 store" : count(number, "store")}…`);
		this.none.disabled = number === 0;
		this.list.draw();
		if (isNoted) this.#note(false);
	}

	#chooseAll() {
		for (const address of this.#rows) this.#chosen.add(address);
		this.#chosenChanged();
	}

	#toggle(address) {
		if (!this.#chosen.delete(address)) this.#chosen.add(address);
		this.#chosenChanged();
	}

	#dispatch() {this.app.go(`dispatch/${[...this.#chosen].join(" ")}`);}

	#click(event) {
		const address = this.list.shownBy(event.target), place = this.#order.indexOf(address), last = this.#place;
		if (place < 0) return;
		this.#current = address;
		if (event.shiftKey && last >= 0) for (let i = Math.min(last, place); i <= Math.max(last, place); i++) this.#chosen.add(this.#order[i]);
		else if (event.target.closest("input")) return this.#toggle(address);
		this.#chosenChanged();
	}

	#open(event) {
		const address = this.list.shownBy(event.target);
		if (address) this.app.go(`store/${address}`);
	}

	#key(event) {
		if (event.target !== this.box || event.altKey) return;
		const total = this.#rows.length, isAll = event.key === "a" && (event.ctrlKey || event.metaKey);
		if (total === 0 || (event.ctrlKey || event.metaKey) && !isAll) return;
		const next = moveTo(event.key, this.#place, this.list, total);
		if (isAll) this.#chooseAll();
		else if (event.key === " " && this.#current) this.#toggle(this.#current);
		else if (event.key === "Enter" && this.#current) this.app.go(`store/${this.#current}`);
		else if (next !== null) {
			if (event.shiftKey && this.#current) this.#chosen.add(this.#current);
			this.#current = this.#order[Math.max(0, next)];
			if (event.shiftKey) this.#chosen.add(this.#current);
			this.#chosenChanged();
			this.list.reveal(Math.max(0, next));
		} else return;
		event.preventDefault();
	}
}
