// A small plot over time on a canvas, in the colours of the theme, with its figures as text. Plots that stand together show the
// same time, and the same moment of it.

import {drawAxis, prepared} from "./axis.js";
import {h, setText} from "./dom.js";

export class Plot {
	#series = [];
	#times = [];
	#range = [0, 1];
	#marks = [];
	/** The index of the moment that is looked at; null: the last. */
	#moment = null;

	/** `names` of one or two lines; `format` makes text of a value; `onMoment(time)` is called with where somebody points, null: nowhere. */
	constructor(title, names, format, onMoment) {
		Object.assign(this, {title, names, format});
		this.canvas = h("canvas.plot-canvas", {
			role: "img", "aria-label": title, onpointermove: event => onMoment(this.#timeAt(event)), onpointerdown: event => onMoment(this.#timeAt(event)), onpointerleave: () => onMoment(null),
		});
		this.figures = names.map((name, i) => h("span", {class: `figure series-${i}`}, h("span.key", {"aria-hidden": "true"}), h("span.muted", name), " ", h("b", "–")));
		this.extra = h("p.muted.small.extra");
		this.element = h("figure.plot.pane", h("figcaption", h("h3", title), h("span.figures", this.figures)), this.canvas, this.extra);
	}

	/** `series` has an array for each line, of values at `times`; null where there is nothing. `marks` are [time, kind]. */
	update({times, range, marks}, series, extra = "") {
		this.#series = series;
		this.#times = times;
		this.#range = range;
		this.#marks = marks;
		setText(this.extra, extra);
		this.#say();
		this.draw();
	}

	/** Shows the figures of a time; null: the last. */
	point(time) {
		const place = time === null ? -1 : this.#times.findLastIndex(one => one <= time);
		this.#moment = place < 0 ? null : place;
		this.#say();
		this.draw();
	}

	#say() {
		this.#series.forEach((values, i) => {
			const value = this.#moment === null ? values.findLast(value => value !== null) : values[this.#moment];
			setText(this.figures[i].lastChild, value === undefined || value === null ? "–" : this.format(value));
		});
		this.canvas.setAttribute("aria-label", `${this.title}: ${this.names.map((name, i) => `${name} ${this.figures[i].lastChild.textContent}`).join(", ")}`);
	}

	#timeAt(event) {
		const box = this.canvas.getBoundingClientRect(), [from, until] = this.#range;
		return from + Math.max(0, Math.min(1, (event.clientX - box.left - 4) / (box.width - 8))) * (until - from);
	}

	draw() {
		const at = this.#series.length > 0 && prepared(this.canvas);
		if (!at) return;
		const {context, width, height} = at, [from, until] = this.#range, colours = [at.accent, at.second];
		const top = Math.max(...this.#series.flat().filter(value => value !== null), 0) * 1.1 || 1;
		const left = 4, bottom = height - 18;
		const x = time => left + (time - from) / (until - from) * (width - left - 4);
		const y = value => bottom - value / top * (bottom - 16);
		context.strokeStyle = at.line;
		context.fillStyle = at.muted;
		context.font = "11px system-ui, sans-serif";
		context.lineWidth = 1;
		for (const part of [0, 0.5, 1]) line(context, left, Math.round(y(top / 1.1 * part)) + 0.5, width - 4);
		if (top !== 1) context.fillText(this.format(top / 1.1), left, Math.round(y(top / 1.1)) - 4);
		drawAxis(context, {from, until, x, y: bottom, width, line: at.line, colour: at.muted});
		for (const [time, kind] of this.#marks) if (time >= from && time <= until) mark(context, x(time), bottom, kind === "restart" ? at.second : at.muted, kind === "restart" ? [] : [3, 3]);
		context.lineWidth = 1.5;
		context.lineJoin = "round";
		[...this.#series.entries()].reverse().forEach(([number, values]) => {
			context.strokeStyle = context.fillStyle = colours[number];
			this.#drawLine(context, values, x, y, number === 0 ? bottom : null);
		});
		if (this.#moment !== null) this.#drawMoment(context, at, x, y, bottom, colours);
	}

	/** Each stretch without a gap, with what is below the first line filled. */
	#drawLine(context, values, x, y, bottom) {
		const stretches = [];
		values.forEach((value, i) => {
			if (value === null) return;
			if (i > 0 && values[i - 1] !== null && this.#times[i] - this.#times[i - 1] < 60) stretches.at(-1).push(i);
			else stretches.push([i]);
		});
		for (const stretch of stretches) {
			context.beginPath();
			for (const i of stretch) context.lineTo(x(this.#times[i]), y(values[i]));
			if (stretch.length === 1) context.arc(x(this.#times[stretch[0]]), y(values[stretch[0]]), 1, 0, 7);
			context.stroke();
			if (bottom === null || stretch.length === 1) continue;
			context.lineTo(x(this.#times[stretch.at(-1)]), bottom);
			context.lineTo(x(this.#times[stretch[0]]), bottom);
			context.globalAlpha = 0.1;
			context.fill();
			context.globalAlpha = 1;
		}
	}

	#drawMoment(context, at, x, y, bottom, colours) {
		const time = this.#times[this.#moment];
		mark(context, x(time), bottom, at.muted, []);
		this.#series.forEach((values, number) => {
			const value = values[this.#moment];
			if (value === null || value === undefined) return;
			context.fillStyle = colours[number];
			context.beginPath();
			context.arc(x(time), y(value), 3, 0, 7);
			context.fill();
		});
	}
}

function line(context, left, y, right) {
	context.beginPath();
	context.moveTo(left, y);
	context.lineTo(right, y);
	context.stroke();
}

function mark(context, x, bottom, colour, dashes) {
	context.strokeStyle = colour;
	context.lineWidth = 1;
	context.setLineDash(dashes);
	context.beginPath();
	context.moveTo(Math.round(x) + 0.5, 12);
	context.lineTo(Math.round(x) + 0.5, bottom);
	context.stroke();
	context.setLineDash([]);
}
