// What the log is asked for: fields, what may stand in them, filters that somebody has kept, and the same as options of the
// page's address.

import {addressOf, timeOf, timeText} from "./address.js";
import {debounce, dialog, foreign, h, replace, setText} from "./dom.js";
import {actions, authors, payloads, suggests, targets} from "./suggest.js";
import {Choice, WhereField, conditionOf} from "./where.js";

/** Times back from now, in seconds. */
const spans = {"5m": ["Last 5 minutes", 300], "1h": ["Last hour", 3600], "1d": ["Last day", 86_400], "7d": ["Last week", 604_800]};

/** The kept filters: {name: address}. */
const key = "fluxbus-filters";
const kept = () => JSON.parse(localStorage.getItem(key) ?? "{}");

export class LogFilters {
	#edited = null;

	/**
	 * `onChange(isStep)` is called when something else is asked for; with `isStep` it is another field than before.
	 * `onStores` is called when other stores are meant, `commits` tells what has been seen.
	 */
	constructor(app, {onChange, onStores, commits}) {
		Object.assign(this, {app, onChange});
		const type = () => this.target.value.trim().split("/")[0];
		this.target = this.#field("target", "Store or type", "counter/kitchen", text => targets(app, text));
		this.by = this.#field("by", "By", "user, client, token, unit", () => authors(commits()));
		this.action = this.#field("action", "Action", "increment", () => actions(app, type()));
		this.payload = new WhereField("log-payload", () => this.#changed("payload"), "Payload", "by > 10", "Only actions for whose payload this holds");
		this.choice = new Choice(() => app.bus, error => {this.where.say(error); onStores();});
		this.where = new WhereField("log-where", expression => {this.choice.set(expression); this.#changed("where", false);}, "Stores where");
		this.span = h("select", {id: "log-span", onchange: () => {this.#showTimes(); this.#changed("span");}},
			h("option", {value: ""}, "Any time"), Object.entries(spans).map(([value, [label]]) => h("option", {value}, label)), h("option", {value: "between"}, "Between"));
		this.from = this.#time("from", "From");
		this.until = this.#time("to", "To");
		this.open = h("button.filters-open", {"aria-expanded": "false", "aria-controls": "log-filters", onclick: () => this.#toggle()}, "Filters");
		this.element = h("div.filters", {id: "log-filters", role: "search", "aria-label": "Commits"},
			[["target", "Store or type"], ["by", "By"], ["action", "Action"]].map(([name, label]) => h("div.field", h("label", {for: `log-${name}`}, label), this[name], this[name].choices)),
			this.payload.element, suggests(this.payload.input, () => payloads(app, type(), this.action.value.trim())), this.where.element,
			h("div.field", h("label", {for: "log-span"}, "Time"), this.span), this.from.box, this.until.box,
			h("button.quiet", {id: "log-clear", onclick: () => this.#clear()}, "Clear"), h("button.quiet", {id: "log-saved", onclick: () => this.#showKept()}, "Saved filters…"));
		this.#showTimes();
	}

	#field(name, label, placeholder, find) {
		const input = h("input", {type: "search", id: `log-${name}`, placeholder, spellcheck: "false", autocomplete: "off", oninput: debounce(300, () => this.#changed(name))});
		input.choices = suggests(input, find);
		return input;
	}

	#time(name, label) {
		const input = h("input", {type: "datetime-local", id: `log-${name}`, step: "1", onchange: () => this.#changed(name)});
		return {input, box: h("div.field", h("label", {for: input.id}, label), input)};
	}

	#showTimes() {this.from.box.hidden = this.until.box.hidden = this.span.value !== "between";}

	#toggle() {
		const isOpen = this.element.classList.toggle("open");
		this.open.setAttribute("aria-expanded", String(isOpen));
	}

	// MARK: What is asked for

	/** As the log's feed takes it. Throws where the payload's expression begins as JSON and is not. */
	get question() {
		const text = input => input.value.trim() || undefined, payload = this.payload.expression;
		const {from, until} = this.range;
		return {target: text(this.target), by: text(this.by), action: text(this.action), where: payload ? conditionOf(payload) : undefined, from, until};
	}

	/** The time that is meant, {from, until} in seconds; undefined where there is no bound. */
	get range() {
		if (spans[this.span.value]) return {from: Date.now() / 1000 - spans[this.span.value][1], until: undefined};
		if (this.span.value !== "between") return {};
		return {from: this.#exact("from"), until: this.#exact("until")};
	}

	/** A field has whole seconds; what was set says it to the millisecond. */
	#exact(name) {
		const {input, exact} = this[name];
		return exact?.shown === input.value ? exact.time : new Date(input.value).getTime() / 1000 || undefined;
	}

	/** The same, as options of an address. */
	get options() {
		const isBetween = this.span.value === "between", {from, until} = this.range;
		return {
			by: this.by.value.trim(), action: this.action.value.trim(), payload: this.payload.expression, where: this.where.expression,
			last: isBetween ? "" : this.span.value, ...isBetween && {from: timeText(from), to: timeText(until)},
		};
	}

	/** Shows what an address says; true if that is something else than before. */
	show(rest, options) {
		const before = addressOf("log", this.target.value.trim(), this.options), of = name => options.get(name) ?? "";
		this.target.value = rest;
		this.by.value = of("by");
		this.action.value = of("action");
		this.payload.input.value = of("payload");
		if (this.where.expression !== of("where")) {
			this.where.input.value = of("where");
			this.choice.set(of("where"));
		}
		const [from, until] = [timeOf(of("from")), timeOf(of("to"))];
		this.setTimes(from, until, spans[of("last")] ? of("last") : "");
		return addressOf("log", rest, this.options) !== before;
	}

	setTimes(from, until, last = "") {
		this.span.value = from !== undefined || until !== undefined ? "between" : last;
		for (const [field, time] of [[this.from, from], [this.until, until]]) {
			const shown = time === undefined ? "" : localTime(time);
			field.input.value = shown;
			field.exact = {time, shown: field.input.value};
		}
		this.#showTimes();
	}

	/** Only what happened in this time. */
	choose(from, until) {
		this.setTimes(from, until);
		this.#edited = null;
		this.#changed("range");
	}

	#changed(field, isAsked = true) {
		const isStep = this.#edited !== field;
		this.#edited = field;
		this.onChange(isStep, isAsked);
	}

	#clear() {
		this.show("", new URLSearchParams());
		this.#edited = null;
		this.#changed("all");
	}

	/** How many of the fields say something, on the button that shows them where there is little room. */
	sayNumber() {
		const number = [this.target.value, ...Object.values(this.options)].filter(one => one).length;
		setText(this.open, number ? `Filters (${number})` : "Filters");
	}

	// MARK: Kept filters

	#showKept() {
		const name = h("input", {type: "text", id: "filter-name", maxlength: "60", autocomplete: "off", placeholder: "Doors at night"});
		const list = h("ul.plain.kept");
		const fill = () => {
			const all = Object.entries(kept());
			replace(list, all.length === 0 && h("li.muted", "None yet."), all.map(([label, address]) => h("li",
				h("a", {href: address, onclick: () => open.close()}, foreign(label)),
				h("button.quiet", {"aria-label": `Delete ${label}`, onclick: () => keep(label, undefined)}, "✕"))));
		};
		const keep = (label, address) => {
			localStorage.setItem(key, JSON.stringify({...kept(), [label]: address}));
			fill();
		};
		fill();
		const form = h("form.actions", {onsubmit: event => {
			event.preventDefault();
			if (name.value.trim()) keep(name.value.trim(), addressOf("log", this.target.value.trim(), this.options));
			name.value = "";
		}}, h("label", {for: "filter-name"}, "Save this filter as"), name, h("button", {type: "submit"}, "Save"));
		const open = dialog("Saved filters", h("div", list, form), [["Close"]]);
	}
}

/** A time as a field for times has it. */
export const localTime = seconds => new Date(Math.floor(seconds) * 1000 - new Date(seconds * 1000).getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
