// Plays the past: moves on by itself, by revisions or by the clock, until the newest moment.

import {h, replace, setText} from "./dom.js";

/** Steps a second by revision, and how many times faster than the clock by time; and how long a step is, in milliseconds. */
const speeds = {revision: [1, 5, 25], time: [1, 10, 60, 600, 3600]}, rhythm = 200;

export class Player {
	#timer = 0;
	#last = 0;
	#at = 0;

	/** `at()` says where to begin, a revision or a time, `end()` where the newest is; `go(at)` goes there. */
	constructor({at, end, go}) {
		Object.assign(this, {at, end, go});
		this.button = h("button", {id: "time-play", "aria-pressed": "false", title: "Play or pause (Space)", onclick: () => this.toggle()}, "▶ Play");
		this.speed = h("select", {id: "time-speed", "aria-label": "Speed"});
		this.scaleTo("revision");
		this.element = h("div.field", this.button, this.speed);
	}

	get isPlaying() {return this.#timer !== 0;}

	scaleTo(scale) {
		replace(this.speed, speeds[scale].map(value => h("option", {value}, scale === "time" ? `${value}×` : `${value} per second`)));
		this.speed.value = speeds[scale][1];
		this.stop();
	}

	toggle() {
		if (this.isPlaying) return this.stop();
		this.#last = performance.now();
		this.#at = this.at();
		this.#timer = setInterval(() => this.#tick(), rhythm);
		this.#say();
	}

	stop() {
		clearInterval(this.#timer);
		this.#timer = 0;
		this.#say();
	}

	#tick() {
		const now = performance.now(), end = this.end();
		this.#at = Math.min(end, this.#at + (now - this.#last) / 1000 * Number(this.speed.value));
		this.#last = now;
		this.go(this.#at);
		if (this.#at >= end) this.stop();
	}

	#say() {
		this.button.setAttribute("aria-pressed", String(this.isPlaying));
		setText(this.button, this.isPlaying ? "❚❚ Pause" : "▶ Play");
	}
}
