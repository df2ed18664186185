// A small plot over time on a canvas, in the colours of the theme, with the current figures as text.

import {h, setText} from "./dom.js";

export class Plot {
	#series = [];

	/** `names` of one or two lines; `format` makes text of a value. */
	constructor(title, names, format) {
		this.names = names;
		this.format = format;
		this.canvas = h("canvas.plot-canvas", {role: "img", "aria-label": title});
		this.figures = names.map((name, i) => h("span", {class: `figure series-${i}`}, h("span.key", {"aria-hidden": "true"}), h("span.muted", name), " ", h("b", "–")));
		this.extra = h("p.muted.small.extra");
		this.title = title;
		this.element = h("figure.plot.pane", h("figcaption", h("h3", title), h("span.figures", this.figures)), this.canvas, this.extra);
	}

	/** `series` has an array for each line, oldest first; null where there is nothing. */
	update(series, extra = "") {
		this.#series = series;
		series.forEach((values, i) => {
			const last = values.findLast(value => value !== null);
			setText(this.figures[i].lastChild, last === undefined ? "–" : this.format(last));
		});
		setText(this.extra, extra);
		this.canvas.setAttribute("aria-label", `${this.title}: ${this.names.map((name, i) => `${name} ${this.figures[i].lastChild.textContent}`).join(", ")}`);
		this.draw();
	}

	draw() {
		const {canvas} = this, width = canvas.clientWidth, height = canvas.clientHeight;
		if (width === 0 || this.#series.length === 0) return;
		const scale = window.devicePixelRatio || 1;
		canvas.width = Math.round(width * scale);
		canvas.height = Math.round(height * scale);
		const context = canvas.getContext("2d"), style = getComputedStyle(canvas);
		const colours = [style.color, style.outlineColor];
		context.scale(scale, scale);
		const top = Math.max(...this.#series.flat().filter(value => value !== null), 0) * 1.1 || 1;
		const left = 4, bottom = height - 4;
		const points = Math.max(60, ...this.#series.map(values => values.length));
		const x = (i, length) => width - 4 - (length - 1 - i) * (width - left - 4) / (points - 1);
		const y = value => bottom - value / top * (bottom - 16);
		context.strokeStyle = style.borderTopColor;
		context.fillStyle = style.caretColor;
		context.font = "11px system-ui, sans-serif";
		context.lineWidth = 1;
		for (const part of [0, 0.5, 1]) {
			const line = Math.round(y(top / 1.1 * part)) + 0.5;
			context.beginPath();
			context.moveTo(left, line);
			context.lineTo(width - 4, line);
			context.stroke();
		}
		if (top !== 1) context.fillText(this.format(top / 1.1), left, Math.round(y(top / 1.1)) - 4);
		context.lineWidth = 1.5;
		context.lineJoin = "round";
		[...this.#series.entries()].reverse().forEach(([number, values]) => {
			context.strokeStyle = context.fillStyle = colours[number];
			context.beginPath();
			let isDown = false;
			values.forEach((value, i) => {
				if (value === null) isDown = false;
				else if (isDown) context.lineTo(x(i, values.length), y(value));
				else {
					context.moveTo(x(i, values.length), y(value));
					isDown = true;
				}
			});
			context.stroke();
			if (number !== 0 || values.includes(null) || values.length < 2) return;
			context.lineTo(x(values.length - 1, values.length), bottom);
			context.lineTo(x(0, values.length), bottom);
			context.globalAlpha = 0.1;
			context.fill();
			context.globalAlpha = 1;
		});
	}
}
