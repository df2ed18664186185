// The Flow view: who dispatches to which types, and who watches them, as a picture of the system that lives on the bus. The width
// of a line says how often; what is selected is told below, action by action.

import {addressOf} from "./address.js";
import {whoOf} from "./commits.js";
import {count, draw, h, rate, replace, safe, sentence, setAttribute, setText, svg, table} from "./dom.js";
import {Feed} from "./feed.js";
import {Flows, span} from "./flows.js";
import {globTest} from "./json.js";

/** How many boxes a column has at most, how tall they are, and how far apart. */
const most = 14, tall = 40, gap = 12;
/** How often clients are asked for, in milliseconds. */
const rhythm = 2000;

const columns = [["who", "Dispatch"], ["type", "Types"], ["watcher", "Watch"]];

export class FlowView {
	#flows = new Flows();
	#watchers = [];
	#delivered = new Map();
	#selected = {};
	#parts = new Map();
	#generation = 0;
	#timer = 0;
	#drawing = () => this.#draw();

	constructor(app) {
		this.app = app;
		this.picture = svg("svg", {id: "flow-picture", class: "flow-picture", role: "group", "aria-label": "Who dispatches to which types, and who watches them"});
		this.said = h("output.muted", {id: "flow-said"});
		this.clear = h("button", {id: "flow-clear", hidden: true, onclick: () => this.#select({})}, "Show all");
		this.problem = h("p.empty", {role: "status"});
		this.tables = h("div.tables");
		this.element = h("div.flow.scroll", h("div.bar", h("span.muted", "Rates of the last minute; widths grow with them."), this.clear, this.said), this.problem, h("div.pane.flow-box", this.picture), this.tables);
		this.typesWith = action => app.definitions.names.filter(type => Object.hasOwn(app.definitions.of(type).actions ?? {}, action));
		const add = commits => this.#uncounted.push(...commits.filter(one => one.time !== undefined));
		this.feed = new Feed(app, {
			onReset: () => {this.#flows.clear(); this.#uncounted = [];}, onNews: added => add(added ? this.feed.commits.slice(-added) : []),
			onOlder: number => add(this.feed.commits.slice(0, number)), onError: error => {this.#problem = error;},
		});
		new ResizeObserver(() => draw(this.#drawing)).observe(this.element);
	}
	#problem = null;
	#isActive = false;
	/** Commits that have come. Without a log they are told before their actions, so they are counted when the picture is drawn. */
	#uncounted = [];

	async show(rest, options = new URLSearchParams()) {
		this.#selected = Object.fromEntries(columns.map(([kind]) => [kind, options.get(kind)]).filter(([, name]) => name));
		draw(this.#drawing);
		if (this.#isActive) return;
		this.#isActive = true;
		const generation = ++this.#generation;
		this.#problem = null;
		this.#poll(generation);
		await this.feed.start({from: Date.now() / 1000 - span});
		if (generation !== this.#generation) return;
		await this.feed.older(5000);
		draw(this.#drawing);
	}

	hide() {
		this.#isActive = false;
		this.#generation++;
		clearTimeout(this.#timer);
		this.feed.stop();
	}

	renew() {
		if (!this.#isActive) return;
		this.hide();
		this.show("", new URLSearchParams(this.#selected));
	}

	/** Who watches is asked for; the picture is drawn again each second. */
	async #poll(generation, turn = 0) {
		clearTimeout(this.#timer);
		if (!document.hidden && turn % (rhythm / 1000) === 0) await this.#readClients();
		if (generation !== this.#generation) return;
		draw(this.#drawing);
		this.#timer = setTimeout(() => this.#poll(generation, turn + 1), 1000);
	}

	async #readClients() {
		const clients = (await this.app.bus.request("clients").catch(() => null))?.clients ?? [], now = performance.now(), found = new Map();
		for (const one of clients) {
			if (one.self || one.subscriptions === 0) continue;
			const name = one.client ?? (whoOf(one.by) || `client ${one.id}`), before = this.#delivered.get(one.id);
			const speed = before ? Math.max(0, (one.delivered - before.number) / (now - before.at) * 1000) : 0;
			this.#delivered.set(one.id, {number: one.delivered, at: now});
			const known = found.get(name) ?? {name, watches: new Set(), rate: 0, clients: 0};
			for (const pattern of one.watches ?? []) known.watches.add(pattern);
			known.rate += speed;
			known.clients++;
			found.set(name, known);
		}
		const ids = new Set(clients.map(one => one.id));
		for (const id of this.#delivered.keys()) if (!ids.has(id)) this.#delivered.delete(id);
		this.#watchers = [...found.values()];
	}

	// MARK: Selecting

	/** Only what goes through these boxes is told; the picture shows the rest faintly. */
	#select(selected) {
		this.#selected = selected;
		this.app.note("", selected, true);
		draw(this.#drawing);
	}

	#toggle(kind, name) {
		const {[kind]: old, ...others} = this.#selected;
		this.#select(old === name ? others : {...others, [kind]: name});
	}

	// MARK: Drawing

	#model() {
		const now = Date.now() / 1000;
		for (const commit of this.#uncounted.splice(0)) this.#flows.add(commit, this.typesWith);
		const flows = this.#flows.at(now), types = new Map(), authors = new Map(), lines = new Map();
		const add = (map, name, speed) => map.set(name, (map.get(name) ?? 0) + speed);
		for (const {who, type, rate: speed} of flows) {
			add(authors, who, speed);
			add(types, type, speed);
			add(lines, `${who}\n${type}`, speed);
		}
		const all = new Set([...types.keys(), ...this.app.stores.source.index.names]), watches = [];
		for (const one of this.#watchers) {
			for (const type of all) {
				if (![...one.watches].some(pattern => globTest(pattern.split("/")[0] + "/x")(`${type}/x`))) continue;
				if (!types.has(type)) types.set(type, 0);
				watches.push({watcher: one.name, type, rate: types.get(type)});
			}
		}
		// What goes through all boxes that are selected.
		const {who, type, watcher} = this.#selected, typesOf = list => new Set(list.map(one => one.type));
		const ofAuthor = who && typesOf(flows.filter(one => one.who === who)), ofWatcher = watcher && typesOf(watches.filter(one => one.watcher === watcher));
		const isMeant = one => (!type || one.type === type) && (ofAuthor?.has(one.type) ?? true) && (ofWatcher?.has(one.type) ?? true)
			&& (!who || (one.who ?? who) === who) && (!watcher || (one.watcher ?? watcher) === watcher);
		const top = map => [...map].sort((a, b) => b[1] - a[1]).slice(0, most).sort((a, b) => a[0] < b[0] ? -1 : 1).map(([name, speed]) => ({name, rate: speed}));
		return {
			flows, watches, isMeant, hidden: [authors, types].reduce((sum, map) => sum + Math.max(0, map.size - most), Math.max(0, this.#watchers.length - most)),
			columns: {who: top(authors), type: top(types), watcher: top(new Map(this.#watchers.map(one => [one.name, one.rate])))},
			lines: [...lines].map(([key, speed]) => ({who: key.split("\n")[0], type: key.split("\n")[1], rate: speed})),
		};
	}

	#draw() {
		const width = this.element.clientWidth - 26;
		if (width <= 0) return;
		const model = this.#model(), rows = Math.max(1, ...Object.values(model.columns).map(list => list.length)), height = 30 + rows * (tall + gap);
		setAttribute(this.picture, "viewBox", `0 0 ${width} ${height}`);
		setAttribute(this.picture, "height", height);
		const wide = Math.min(220, width * 0.28), x = {who: 1, type: (width - wide) / 2, watcher: width - wide - 1}, places = new Map(), drawn = new Set();
		for (const [kind, title] of columns) {
			this.#part(drawn, `head ${kind}`, () => svg("text", {class: "flow-head"}, title), part => setAttribute(part, "x", x[kind] + wide / 2) ?? setAttribute(part, "y", 16));
			const list = model.columns[kind], top = 30 + (rows - list.length) * (tall + gap) / 2;
			list.forEach((one, i) => places.set(`${kind} ${one.name}`, {x: x[kind], y: top + i * (tall + gap), ...one}));
		}
		for (const one of model.lines) this.#line(drawn, one, places.get(`who ${one.who}`), places.get(`type ${one.type}`), wide, model);
		for (const one of model.watches) this.#line(drawn, one, places.get(`type ${one.type}`), places.get(`watcher ${one.watcher}`), wide, model);
		for (const [kind] of columns) for (const one of model.columns[kind]) this.#box(drawn, kind, places.get(`${kind} ${one.name}`), wide, model);
		for (const [key, part] of this.#parts) {
			if (drawn.has(key)) continue;
			part.remove();
			this.#parts.delete(key);
		}
		this.#tell(model);
	}

	/** The part of the picture with a key, made when it is first drawn: what has the focus stays. */
	#part(drawn, key, make, update) {
		drawn.add(key);
		let part = this.#parts.get(key);
		if (!part) {
			this.#parts.set(key, part = make());
			// Lines are below boxes.
			if (part.classList.contains("flow-line")) this.picture.prepend(part);
			else this.picture.append(part);
		}
		update(part);
	}

	#line(drawn, one, from, to, wide, {isMeant}) {
		if (!from || !to) return;
		const title = one.who === undefined ? `${one.watcher} watches ${one.type}` : `${one.who} to ${one.type}: ${rate(one.rate)}`, half = tall / 2;
		const [x1, y1, x2, y2] = [from.x + wide, from.y + half, to.x, to.y + half], middle = (x1 + x2) / 2;
		this.#part(drawn, `line ${one.who ?? ""}\n${one.type}\n${one.watcher ?? ""}`, () => svg("path", {class: one.who === undefined ? "flow-line watch" : "flow-line"}, svg("title", {})), part => {
			setAttribute(part, "d", `M${x1},${y1}C${middle},${y1} ${middle},${y2} ${x2},${y2}`);
			setAttribute(part, "stroke-width", (1.5 + 2.5 * Math.log2(1 + one.rate)).toFixed(1));
			part.classList.toggle("idle", one.rate === 0);
			part.classList.toggle("faint", !isMeant(one));
			setText(part.firstChild, safe(title));
		});
	}

	#box(drawn, kind, {name, x, y, rate: speed}, wide, model) {
		const make = () => {
			const toggle = () => this.#toggle(kind, name);
			const box = svg("g", {class: "flow-node", role: "button", tabindex: "0"}, svg("rect", {rx: "6", height: tall}), svg("text", {class: "flow-name", x: "10", y: "17"}), svg("text", {class: "flow-rate", x: "10", y: "32"}));
			box.addEventListener("click", toggle);
			box.addEventListener("keydown", event => {
				if (event.key !== "Enter" && event.key !== " ") return;
				event.preventDefault();
				toggle();
			});
			return box;
		};
		this.#part(drawn, `${kind} ${name}`, make, part => {
			const [rect, label, below] = part.children, room = Math.floor((wide - 16) / 7), text = safe(name);
			setAttribute(part, "transform", `translate(${x},${y})`);
			setAttribute(rect, "width", wide);
			setText(label, text.length > room ? text.slice(0, room - 1) + "…" : text);
			setText(below, kind === "watcher" ? `${rate(speed)} events` : rate(speed));
			setAttribute(part, "aria-label", `${columns.find(([one]) => one === kind)[1]}: ${text}, ${rate(speed)}`);
			setAttribute(part, "aria-pressed", String(this.#selected[kind] === name));
			part.classList.toggle("faint", Object.keys(this.#selected).length > 0 && this.#selected[kind] !== name && ![...model.lines, ...model.watches].some(one => one[kind] === name && model.isMeant(one)));
		});
	}

	#tell(model) {
		const flows = model.flows.filter(model.isMeant), isChosen = Object.keys(this.#selected).length > 0;
		const watchers = this.#watchers.filter(one => !isChosen || model.watches.some(two => two.watcher === one.name && model.isMeant(two)));
		this.clear.hidden = !isChosen;
		setText(this.said, `${rate(flows.reduce((sum, one) => sum + one.rate, 0))} in all${model.hidden ? ` · ${count(model.hidden)} with less are not drawn` : ""}`);
		const isEmpty = model.flows.length === 0 && model.watches.length === 0;
		setText(this.problem, this.#problem ? sentence(this.#problem) : isEmpty ? "Nobody has dispatched anything in the last minute, and nobody watches." : "");
		const log = one => h("a", {href: addressOf("log", one.type, {by: one.who, action: one.action})}, count(one.commits));
		replace(this.tables,
			table("Dispatched", ["Who", "Action", "#Per second", "#Commits"], flows.slice(0, 50).map(one => [one.who, `${one.type} ${one.action}`, rate(one.rate), log(one)]), "Nothing in the last minute."),
			table("Watching", ["Client", "Watches", "#Events"], watchers.slice(0, 50).map(one => [one.clients > 1 ? `${one.name} (${one.clients})` : one.name, [...one.watches].slice(0, 5).join(" ") + (one.watches.size > 5 ? " …" : ""), rate(one.rate)]), "Nobody, or nobody whom you may see."));
	}
}
