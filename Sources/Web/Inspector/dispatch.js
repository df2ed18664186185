// The Dispatch view: a form for an action, what it would change, and then the dispatch itself.

import {count, foreign, h, note, replace, safe, setText} from "./dom.js";
import {encode} from "./json.js";
import {payloadForm} from "./form.js";
import {Sending} from "./sending.js";
import {suggests, targets} from "./suggest.js";

export class DispatchView {
	#form = null;
	#previewed = null;
	#target = "";
	/** The action that is chosen, also where its type is not known yet. */
	#wanted = "";

	constructor(app) {
		this.app = app;
		this.target = h("input", {type: "text", id: "dispatch-target", placeholder: "counter/kitchen, or counter for all of them", autocomplete: "off", spellcheck: "false", "aria-describedby": "dispatch-reach", oninput: () => this.#targetChanged()});
		this.reach = h("span.muted.small", {id: "dispatch-reach"});
		this.action = h("select", {id: "dispatch-action", onchange: () => {this.#wanted = this.action.value; this.#actionChanged();}});
		this.summary = h("p.muted", {id: "dispatch-summary"});
		this.fields = h("div");
		this.previewButton = h("button", {type: "submit", id: "dispatch-preview"}, "Preview");
		this.send = h("button.primary", {id: "dispatch-send", disabled: true, onclick: () => this.#dispatch()}, "Dispatch");
		this.result = h("section.pane.result", {"aria-live": "polite", "aria-label": "Result", id: "dispatch-result"}, h("p.muted", "Preview shows what the dispatch would change; nothing is sent before that."));
		this.sending = new Sending(app, this.result);
		const form = h("form.pane.form", {novalidate: true, onsubmit: event => {event.preventDefault(); this.#preview();}},
			h("div.form-field", h("label", {for: "dispatch-target"}, "Store or type"), this.target, suggests(this.target, text => targets(app, text)), this.reach),
			h("div.form-field", h("label", {for: "dispatch-action"}, "Action"), this.action, this.summary),
			this.fields, h("div.actions", this.previewButton, this.send));
		this.element = h("div.dispatch.split", form, this.result);
	}

	show(rest, options) {
		if (rest) this.target.value = rest;
		this.#wanted = options.get("action") ?? this.action.value;
		this.#targetChanged();
		if (this.action.value !== this.#wanted) this.#targetChanged(true);
	}

	/** The address says for what the form is, not what somebody has typed into it. */
	#note() {
		if (this.app.view === "dispatch") this.app.note(this.target.value.trim(), {action: this.action.value || this.#wanted});
	}

	hide() {}

	definitionsChanged() {this.#targetChanged(true);}

	/** A type, a store, or several stores. */
	get #targets() {return this.target.value.trim().split(/[\s,]+/).filter(one => one);}
	get #type() {return (this.#targets[0] ?? "").split("/")[0];}

	#targetChanged(isForced = false) {
		this.#spoil();
		setText(this.reach, this.#reachText());
		this.#note();
		const isKnown = this.app.definitions.of(this.#type) !== undefined;
		const names = isKnown ? this.app.definitions.actions(this.#type).map(([name]) => name) : [];
		if (!isForced && this.#target === this.#type && this.action.options.length > 0) return;
		this.#target = this.#type;
		replace(this.action, names.map(name => h("option", {value: name}, name)));
		if (names.includes(this.#wanted)) this.action.value = this.#wanted;
		this.#actionChanged();
	}

	#reachText() {
		const [target, ...others] = this.#targets, type = this.#type, index = this.app.stores.source.index;
		if (!target) return "";
		if (!this.app.definitions.of(type)) return "There is no such type.";
		if (others.length > 0) {
			const odd = this.#targets.find(one => !one.startsWith(`${type}/`) || !index.has(one));
			return odd ? `${odd} is no store of ${type}.` : `${count(others.length + 1, "store")} in one commit.`;
		}
		return !target.includes("/") ? `Every ${type}: ${count(index.types.get(type)?.size ?? 0, "store")}.` : index.has(target) ? "One store." : "There is no such store.";
	}

	#actionChanged() {
		this.#spoil();
		this.#note();
		const definition = this.app.definitions.of(this.#type)?.actions?.[this.action.value];
		setText(this.summary, definition?.summary ? safe(definition.summary) : "");
		this.#form = definition ? payloadForm(definition, () => this.#spoil()) : null;
		replace(this.fields, this.#form?.element);
		this.previewButton.disabled = !definition;
	}

	/** What was previewed is not what the form says any more. */
	#spoil() {
		this.#previewed = null;
		this.send.disabled = true;
	}

	#read() {
		const payload = this.#form?.read();
		if (!payload) return null;
		const targets = this.#targets, act = {action: this.action.value, ...Object.keys(payload).length > 0 && {payload}};
		if (targets.length > 1) return {actions: targets.map(store => ({store, ...act}))};
		return {...targets[0]?.includes("/") ? {store: targets[0]} : {type: targets[0] ?? ""}, ...act};
	}

	async #preview() {
		const request = this.#read();
		this.#spoil();
		if (!request) return replace(this.result, note("Fix the highlighted fields.", "error"));
		const text = encode(request);
		if (!await this.sending.preview(request, this.#form, () => encode(this.#read()) === text)) return;
		this.#previewed = request;
		this.send.disabled = false;
	}

	#dispatch() {
		const request = this.#previewed;
		if (!request) return;
		this.#spoil();
		this.sending.dispatch(request, this.#form);
	}
}
