// Trying requests and dispatching them, with what came of it in a box: what would change, what did, and why not.

import {differenceList} from "./differences.js";
import {count, foreign, h, replace, sentence} from "./dom.js";
import {merge} from "./fluxbus.js";
import {differences} from "./json.js";
import {undoLine} from "./undo.js";

/** How many stores of a preview are shown with what they were before. */
const most = 100;

/** What of a refusal is told beside its sentence. */
const facts = ["code", "store", "action", "member", "path"];

export class Sending {
	constructor(app, box) {Object.assign(this, {app, box});}

	/** Shows what the request would change, unless the form says something else by then. True: it can be dispatched. */
	async preview(request, form, isSame) {
		replace(this.box, h("p.muted", "Trying…"));
		try {
			const reply = await this.app.bus.request("dispatch", {...request, dryRun: true});
			const stores = await this.#compare(reply);
			if (!isSame()) return false;
			replace(this.box, h("h3", `Preview: ${count(reply.matched, "store")} ${reply.matched === 1 ? "matches" : "match"}, ${reply.changed} would change`), differenceList(stores, {empty: "It would be committed and change no state.", isCut: false}),
				reply.changed > stores.length && h("p.muted", `${count(reply.changed - stores.length, "more store")} would change.`));
			return true;
		} catch (error) {
			this.#refuse(error, form);
			return false;
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

	async dispatch(request, form) {
		replace(this.box, h("p.muted", "Dispatching…"));
		const target = request.store ?? request.type ?? request.actions[0].store;
		try {
			// The log shows the key, so it is one that tells nothing.
			const reply = await this.app.now().request("dispatch", {...request, key: makeKey()});
			replace(this.box, h("h3", "Dispatched"), h("p", "Revision ", h("a", {href: `#log/${reply.revision}`}, reply.revision), reply.duplicate ? ", sent twice and committed once" : "", `: ${count(reply.matched, "store")} matched, ${reply.changed} changed.`),
				h("div.actions", h("button", {onclick: () => this.dispatch(request, form)}, "Repeat"), reply.changed > 0 && undoLine(this.app, reply.revision)),
				h("p.links", h("a", {href: `#stores/${target}`}, "Show in Stores")));
		} catch (error) {
			this.#refuse(error, form);
		}
	}

	/** Says why not, beside the member of the payload if one is meant. */
	#refuse(error, form) {
		replace(this.box, h("h3", "Refused"), h("p.error", {role: "alert"}, foreign(sentence(error))),
			h("dl.facts", Object.entries({code: error.code, ...error.details}).filter(([name]) => facts.includes(name)).map(([name, value]) => [h("dt", name), h("dd", h("code", foreign(value)))])));
		// The message names the member as payload.NAME; one of a rejection may name it by itself.
		const member = /payload\.([\w.[\]-]*\w\]?)/.exec(error.message)?.[1] ?? error.details?.member?.replace(/^payload\./, "");
		if (member) return void form?.mark(member, error.message);
		const named = (form?.members ?? []).filter(name => new RegExp(`(^|[^\\w])${name.replace(/[^\w-]/g, "")}([^\\w]|$)`).test(error.message));
		if (error.code === "rejected" && named.length === 1) form.mark(named[0], error.message);
	}
}

const makeKey = () => [...crypto.getRandomValues(new Uint8Array(16))].map(byte => byte.toString(16).padStart(2, "0")).join("");
