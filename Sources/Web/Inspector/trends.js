// The last values of each number on screen, and the small curves that show them.

import {isContainer, kindOf, pointerOf} from "./json.js";

/** How many values a curve has, and how many numbers of one store are remembered. */
const length = 60, most = 100;

export class Trends {
	#stores = new Map();

	/** Takes the numbers of a state that has just come. */
	record(address, state) {
		if (state === undefined) return this.forget(address);
		let series = this.#stores.get(address);
		if (!series) this.#stores.set(address, series = new Map());
		this.#walk(state, "", series, 0);
	}

	#walk(value, pointer, series, depth) {
		if (kindOf(value) === "number") {
			let points = series.get(pointer);
			if (!points) {
				if (series.size >= most) return;
				series.set(pointer, points = []);
			}
			points.push(Number(value));
			if (points.length > length) points.shift();
		} else if (isContainer(value) && depth < 6 && series.size < most) {
			let left = most;
			for (const key in value) {
				if (left-- === 0) break;
				this.#walk(value[key], pointer + pointerOf([key]), series, depth + 1);
			}
		}
	}

	/** The values, oldest first; undefined where there is no number. */
	of(address, pointer) {return this.#stores.get(address)?.get(pointer);}

	forget(address) {this.#stores.delete(address);}
}

/** Draws values as a curve in the colour of the canvas; sized in CSS pixels. */
export function drawCurve(canvas, points, width = 64, height = 18) {
	const scale = window.devicePixelRatio || 1;
	if (canvas.width !== Math.round(width * scale)) {
		canvas.width = Math.round(width * scale);
		canvas.height = Math.round(height * scale);
	}
	const context = canvas.getContext("2d");
	context.setTransform(scale, 0, 0, scale, 0, 0);
	context.clearRect(0, 0, width, height);
	let low = Infinity, high = -Infinity;
	for (const value of points) {low = Math.min(low, value); high = Math.max(high, value);}
	const span = high - low || 1;
	const x = i => 2 + i * (width - 4) / Math.max(1, points.length - 1);
	const y = value => high === low ? height / 2 : height - 3 - (value - low) / span * (height - 6);
	context.strokeStyle = context.fillStyle = canvasColour(canvas);
	context.lineWidth = 1.25;
	context.beginPath();
	points.forEach((value, i) => i === 0 ? context.moveTo(x(0), y(value)) : context.lineTo(x(i), y(value)));
	context.stroke();
	context.beginPath();
	context.arc(x(points.length - 1), y(points.at(-1)), 1.75, 0, 7);
	context.fill();
}

/** The colour of curves, read once per theme: asking for it costs a style computation. */
let colour = "";
export const forgetColours = () => {colour = "";};
export function canvasColour(canvas) {
	return colour ||= getComputedStyle(canvas).color;
}
