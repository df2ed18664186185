// The Log view: every commit, newest first, with who made it, its actions and what it changed.

import {byFacts, changesLine, fact, isAbout, isBy, readChanges, stepsOf, summaryOf, whoOf} from "./commits.js";
import {differenceList} from "./differences.js";
import {clock, count, dateAndTime, debounce, foreign, h, longText, note, replace, safe, sentence, setAttribute, setText} from "./dom.js";
import {encode} from "./json.js";
import {Feed} from "./feed.js";
import {VirtualList, moveTo} from "./virtual.js";
import {Choice, WhereField} from "./where.js";

export class LogView {
	#shown = [];
	#selected = null;
	#isActive = false;
	#isStarted = false;
	#reading = false;
	#problem = null;
	#lastAsked = null;

	constructor(app) {
		this.app = app;
		this.target = field("log-target", "Store or type", "counter/kitchen", debounce(300, () => this.#restart()));
		this.by = field("log-by", "By", "user, client, token, unit", debounce(300, () => this.#restart()));
		this.action = field("log-action", "Action", "increment", debounce(300, () => this.#restart()));
		this.choice = new Choice(() => app.bus, error => {this.where.say(error); this.#refilter();});
		this.where = new WhereField("log-where", expression => this.choice.set(expression));
		this.pause = h("button", {id: "log-pause", "aria-pressed": "false", title: "Pause (p)", onclick: () => this.togglePause()}, "Pause");
		this.counts = h("output.muted", {id: "log-counts"});
		this.news = h("button.news", {hidden: true, onclick: () => {this.box.scrollTop = 0; this.list.draw();}});
		this.box = h("div.scroll.log-list", {role: "grid", tabindex: "0", "aria-label": "Commits, newest first", "aria-colcount": "5", id: "log-list", onkeydown: event => this.#key(event), onclick: event => this.#click(event)});
		this.head = h("div.log-head", {"aria-hidden": "true"}, ["Revision", "Time", "By", "Actions", "Changes"].map(text => h("span", text)));
		this.note = h("p.empty", {role: "status"});
		this.list = new VirtualList(this.box, {count: () => this.#shown.length, make: makeRow, fill: (row, index) => this.#fill(row, index), onWindow: (...range) => this.#drawn(...range), current: () => this.#place, idPrefix: "log-row"});
		this.side = h("aside.pane.details", {hidden: true, "aria-label": "Commit"});
		this.element = h("div.log",
			h("div.bar", this.target.box, this.where.element, this.by.box, this.action.box, this.pause, this.counts),
			h("div.split", h("div.pane.main", this.head, this.news, this.box, this.note), this.side));
		this.feed = new Feed(app, {
			onReset: () => this.#reset(), onNews: (added, trimmed) => this.#news(added, trimmed),
			onOlder: number => this.#older(number), onError: error => this.#say(error),
		});
		this.wantChanges = debounce(60, () => this.#readChanges());
	}

	// MARK: Showing and leaving

	show(rest) {
		this.#isActive = true;
		if (/^\d+$/.test(rest)) this.#showRevision(Number(rest));
		else if (rest && rest !== this.target.input.value) {
			this.target.input.value = rest;
			this.#isStarted = false;
		}
		if (!this.#isStarted) this.#restart();
		else this.#resume();
		this.list.draw();
	}

	hide() {
		this.#isActive = false;
		// On another view the log is not read; on return it goes on where it was.
		this.feed.isPaused = !this.feed.isLiveOnly;
	}

	#resume() {this.feed.isPaused = this.pause.getAttribute("aria-pressed") === "true";}

	#restart() {
		this.#isStarted = true;
		this.#problem = null;
		this.#resume();
		const [target, by, action] = [this.target, this.by, this.action].map(one => one.input.value.trim() || undefined);
		this.feed.start({target, by, action});
	}

	/** The bus began a new epoch: what is shown is of another history. */
	renew() {if (this.#isStarted) this.#restart();}

	togglePause() {
		const isPaused = this.pause.getAttribute("aria-pressed") !== "true";
		this.pause.setAttribute("aria-pressed", String(isPaused));
		setText(this.pause, isPaused ? "Continue" : "Pause");
		this.#resume();
		this.list.draw();
	}

	// MARK: Commits

	/** The log finds by author and action itself; without one they are looked for here. */
	#matches(commit) {
		const {isLiveOnly, by, action} = this.feed;
		return isAbout(this.choice.addresses, commit)
			&& (!isLiveOnly || isBy(by ?? "", commit.by) && (!action || stepsOf(commit).some(step => step.name === action)));
	}

	get #isFiltered() {
		const {isLiveOnly, by, action} = this.feed;
		return this.choice.addresses !== null || isLiveOnly && (by ?? action) !== undefined;
	}

	/** Where the selected commit stands in the list; -1: nowhere. */
	get #place() {
		const place = this.#selected ? this.#shown.indexOf(this.#selected) : -1;
		return place < 0 ? -1 : this.#shown.length - 1 - place;
	}

	#reset() {
		this.#shown = [];
		this.box.scrollTop = 0;
		this.list.draw();
	}

	#refilter() {
		this.#shown = this.#isFiltered ? this.feed.commits.filter(commit => this.#matches(commit)) : this.feed.commits;
		this.list.draw();
	}

	#news(added, trimmed) {
		const news = this.feed.commits.slice(this.feed.commits.length - added);
		const matching = this.#isFiltered ? news.filter(commit => this.#matches(commit)) : news;
		if (!this.#isFiltered) this.#shown = this.feed.commits;
		else if (trimmed > 0) this.#refilter();
		else this.#shown.push(...matching);
		// Whoever reads further down keeps the place, and so does whoever looks at a commit.
		const grown = matching.length;
		if ((this.box.scrollTop > 0 || this.#place >= 0) && grown > 0) {
			this.unseen = (this.unseen ?? 0) + grown;
			const top = this.box.scrollTop + grown * this.list.rowHeight;
			this.list.least = top + this.box.clientHeight;
			this.list.spacer.style.height = `${Math.max(this.#shown.length * this.list.rowHeight, this.list.least)}px`;
			this.box.scrollTop = top;
		}
		this.list.draw();
	}

	#older() {this.#refilter();}

	#say(error) {
		this.#problem = error;
		this.list.draw();
	}

	// MARK: Drawing

	#fill(element, index) {
		const commit = this.#shown[this.#shown.length - 1 - index], changes = this.feed.changes.get(commit.revision);
		setAttribute(element, "aria-rowindex", index + 1);
		setAttribute(element, "aria-selected", String(commit === this.#selected));
		if (element.commit === commit && element.changes === changes && element.size === commit.actions.length) return;
		Object.assign(element, {commit, changes, size: commit.actions.length});
		const {revision, time, who, actions, what} = element.parts;
		setText(revision, String(commit.revision));
		setText(time, commit.time === undefined ? "" : clock(commit.time));
		time.title = commit.time === undefined ? "" : dateAndTime(commit.time);
		setText(who, commit.merged ? `${count(commit.merged, "commit")} as one` : safe(whoOf(commit.by)));
		who.title = safe(byFacts(commit.by));
		const summary = summaryOf(commit);
		setText(actions, safe(summary.length > 300 ? summary.slice(0, 300) + "…" : summary));
		const own = commit.actions.length === 1 ? commit.actions[0].store : undefined;
		setText(what, changes === undefined ? "" : changes.error ?? safe(changesLine(changes, own)));
		what.classList.toggle("muted", changes === undefined || !changes.stores?.length);
	}

	#drawn(first, last) {
		const total = this.#shown.length;
		setAttribute(this.box, "aria-rowcount", total);
		if (this.box.scrollTop < this.list.rowHeight) this.unseen = this.list.least = 0;
		this.news.hidden = !this.unseen;
		if (this.unseen) setText(this.news, `${count(this.unseen, "new commit")} ↑`);
		const isPaused = this.pause.getAttribute("aria-pressed") === "true";
		setText(this.counts, `${count(total, "commit")}${this.feed.isWhole || this.feed.isLiveOnly ? "" : this.#isFiltered ? ` since revision ${this.feed.oldest}` : " loaded"}${isPaused ? ", paused" : ""}`);
		setText(this.note, this.#problem ? sentence(this.#problem) : this.feed.isLiveOnly ? "This bus keeps no history: commits are shown while this page is open. Add log: to fluxbusd.yaml to keep history."
			: total === 0 && this.feed.isFull ? `No commit since revision ${this.feed.oldest} matches; give a store, a user or an action to look further back.`
			: total > 0 || !this.feed.isWhole ? "" : this.feed.commits.length > 0 || this.feed.isNarrow ? "No commit matches this filter." : "There are no commits, or none that you may read.");
		this.list.activate(this.#place);
		if (last >= total - 5 && this.#isStarted && !this.#problem) this.feed.older();
		if (!this.feed.isLiveOnly) this.wantChanges();
	}

	/** What the commits on screen changed, oldest first, since a bus replays forwards. */
	async #readChanges() {
		if (this.#reading || !this.#isActive) return;
		this.#reading = true;
		try {
			for (;;) {
				const wanted = [];
				for (let i = Math.min(this.list.last, this.#shown.length) - 1; i >= this.list.first; i--) {
					const commit = this.#shown[this.#shown.length - 1 - i];
					if (commit && !this.feed.changes.has(commit.revision)) wanted.push(commit);
				}
				if (wanted.length === 0 || !this.#isActive) return;
				await Promise.all(wanted.slice(-12).map(commit => this.#readOne(commit)));
				this.list.draw();
			}
		} finally {
			this.#reading = false;
		}
	}

	async #readOne(commit) {
		let changes;
		try {
			changes = await readChanges(this.app.past(), commit, this.app.definitions, 50);
		} catch (error) {
			changes = {stores: [], error: error.code === "forbidden" ? "no permission to read" : error.message};
		}
		this.feed.changes.set(commit.revision, changes);
	}

	// MARK: One commit

	#select(commit) {
		this.#selected = commit;
		this.side.hidden = !commit;
		this.element.classList.toggle("has-details", commit !== null);
		if (commit) this.#showCommit(commit);
		this.list.draw();
	}

	async #showRevision(revision) {
		try {
			const reply = await this.app.past().request("history", {since: revision - 1, until: revision, limit: 1});
			if (reply.commits.length === 0) return;
			const known = this.#shown.find(commit => commit.revision === revision);
			this.#select(known ?? reply.commits[0]);
		} catch (error) {
			this.#say(error);
		}
	}

	async #showCommit(commit) {
		const changes = h("div", {"aria-live": "polite"}, h("p.muted", "Reading the states before and after…"));
		const close = h("button.quiet.close", {"aria-label": "Close details", onclick: () => {this.#select(null); this.box.focus();}}, "✕");
		replace(this.side, h("div.details-head", h("h3", `Revision ${commit.revision}`), close),
			h("div.details-body",
				h("dl.facts", fact("Time", commit.time === undefined ? "" : dateAndTime(commit.time)), fact("By", foreign(byFacts(commit.by))), commit.key && fact("Key", foreign(commit.key))),
				h("h4", "Actions"), steps(commit),
				h("h4", "Changes"), changes,
				!this.feed.isLiveOnly && h("p.links", commit.revision > 1 && h("a", {href: `#time/${commit.revision - 1}`}, "All stores before it"), h("a", {href: `#time/${commit.revision}`}, "All stores after it"))));
		try {
			const result = this.feed.isLiveOnly ? this.feed.changes.get(commit.revision) ?? {stores: []} : await readChanges(this.app.past(), commit, this.app.definitions, 1000);
			if (this.#selected === commit) replace(changes, differenceList(result.stores, {isCut: result.isCut, empty: "It changed nothing.", onStore: address => this.app.go(`stores/${address}`)}),
				result.stores.length > 0 && h("details", h("summary", "State before and after"), result.stores.slice(0, 20).map(one => [h("h4", foreign(one.address)), around("Before", one.old), around("After", one.new)])));
		} catch (error) {
			if (this.#selected === commit) replace(changes, note(sentence(error), "error"));
		}
	}

	#click(event) {
		const place = this.list.indexOf(event.target);
		if (place >= 0 && place < this.#shown.length) this.#select(this.#shown[this.#shown.length - 1 - place]);
	}

	#key(event) {
		if (event.ctrlKey || event.metaKey || event.altKey) return;
		const total = this.#shown.length;
		if (event.key === "Escape" && this.#selected) return this.#select(null);
		const next = moveTo(event.key, this.#place, this.list, total);
		if (next === null || total === 0) return;
		event.preventDefault();
		this.#select(this.#shown[total - 1 - Math.max(0, next)]);
		this.list.reveal(Math.max(0, next));
	}
}

const around = (label, state) => h("div.around", h("span.muted", label), " ", state === undefined ? "no store" : longText(encode(state)));

const steps = commit => {
	const all = stepsOf(commit);
	if (all.length === 0) return h("p.muted", "None.");
	return h("ol.steps", all.slice(0, 50).map(step => h("li", foreign(step.target), " ", h("strong", foreign(step.name)), " ", step.detail && longText(step.detail))),
		all.length > 50 && h("li.muted", `${count(all.length - 50)} more`));
};

function field(id, label, placeholder, input) {
	const element = h("input", {type: "search", id, placeholder, spellcheck: "false", autocomplete: "off", oninput: input});
	return {input: element, box: h("div.field", h("label", {for: id}, label), element)};
}

function makeRow() {
	const cell = name => h("bdi", {class: name, role: "gridcell"});
	const parts = {revision: cell("revision"), time: cell("time"), who: cell("who"), actions: cell("actions-cell"), what: cell("what")};
	const row = h("div.row.log-row", {role: "row"}, Object.values(parts));
	row.parts = parts;
	return row;
}
