// The Dispatch view: a form for an action, what it would change, and then the dispatch itself.

import {differenceList} from "./differences.js";
import {count, foreign, h, note, replace, safe, sentence, setText} from "./dom.js";
import {merge} from "./fluxbus.js";
import {differences, encode} from "./json.js";
import {payloadForm} from "./form.js";
import {suggests, targets} from "./suggest.js";

/** How many stores of a preview are shown with what they were before. */
const most = 100;

/** What of a refusal is told beside its sentence. */
const facts = ["code", "store", "action", "member", "path"];

export class DispatchView {
	#form = null;
	#previewed = null;
	#target = "";

	constructor(app) {
		this.app = app;
		this.target = h("input", {type: "text", id: "dispatch-target", placeholder: "counter/kitchen, or counter for all of them", autocomplete: "off", spellcheck: "false", "aria-describedby": "dispatch-reach", oninput: () => this.#targetChanged()});
		this.reach = h("span.muted.small", {id: "dispatch-reach"});
		this.action = h("select", {id: "dispatch-action", onchange: () => this.#actionChanged()});
		this.summary = h("p.muted", {id: "dispatch-summary"});
		this.fields = h("div");
		this.previewButton = h("button", {type: "submit", id: "dispatch-preview"}, "Preview");
		this.send = h("button.primary", {id: "dispatch-send", disabled: true, onclick: () => this.#dispatch()}, "Dispatch");
		this.result = h("section.pane.result", {"aria-live": "polite", "aria-label": "Result", id: "dispatch-result"}, h("p.muted", "Preview shows what the dispatch would change; nothing is sent before that."));
		const form = h("form.pane.form", {novalidate: true, onsubmit: event => {event.preventDefault(); this.#preview();}},
			h("div.form-field", h("label", {for: "dispatch-target"}, "Store or type"), this.target, suggests(this.target, text => targets(app, text)), this.reach),
			h("div.form-field", h("label", {for: "dispatch-action"}, "Action"), this.action, this.summary),
			this.fields, h("div.actions", this.previewButton, this.send));
		this.element = h("div.dispatch.split", form, this.result);
	}

	show(rest) {
		if (rest) this.target.value = rest;
		this.#targetChanged();
	}

	hide() {}

	definitionsChanged() {this.#targetChanged(true);}

	get #type() {return this.target.value.trim().split("/")[0];}

	#targetChanged(isForced = false) {
		this.#spoil();
		const text = this.target.value.trim(), isStore = text.includes("/"), index = this.app.stores.source.index;
		const isKnown = this.app.definitions.of(this.#type) !== undefined;
		const size = index.types.get(this.#type)?.size ?? 0;
		setText(this.reach, text === "" ? "" : !isKnown ? "There is no such type." : isStore ? index.has(text) ? "One store." : "There is no such store." : `Every ${text}: ${count(size, "store")}.`);
		const names = isKnown ? this.app.definitions.actions(this.#type).map(([name]) => name) : [];
		if (!isForced && this.#target === this.#type && this.action.options.length > 0) return;
		this.#target = this.#type;
		const chosen = this.action.value;
		replace(this.action, names.map(name => h("option", {value: name}, name)));
		if (names.includes(chosen)) this.action.value = chosen;
		this.#actionChanged();
	}

	#actionChanged() {
		this.#spoil();
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
		const target = this.target.value.trim();
		return {...target.includes("/") ? {store: target} : {type: target}, action: this.action.value, ...Object.keys(payload).length > 0 && {payload}};
	}

	async #preview() {
		const request = this.#read();
		if (!request) {
			this.#spoil();
			return replace(this.result, note("Fix the highlighted fields.", "error"));
		}
		const text = encode(request);
		this.#previewed = null;
		replace(this.result, h("p.muted", "Trying…"));
		try {
			const reply = await this.app.bus.request("dispatch", {...request, dryRun: true});
			const stores = await this.#compare(reply);
			if (encode(this.#read()) !== text) return;
			this.#previewed = request;
			this.send.disabled = false;
			replace(this.result, h("h3", `Preview: ${count(reply.matched, "store")} ${reply.matched === 1 ? "matches" : "match"}, ${reply.changed} would change`), differenceList(stores, {empty: "It would be committed and change no state.", isCut: false}),
				reply.changed > stores.length && h("p.muted", `${count(reply.changed - stores.length, "more store")} would change.`));
		} catch (error) {
			this.#refuse(error);
		}
	}

	/** The states of a dry run beside those of now. */
	async #compare(reply) {
		const changes = reply.changes ?? {}, states = reply.states ?? {};
		const addresses = [...new Set([...Object.keys(changes), ...Object.keys(states)])].sort().slice(0, most);
		return Promise.all(addresses.map(async address => {
			const old = (await this.app.bus.request("get", {store: address})).states[address];
			return {address, differences: differences(old, Object.hasOwn(states, address) ? states[address] : merge(old, changes[address]))};
		}));
	}

	async #dispatch() {
		const request = this.#previewed;
		if (!request) return;
		this.#spoil();
		replace(this.result, h("p.muted", "Dispatching…"));
		try {
			// The log shows the key, so it is one that tells nothing.
			const reply = await this.app.bus.request("dispatch", {...request, key: makeKey()});
			replace(this.result, h("h3", "Dispatched"), h("p", "Revision ", h("a", {href: `#log/${reply.revision}`}, reply.revision), reply.duplicate ? ", sent twice and committed once" : "", `: ${count(reply.matched, "store")} matched, ${reply.changed} changed.`),
				h("p.links", h("a", {href: `#stores/${request.store ?? request.type}`}, "Show in Stores")));
		} catch (error) {
			this.#refuse(error);
		}
	}

	#refuse(error) {
		replace(this.result, h("h3", "Refused"), h("p.error", {role: "alert"}, foreign(sentence(error))),
			h("dl.facts", Object.entries({code: error.code, ...error.details}).filter(([name]) => facts.includes(name)).map(([name, value]) => [h("dt", name), h("dd", h("code", foreign(value)))])));
		// The message names the member as payload.NAME; one of a rejection may name it by itself.
		const member = /payload\.([\w.[\]-]*\w\]?)/.exec(error.message)?.[1] ?? error.details?.member?.replace(/^payload\./, "");
		if (member) return void this.#form?.mark(member, error.message);
		const payload = Object.keys(this.app.definitions.of(this.#type)?.actions?.[this.action.value]?.payload ?? {});
		const named = payload.filter(name => new RegExp(`(^|[^\\w])${name.replace(/[^\w-]/g, "")}([^\\w]|$)`).test(error.message));
		if (error.code === "rejected" && named.length === 1) this.#form?.mark(named[0], error.message);
	}
}

const makeKey = () => [...crypto.getRandomValues(new Uint8Array(16))].map(byte => byte.toString(16).padStart(2, "0")).join("");
