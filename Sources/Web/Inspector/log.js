// The Log view: every commit, newest first, with who made it, its actions and what it changed.

import {byFacts, changesLine, fact, isAbout, isBy, readChanges, stepsOf, summaryOf, whoOf} from "./commits.js";
import {copiesOf} from "./copies.js";
import {differenceList} from "./differences.js";
import {clock, copy, count, dateAndTime, debounce, duration, foreign, h, longText, note, rate, replace, safe, sentence, setAttribute, setText} from "./dom.js";
import {encode} from "./json.js";
import {Feed} from "./feed.js";
import {LogFilters} from "./filters.js";
import {Group, grouped, keyOf} from "./groups.js";
import {Histogram} from "./histogram.js";
import {undoLine} from "./undo.js";
import {VirtualList, moveTo} from "./virtual.js";

export class LogView {
	/** Commits that match, oldest first, and the rows that show them. */
	#matching = [];
	#shown = [];
	#selected = null;
	#opened = new Set();
	#isActive = false;
	#isStarted = false;
	#reading = false;
	#problem = null;

	constructor(app) {
		this.app = app;
		this.filters = new LogFilters(app, {
			onChange: (isStep, isAsked) => {this.#note(isStep); if (isAsked) this.#restart();}, onStores: () => this.#refilter(), commits: () => this.feed.commits,
		});
		this.histogram = new Histogram(app, () => ({question: this.feed.question, ...this.filters.range}), (from, until) => this.filters.choose(from, until));
		this.pause = h("button", {id: "log-pause", "aria-pressed": "false", title: "Pause (p)", onclick: () => this.togglePause()}, "Pause");
		this.group = h("button", {id: "log-group", "aria-pressed": "false", title: "Show alike commits that follow one another as one row (g)", onclick: () => this.toggleGroups()}, "Group alike");
		this.counts = h("output.muted", {id: "log-counts"});
		this.news = h("button.news", {hidden: true, onclick: () => {this.box.scrollTop = 0; this.list.draw();}});
		this.box = h("div.scroll.log-list", {role: "grid", tabindex: "0", "aria-label": "Commits, newest first", "aria-colcount": "5", id: "log-list", onkeydown: event => this.#key(event), onclick: event => this.#click(event)});
		this.head = h("div.log-head", {"aria-hidden": "true"}, ["Revision", "Time", "By", "Actions", "Changes"].map(text => h("span", text)));
		this.note = h("p.empty", {role: "status"});
		this.list = new VirtualList(this.box, {count: () => this.#shown.length, make: makeRow, fill: (row, index) => this.#fill(row, index), onWindow: (...range) => this.#drawn(...range), current: () => this.#place, idPrefix: "log-row"});
		this.side = h("aside.pane.details", {hidden: true, "aria-label": "Commit"});
		this.element = h("div.log", h("div.bar", this.filters.open, this.filters.element, this.pause, this.group, this.counts), this.histogram.element,
			h("div.split", h("div.pane.main", this.head, this.news, this.box, this.note), this.side));
		this.feed = new Feed(app, {
			onReset: () => this.#reset(), onNews: (added, trimmed) => this.#news(added, trimmed),
			onOlder: () => this.#refilter(), onError: error => this.#say(error),
		});
		this.wantChanges = debounce(60, () => this.#readChanges());
	}

	// MARK: Showing and leaving

	show(rest, options = new URLSearchParams()) {
		this.#isActive = true;
		const isCommit = /^\d+$/.test(rest), revision = isCommit ? rest : options.get("commit");
		const isOther = this.filters.show(isCommit ? "" : rest, options);
		this.#press(this.group, options.get("group") === "1");
		if (!this.#isStarted || isOther) this.#restart();
		else {
			this.#resume();
			this.#refilter();
		}
		if (!revision) this.#select(null, false);
		else if (revision !== String(this.#selected?.revision)) this.#showRevision(Number(revision));
		this.list.draw();
	}

	/** The address says what is shown. */
	#note(isStep = false) {
		const commit = this.#selected?.revision;
		this.app.note(this.filters.target.value.trim(), {...this.filters.options, group: this.#isPressed(this.group), commit}, isStep);
	}

	hide() {
		this.#isActive = false;
		// On another view the log is not read; on return it goes on where it was.
		if (!this.feed.isLiveOnly) this.feed.isPaused = true;
	}

	#isPressed(button) {return button.getAttribute("aria-pressed") === "true";}

	#press(button, isPressed) {button.setAttribute("aria-pressed", String(isPressed));}

	#resume() {this.feed.isPaused = this.#isPressed(this.pause);}

	async #restart() {
		this.#isStarted = true;
		let question;
		this.filters.sayNumber();
		try {
			question = this.filters.question;
			// An expression is tried where nothing is looked at: while it is wrong the list stays.
			if (question.where !== undefined) await this.app.past().request("history", {since: this.app.bus.revision, limit: 1, where: question.where});
			this.filters.payload.say(null);
		} catch (error) {
			if (error.code !== "unavailable") return this.filters.payload.say(error);
		}
		this.#problem = null;
		this.#opened.clear();
		this.#resume();
		await this.feed.start(question);
		this.histogram.element.hidden = this.feed.isLiveOnly;
		if (!this.feed.isLiveOnly) this.histogram.count();
	}

	/** The bus began a new epoch: what is shown is of another history. */
	renew() {if (this.#isStarted) this.#restart();}

	redraw() {this.histogram.redraw();}

	togglePause() {
		const isPaused = !this.#isPressed(this.pause);
		this.#press(this.pause, isPaused);
		setText(this.pause, isPaused ? "Continue" : "Pause");
		this.#resume();
		this.list.draw();
	}

	toggleGroups() {
		this.#press(this.group, !this.#isPressed(this.group));
		this.#opened.clear();
		this.box.scrollTop = 0;
		this.#refilter();
		this.#note();
	}

	// MARK: Commits

	/** The log finds by author and action itself; without one they are looked for here. */
	#matches(commit) {
		const {isLiveOnly, by, action} = this.feed;
		return commit.isAfterGap || isAbout(this.filters.choice.addresses, commit)
			&& (!isLiveOnly || isBy(by ?? "", commit.by) && (!action || stepsOf(commit).some(step => step.name === action)));
	}

	get #isFiltered() {
		const {isLiveOnly, by, action} = this.feed;
		return this.filters.choice.addresses !== null || isLiveOnly && (by ?? action) !== undefined;
	}

	/** Where the selected row stands in the list; -1: nowhere. */
	get #place() {
		const key = keyOf(this.#selected), place = this.#selected ? this.#shown.findLastIndex(row => keyOf(row) === key) : -1;
		return place < 0 ? -1 : this.#shown.length - 1 - place;
	}

	#reset() {
		this.#matching = this.#shown = [];
		this.box.scrollTop = 0;
		this.list.draw();
	}

	#refilter() {
		this.#matching = this.#isFiltered ? this.feed.commits.filter(commit => this.#matches(commit)) : this.feed.commits;
		this.#layRows();
		this.list.draw();
	}

	#layRows() {this.#shown = this.#isPressed(this.group) ? grouped(this.#matching, this.#opened) : this.#matching;}

	#news(added, trimmed) {
		const news = this.feed.commits.slice(this.feed.commits.length - added), before = this.#shown.length;
		const matching = this.#isFiltered ? news.filter(commit => this.#matches(commit)) : news;
		if (!this.#isFiltered) this.#matching = this.feed.commits;
		else if (trimmed > 0) this.#matching = this.feed.commits.filter(commit => this.#matches(commit));
		else this.#matching.push(...matching);
		this.#layRows();
		if (added > 0) this.histogram.spoil();
		// Whoever reads further down keeps the place, and so does whoever looks at a commit.
		const grown = this.#isPressed(this.group) ? Math.max(0, this.#shown.length - before) : matching.length;
		if ((this.box.scrollTop > 0 || this.#place >= 0) && grown > 0) {
			this.unseen = (this.unseen ?? 0) + grown;
			const top = this.box.scrollTop + grown * this.list.rowHeight;
			this.list.least = top + this.box.clientHeight;
			this.list.spacer.style.height = `${Math.max(this.#shown.length * this.list.rowHeight, this.list.least)}px`;
			this.box.scrollTop = top;
		}
		this.list.draw();
	}

	#say(error) {
		this.#problem = error;
		this.list.draw();
	}

	// MARK: Drawing

	#fill(element, index) {
		const row = this.#shown[this.#shown.length - 1 - index], changes = this.feed.changes.get(changeKey(row)), size = `${row.actions?.length ?? row.commits.length} ${row.isAfterGap}`;
		setAttribute(element, "aria-rowindex", index + 1);
		setAttribute(element, "aria-selected", String(keyOf(row) === keyOf(this.#selected)));
		if (element.shown === row && element.changes === changes && element.size === size) return;
		Object.assign(element, {shown: row, changes, size});
		const {revision, time, who, actions, what} = element.parts, isGroup = row instanceof Group;
		element.classList.toggle("group", isGroup);
		setText(revision, isGroup ? `${row.first}–${String(row.revision).slice(-4)}` : String(row.revision));
		revision.title = isGroup ? `${row.first} to ${row.revision}` : "";
		setText(time, row.time === undefined ? "" : clock(row.time));
		time.title = row.time === undefined ? "" : dateAndTime(row.time);
		setText(who, row.merged ? `${count(row.merged, "commit")} as one` : safe(whoOf(row.by)));
		who.title = safe(byFacts(row.by));
		setText(actions, isGroup ? safe(cut(row.title)) : safe(cut(summaryOf(row))));
		const own = !isGroup && row.actions.length === 1 ? row.actions[0].store : undefined;
		setText(what, changes === undefined ? "" : changes.error ?? safe(changesLine(changes, own)));
		what.classList.toggle("muted", changes === undefined || !changes.stores?.length);
	}

	#drawn(first, last) {
		const total = this.#shown.length, found = this.#matching.length;
		setAttribute(this.box, "aria-rowcount", total);
		if (this.box.scrollTop < this.list.rowHeight) this.unseen = this.list.least = 0;
		this.news.hidden = !this.unseen;
		if (this.unseen) setText(this.news, `${count(this.unseen, "new commit")} ↑`);
		const isPaused = this.#isPressed(this.pause);
		setText(this.counts, `${count(found, "commit")}${total < found ? ` in ${count(total, "row")}` : ""}${this.feed.isWhole ? "" : this.#isFiltered && this.feed.oldest > 1 ? ` since revision ${this.feed.oldest}` : " loaded"}${isPaused ? ", paused" : ""}`);
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
					const row = this.#shown[this.#shown.length - 1 - i];
					if (row && !this.feed.changes.has(changeKey(row)) && (!(row instanceof Group) || row.isWhole)) wanted.push(row);
				}
				if (wanted.length === 0 || !this.#isActive) return;
				await Promise.all(wanted.slice(-12).map(commit => this.#readOne(commit)));
				this.list.draw();
			}
		} finally {
			this.#reading = false;
		}
	}

	async #readOne(row) {
		let changes;
		try {
			changes = await readChanges(this.app.past(), row.asCommit ?? row, this.app.definitions, 50);
		} catch (error) {
			changes = {stores: [], error: error.code === "forbidden" ? "no permission to read" : error.message};
		}
		this.feed.changes.set(changeKey(row), changes);
	}

	// MARK: One commit

	#select(row, isNoted = true) {
		const isStep = (row === null) !== (this.#selected === null);
		this.#selected = row;
		this.side.hidden = !row;
		this.element.classList.toggle("has-details", row !== null);
		if (row instanceof Group) this.#showGroup(row);
		else if (row) this.#showCommit(row);
		if (isNoted) this.#note(isStep && row !== null);
		this.list.draw();
	}

	async #showRevision(revision) {
		try {
			const reply = await this.app.past().request("history", {since: revision - 1, until: revision, limit: 1});
			if (reply.commits.length === 0) return;
			const known = this.#shown.find(row => row.revision === revision && !(row instanceof Group));
			this.#select(known ?? reply.commits[0], false);
		} catch (error) {
			this.#say(error);
		}
	}

	#sideHead(title) {
		return h("div.details-head", h("h3", title), h("button.quiet.close", {"aria-label": "Close details", onclick: () => {this.#select(null); this.box.focus();}}, "✕"));
	}

	async #showCommit(commit) {
		const changes = h("div", {"aria-live": "polite"}, h("p.muted", "Reading the states before and after…")), copies = h("div");
		replace(this.side, this.#sideHead(`Revision ${commit.revision}`),
			h("div.details-body",
				h("dl.facts", fact("Time", commit.time === undefined ? "" : dateAndTime(commit.time)), fact("By", foreign(byFacts(commit.by))), commit.key && fact("Key", foreign(commit.key))),
				h("h4", "Actions"), steps(commit), copies,
				h("h4", "Changes"), changes,
				!this.feed.isLiveOnly && h("p.links", commit.revision > 1 && h("a", {href: `#time/${commit.revision - 1}`}, "All stores before it"), h("a", {href: `#time/${commit.revision}`}, "All stores after it"))));
		const show = stores => replace(copies, this.#copies(copiesOf(commit, stores, this.app.definitions, location.origin)));
		show([]);
		try {
			const result = this.feed.isLiveOnly ? this.feed.changes.get(commit.revision) ?? {stores: []} : await readChanges(this.app.past(), commit, this.app.definitions, 1000);
			if (this.#selected !== commit) return;
			show(result.stores);
			replace(changes, differenceList(result.stores, {isCut: result.isCut, empty: "It changed nothing.", onStore: address => this.app.go(`stores/${address}`)}),
				!this.feed.isLiveOnly && result.stores.length > 0 && undoLine(this.app, commit.revision),
				result.stores.length > 0 && h("details", h("summary", "State before and after"), result.stores.slice(0, 20).map(one => [h("h4", foreign(one.address)), around("Before", one.old), around("After", one.new)])));
		} catch (error) {
			if (this.#selected === commit) replace(changes, note(sentence(error), "error"));
		}
	}

	#copies(all) {
		return all.length > 0 && h("p.copies", h("span.muted", "Copy as"), all.map(([name, text]) => h("button", {title: text, onclick: async () => {
			if (await copy(text)) this.app.announce(`Copied: ${text.length > 200 ? text.slice(0, 200) + "…" : text}`);
		}}, name)));
	}

	#showGroup(group) {
		const {commits, first, revision, seconds} = group;
		replace(this.side, this.#sideHead(`Revisions ${first} to ${revision}`),
			h("div.details-body",
				h("p", foreign(group.title)),
				h("dl.facts", fact("Commits", `${count(commits.length)} in ${duration(seconds)}${seconds > 0 ? `, ${rate(commits.length / seconds)}` : ""}`),
					fact("First", dateAndTime(commits[0].time)), fact("Last", dateAndTime(group.time)), fact("By", foreign(byFacts(group.by))),
					group.numbers.map(([name, low, high]) => fact(safe(name), low === high ? String(low) : `min ${low}, max ${high}`))),
				h("div.actions", h("button", {onclick: () => {
					this.#opened.add(keyOf(group));
					this.#refilter();
					this.#select(commits.at(-1));
				}}, `Show all ${count(commits.length)}`))));
	}

	#click(event) {
		const row = this.list.shownBy(event.target);
		if (row) this.#select(row);
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

/** A group that grows has changed something else. */
const changeKey = row => row instanceof Group ? `${keyOf(row)} ${row.revision}` : row.revision;

const cut = text => text.length > 300 ? text.slice(0, 300) + "…" : text;

const steps = commit => {
	const all = stepsOf(commit);
	if (all.length === 0) return h("p.muted", "None.");
	return h("ol.steps", all.slice(0, 50).map(step => h("li", foreign(step.target), " ", h("strong", foreign(step.name)), " ", step.detail && longText(step.detail))),
		all.length > 50 && h("li.muted", `${count(all.length - 50)} more`));
};

function makeRow() {
	const cell = name => h("bdi", {class: name, role: "gridcell"});
	const parts = {revision: cell("revision"), time: cell("time"), who: cell("who"), actions: cell("actions-cell"), what: cell("what")};
	const row = h("div.row.log-row", {role: "row"}, Object.values(parts));
	row.parts = parts;
	return row;
}
