// The details of what is selected: a value in full, who set it, a store's facts, a type's actions.

import {byFacts, fact, pathText, summaryOf} from "./commits.js";
import {count, dateAndTime, draw, duration, foreign, h, longText, longValue, note, replace, sentence} from "./dom.js";
import {encodeLines, isEqual, kindOf, pointerOf, resolve, tokensOf} from "./json.js";
import {Chart} from "./chart.js";
import {isCharted} from "./series.js";

export class Details {
	#row = null;
	#value;
	#update = () => {};
	#refresh = () => this.#update();
	#generation = 0;
	#options = null;

	constructor(app, explorer, onClose) {
		Object.assign(this, {app, explorer});
		this.title = h("h3", {id: `${explorer.prefix}-details-title`});
		this.body = h("div.details-body");
		this.element = h("aside.pane.details", {"aria-labelledby": this.title.id, hidden: true},
			h("div.details-head", this.title, explorer.pins?.button, h("button.quiet.close", {"aria-label": "Close details", onclick: () => {onClose(); explorer.box.focus();}}, "✕")),
			this.body);
		// The past has a chart of its own: the slider.
		if (explorer.source.trends) {
			this.chart = new Chart(app, `${explorer.prefix}-chart`, {onRange: isStep => explorer.onPlace(isStep), known: knownValues(app)});
			this.chart.element.hidden = true;
		}
	}

	/** What is shown; null: nothing. */
	get row() {return this.#row;}

	get isShown() {return !this.element.hidden;}

	refresh() {if (this.isShown) draw(this.#refresh);}

	/** `options` are those of an address that names the row. */
	show(row, options) {
		this.element.hidden = !row;
		if (!row) {
			this.#row = null;
			this.chart?.hide();
			return;
		}
		if (row.key === this.#row?.key && !options) return;
		this.chart?.hide();
		this.#options = options ?? new URLSearchParams();
		this.#row = row;
		this.#generation++;
		this.#update = () => {};
		this.element.scrollTop = 0;
		if (row.kind === "type") this.#showType(row);
		else if (row.kind === "store") this.#showStore(row);
		else if (row.kind === "member") this.#showMember(row);
	}

	/** The moment has changed. */
	reload() {
		const row = this.#row;
		this.#row = null;
		if (row) this.show(row);
	}

	// MARK: A type

	#showType({type}) {
		const definition = this.app.definitions.of(type);
		replace(this.title, foreign(type));
		const actions = this.app.definitions.actions(type);
		replace(this.body,
			definition?.summary && note(definition.summary),
			this.#links({target: type, page: `table/${type}`, label: "Table"}),
			h("h4", count(actions.length, "action")),
			h("ul.plain", actions.map(([name, action]) => h("li",
				h("code", foreign(`${name}(${Object.keys(action.payload ?? {}).join(", ")})`)), action.summary && h("span.muted", " ", foreign(action.summary))))),
			definition && [h("h4", "Definition"), h("pre", longText(encodeLines(definition)))]);
	}

	// MARK: A store

	#showStore({address}) {
		const state = this.explorer.source.state(address);
		replace(this.title, foreign(address));
		const facts = h("dl.facts");
		const text = h("div");
		const actions = h("div.actions");
		if (this.explorer.source.trends === null) actions.append(h("button", {onclick: () => this.app.time.revert(address)}, `Revert to revision ${this.explorer.source.revision}…`));
		replace(this.body, this.#links({target: address, page: `store/${address}`, label: "Open"}), facts, actions, h("h4", "State"), text);
		this.#value = undefined;
		this.#update = () => {
			const now = this.explorer.source.state(address);
			if (now === this.#value && this.#value !== undefined) return;
			this.#value = now;
			replace(text, now === undefined ? h("p.muted", this.explorer.source.index.has(address) ? "Loading…" : "This store is not there.") : longValue(now));
		};
		this.#value = state === undefined ? null : undefined;
		this.#update();
		if (this.explorer.source.trends) this.#storeFacts(address, facts);
	}

	async #storeFacts(address, facts) {
		const generation = this.#generation;
		try {
			const one = (await this.app.bus.request("stores", {match: address})).stores[0];
			if (generation !== this.#generation || !one) return;
			replace(facts, fact("Revision", h("a", {href: `#log/${one.revision}`}, one.revision)),
				one.ephemeral && fact("Lifetime", "goes with its connection"), one.ttl && fact("Lease", `${duration(one.ttl)} without a dispatch`));
		} catch (error) {
			if (generation === this.#generation) replace(facts, fact("Revision", sentence(error)));
		}
	}

	#links({target, page, label}) {
		return h("p.links",
			h("a", {href: `#${page}`}, label), h("a", {href: `#dispatch/${target}`}, "Dispatch"), h("a", {href: `#log/${target}`}, "Log"),
			this.explorer.source.trends !== null && target.includes("/") && h("a", {href: `#time/${target}`}, "Time"));
	}

	// MARK: A member

	#showMember({address, type, path, isComputed}) {
		replace(this.title, foreign(address), " ", h("span.muted", foreign(pathText(path))));
		const pointer = pointerOf(path);
		const box = h("div.full"), {chart} = this, options = this.#options;
		if (chart) chart.element.hidden = true;
		const answer = h("div.blame", {"aria-live": "polite"});
		const ask = h("button", {onclick: () => this.#blame(address, path, answer)}, "Who set this?");
		const computed = this.app.definitions.of(type)?.computed?.[path[0]];
		const kind = h("dd");
		replace(this.body,
			h("dl.facts", h("dt", "Pointer"), h("dd", h("code", foreign(pointer))), h("dt", "Kind"), kind),
			box,
			// Above the chart, whose height comes with its samples: a button that moves is missed.
			h("div.actions", ask), answer, chart?.element,
			isComputed && [h("h4", "Computed as"), computed === null ? note("In code.") : h("pre", longValue(computed))]);
		let shown;
		this.#update = () => {
			const state = this.explorer.source.state(address), value = state === undefined ? undefined : resolve(state, path);
			if (box.firstChild && isEqual(shown, value)) return;
			shown = value;
			replace(kind, value === undefined ? "not there" : Array.isArray(value) ? count(value.length, "element") : kindOf(value) === "object" ? count(Object.keys(value).length, "member") : kindOf(value) === "string" ? `string, ${count(value.length, "character")}` : kindOf(value));
			replace(box, value === undefined ? h("p.muted", "There is no such member now.") : longValue(value));
			if (!chart || !isCharted(value)) return;
			if (!chart.element.hidden) return chart.refresh();
			chart.suggest(this.#comparable(address, type, path));
			chart.show(address, pointer, options);
		};
		this.#update();
		// In the past a click on a value is a question for its origin.
		if (this.explorer.source.trends === null) this.#blame(address, path, answer);
	}

	/** Values that somebody may want beside one: of the same name in other stores, and others of the same store. */
	#comparable(address, type, path) {
		const {source} = this.explorer, own = source.state(address), beside = path.slice(0, -1), siblings = resolve(own, beside);
		const others = source.index.sorted(type).filter(other => other !== address).slice(0, 50).map(other => other + pointerOf(path));
		return [...Object.keys(siblings).filter(name => isCharted(siblings[name]) && name !== String(path.at(-1))).map(name => address + pointerOf([...beside, name])), ...others];
	}

	async #blame(address, path, box) {
		const generation = this.#generation;
		replace(box, h("p.muted", "Searching the log…"));
		try {
			const bus = this.app.past();
			const revision = this.explorer.source.trends === null ? this.explorer.source.revision : (await bus.request("sync")).revision;
			const {oldest, values} = await bus.request("blame", {store: address, path: pointerOf(path), revision});
			if (generation !== this.#generation) return;
			const {commit, old, value} = values[0] ?? {};
			if (!commit) return replace(box, note(`It has been so since before revision ${oldest || 1}, where the log begins.`));
			replace(box, h("dl.facts",
				fact("Revision", h("a", {href: `#log/${commit.revision}`}, commit.revision)),
				fact("Time", dateAndTime(commit.time)),
				fact("By", foreign(byFacts(commit.by))),
				fact("Action", longText(summaryOf(commit, address))),
				fact("Before", old === undefined ? "none" : longValue(old)),
				fact("After", value === undefined ? "none" : longValue(value))));
		} catch (error) {
			if (generation === this.#generation) replace(box, note(sentence(error), "error"));
		}
	}
}

/** The values that a type lists for one of its members, for a chart. */
export const knownValues = app => (store, path) => app.definitions.schema(store.slice(0, store.indexOf("/")), tokensOf(path)[0])?.enum;
