// Which rows the tree of stores has: types, their stores, and the members of those that are open. Rows are counted, not
// made, until they are on screen.

import {globTest, isContainer, keysOf, kindOf, pointerOf} from "./json.js";

/** Members of one object that are shown at first, and each time that more are asked for. */
const most = 200;
/** How many stores a type has at most that is open at first. */
const small = 20;

export class Tree {
	#groups = [];
	#isDirty = true;
	#open = new Map();
	#shown = new Map();
	#rows = new Map();
	#test = () => true;
	filter = "";
	matching = 0;
	total = 0;

	constructor(source, definitions) {
		this.source = source;
		this.definitions = definitions;
	}

	/** Whether some stores are left out. */
	get isFiltered() {return this.filter !== "" || this.source.chosen !== null;}

	setFilter(pattern) {
		this.filter = pattern;
		this.#test = globTest(pattern);
		this.spoil();
	}

	/** The stores, or what is open, have changed. */
	spoil() {this.#isDirty = true;}

	/** A state is another one. */
	spoilState(address) {
		const before = this.#rows.get(address)?.length ?? 1;
		this.#rows.delete(address);
		if (this.isOpen(address, "store") && this.#members(address).length !== before) this.spoil();
	}

	// MARK: What is open

	/** Types as they were first seen: whether they are open without a word from the user. */
	#small = new Map();
	#openStores = null;

	/** Small types are open, and the stores of a small bus. That is decided once for each: rows don't close by themselves. */
	#decide() {
		const {index} = this.source;
		if (!this.source.isReady) return;
		this.#openStores ??= index.size <= 12;
		for (const type of index.names) if (!this.#small.has(type)) this.#small.set(type, index.types.get(type).size <= small);
	}

	isOpen(key, kind, size = 0) {
		const said = this.#open.get(key);
		if (said !== undefined) return said;
		if (kind === "type") return this.#small.get(key) || this.isFiltered && this.matching <= 2000;
		if (kind === "store") return this.#openStores ?? false;
		return size <= 12;
	}

	setOpen(row, isOpen) {
		this.#open.set(row.key, isOpen);
		if (row.kind === "member") this.#rows.delete(row.address);
		this.spoil();
	}

	showMore(row) {
		this.#shown.set(row.parent, (this.#shown.get(row.parent) ?? most) + most);
		this.#rows.delete(row.address);
		this.spoil();
	}

	/** Opens all that is above a place, so that it has a row. */
	openTo(address, path = []) {
		if (address.includes("/")) this.#open.set(address.slice(0, address.indexOf("/")), true);
		if (path.length > 0) this.#open.set(address, true);
		for (let i = 1; i < path.length; i++) this.#open.set(address + " " + pointerOf(path.slice(0, i)), true);
		this.#rows.delete(address);
		this.spoil();
	}

	// MARK: Rows

	#layout() {
		if (!this.#isDirty) return;
		this.#isDirty = false;
		this.#decide();
		this.#groups = [];
		this.total = 0;
		this.matching = 0;
		const index = this.source.index, names = index.names;
		const chosen = this.source.chosen, test = address => this.#test(address) && (chosen?.has(address) ?? true);
		const lists = names.map(type => this.isFiltered ? index.sorted(type).filter(test) : index.sorted(type));
		this.matching = lists.reduce((sum, list) => sum + list.length, 0);
		for (const [place, type] of names.entries()) {
			const list = lists[place];
			if (list.length === 0) continue;
			const group = {type, list, start: this.total, ends: null, rows: 0};
			if (this.isOpen(type, "type")) {
				group.ends = new Int32Array(list.length);
				for (let i = 0; i < list.length; i++) {
					group.rows += 1 + (this.isOpen(list[i], "store") ? this.#members(list[i]).length : 0);
					group.ends[i] = group.rows;
				}
			}
			this.total += 1 + group.rows;
			this.#groups.push(group);
		}
	}

	get count() {
		this.#layout();
		return this.total;
	}

	/** The row at a place. `key` stays the same while rows come and go. */
	row(place) {
		this.#layout();
		const group = this.#groups[search(this.#groups.length, i => this.#groups[i].start + this.#groups[i].rows >= place)];
		if (!group) return undefined;
		const types = this.#groups;
		if (place === group.start) {
			return {
				kind: "type", key: group.type, type: group.type, level: 1, isOpen: group.ends !== null, count: group.list.length,
				position: types.indexOf(group) + 1, size: types.length,
			};
		}
		const offset = place - group.start - 1;
		const i = search(group.list.length, i => group.ends[i] > offset);
		const address = group.list[i], first = i === 0 ? 0 : group.ends[i - 1];
		if (offset === first) {
			return {
				kind: "store", key: address, address, type: group.type, level: 2, isOpen: this.isOpen(address, "store"),
				position: i + 1, size: group.list.length, value: this.source.state(address),
			};
		}
		return this.#members(address)[offset - first - 1];
	}

	/** Where the row with a key is; -1 if there is none. */
	find(key) {
		this.#layout();
		const address = key.split(" ", 1)[0];
		const group = this.#groups.find(group => group.type === (address.includes("/") ? address.slice(0, address.indexOf("/")) : address));
		if (!group) return -1;
		if (!address.includes("/")) return group.start;
		const i = group.ends ? group.list.indexOf(address) : -1;
		if (i < 0) return -1;
		const start = group.start + 1 + (i === 0 ? 0 : group.ends[i - 1]);
		if (key === address) return start;
		const member = this.isOpen(address, "store") ? this.#members(address).findIndex(row => row.key === key) : -1;
		return member < 0 ? -1 : start + 1 + member;
	}

	/** The stores of the rows from `first` to before `last`. */
	addresses(first, last) {
		const found = new Set();
		for (let i = first; i < last; i++) {
			const row = this.row(i);
			if (row?.address) found.add(row.address);
		}
		return [...found];
	}

	#members(address) {
		let rows = this.#rows.get(address);
		if (rows) return rows;
		const state = this.source.state(address);
		rows = [];
		if (state === undefined) rows.push({kind: "loading", key: address + " …", address, level: 3, position: 1, size: 1});
		else this.#flatten(address, state, [], 3, rows);
		this.#rows.set(address, rows);
		return rows;
	}

	#flatten(address, value, path, level, rows) {
		const isArray = Array.isArray(value), keys = isArray ? [...value.keys()] : keysOf(value);
		const parent = address + " " + pointerOf(path), shown = this.#shown.get(parent) ?? most;
		const type = address.slice(0, address.indexOf("/"));
		for (const [place, key] of keys.slice(0, shown).entries()) {
			const inner = value[key], at = [...path, key], row = {
				kind: "member", key: address + " " + pointerOf(at), address, type, path: at, name: key, value: inner, level, inArray: isArray,
				position: place + 1, size: keys.length, isComputed: path.length === 0 && this.definitions.isComputed(type, key),
			};
			rows.push(row);
			if (!isContainer(inner)) continue;
			const size = Object.keys(inner).length;
			if (size === 0) continue;
			row.isOpen = this.isOpen(row.key, "member", size);
			row.childCount = size;
			if (row.isOpen) this.#flatten(address, inner, at, level + 1, rows);
		}
		if (keys.length > shown) {
			rows.push({kind: "more", key: parent + " more", parent, address, level, hidden: keys.length - shown, position: shown + 1, size: keys.length});
		}
	}
}

/** The first number below `count` for which the test holds; `count` if it holds for none. */
function search(count, test) {
	let low = 0, high = count;
	while (low < high) {
		const middle = low + high >> 1;
		if (test(middle)) high = middle;
		else low = middle + 1;
	}
	return low;
}

/** What a container shows while it is closed. */
export const sizeText = value => kindOf(value) === "array" ? `[${value.length}]` : `{${Object.keys(value).length}}`;
