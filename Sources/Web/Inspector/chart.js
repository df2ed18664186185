// The history of one or two values as a chart, coloured by who set them: reading by pointer or keys, a brush that zooms, and
// the way to the commit behind a point.

import {timeOf, timeText} from "./address.js";
import {ticks} from "./axis.js";
import {count, dateAndTime, debounce, foreign, h, replace, safe, sentence, setText, svg} from "./dom.js";
import {encode, kindOf} from "./json.js";
import {Lanes, authorOf, readSeries, valueAt} from "./series.js";

const ranges = [[900, "15 min"], [3600, "1 h"], [86_400, "1 d"], [30 * 86_400, "30 d"], [0, "All"]];
/** Colours for authors; whoever sets values less often than these has the last one. */
const colours = 6;
const height = 190, edge = {top: 10, bottom: 22};
/** How many characters of a mark beside the chart are shown, and how wide one is. */
const longest = 12, character = 6.6;
/** A pointer that moved less far has clicked, in pixels. */
const brushed = 6;

const number = value => Number(value).toLocaleString("en-US", {notation: Math.abs(value) >= 1e5 ? "compact" : "standard", maximumSignificantDigits: 5});

/** The scale of numbers from `low` to `high`: marks at round values. */
function numberScale(low, high) {
	if (low === high) [low, high] = [low - 1, high + 1];
	const raw = (high - low) / 4, power = 10 ** Math.floor(Math.log10(raw)), step = [1, 2, 5, 10].find(one => one * power >= raw) * power;
	const marks = [];
	for (let mark = Math.ceil(low / step); mark * step <= high; mark++) marks.push(mark * step);
	return {at: value => (Number(value) - low) / (high - low), marks: marks.map(mark => [mark, number(mark)])};
}

/** Whether a sample tells of a value, or that somebody took it away. */
const isKnown = sample => sample.value !== undefined || sample.by !== undefined;

export class Chart {
	#values = [];
	#range = {};
	#read = null;
	#points = [];
	#place = -1;
	#anchor = null;
	/** The widths of the marks at both sides. */
	#sides = [0, 0];
	#pressed = 0;
	/** Times between which a brush is, the first where it began. */
	#brush = null;
	#authors = new Map();
	#generation = 0;
	#isAsked = false;

	/** `onRange(isStep)` is called when another range or second value was chosen; `known(store, path)` gives the values of an enum. */
	constructor(app, id, {onRange, known = () => undefined}) {
		Object.assign(this, {app, onRange, known});
		this.buttons = ranges.map(([last, label]) => h("button.quiet", {"aria-pressed": "false", onclick: () => this.#choose({last})}, label));
		this.second = h("input", {type: "search", id: `${id}-with`, list: `${id}-choices`, placeholder: "counter/hall/count", spellcheck: "false", autocomplete: "off",
			oninput: debounce(300, () => this.#compare())});
		this.choices = h("datalist", {id: `${id}-choices`});
		this.drawing = svg("svg", {role: "slider", tabindex: "0", class: "chart-plot", "aria-valuemin": "0"});
		this.drawing.addEventListener("keydown", event => this.#key(event));
		for (const kind of ["pointerdown", "pointermove", "pointerup", "pointercancel", "pointerleave"]) this.drawing.addEventListener(kind, event => this.#point(event));
		this.reading = h("p.chart-reading.small", {role: "status"});
		this.legend = h("ul.chart-legend.plain.small", {"aria-label": "Values and who set them"});
		this.problem = h("p.muted.small", {role: "status", hidden: true});
		this.element = h("section.chart", {"aria-label": "History"},
			h("div.bar", h("div.ranges", {role: "group", "aria-label": "Time range"}, this.buttons),
				h("div.field", h("label", {for: `${id}-with`}, "Compare with"), this.second, this.choices)),
			this.drawing, this.reading, this.legend, this.problem);
		new ResizeObserver(() => this.#draw()).observe(this.drawing);
	}

	/** As options of the page's address. */
	get options() {
		const {from, to, last} = this.#range;
		return {last, from: timeText(from), until: timeText(to), with: this.#values[1] && this.second.value.trim()};
	}

	/** Shows the value of a store at a path, in the range and beside the other value that an address has. */
	show(store, path, options) {
		const from = timeOf(options.get("from")), to = timeOf(options.get("until")), last = options.get("last");
		this.#range = from < to ? {from, to} : /^\d+$/.test(last) ? {last: Number(last)} : {};
		this.second.value = options.get("with") ?? "";
		this.#values = [{store, path}, valueAt(this.second.value)].filter(one => one);
		this.#read = null;
		this.#points = [];
		this.#place = -1;
		this.#authors.clear();
		this.problem.hidden = true;
		this.element.hidden = false;
		setText(this.reading, "Reading the log…");
		replace(this.legend);
		this.#draw();
		this.load();
	}

	hide() {
		this.#generation++;
		this.#values = [];
		this.#range = {};
	}

	/** What else may be shown: values as texts. */
	suggest(texts) {replace(this.choices, texts.map(value => h("option", {value})));}

	// MARK: Reading

	/** Something has changed: a range that goes on until now is read again, at most a tenth of the time. */
	refresh() {
		if (this.#range.to !== undefined || this.#isAsked || this.#values.length === 0) return;
		this.#isAsked = true;
		setTimeout(() => {
			this.#isAsked = false;
			if (this.element.isConnected && !document.hidden) this.load();
		}, Math.max(500, 10 * (this.#cost ?? 0)));
	}
	#cost = 0;

	async load() {
		const generation = ++this.#generation, began = performance.now(), most = Math.max(100, Math.min(500, Math.round(this.#width / 2)));
		if (this.#values.length === 0) return;
		try {
			const bus = this.app.past(), [first, ...others] = this.#values;
			const main = await readSeries(bus, first, this.#range, most);
			const range = main.last === undefined ? {from: main.from, to: main.to} : {last: main.last};
			const read = [main, ...await Promise.all(others.map(one => readSeries(bus, one, range, most)))];
			if (generation !== this.#generation) return;
			this.#read = read;
			this.problem.hidden = true;
		} catch (error) {
			if (generation !== this.#generation) return;
			this.#read = null;
			this.problem.hidden = false;
			setText(this.problem, error.code === "unavailable" ? "This bus keeps no history. Add log: to fluxbusd.yaml to keep history." : safe(sentence(error)));
		}
		this.#cost = performance.now() - began;
		this.#arrange();
		this.#draw();
		this.#say();
	}

	/** Colours for the authors, and the points in the order of their times. */
	#arrange() {
		const read = this.#read ?? [], changes = new Map();
		const at = this.#points[this.#place];
		this.#points = read.flatMap(({samples}, series) => samples.map(sample => ({series, sample}))).filter(({sample}) => sample.revision !== undefined && isKnown(sample))
			.sort((a, b) => a.sample.time - b.sample.time);
		this.#place = at ? this.#points.findLastIndex(({series, sample}) => series === at.series && sample.time <= at.sample.time) : -1;
		for (const {sample} of this.#points) changes.set(authorOf(sample.by), (changes.get(authorOf(sample.by)) ?? 0) + (sample.changes || 1));
		for (const [name] of [...changes].sort((a, b) => b[1] - a[1])) if (!this.#authors.has(name)) this.#authors.set(name, Math.min(this.#authors.size, colours));
		const own = this.#values[0]?.store;
		replace(this.legend, this.#values.map(({store, path}, i) => h("li", h("span", {class: `stroke stroke-${i}`, "aria-hidden": "true"}), foreign(store === own ? path.slice(1) : store + path))),
			[...this.#authors].filter(([name]) => changes.has(name)).map(([name, colour]) =>
			h("li", h("span", {class: `key who-${colour}`, "aria-hidden": "true"}), foreign(name), h("span.muted", ` ${count(changes.get(name))}`))));
	}

	// MARK: Drawing

	get #width() {return this.drawing.clientWidth || 400;}
	get #from() {return this.#read[0].from;}
	get #to() {return this.#read[0].to;}
	get #room() {return Math.max(1, this.#width - this.#sides[0] - this.#sides[1]);}
	#x(time) {return this.#sides[0] + Math.max(0, (time - this.#from) / (this.#to - this.#from)) * this.#room;}
	#time(x) {return this.#from + Math.max(0, Math.min(1, (x - this.#sides[0]) / this.#room)) * (this.#to - this.#from);}

	/** Where the values of each series stand: numbers of a like size on one scale, others each on its own. */
	#scales() {
		const spans = this.#read.map(({samples}) => samples.flatMap(one => [one.value, one.least, one.most]).filter(one => kindOf(one) === "number").map(Number)
			.reduce((span, one) => [Math.min(span?.[0] ?? one, one), Math.max(span?.[1] ?? one, one)], null));
		const both = spans.length > 1 && spans.every(one => one) ? [Math.min(spans[0][0], spans[1][0]), Math.max(spans[0][1], spans[1][1])] : null;
		const isShared = both !== null && both[1] - both[0] <= 3 * Math.max(...spans.map(([low, high]) => high - low));
		return this.#read.map(({samples}, i) => {
			if (spans[i]) return {...numberScale(...isShared ? both : spans[i]), isNumber: true, isShared};
			const lanes = new Lanes(samples.map(one => one.value), this.known(this.#values[i].store, this.#values[i].path)), size = Math.max(1, lanes.texts.length);
			return {at: value => (lanes.of(value) + 0.5) / size, marks: lanes.texts.map((text, lane) => [(lane + 0.5) / size, text, true])};
		});
	}

	#draw() {
		const width = this.drawing.clientWidth;
		if (width === 0) return;
		this.drawing.setAttribute("viewBox", `0 0 ${width} ${height}`);
		if (!this.#read) return replace(this.drawing);
		const scales = this.#scales(), low = height - edge.bottom, y = (scale, part) => low - part * (low - edge.top);
		const parts = [], marks = scales.map(scale => scale.marks.map(([value, text, isPart]) => [y(scale, isPart ? value : scale.at(value)), safe(text.length > longest ? text.slice(0, longest - 1) + "…" : text)]));
		if (scales[1]?.isShared) marks.pop();
		this.#sides = [0, 1].map(i => marks[i] ? 12 + Math.max(4, ...marks[i].map(([, text]) => text.length)) * character : 16);
		const [left, right] = [this.#sides[0], width - this.#sides[1]];
		marks.forEach((list, i) => {
			for (const [at, text] of list) {
				if (i === 0) parts.push(svg("path", {class: "grid", d: `M${left} ${at.toFixed(1)}H${right}`}));
				parts.push(svg("text", {x: i === 0 ? left - 5 : right + 5, y: at + 4, "text-anchor": i === 0 ? "end" : "start"}, text));
			}
		});
		for (const {at, text} of ticks(this.#from, this.#to, this.#room)) {
			parts.push(svg("path", {class: "grid", d: `M${this.#x(at).toFixed(1)} ${edge.top}V${low}`}), svg("text", {x: this.#x(at).toFixed(1), y: height - 6, "text-anchor": "middle"}, text));
		}
		this.#read.forEach(({samples}, i) => {
			const lines = new Map(), dots = new Map(), scale = scales[i], isSparse = samples.length < width / 5;
			const put = (lists, author, text) => lists.set(author, (lists.get(author) ?? "") + text);
			const isShown = value => value !== undefined && (!scale.isNumber || kindOf(value) === "number");
			let before;
			samples.forEach((sample, place) => {
				const author = this.#authors.get(authorOf(sample.by)) ?? colours, x = this.#x(sample.time).toFixed(1), end = this.#x(samples[place + 1]?.time ?? this.#to).toFixed(1);
				if (isShown(sample.value)) {
					const at = y(scale, scale.at(sample.value)).toFixed(1);
					put(lines, author, `M${x} ${before ?? at}V${at}H${end}`);
					if (sample.changes > 1 && kindOf(sample.least) === "number") put(lines, author, `M${x} ${y(scale, scale.at(sample.least)).toFixed(1)}V${y(scale, scale.at(sample.most)).toFixed(1)}`);
					if (isSparse && sample.time >= this.#from && sample.revision !== undefined) put(dots, author, `M${x} ${at}h.01`);
					before = at;
				} else before = undefined;
			});
			for (const [kind, lists] of [["line", lines], ["dots", dots]]) {
				for (const [author, d] of lists) parts.push(svg("path", {class: `${kind} who-${author} value-${i}`, d}));
			}
		});
		this.cursor = svg("path", {class: "cursor"});
		this.band = svg("rect", {class: "band", y: edge.top, height: low - edge.top, width: 0});
		replace(this.drawing, parts, this.band, this.cursor);
		this.#mark();
	}

	/** The cursor and the brush. */
	#mark() {
		const point = this.#points[this.#place], [a, b] = this.#brush ? [...this.#brush].sort((a, b) => a - b).map(time => this.#x(time)) : [0, 0];
		this.cursor?.setAttribute("d", point ? `M${this.#x(point.sample.time).toFixed(1)} ${edge.top}V${height - edge.bottom}` : "");
		for (const [name, value] of [["x", a], ["width", b - a]]) this.band?.setAttribute(name, value);
	}

	/** What is under the cursor, in words; without one, what there is. */
	#say() {
		const {drawing} = this, point = this.#points[this.#place], names = this.#values.map(({store, path}) => `${store}${path}`);
		this.buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(this.#read?.[0].last === ranges[i][0])));
		drawing.setAttribute("aria-label", `History of ${names.join(" and ")}`);
		drawing.setAttribute("aria-valuemax", String(Math.max(0, this.#points.length - 1)));
		drawing.setAttribute("aria-valuenow", String(Math.max(0, this.#place)));
		const changes = (this.#read?.[0].samples ?? []).reduce((sum, one) => sum + (isKnown(one) ? one.changes || 1 : 0), 0);
		const text = point ? this.#sentence(point) : this.#read ? `${count(changes, "value")} from ${dateAndTime(this.#from).slice(0, 19)} to ${dateAndTime(this.#to).slice(0, 19)}` : "";
		drawing.setAttribute("aria-valuetext", text);
		replace(this.reading, safe(text), point && [" ", h("a", {href: `#log/${point.sample.revision}`}, `Revision ${point.sample.revision}`)]);
		this.#mark();
	}

	#sentence({series, sample}) {
		const values = this.#values.map(({path}, i) => {
			const one = i === series ? sample : this.#read[i].samples.findLast(one => one.time <= sample.time);
			const text = one?.value === undefined ? "none" : encode(one.value);
			return `${this.#values.length > 1 ? `${path.slice(1)} ` : ""}${text.length > 60 ? text.slice(0, 60) + "…" : text}`;
		}).join(", ");
		const several = sample.changes > 1 ? ` (${count(sample.changes, "change")}${kindOf(sample.least) === "number" ? `, ${encode(sample.least)} to ${encode(sample.most)}` : ""})` : "";
		return `${values}${several} · ${dateAndTime(sample.time)} · ${authorOf(sample.by)}`;
	}

	// MARK: Choosing

	#choose(range, isStep = true) {
		this.#range = range;
		this.#place = -1;
		this.onRange(isStep);
		this.load();
	}

	/** From one time to another, or the other way round. */
	#zoom(a, b) {
		const [from, to] = [Math.min(a, b), Math.max(a, b)];
		if (to - from >= 0.002) this.#choose({from, to});
	}

	#compare() {
		const other = valueAt(this.second.value);
		if (!other && this.second.value.trim() !== "") return;
		this.#values = [this.#values[0], other].filter(one => one);
		this.#read = null;
		this.onRange(true);
		this.load();
	}

	#open() {
		const revision = this.#points[this.#place]?.sample.revision;
		if (revision !== undefined) this.app.go(`log/${revision}`);
	}

	#point(event) {
		if (!this.#read) return;
		const x = event.clientX - this.drawing.getBoundingClientRect().left, time = this.#time(x);
		if (event.type === "pointerleave" || event.type === "pointercancel") {
			if (event.type === "pointercancel" || !this.#brush) this.#place = -1;
			if (event.type === "pointercancel") this.#brush = null;
			return this.#say();
		}
		if (event.type === "pointerdown" && event.button === 0) {
			this.drawing.setPointerCapture(event.pointerId);
			this.#brush = [time, time];
			this.#pressed = x;
		} else if (this.#brush) this.#brush[1] = time;
		const later = this.#points.findIndex(({sample}) => sample.time >= time), earlier = later < 0 ? this.#points.length - 1 : later - 1;
		const near = place => Math.abs((this.#points[place]?.sample.time ?? Infinity) - time);
		this.#place = near(later) < near(earlier) ? later : earlier;
		if (event.type !== "pointerup" || !this.#brush) return this.#say();
		const brush = this.#brush;
		this.#brush = null;
		this.#say();
		if (Math.abs(x - this.#pressed) >= brushed) this.#zoom(...brush);
		else this.#open();
	}

	#key(event) {
		if (event.ctrlKey || event.metaKey || event.altKey || !this.#read) return;
		const last = this.#points.length - 1, place = this.#place < 0 ? last + 1 : this.#place;
		const next = {ArrowLeft: place - 1, ArrowRight: place + 1, Home: 0, End: last}[event.key];
		const middle = this.#points[this.#place]?.sample.time ?? (this.#from + this.#to) / 2, half = (this.#to - this.#from) / 2;
		if (next !== undefined) {
			this.#anchor = event.shiftKey ? this.#anchor ?? Math.min(place, last) : null;
			this.#place = Math.max(0, Math.min(last, next));
			this.#brush = this.#anchor === null ? null : [this.#anchor, this.#place].map(place => this.#points[place].sample.time);
			this.#say();
		} else if (event.key === "Enter" && this.#brush) {
			const brush = this.#brush;
			this.#brush = this.#anchor = null;
			this.#zoom(...brush);
		} else if (event.key === "Enter") this.#open();
		else if (event.key === "+" || event.key === "-") this.#zoom(...[-1, 1].map(sign => middle + sign * half * (event.key === "+" ? 0.5 : 2)));
		else if (event.key === "Escape" && (this.#brush || this.#place >= 0)) {
			this.#brush = this.#anchor = null;
			this.#place = -1;
			this.#say();
		} else return;
		event.preventDefault();
		event.stopPropagation();
	}
}
