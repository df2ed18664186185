// The Time view: the stores as they were at any revision or time, two moments compared, and the way back.

import {fact, stateAt, summaryOf, whoOf} from "./commits.js";
import {compare} from "./compare.js";
import {differenceList} from "./differences.js";
import {count, dateAndTime, dialog, foreign, h, note, replace, safe, sentence, setText} from "./dom.js";
import {Explorer} from "./explorer.js";
import {differences, globTest, isEqual, resolve} from "./json.js";
import {Player} from "./player.js";
import {PastSource} from "./sources.js";

/** How many commits of a store are looked through for its next change, and how many at a time. */
const most = 1000, page = 50;

export class TimeView {
	#oldest = null;
	#newest = 0;
	#span = null;
	#revision = null;
	#wanted = null;
	#isGoing = false;
	#timer = 0;
	#marks = {A: null, B: null};
	#isSeekingChange = false;

	constructor(app) {
		this.app = app;
		this.slider = h("input", {type: "range", id: "time-slider", min: "0", max: "0", step: "1", oninput: () => this.#slide()});
		this.scale = h("select", {id: "time-scale", onchange: () => this.#rescale()}, h("option", {value: "revision"}, "by revision"), h("option", {value: "time"}, "by time"));
		this.number = h("input", {type: "number", id: "time-revision", min: "0", step: "1", onchange: () => {this.player.stop(); this.goTo(Number(this.number.value));}});
		this.clock = h("input", {type: "datetime-local", id: "time-clock", step: "0.001", onchange: () => {this.player.stop(); this.#goToTime(new Date(this.clock.value).getTime() / 1000);}});
		this.moment = h("p.moment", {id: "time-moment", role: "status"});
		this.markButtons = {A: this.#markButton("A"), B: this.#markButton("B")};
		this.compareButton = h("button", {id: "time-compare", disabled: true, onclick: () => this.#compare()}, "Compare A and B");
		this.result = h("section.comparison", {hidden: true, "aria-live": "polite", "aria-label": "Comparison"});
		this.explorer = new Explorer(app, "time", callbacks => new PastSource(() => app.past(), {
			...callbacks, onError: error => this.explorer.fail(sentence(error)),
			onIndex: () => {callbacks.onIndex(); this.explorer.details.reload();},
		}), isStep => {
			this.#sayChangeButtons();
			if (isStep !== null) this.#note(isStep);
		});
		this.player = new Player({
			at: () => this.#revision === this.#newest ? Number(this.slider.min) : this.scale.value === "time" ? this.#commit?.time ?? this.#span.since : this.#revision,
			end: () => Number(this.slider.max), go: at => this.scale.value === "time" ? this.#goToTime(at) : this.goTo(Math.floor(at)),
		});
		this.changes = [[-1, "‹ Change", "Previous change of the selected store ({)"], [1, "Change ›", "Next change of the selected store (})"]].map(([by, label, title]) =>
			h("button", {title, disabled: true, onclick: () => this.#goToChange(by)}, label));
		const step = (label, name, by) => h("button", {"aria-label": name, title: name, onclick: () => this.step(by)}, label);
		this.controls = h("div.time-controls",
			h("div.bar.slider-bar", step("«", "Oldest revision", -Infinity), step("‹", "One revision earlier ([)", -1),
				h("label", {for: "time-slider", class: "hidden"}, "Moment"), this.slider, step("›", "One revision later (])", 1), step("»", "Newest revision", Infinity)),
			h("div.bar",
				h("div.field", h("label", {for: "time-scale"}, "Slide"), this.scale), h("div.field", h("label", {for: "time-revision"}, "Revision"), this.number),
				h("div.field", h("label", {for: "time-clock"}, "Time"), this.clock), this.player.element, this.changes, this.markButtons.A, this.markButtons.B, this.compareButton),
			this.moment);
		this.problem = h("p.empty", {role: "status", hidden: true});
		this.element = h("div.time", this.controls, this.result, this.explorer.element, this.problem);
	}

	#markButton(name) {
		return h("button", {"aria-pressed": "false", onclick: () => {
			this.#marks[name] = this.#marks[name] === this.#revision ? null : this.#revision;
			this.#sayMarks();
			this.#note(true);
		}}, `Mark ${name}`);
	}

	#sayMarks() {
		for (const name of ["A", "B"]) {
			const mark = this.#marks[name];
			setText(this.markButtons[name], mark === null ? `Mark ${name}` : `${name}: ${mark}`);
			this.markButtons[name].setAttribute("aria-pressed", String(mark !== null));
		}
		this.compareButton.disabled = this.#marks.A === null || this.#marks.B === null;
	}

	// MARK: Showing and leaving

	async show(rest, options) {
		for (const name of ["A", "B"]) if (options.has(name.toLowerCase())) this.#marks[name] = Number(options.get(name.toLowerCase()));
		this.#sayMarks();
		this.explorer.go(options.get("store") ?? (rest.includes("/") ? rest : ""), options);
		try {
			await this.#measure();
		} catch (error) {
			return this.#fail(error);
		}
		this.controls.hidden = this.explorer.element.hidden = false;
		this.problem.hidden = true;
		if (/^\d+$/.test(rest)) this.goTo(Number(rest));
		else if (this.#revision === null) this.goTo(this.#newest);
		else this.#note(false);
		const scale = options.get("scale") === "time" ? "time" : "revision";
		if (scale !== this.scale.value) {
			this.scale.value = scale;
			this.#rescale();
		}
		if (options.has("compare") && !this.compareButton.disabled) this.#compare();
		else if (!options.has("compare")) this.result.hidden = true;
		clearInterval(this.#timer);
		this.#timer = setInterval(() => this.#measure().catch(() => {}), 1000);
	}

	hide() {
		clearInterval(this.#timer);
		this.player.stop();
	}

	/** The address of the page names what is shown. */
	#note(isStep) {
		if (this.app.view !== "time" || this.#revision === null) return;
		const {rest, options} = this.explorer.place;
		this.app.note(String(this.#revision), {
			store: rest, ...options, scale: this.scale.value === "time" && "time", a: this.#marks.A, b: this.#marks.B, compare: !this.result.hidden,
		}, isStep);
	}

	renew() {
		this.#oldest = null;
		this.#revision = null;
		this.#span = null;
		this.#marks = {A: null, B: null};
		this.#sayMarks();
		if (this.app.view === "time") this.show("", new URLSearchParams());
	}

	#fail(error) {
		this.controls.hidden = this.explorer.element.hidden = true;
		this.problem.hidden = false;
		setText(this.problem, error.code === "unavailable" ? "This bus keeps no history. Add log: to fluxbusd.yaml to keep history." : sentence(error));
	}

	/** Where history begins and ends. */
	async #measure() {
		const bus = this.app.past();
		const newest = (await bus.request("sync")).revision;
		if (this.#oldest === null) {
			const reply = await bus.request("history", {since: 0, limit: 1}).catch(error => {
				if (error.code !== "conflict" || error.details.oldest === undefined) throw error;
				return {oldest: error.details.oldest};
			});
			this.#oldest = reply.oldest ?? 0;
		}
		if (newest === this.#newest && this.slider.max !== "0") return;
		this.#newest = newest;
		if (this.scale.value === "revision") this.#showRange(this.#oldest, newest);
		else this.slider.max = this.#span.until = Math.max(this.#span.until, Date.now() / 1000);
		this.number.max = newest;
		this.#sayMoment();
	}

	#showRange(min, max) {
		this.slider.min = min;
		this.slider.max = max;
	}

	// MARK: Moving

	step(by) {
		this.player.stop();
		this.goTo((this.#wanted ?? this.#revision ?? 0) + by);
	}

	goTo(revision) {
		this.#wanted = Math.max(this.#oldest ?? 0, Math.min(this.#newest, Math.round(revision) || 0));
		if (!Number.isFinite(revision)) this.#wanted = revision < 0 ? this.#oldest ?? 0 : this.#newest;
		if (this.scale.value === "revision") this.slider.value = this.#wanted;
		this.number.value = this.#wanted;
		this.#go();
	}

	/** One read at a time; what was asked for meanwhile comes next, and only the last of it. */
	async #go() {
		if (this.#isGoing) return;
		this.#isGoing = true;
		try {
			while (this.#wanted !== null && this.#wanted !== this.#revision) {
				const wanted = this.#revision = this.#wanted;
				this.#sayMoment();
				this.explorer.fail(null);
				await this.explorer.source.go(wanted);
				await this.#readCommit(wanted);
			}
		} finally {
			this.#isGoing = false;
		}
		this.#note(false);
	}

	/** What a key does that is pressed outside of a field. */
	key(key) {
		if (key === " ") this.player.toggle();
		else if (key === "[" || key === "]") this.step(key === "[" ? -1 : 1);
		else this.#goToChange(key === "{" ? -1 : 1);
	}

	#sayChangeButtons() {for (const button of this.changes) button.disabled = !this.explorer.selected?.address;}

	/** Goes to the next revision that changed the store, or the member, that is selected; -1: to the one before. */
	async #goToChange(by) {
		const {address, path = []} = this.explorer.selected ?? {};
		if (!address || this.#isSeekingChange) return;
		this.#isSeekingChange = true;
		this.player.stop();
		const past = this.app.past(), value = async revision => {
			const state = await stateAt(past, address, revision);
			return state === undefined ? undefined : resolve(state, path);
		};
		try {
			let edge = by > 0 ? this.#revision : this.#revision - 1;
			for (let looked = 0; looked < most && edge > 0; looked += page) {
				const {commits, next} = await past.request("history", {store: address, limit: page, ...by > 0 ? {since: edge} : {order: "newest", until: edge}});
				const values = await Promise.all(commits.map(({revision}) => Promise.all([revision - 1, revision].map(value))));
				const place = values.findIndex(([old, now]) => !isEqual(old, now));
				if (place >= 0) return this.goTo(commits[place].revision);
				if (!next) break;
				edge = next;
			}
			this.app.announce(by > 0 ? `${address} has not changed since revision ${this.#revision}.` : `The log has no earlier change of ${address}.`);
		} catch (error) {
			this.explorer.fail(sentence(error));
		} finally {
			this.#isSeekingChange = false;
		}
	}

	#commit = null;

	async #readCommit(revision) {
		try {
			const reply = revision === 0 ? {commits: []} : await this.app.past().request("history", {since: revision - 1, until: revision, limit: 1});
			this.#commit = reply.commits[0] ?? null;
		} catch {
			this.#commit = null;
		}
		this.#sayMoment();
	}

	#sayMoment() {
		const commit = this.#commit?.revision === this.#revision ? this.#commit : null;
		const when = commit ? dateAndTime(commit.time) : "";
		this.slider.setAttribute("aria-valuetext", `Revision ${this.#revision}${when ? `, ${when}` : ""}`);
		replace(this.moment, h("strong", `Revision ${this.#revision}`), ` of ${count(this.#newest)}`, this.#revision === this.#newest ? ", the newest" : "",
			commit && [" · ", when, " · ", foreign(whoOf(commit.by)), " · ", foreign(summaryOf(commit).slice(0, 200))]);
		if (commit) {
			const local = new Date(commit.time * 1000 - new Date(commit.time * 1000).getTimezoneOffset() * 60_000).toISOString().slice(0, 23);
			this.clock.value = local;
			if (this.scale.value === "time" && document.activeElement !== this.slider) this.slider.value = commit.time;
		}
	}

	#slide() {
		this.player.stop();
		const value = Number(this.slider.value);
		if (this.scale.value === "revision") this.goTo(value);
		else this.#goToTime(value);
	}

	async #rescale() {
		this.player.scaleTo(this.scale.value);
		this.#note(false);
		if (this.scale.value === "revision") {
			this.slider.step = "1";
			this.#showRange(this.#oldest, this.#newest);
			this.slider.value = this.#revision;
			return;
		}
		try {
			const [first, last] = await Promise.all([this.#oldest, Math.max(this.#oldest, this.#newest - 1)].map(since => this.app.past().request("history", {since, limit: 1})));
			this.#span = {since: first.commits[0]?.time ?? 0, until: last.commits[0]?.time ?? 0};
			this.slider.step = "0.001";
			this.#showRange(Math.floor(this.#span.since * 1000) / 1000, Math.ceil(this.#span.until * 1000) / 1000);
			this.slider.value = this.#commit?.time ?? this.#span.until;
		} catch (error) {
			this.explorer.fail(sentence(error));
		}
	}

	#time = null;
	#isSeeking = false;

	async #goToTime(time) {
		if (!Number.isFinite(time)) return;
		this.#time = time;
		if (this.#isSeeking) return;
		this.#isSeeking = true;
		try {
			while (this.#time !== null) {
				const wanted = this.#time;
				this.#time = null;
				const reply = await this.app.past().request("history", {time: wanted, limit: 1});
				this.goTo(reply.since ?? this.#newest);
			}
		} catch (error) {
			// Before what is kept there is only its beginning.
			if (error.code === "conflict" && error.details.oldest !== undefined) this.goTo(error.details.oldest);
			else this.explorer.fail(sentence(error));
		} finally {
			this.#isSeeking = false;
		}
	}

	// MARK: Comparing

	async #compare() {
		const [from, to] = [this.#marks.A, this.#marks.B].sort((a, b) => a - b);
		const pattern = this.explorer.filter.value.trim();
		this.result.hidden = false;
		replace(this.result, h("p.muted", "Comparing…"));
		this.#note(true);
		const close = h("button.quiet.close", {"aria-label": "Close the comparison", onclick: () => {this.result.hidden = true; this.#note(true);}}, "✕");
		try {
			const match = /^[^/]+\/[^/]+$/.test(pattern) ? pattern : "*/*";
			const found = await compare(this.app.past(), from, to, match, globTest(pattern));
			replace(this.result, h("div.details-head", h("h3", `Revision ${from} → ${to}: ${count(found.stores.length, "store")} of ${count(found.compared)} differ`), close),
				differenceList(found.stores, {isCut: found.isCut, onStore: address => this.explorer.reveal(address)}));
		} catch (error) {
			replace(this.result, h("div.details-head", note(sentence(error), "error"), close));
		}
	}

	// MARK: Going back

	/** Shows what a revert would change, and does it if nobody changes the store meanwhile. */
	async revert(address, warning) {
		const revision = this.#revision;
		const body = h("div", h("p.muted", "Reading…"));
		const answer = h("p", {role: "alert", class: "error"});
		const open = dialog(`Revert ${safe(address)} to revision ${revision}`, h("div", warning && note(warning, "warning"), body, answer), [["Cancel"]]);
		try {
			// The store's revision first: whatever comes after it is noticed.
			const store = (await this.app.bus.request("stores", {match: address})).stores[0];
			if (!store) return replace(body, note("The store is not there any more; create it again to give it a state."));
			const [now, past] = await Promise.all([
				this.app.bus.request("get", {store: address}), this.app.past().request("get", {store: address, revision}),
			]);
			const list = differences(now.states[address], past.states[address]);
			replace(body, list.length === 0 ? note("Its state is the same now: there is nothing to revert.") : [
				h("p", "This would change, as a new commit:"), differenceList([{address, differences: list}]),
				h("dl.facts", fact("Only if still at revision", store.revision))]);
			if (list.length === 0) return;
			open.bar.append(h("button.danger", {onclick: async event => {
				event.target.disabled = true;
				try {
					const reply = await this.app.now().request("revert", {store: address, revision, ifRevision: store.revision});
					open.close();
					this.app.announce(`${address} is as it was at revision ${revision}. This is revision ${reply.revision}.`, reply.revision);
					this.#measure().catch(() => {});
				} catch (error) {
					event.target.disabled = false;
					if (error.code !== "conflict") return setText(answer, sentence(error));
					open.close();
					this.revert(address, "Somebody changed it meanwhile, so nothing was done. This is how it stands now.");
				}
			}}, "Revert"));
		} catch (error) {
			replace(body, note(sentence(error), "error"));
		}
	}
}
