// The Health view: what the bus counts, asked for once a second while it is looked at, as plots and as figures.

import {bytes, count, duration, foreign, h, rate, replace, sentence, setText} from "./dom.js";
import {Plot} from "./plot.js";

/** How many samples are kept, and over how many of them latencies are taken. */
const most = 300, recent = 10;

const byteRate = number => `${bytes(Math.round(number))}/s`;

/** [title, lines, format]; a line is [name, total that it is the growth of]. */
const rates = [
	["Commits", [["commits", "commits"], ["dispatches", "dispatches"]], rate],
	["Traffic", [["requests", "requests"], ["events", "events"]], rate],
	["Bytes", [["in", "bytesIn"], ["out", "bytesOut"]], byteRate],
];
const latencies = [["turn", "Turn time"], ["commit", "Commit time"], ["logWrite", "Log write"], ["fsync", "Log sync (fsync)"], ["reply", "Reply time"]];
const memory = {states: "states", keys: "keys", outboxes: "waiting for clients", heldInput: "input", wills: "wills", subscriptions: "subscriptions", reads: "reads", connections: "connections"};

export class HealthView {
	#samples = [];
	#timer = 0;
	#generation = 0;

	constructor(app) {
		this.app = app;
		this.facts = h("dl.facts.tiles", {id: "health-facts"});
		this.problem = h("p.empty", {role: "status", hidden: true});
		this.rates = rates.map(([title, lines, format]) => new Plot(title, lines.map(([name]) => name), format));
		this.latencies = latencies.map(([, title]) => new Plot(title, ["p50", "p99"], duration));
		this.memory = new Plot("Memory", ["resident", "accounted"], bytes);
		this.log = new Plot("Action log", ["size"], bytes);
		this.plots = [...this.rates, ...this.latencies, this.memory, this.log];
		this.tables = h("div.tables");
		this.element = h("div.health.scroll", this.problem, this.facts, h("div.plots", this.plots.map(plot => plot.element)), this.tables);
		new ResizeObserver(() => this.redraw()).observe(this.element);
	}

	redraw() {for (const plot of this.plots) plot.draw();}

	show() {
		this.#poll(++this.#generation);
	}

	hide() {
		this.#generation++;
		clearTimeout(this.#timer);
	}

	/** Another daemon counts from zero. */
	renew() {this.#samples = [];}

	async #poll(generation) {
		if (!document.hidden) await this.#read(generation);
		if (generation === this.#generation) this.#timer = setTimeout(() => this.#poll(generation), 1000);
	}

	async #read(generation) {
		try {
			const {stats} = await this.app.bus.request("stats");
			if (generation !== this.#generation) return;
			const isPartial = stats.totals === undefined;
			this.problem.hidden = !isPartial;
			setText(this.problem, isPartial ? `The bus is at revision ${stats.revision}. Its counters are shown to those who may manage it.` : "");
			for (const element of [this.facts, this.tables, ...this.plots.map(plot => plot.element)]) element.hidden = isPartial;
			if (isPartial) return;
			const last = this.#samples.at(-1);
			if (last && Number(stats.totals.commits) < Number(last.stats.totals.commits)) this.#samples = [];
			this.#samples.push({at: performance.now() / 1000, stats});
			if (this.#samples.length > most) this.#samples.shift();
			this.#draw(stats);
		} catch (error) {
			if (generation !== this.#generation || error.code === "closed") return;
			this.problem.hidden = false;
			setText(this.problem, sentence(error));
		}
	}

	#draw(stats) {
		replace(this.facts, this.#tiles(stats).map(([name, value]) => h("div", h("dt", name), h("dd", value))));
		rates.forEach(([, lines], i) => this.rates[i].update(lines.map(([, total]) => this.#rate(sample => Number(sample.stats.totals[total] ?? 0)))));
		latencies.forEach(([name], i) => {
			const all = stats.histograms?.[name], plot = this.latencies[i];
			plot.element.hidden = !all;
			if (!all) return;
			plot.update([0.5, 0.99].map(part => this.#quantiles(name, part)),
				all.count > 0 ? `Since the start: p50 ${duration(all.p50)}, p99 ${duration(all.p99)}, longest ${duration(all.max)}, ${count(all.count)} measured` : "Nothing measured yet.");
		});
		const accounted = Object.entries(stats.memory ?? {}).filter(([, size]) => size > 0).sort((a, b) => b[1] - a[1]);
		this.memory.update([this.#values(stats => stats.residentMemory), this.#values(stats => stats.accountedMemory)],
			accounted.map(([name, size]) => `${memory[name] ?? name} ${bytes(size)}`).join(", "));
		this.log.element.hidden = !stats.log;
		if (stats.log) {
			const growth = this.#rate(sample => Number(sample.stats.log?.bytes ?? 0)).filter(value => value !== null).slice(-recent);
			const mean = growth.reduce((sum, value) => sum + value, 0) / Math.max(1, growth.length);
			this.log.update([this.#values(stats => stats.log?.bytes)], `Grows by ${byteRate(Math.max(0, mean))}, sync ${stats.log.sync}, on disk up to revision ${stats.log.durable}, newest snapshot at ${stats.log.snapshot}`);
		}
		this.#drawTables(stats);
	}

	#tiles(stats) {
		return [
			["Version", stats.version && foreign(stats.version)], ["Up", stats.uptime !== undefined && duration(Math.floor(stats.uptime))], ["Revision", count(stats.revision)],
			["Stores", count(stats.stores)], ["Clients", count(stats.connections)], ["Subscriptions", count(stats.subscriptions)], ["Timers", stats.timers !== undefined && count(stats.timers)],
			["Errors", count(Object.values(stats.errors ?? {}).reduce((sum, number) => sum + Number(number), 0))], ["Slow clients ended", count(stats.totals.slowConsumers ?? 0)],
			["Commits per log write", stats.histograms?.group?.count > 0 && (stats.histograms.group.sum / stats.histograms.group.count).toFixed(1)],
		].filter(([, value]) => value !== undefined && value !== false);
	}

	#values(take) {return this.#samples.map(({stats}) => take(stats) === undefined ? null : Number(take(stats)));}

	/** The growth of a total, per second. */
	#rate(take) {
		return this.#samples.map((sample, i) => i === 0 ? null : Math.max(0, (take(sample) - take(this.#samples[i - 1])) / (sample.at - this.#samples[i - 1].at)));
	}

	/** A quantile of what was measured within the last seconds, by the buckets that grew. */
	#quantiles(name, part) {
		return this.#samples.map((sample, i) => {
			if (i === 0) return null;
			const earlier = new Map(this.#samples[Math.max(0, i - recent)].stats.histograms?.[name]?.buckets ?? []);
			const grown = (sample.stats.histograms?.[name]?.buckets ?? []).map(([bound, number]) => [Number(bound), number - (earlier.get(bound) ?? 0)]);
			let left = part * grown.reduce((sum, [, number]) => sum + number, 0);
			if (left === 0) return null;
			for (const [bound, number] of grown) if ((left -= number) <= 0) return bound;
			return null;
		});
	}

	#drawTables(stats) {
		const before = this.#samples[Math.max(0, this.#samples.length - 1 - recent)], seconds = this.#samples.at(-1).at - before.at;
		const actions = Object.entries(stats.actions ?? {}).flatMap(([type, names]) => Object.entries(names).map(([name, number]) => {
			const earlier = before.stats.actions?.[type]?.[name] ?? 0;
			return [`${type} ${name}`, Number(number), seconds > 0 ? (number - earlier) / seconds : 0];
		})).sort((a, b) => b[2] - a[2] || b[1] - a[1]);
		const errors = Object.entries(stats.errors ?? {}).sort((a, b) => b[1] - a[1]);
		replace(this.tables,
			table("Busiest actions", ["Action", "Commits", "Now"], actions.slice(0, 12).map(([name, number, speed]) => [name, count(number), rate(speed)]), "No action was dispatched yet."),
			table("Errors by code", ["Code", "Answers"], errors.map(([code, number]) => [code, count(number)]), "No request was refused yet."));
	}
}

function table(title, heads, rows, empty) {
	return h("section.pane", h("h3", title), rows.length === 0 ? h("p.muted", empty)
		: h("table", h("thead", h("tr", heads.map((head, i) => h("th", {scope: "col", class: i ? "number" : undefined}, head)))),
			h("tbody", rows.map(cells => h("tr", cells.map((cell, i) => i === 0 ? h("th", {scope: "row"}, foreign(cell)) : h("td.number", cell)))))));
}
