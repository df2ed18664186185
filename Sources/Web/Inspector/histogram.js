// How many commits there were when: bars over time, of which somebody chooses a part by dragging, or with the keyboard.

import {drawAxis, prepared} from "./axis.js";
import {clock, count, dateAndTime, draw, duration, h, setAttribute, setText} from "./dom.js";
import {moment, revisionAt} from "./feed.js";

/** How many bars there are, and how many pages of the log are counted where an index can't say how many there are. */
const bars = 60, pages = 20;
/** How long to wait at least until the bars are counted again, in milliseconds. */
const rhythm = 5000;

export class Histogram {
	#counts = [];
	#from = 0;
	#until = 1;
	#generation = 0;
	#isOpen = false;
	#timer = 0;
	#drawing = () => this.#draw();
	/** The bars that are being chosen, [first, last]; null: none. */
	#chosen = null;
	#anchor = null;

	/** `asked()` says what is counted, {question, from, until}; `choose(from, until)` is called with the time that somebody chose. */
	constructor(app, asked, choose) {
		Object.assign(this, {app, asked, choose});
		this.canvas = h("canvas.histogram", {
			id: "log-histogram", role: "slider", tabindex: "0", "aria-label": "Commits over time", "aria-valuemin": "1", "aria-valuemax": bars, "aria-valuenow": bars,
			title: "Drag for a time; arrows, Shift and Enter do the same", onkeydown: event => this.#key(event),
			onpointerdown: event => this.#press(event), onpointermove: event => this.#move(event), onpointerup: event => this.#release(event), onpointerleave: () => this.#leave(), onpointercancel: () => this.#drop(),
		});
		this.said = h("span.muted.small", {id: "log-histogram-said"});
		this.element = h("div.histogram-box", this.canvas, this.said);
		new ResizeObserver(() => this.redraw()).observe(this.canvas);
	}

	redraw() {draw(this.#drawing);}

	// MARK: Counting

	/** Counts what is asked for between two times; without them from the beginning, and until now. */
	async count() {
		const {question, from, until} = this.asked();
		const generation = ++this.#generation, bus = this.app.past();
		clearTimeout(this.#timer);
		this.#timer = 0;
		this.#isOpen = until === undefined;
		try {
			const end = until ?? Date.now() / 1000, start = from ?? await this.#beginning(bus);
			if (start === undefined) return this.#show(generation, [], 0, 1);
			const span = Math.max(end - start, 1), edges = Array.from({length: bars + 1}, (_, i) => start + span * i / bars);
			const counts = Object.keys(question).length > 0 ? await this.#counted(bus, question, edges, generation) : await this.#between(bus, edges);
			if (counts) this.#show(generation, counts, start, start + span);
		} catch {
			// The list says why there is nothing.
			if (generation === this.#generation) this.#show(generation, [], 0, 1);
		}
	}

	async #beginning(bus) {
		const first = since => bus.request("history", {since, limit: 1});
		const {commits} = await first(0).catch(error => {
			if (error.code !== "conflict" || error.details.oldest === undefined) throw error;
			return first(error.details.oldest);
		});
		return commits[0]?.time;
	}

	/** Of all commits the revisions say how many came between two times. */
	async #between(bus, edges) {
		const revisions = await Promise.all(edges.map((time, i) => revisionAt(bus, i === 0 ? time - moment : time)));
		this.since = undefined;
		return revisions.slice(1).map((revision, i) => revision - revisions[i]);
	}

	/** Others are counted, the newest first. */
	async #counted(bus, question, edges, generation) {
		const counts = new Array(bars).fill(0), [start, end] = [edges[0], edges.at(-1)];
		const since = await revisionAt(bus, start - moment);
		let until = await revisionAt(bus, end);
		this.since = undefined;
		for (let page = 0; until > since; page++) {
			const {commits, next} = await bus.request("history", {...question, order: "newest", ...since && {since}, until, limit: 1000});
			if (generation !== this.#generation) return null;
			for (const {time} of commits) counts[Math.min(bars - 1, Math.max(0, Math.floor((time - start) / (end - start) * bars)))]++;
			until = next ?? 0;
			if (page === pages - 1 && until > since) {
				this.since = commits.at(-1)?.time;
				break;
			}
		}
		return counts;
	}

	#show(generation, counts, from, until) {
		if (generation !== this.#generation) return;
		if (this.#anchor !== null) return;
		this.#counts = counts;
		this.#from = from;
		this.#until = until;
		this.#chosen = null;
		this.#say();
		this.redraw();
	}

	/** There are new commits: they are counted in a while. */
	spoil() {
		if (!this.#isOpen || this.#timer !== 0) return;
		const wait = Math.max(rhythm, (this.#until - this.#from) / bars * 1000);
		this.#timer = setTimeout(() => {
			this.#timer = 0;
			if (this.app.view !== "log" || document.hidden || this.#chosen) return this.spoil();
			this.count();
		}, Math.min(wait, 30_000));
	}

	// MARK: Drawing

	#draw() {
		const at = prepared(this.canvas);
		if (!at || this.#counts.length === 0) return;
		const {context, width, height} = at, bottom = height - 18, top = Math.max(1, ...this.#counts);
		const step = width / bars, x = time => (time - this.#from) / (this.#until - this.#from) * width;
		if (this.#chosen) {
			const [first, last] = this.#chosen;
			context.globalAlpha = 0.18;
			context.fillStyle = at.accent;
			context.fillRect(first * step, 0, (last - first + 1) * step, bottom);
			context.globalAlpha = 1;
		}
		context.fillStyle = at.accent;
		this.#counts.forEach((number, i) => {
			if (number === 0) return;
			const tall = Math.max(2, number / top * (bottom - 4));
			context.fillRect(i * step + 0.5, bottom - tall, Math.max(1, step - 1), tall);
		});
		context.strokeStyle = at.line;
		context.beginPath();
		context.moveTo(0, bottom + 0.5);
		context.lineTo(width, bottom + 0.5);
		context.stroke();
		drawAxis(context, {from: this.#from, until: this.#until, x, y: bottom, width, line: at.line, colour: at.muted});
	}

	/** The time of the chosen bars, or of all. */
	#timesOf([first, last]) {
		const step = (this.#until - this.#from) / bars;
		return [this.#from + first * step, this.#from + (last + 1) * step];
	}

	#say() {
		const range = this.#chosen ?? [0, bars - 1], [from, until] = this.#timesOf(range);
		const number = this.#counts.slice(range[0], range[1] + 1).reduce((sum, one) => sum + one, 0);
		const isShort = until - from < 86_400 && new Date(from * 1000).toDateString() === new Date().toDateString();
		const when = time => isShort ? clock(time).slice(0, until - from < 60 ? 12 : 8) : dateAndTime(time).slice(0, 16);
		const text = this.#counts.length === 0 ? "" : `${count(number, "commit")} from ${when(from)} to ${when(until)} (${duration(until - from)})`
			+ (this.since && from < this.since ? `; only those since ${dateAndTime(this.since).slice(0, 19)} are counted` : "");
		setText(this.said, text);
		setAttribute(this.canvas, "aria-valuetext", text);
		setAttribute(this.canvas, "aria-valuenow", range[1] + 1);
	}

	// MARK: Choosing

	#barAt(event) {
		const box = this.canvas.getBoundingClientRect();
		return Math.max(0, Math.min(bars - 1, Math.floor((event.clientX - box.left) / box.width * bars)));
	}

	#choose(anchor, bar) {
		this.#chosen = [Math.min(anchor, bar), Math.max(anchor, bar)];
		this.#say();
		this.redraw();
	}

	#press(event) {
		if (event.button !== 0 || this.#counts.length === 0) return;
		this.canvas.setPointerCapture(event.pointerId);
		this.#anchor = this.#barAt(event);
		this.#choose(this.#anchor, this.#anchor);
	}

	#move(event) {
		if (this.#counts.length === 0) return;
		const bar = this.#barAt(event);
		this.#choose(this.#anchor ?? bar, bar);
	}

	#release(event) {
		if (this.#anchor === null) return;
		const isClick = this.#barAt(event) === this.#anchor;
		this.#anchor = null;
		// A click alone chooses nothing: a bar is narrower than a finger.
		if (isClick) this.#leave();
		else this.#take();
	}

	#leave() {
		if (this.#anchor === null) this.#drop();
	}

	#drop() {
		this.#anchor = this.#chosen = null;
		this.#say();
		this.redraw();
	}

	#take() {
		const [from, until] = this.#timesOf(this.#chosen);
		this.#chosen = null;
		this.choose(Math.floor(from * 1000) / 1000, Math.ceil(until * 1000) / 1000);
	}

	#keyAnchor = null;

	#key(event) {
		if (event.ctrlKey || event.metaKey || event.altKey || this.#counts.length === 0) return;
		const bar = !this.#chosen ? bars : this.#keyAnchor === this.#chosen[0] ? this.#chosen[1] : this.#chosen[0];
		const next = {ArrowLeft: bar - 1, ArrowRight: bar + 1, Home: 0, End: bars - 1}[event.key];
		if (event.key === "Enter" && this.#chosen) this.#take();
		else if (event.key === "Escape" && this.#chosen) this.#drop();
		else if (next !== undefined) {
			const to = Math.max(0, Math.min(bars - 1, next));
			if (!event.shiftKey || !this.#chosen) this.#keyAnchor = to;
			this.#choose(this.#keyAnchor, to);
		} else return;
		event.preventDefault();
		event.stopPropagation();
	}
}
