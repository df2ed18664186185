// Stores chosen by what they are like: a field for the expression, with what is wrong with it beside it, and the stores for
// which it holds.

import {debounce, foreign, h, replace, safe, sentence, setAttribute} from "./dom.js";
import {follow} from "./follow.js";
import {parse} from "./json.js";

/** A part that no state has: whoever selects it hears of stores, and of nothing in them. */
export const nothing = ["/~1"];

/** As a request has it: text, or JsonLogic where it begins with {. */
export const conditionOf = text => text.startsWith("{") ? parse(text) : text;

export class WhereField {
	/** `choose(expression)` is called when typing has paused. */
	constructor(id, choose, label = "Where", placeholder = "isOn && level > 50", title = "Only stores for which this holds") {
		const later = debounce(300, () => choose(this.expression));
		this.input = h("input", {type: "search", id, placeholder, title, spellcheck: "false", autocomplete: "off", "aria-describedby": `${id}-problem`, oninput: later});
		this.problem = h("span.error", {id: `${id}-problem`, role: "status"});
		this.element = h("div.field.where", h("label", {for: id}, label), this.input, this.problem);
	}

	get expression() {return this.input.value.trim();}

	/** Says what is wrong, and shows where in the expression; null: nothing is. */
	say(error) {
		setAttribute(this.input, "aria-invalid", error ? "true" : null);
		replace(this.problem, error && [foreign(sentence(error)), " ", this.#shown(error)]);
	}

	#shown(error) {
		const column = Number(/line 1, column (\d+)/.exec(error.message)?.[1]);
		if (!column) return null;
		const signs = [...this.expression], at = Math.min(column - 1, signs.length);
		return h("code", safe(signs.slice(0, at).join("")), h("mark", safe(signs.slice(at).join("")) || "…"));
	}
}

/** The stores of the bus for which an expression holds now. */
export class Choice {
	/** Null: all are meant. While an expression is wrong, these are those of the last one that was right. */
	addresses = null;
	#shown = null;
	#asked = null;

	/** `tell(error)` is called when other stores are meant, with null, and with what is wrong with an expression. */
	constructor(getBus, tell) {Object.assign(this, {getBus, tell});}

	set(expression) {
		if (this.#asked !== this.#shown) this.#asked?.close();
		this.#asked = null;
		if (expression === "") {
			this.#shown?.close();
			this.#shown = this.addresses = null;
			return this.tell(null);
		}
		let where;
		try {
			where = conditionOf(expression);
		} catch (error) {
			return this.tell(error);
		}
		const found = new Set();
		const own = this.#asked = follow(this.getBus(), "*/*", {where, select: nothing}, ({reset, states, dropped}) => {
			if (this.#shown !== own) this.#shown?.close();
			this.#shown = own;
			if (reset) found.clear();
			for (const address of states.keys()) found.add(address);
			for (const address of dropped) found.delete(address);
			this.addresses = found;
			this.tell(null);
		}, error => this.tell(error));
	}
}
