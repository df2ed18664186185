// The details of what is selected: a value in full, who set it, a store's facts, a type's actions.

import {byFacts, fact, pathText, summaryOf} from "./commits.js";
import {count, dateAndTime, draw, duration, foreign, h, longText, longValue, note, replace, sentence} from "./dom.js";
import {encode, isEqual, kindOf, pointerOf, resolve} from "./json.js";
import {drawCurve} from "./trends.js";

export class Details {
	#row = null;
	#value;
	#update = () => {};
	#refresh = () => this.#update();
	#generation = 0;

	constructor(app, explorer, onClose) {
		Object.assign(this, {app, explorer});
		this.title = h("h3", {id: `${explorer.prefix}-details-title`});
		this.body = h("div.details-body");
		this.element = h("aside.pane.details", {"aria-labelledby": this.title.id, hidden: true},
			h("div.details-head", this.title, h("button.quiet.close", {"aria-label": "Close details", onclick: () => {onClose(); explorer.box.focus();}}, "✕")),
			this.body);
	}

	get isShown() {return !this.element.hidden;}

	refresh() {if (this.isShown) draw(this.#refresh);}

	show(row) {
		this.element.hidden = !row;
		if (!row) {
			this.#row = null;
			return;
		}
		if (row.key === this.#row?.key) return;
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
			this.#links({target: type}),
			h("h4", count(actions.length, "action")),
			h("ul.plain", actions.map(([name, action]) => h("li",
				h("code", foreign(`${name}(${Object.keys(action.payload ?? {}).join(", ")})`)), action.summary && h("span.muted", " ", foreign(action.summary))))),
			definition && [h("h4", "Definition"), h("pre", longText(JSON.stringify(JSON.parse(encode(definition)), null, 2)))]);
	}

	// MARK: A store

	#showStore({address}) {
		const state = this.explorer.source.state(address);
		replace(this.title, foreign(address));
		const facts = h("dl.facts");
		const text = h("div");
		const actions = h("div.actions");
		if (this.explorer.source.trends === null) actions.append(h("button", {onclick: () => this.app.time.revert(address)}, `Revert to revision ${this.explorer.source.revision}…`));
		replace(this.body, this.#links({target: address}), facts, actions, h("h4", "State"), text);
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

	#links({target}) {
		return h("p.links",
			h("a", {href: `#dispatch/${target}`}, "Dispatch"), h("a", {href: `#log/${target}`}, "Log"),
			this.explorer.source.trends !== null && target.includes("/") && h("a", {href: `#time/${target}`}, "Time"));
	}

	// MARK: A member

	#showMember({address, type, path, isComputed}) {
		replace(this.title, foreign(address), " ", h("span.muted", foreign(pathText(path))));
		const pointer = pointerOf(path);
		const box = h("div.full"), curve = h("canvas.curve.large", {role: "img", "aria-label": "The last values of this number", hidden: true});
		const range = h("p.muted.small");
		const answer = h("div.blame", {"aria-live": "polite"});
		const ask = h("button", {onclick: () => this.#blame(address, path, answer)}, "Who set this?");
		const computed = this.app.definitions.of(type)?.computed?.[path[0]];
		const kind = h("dd");
		replace(this.body,
			h("dl.facts", h("dt", "Pointer"), h("dd", h("code", foreign(pointer))), h("dt", "Kind"), kind),
			box, curve, range,
			isComputed && [h("h4", "Computed as"), computed === null ? note("In code.") : h("pre", longValue(computed))],
			h("div.actions", ask), answer);
		let shown;
		this.#update = () => {
			const state = this.explorer.source.state(address), value = state === undefined ? undefined : resolve(state, path);
			if (box.firstChild && isEqual(shown, value)) return;
			shown = value;
			replace(kind, value === undefined ? "not there" : Array.isArray(value) ? count(value.length, "element") : kindOf(value) === "object" ? count(Object.keys(value).length, "member") : kindOf(value) === "string" ? `string, ${count(value.length, "character")}` : kindOf(value));
			replace(box, value === undefined ? h("p.muted", "There is no such member now.") : longValue(value));
			const points = this.explorer.source.trends?.of(address, pointer) ?? [];
			curve.hidden = points.length < 2;
			range.hidden = curve.hidden;
			if (curve.hidden) return;
			drawCurve(curve, points, 280, 64);
			range.textContent = `Last ${points.length} values: min ${Math.min(...points)}, max ${Math.max(...points)}`;
		};
		this.#update();
		// In the past a click on a value is a question for its origin.
		if (this.explorer.source.trends === null) this.#blame(address, path, answer);
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
