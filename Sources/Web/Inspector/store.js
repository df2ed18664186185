// A page for one store: its state in the order of its type, charts, what happened to it, who watches it, what is due, and its
// actions as buttons.

import {Chart} from "./chart.js";
import {changesBetween, changesLine, fact, pathText, stateAt, summaryOf, whoOf} from "./commits.js";
import {knownValues} from "./details.js";
import {count, dateAndTime, debounce, draw, duration, foreign, h, longValue, note, replace, safe, sentence, setAttribute, setText} from "./dom.js";
import {follow} from "./follow.js";
import {payloadForm} from "./form.js";
import {globTest, isContainer, kindOf, pointerOf} from "./json.js";
import {Sending} from "./sending.js";
import {isCharted, valueAt} from "./series.js";

/** How many commits are shown, and how long to wait between two looks at what surrounds the store, in milliseconds. */
const most = 20, rhythm = 1000;

/** A time by its name and size, in seconds since 1970: what actions take from meta.time. */
const isTime = (name, value) => kindOf(value) === "number" && value > 1e9 && value < 1e11 && /(at|since|time|due|until|last|added|seen|begin|began|end|ended|expires)$/i.test(name);

export class StorePage {
	#address = null;
	#subscription = null;
	#state;
	#lines = new Map();
	#drawing = () => this.#draw();
	#generation = 0;
	#timer = 0;
	#charted = [];
	#options = null;

	constructor(app) {
		this.app = app;
		this.title = h("h2", {id: "store-title"});
		this.summary = h("p.muted");
		this.links = h("p.links");
		this.problem = h("p.empty", {role: "status", hidden: true});
		this.state = h("tbody");
		this.chart = new Chart(app, "store-chart", {onRange: isStep => this.#note(isStep), known: knownValues(app)});
		this.chart.element.hidden = true;
		this.commits = h("ol.plain.store-commits");
		this.facts = h("dl.facts");
		this.buttons = h("div.actions");
		this.form = h("form.store-form", {novalidate: true, hidden: true});
		this.result = h("div.result", {"aria-live": "polite"});
		this.sending = new Sending(app, this.result);
		this.around = {Watchers: h("div"), Timers: h("div"), Effects: h("div")};
		this.readAround = debounce(rhythm, () => this.#readAround());
		this.readCommits = debounce(200, () => this.#readCommits());
		this.body = h("div.store-body",
			h("div.store-main",
				part("State", h("table.state", h("caption.hidden", "State"), h("thead.hidden", h("tr", ["Member", "Value", "Chart"].map(text => h("th", {scope: "col"}, text)))), this.state)),
				part("History", this.chart.element), part("Last commits", this.commits)),
			h("div.store-side", part("Actions", this.buttons, this.form, this.result), part("Store", this.facts), Object.entries(this.around).map(([title, box]) => part(title, box))));
		this.element = h("article.store-page.scroll", {"aria-labelledby": "store-title", hidden: true}, h("div.store-head", this.title, this.links), this.summary, this.problem, this.body);
	}

	// MARK: Showing and leaving

	show(address, options) {
		this.#options = options;
		const wanted = [options.get("chart") ?? ""].filter(one => one);
		if (address === this.#address) {
			// Back leads to another chart of the same store.
			if (wanted[0] ?? this.#charted[0]) this.#showChart(wanted[0] ?? this.#charted[0], options);
			return;
		}
		this.#leave();
		this.body.hidden = true;
		replace(this.title, foreign(address));
		replace(this.links);
		if (!/^[^/]+\/[^/]+$/.test(address)) return this.#fail({message: "Name a store by its type and name, such as counter/kitchen."});
		this.#address = address;
		this.#charted = wanted;
		this.#state = undefined;
		const type = address.slice(0, address.indexOf("/"));
		replace(this.links, [["stores", "Stores"], ["log", "Log"], ["dispatch", "Dispatch"]].map(([view, text]) => h("a", {href: `#${view}/${address}`}, text)),
			h("a", {href: `#time?store=${encodeURIComponent(address)}`}, "Time"), h("a", {href: `#table/${type}`}, `All of ${safe(type)}`));
		for (const box of [this.state, this.facts, this.commits, this.buttons, this.result, ...Object.values(this.around)]) replace(box);
		this.#lines.clear();
		this.form.hidden = true;
		this.chart.element.hidden = true;
		this.#generation++;
		const generation = this.#generation;
		this.#subscription = follow(this.app.bus, address, {}, ({states}) => {
			if (generation !== this.#generation) return;
			this.#state = states.get(address) ?? null;
			draw(this.#drawing);
			this.readCommits();
			this.readAround();
		}, error => this.#fail(error));
		this.#readAround();
		this.#timer = setInterval(() => {if (!document.hidden) this.#readAround();}, 5 * rhythm);
	}

	#leave() {
		this.#generation++;
		this.#subscription?.close();
		this.#subscription = null;
		this.#address = null;
		clearInterval(this.#timer);
		this.chart.hide();
	}

	hide() {this.#leave();}

	definitionsChanged() {
		for (const box of [this.buttons, this.state]) replace(box);
		this.#lines.clear();
		if (this.#state) draw(this.#drawing);
	}

	/** Another history. */
	renew() {
		if (this.app.view !== "store") return;
		const address = this.#address;
		this.#leave();
		this.show(address, new URLSearchParams());
	}

	#note(isStep) {
		if (this.app.view === "store") this.app.note(this.#address, {chart: this.#charted[0], ...this.chart.options}, isStep);
	}

	#fail(error) {
		this.problem.hidden = false;
		setText(this.problem, safe(sentence(error)));
	}

	// MARK: The state

	#draw() {
		const state = this.#state, address = this.#address;
		// A drawing that was asked for may come after another store was chosen.
		if (!address || state === undefined) return;
		this.problem.hidden = state !== null;
		this.body.hidden = state === null && this.#lines.size === 0;
		if (state === null) return setText(this.problem, "This store does not exist now.");
		const type = address.slice(0, address.indexOf("/")), {definitions} = this.app, names = definitions.ordered(type, state);
		setText(this.summary, safe(definitions.of(type)?.summary ?? ""));
		if (this.buttons.childElementCount === 0) this.#showActions(type);
		for (const [name, line] of this.#lines) if (!names.includes(name)) {line.row.remove(); this.#lines.delete(name);}
		names.forEach((name, place) => {
			const line = this.#lines.get(name) ?? this.#makeLine(type, name);
			if (this.state.children[place] !== line.row) this.state.insertBefore(line.row, this.state.children[place] ?? null);
			if (line.value === state[name]) return;
			line.value = state[name];
			line.cell.className = `value ${kindOf(state[name])}`;
			replace(line.cell, longValue(state[name]), times(name, state[name]).map(([path, time]) => h("div.muted.small", foreign(path), " ", h("time", {datetime: new Date(time * 1000).toISOString()}, dateAndTime(time)))));
			line.toggle.hidden = !isCharted(state[name]);
		});
		if (this.chart.element.hidden) {
			const charted = this.#charted[0] ?? pointerOf([names.find(name => kindOf(state[name]) === "number" && !isTime(name, state[name])) ?? names.find(name => isCharted(state[name]))]);
			if (charted !== "/undefined") this.#showChart(charted, this.#options);
		} else this.chart.refresh();
	}

	#makeLine(type, name) {
		const pointer = pointerOf([name]), {definitions} = this.app, summary = definitions.schema(type, name)?.summary;
		const line = {cell: h("td.value"), toggle: h("button.quiet", {"aria-pressed": "false", "aria-label": `Chart ${safe(name)}`, onclick: () => this.#toggle(pointer)}, "Chart")};
		line.row = h("tr", h("th", {scope: "row"}, h("bdi.member", safe(name)), definitions.isComputed(type, name) && h("span.badge", "computed"), summary && h("span.muted.small", foreign(summary))),
			line.cell, h("td.number", line.toggle));
		this.#lines.set(name, line);
		this.#markLine(name, line);
		return line;
	}

	/** Two members at most are charted: a third takes the place of the second. */
	#toggle(pointer) {
		const [first, second] = this.#charted, other = this.#pointerOf(second);
		if (pointer === first) this.#showChart(other ?? first, new URLSearchParams());
		else this.#showChart(first ?? pointer, new URLSearchParams(pointer === other ? {} : {with: this.#address + pointer}), true);
		this.#note(true);
	}

	#pointerOf(text) {
		const value = valueAt(text ?? "");
		return value?.store === this.#address ? value.path : undefined;
	}

	#showChart(pointer, options, keepsRange = false) {
		if (keepsRange) for (const [name, value] of Object.entries(this.chart.options)) if (value !== undefined && name !== "with") options.set(name, value);
		this.#charted = [pointer, options.get("with") ?? undefined];
		this.chart.suggest(Object.keys(this.#state ?? {}).filter(name => isCharted(this.#state[name]) && pointerOf([name]) !== pointer).map(name => this.#address + pointerOf([name])));
		this.chart.show(this.#address, pointer, options);
		for (const [name, line] of this.#lines) this.#markLine(name, line);
	}

	#markLine(name, line) {setAttribute(line.toggle, "aria-pressed", String([this.#charted[0], this.#pointerOf(this.#charted[1])].includes(pointerOf([name]))));}

	// MARK: Actions

	#showActions(type) {
		const actions = this.app.definitions.actions(type);
		replace(this.buttons, actions.map(([name, action]) => h("button", {title: action.summary && safe(action.summary), onclick: () => this.#act(name, action)}, safe(name) + (Object.keys(action.payload ?? {}).length ? "…" : ""))),
			actions.length === 0 && h("p.muted", "No actions."));
	}

	/** An action without a payload is dispatched at once: it can be undone. */
	#act(name, action) {
		const members = Object.keys(action.payload ?? {}), send = form => {
			const payload = form?.read();
			if (form && !payload) return replace(this.result, note("Fix the highlighted fields.", "error"));
			this.sending.dispatch({store: this.#address, action: name, ...payload && Object.keys(payload).length > 0 && {payload}}, form);
		};
		this.form.hidden = members.length === 0;
		replace(this.result);
		if (members.length === 0) return send(null);
		const form = payloadForm(action, () => {}, "store-payload");
		replace(this.form, h("h4", safe(name)), action.summary && h("p.muted", foreign(action.summary)), form.element, h("div.actions", h("button.primary", {type: "submit"}, "Dispatch")));
		this.form.onsubmit = event => {
			event.preventDefault();
			send(form);
		};
		this.form.querySelector("input, select, textarea")?.focus();
	}

	// MARK: What surrounds it

	async #readCommits() {
		const generation = this.#generation, address = this.#address, past = this.app.past();
		if (!address) return;
		try {
			const {commits} = await past.request("history", {store: address, order: "newest", limit: most});
			if (generation !== this.#generation) return;
			const known = new Map([...this.commits.children].map(line => [line.dataset.revision, line]));
			replace(this.commits, commits.length === 0 ? h("li.muted", "No commits in the log.") : commits.map(commit => known.get(String(commit.revision)) ?? this.#commitLine(commit, address)));
		} catch (error) {
			if (generation === this.#generation) replace(this.commits, h("li.muted", error.code === "unavailable" ? "This bus keeps no history. Add log: to fluxbusd.yaml to keep history." : foreign(sentence(error))));
		}
	}

	#commitLine(commit, address) {
		const what = h("bdi.muted");
		Promise.all([commit.revision - 1, commit.revision].map(revision => stateAt(this.app.past(), address, revision)))
			.then(([old, now]) => setText(what, safe(changesLine(changesBetween([[address, old, now]]), address))), () => {});
		return h("li", {"data-revision": commit.revision}, h("a", {href: `#log/${commit.revision}`}, commit.revision), " ", h("span.muted", commit.time === undefined ? "" : dateAndTime(commit.time).slice(0, 19)), " ",
			foreign(whoOf(commit.by)), " ", h("code", foreign(summaryOf(commit, address).slice(0, 160))), " ", what);
	}

	async #readAround() {
		const generation = this.#generation, address = this.#address, {bus} = this.app, type = address?.slice(0, address.indexOf("/"));
		if (!address || !bus.connected) return;
		const show = (box, promise, make) => promise.then(found => {if (generation === this.#generation) replace(box, make(found));}, error => {
			if (generation === this.#generation) replace(box, h("p.muted", foreign(sentence(error))));
		});
		const list = (items, empty) => items.length === 0 ? h("p.muted", empty) : h("ul.plain", items.map(item => h("li", item)));
		await Promise.all([
			show(this.facts, bus.request("stores", {match: address}), ({stores: [one]}) => one && [fact("Revision", h("a", {href: `#log/${one.revision}`}, one.revision)),
				one.ephemeral && fact("Lifetime", "goes with its connection"), one.ttl && fact("Lease", `${duration(one.ttl)} without a dispatch`), one.view && fact("View", "computed from other stores")]),
			show(this.around.Watchers, this.#clients(), clients => list(clients.filter(one => (one.watches ?? []).some(pattern => globTest(pattern)(address))).map(one =>
				[foreign(whoOf(one.by)), " ", one.client && h("span.muted", foreign(one.client)), one.self && h("span.muted", " (this page)"), h("span.muted", ` ${one.watches.filter(pattern => globTest(pattern)(address)).join(" ")}`)]), "No watchers that you may see.")),
			show(this.around.Timers, bus.request("timers", {match: address}), ({timers}) => list(timers.map(one =>
				[h("strong", foreign(one.timer)), " ", h("time", dateAndTime(one.due).slice(0, 19)), " ", h("code", foreign(one.action)), h("span.muted", ` in ${duration(Math.max(0, Math.round(one.due - Date.now() / 1000)))}`)]), "No timers.")),
			show(this.around.Effects, this.#effects(address), effects => list(effects, "No failed effects.")),
		]);
	}

	async #clients() {
		const found = [];
		let after;
		do {
			const reply = await this.app.bus.request("clients", {...after !== undefined && {after}});
			found.push(...reply.clients);
			after = reply.next;
		} while (after !== undefined);
		return found;
	}

	/** The effects of fluxbus-effects that have set an event of the store aside. */
	async #effects(address) {
		if (!this.app.definitions.of("effect")) return [];
		const {states} = await this.app.bus.request("get", {type: "effect"});
		return Object.entries(states).flatMap(([effect, {failed}]) => Object.entries(failed ?? {}).filter(([, one]) => one.store === address)
			.map(([event, one]) => [h("a", {href: `#store/${effect}`}, foreign(effect)), " ", h("a", {href: `#log/${event.split(":")[0]}`}, event), " ", h("span.error", foreign(one.reason))]));
	}
}

const part = (title, ...content) => h("section.pane.part", h("h3", title), content);

/** The times in a value, at most so many: [path, time]. */
function times(name, value, path = [name], found = []) {
	if (isTime(name, value) && found.length < 5) found.push([pathText(path), Number(value)]);
	else if (isContainer(value) && path.length < 5) for (const key of Object.keys(value).slice(0, 50)) times(key, value[key], [...path, key], found);
	return found;
}
