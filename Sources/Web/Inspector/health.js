// The Health view: what is wrong now, in words; what the bus counts, as plots over the last hour and as figures; its members
// and its effects.

import {clock, bytes, count, duration, foreign, h, rate, replace, sentence, setText, setAttribute, table} from "./dom.js";
import {Plot} from "./plot.js";
import {Samples, longest, rates as ratesOf, restarts, values} from "./samples.js";
import {problemsOf} from "./verdict.js";

/** How often what fluxbus-web remembers and reloads are looked for, and clients, members and effects, in seconds. */
const often = 60, soon = 3;

const byteRate = number => `${bytes(Math.round(number))}/s`;

/** [title, lines, format]; a line is [name, total that it is the growth of]. */
const rates = [
	["Commits", [["commits", "commits"], ["dispatches", "dispatches"]], rate],
	["Traffic", [["requests", "requests"], ["events", "events"]], rate],
	["Bytes", [["in", "bytesIn"], ["out", "bytesOut"]], byteRate],
];
const latencies = [["turn", "Turn time"], ["commit", "Commit time"], ["logWrite", "Log write"], ["fsync", "Log sync (fsync)"], ["reply", "Reply time"]];
const memory = {states: "states", keys: "keys", outboxes: "waiting for clients", heldInput: "input", wills: "wills", subscriptions: "subscriptions", reads: "reads", maps: "maps", connections: "connections"};
const spans = {"": ["Last hour", longest], "15m": ["Last 15 minutes", 900], "5m": ["Last 5 minutes", 300]};

export class HealthView {
	#samples = new Samples();
	#timer = 0;
	#generation = 0;
	#reloads = [];
	#askedAt = {};
	#others = {clients: null, cluster: null, effects: null};
	/** The moment that is pointed at; null: now. */
	#moment = null;

	constructor(app) {
		this.app = app;
		this.facts = h("dl.facts.tiles", {id: "health-facts"});
		this.verdict = h("div.verdict.pane", {id: "health-verdict", role: "status"});
		this.problem = h("p.empty", {role: "status", hidden: true});
		const plot = (title, names, format) => new Plot(title, names, format, time => this.#point(time));
		this.rates = rates.map(([title, lines, format]) => plot(title, lines.map(([name]) => name), format));
		this.latencies = latencies.map(([, title]) => plot(title, ["p50", "p99"], duration));
		this.clients = plot("Clients", ["clients", "subscriptions"], count);
		this.memory = plot("Memory", ["resident", "accounted"], bytes);
		this.log = plot("Action log", ["size"], bytes);
		this.plots = [...this.rates, ...this.latencies, this.clients, this.memory, this.log];
		this.span = h("select", {id: "health-span", onchange: () => {this.app.note("", {last: this.span.value}, true); this.#drawPlots();}}, Object.entries(spans).map(([value, [label]]) => h("option", {value}, label)));
		this.slider = h("input", {type: "range", id: "health-moment", step: "1", oninput: () => this.#point(this.slider.value === this.slider.max ? null : Number(this.slider.value))});
		this.said = h("output", {id: "health-said", for: "health-moment"});
		this.bar = h("div.bar", h("label", {for: "health-span"}, "Time"), this.span, h("label", {for: "health-moment"}, "Moment"), this.slider, this.said);
		this.tables = h("div.tables");
		this.element = h("div.health.scroll", this.problem, this.verdict, this.facts, this.bar, h("div.plots", this.plots.map(one => one.element)), this.tables);
		new ResizeObserver(() => this.redraw()).observe(this.element);
	}

	redraw() {for (const plot of this.plots) plot.draw();}

	show(rest, options = new URLSearchParams()) {
		this.span.value = spans[options.get("last")] ? options.get("last") : "";
		this.#askedAt = {};
		this.#poll(++this.#generation);
	}

	hide() {
		this.#generation++;
		clearTimeout(this.#timer);
	}

	/** Another history: its reloads are others. */
	renew() {this.#askedAt = {};}

	// MARK: Asking

	async #poll(generation) {
		clearTimeout(this.#timer);
		if (!document.hidden) await this.#read(generation);
		if (generation === this.#generation) this.#timer = setTimeout(() => this.#poll(generation), 1000);
	}

	async #read(generation) {
		try {
			const {stats} = await this.app.bus.request("stats");
			await Promise.all([this.#isDue("memory", often) && this.#remember(stats), this.#isDue("others", soon) && this.#readOthers()]);
			if (generation !== this.#generation) return;
			const isPartial = stats.totals === undefined;
			this.problem.hidden = !isPartial;
			setText(this.problem, isPartial ? `The bus is at revision ${stats.revision}. Its counters are shown to those who may manage it.` : "");
			for (const element of [this.verdict, this.facts, this.bar, this.tables, ...this.plots.map(plot => plot.element)]) element.hidden = isPartial;
			if (isPartial) return;
			this.#samples.add(stats);
			this.#draw(stats);
		} catch (error) {
			if (generation !== this.#generation || error.code === "closed") return;
			this.problem.hidden = false;
			setText(this.problem, sentence(error));
		}
	}

	#isDue(what, seconds) {
		const now = Date.now() / 1000;
		if (now - (this.#askedAt[what] ?? 0) < seconds) return false;
		this.#askedAt[what] = now;
		return true;
	}

	/** What was before this page, and when definitions were loaded; a bus without a log does not tell the latter. */
	async #remember({log}) {
		const remembered = await this.app.remembered().catch(() => null);
		if (remembered) this.#samples.remember(remembered);
		const reply = log && await this.app.past().request("history", {action: "reload", order: "newest", limit: 100}).catch(() => null);
		this.#reloads = (reply?.commits ?? []).map(commit => commit.time);
	}

	/** What else says how the bus is; null where that can't be asked for. */
	async #readOthers() {
		const ask = (op, members) => this.app.bus.request(op, members).catch(() => null);
		const hasEffects = this.app.definitions.of("effect") !== undefined;
		const [clients, cluster, effects] = await Promise.all([ask("clients"), this.app.bus.greeting.cluster && ask("cluster"), hasEffects && ask("get", {type: "effect"})]);
		this.#others = {
			clients: clients?.clients ?? null, cluster: cluster?.cluster ?? null,
			effects: effects ? Object.entries(effects.states).map(([address, state]) => ({name: address.slice(7), state})) : null,
		};
	}

	// MARK: Drawing

	#draw(stats) {
		const {time, stats: earlier} = this.#samples.earlier, seconds = this.#samples.last.time - time;
		this.#drawVerdict(problemsOf({stats, earlier, seconds, limits: this.app.bus.greeting.limits, now: this.#samples.now, ...this.#others}));
		replace(this.facts, this.#tiles(stats).map(([name, value]) => h("div", h("dt", name), h("dd", value))));
		this.#drawPlots();
		this.#drawTables(stats, earlier, seconds);
	}

	#drawVerdict(problems) {
		const text = problems.map(([sentence]) => sentence).join("\n");
		this.verdict.classList.toggle("bad", problems.length > 0);
		if (this.verdict.text === text) return;
		this.verdict.text = text;
		replace(this.verdict, problems.length === 0 ? h("p", "Nothing is wrong.") : problems.map(([sentence, address]) => h("p", sentence, address && [" ", h("a", {href: address}, "Show")])));
	}

	#tiles(stats) {
		return [
			["Version", stats.version && foreign(stats.version)], ["Up", stats.uptime !== undefined && duration(Math.floor(stats.uptime))], ["Revision", count(stats.revision)],
			["Stores", count(stats.stores)], ["Clients", count(stats.connections)], ["Subscriptions", count(stats.subscriptions)], ["Timers", stats.timers !== undefined && count(stats.timers)],
			["Errors", count(Object.values(stats.errors ?? {}).reduce((sum, number) => sum + Number(number), 0))], ["Slow clients ended", count(stats.totals.slowConsumers ?? 0)],
			["Commits per log write", stats.histograms?.group?.count > 0 && (stats.histograms.group.sum / stats.histograms.group.count).toFixed(1)],
		].filter(([, value]) => value !== undefined && value !== false);
	}

	#drawPlots() {
		const {stats, time: now} = this.#samples.last ?? {};
		if (!stats) return;
		const samples = this.#samples.since(now - spans[this.span.value][1]), times = samples.map(one => one.time);
		const from = Math.min(times[0], now - 60);
		this.marks = [...restarts(samples).map(time => [time, "restart"]), ...this.#reloads.filter(time => time >= from).map(time => [time, "reload"])];
		const axis = {times, range: [from, now], marks: this.marks};
		rates.forEach(([, lines], i) => this.rates[i].update(axis, lines.map(([, total]) => ratesOf(samples, one => one.totals[total] ?? 0))));
		latencies.forEach(([name], i) => {
			const all = stats.histograms?.[name], plot = this.latencies[i];
			plot.element.hidden = !all;
			if (!all) return;
			plot.update(axis, ["p50", "p99"].map(part => samples.map(one => one.quantiles?.[name]?.[part] ?? null)),
				all.count > 0 ? `Since the start: p50 ${duration(all.p50)}, p99 ${duration(all.p99)}, longest ${duration(all.max)}, ${count(all.count)} measured` : "Nothing measured yet.");
		});
		this.clients.update(axis, [values(samples, one => one.connections), values(samples, one => one.subscriptions)]);
		const accounted = Object.entries(stats.memory ?? {}).filter(([, size]) => size > 0).sort((a, b) => b[1] - a[1]);
		this.memory.update(axis, [values(samples, one => one.residentMemory), values(samples, one => one.accountedMemory)],
			accounted.map(([name, size]) => `${memory[name] ?? name} ${bytes(size)}`).join(", "));
		this.log.element.hidden = !stats.log;
		if (stats.log) {
			const growth = ratesOf(samples, one => one.log?.bytes ?? 0).filter(value => value !== null).slice(-10);
			const mean = growth.reduce((sum, value) => sum + value, 0) / Math.max(1, growth.length);
			this.log.update(axis, [values(samples, one => one.log?.bytes)], `Grows by ${byteRate(Math.max(0, mean))}, sync ${stats.log.sync}, on disk up to revision ${stats.log.durable}, newest snapshot at ${stats.log.snapshot}`);
		}
		Object.assign(this.slider, {min: Math.floor(from), max: Math.floor(now)});
		if (this.#moment === null) this.slider.value = Math.floor(now);
		this.#point(this.#moment);
	}

	/** All plots show the figures of one moment; null: of now. */
	#point(time) {
		this.#moment = time;
		if (time !== null) this.slider.value = Math.floor(time);
		const near = time === null ? [] : (this.marks ?? []).filter(([at]) => Math.abs(at - time) < (this.slider.max - this.slider.min) / 60);
		const marks = this.marks?.length ? count(this.marks.filter(([, kind]) => kind === "restart").length, "restart") + `, ${count(this.marks.filter(([, kind]) => kind === "reload").length, "reload")}` : "";
		const text = time === null ? ["Now", marks].filter(one => one).join(" · ") : [clock(time).slice(0, 8), ...near.map(([at, kind]) => `${kind} at ${clock(at).slice(0, 8)}`)].join(" · ");
		setText(this.said, text);
		setAttribute(this.slider, "aria-valuetext", text);
		for (const plot of this.plots) plot.point(time);
	}

	#drawTables(stats, before, seconds) {
		const actions = Object.entries(stats.actions ?? {}).flatMap(([type, names]) => Object.entries(names).map(([name, number]) => {
			const earlier = before.actions?.[type]?.[name] ?? 0;
			return [`${type} ${name}`, Number(number), seconds > 0 ? (number - earlier) / seconds : 0];
		})).sort((a, b) => b[2] - a[2] || b[1] - a[1]);
		const errors = Object.entries(stats.errors ?? {}).sort((a, b) => b[1] - a[1]), {cluster, effects} = this.#others;
		replace(this.tables,
			cluster && table(`Members of ${cluster.bus}`, ["Member", "#Revision", "#Behind", "#Last seen", "State", "Version"], cluster.members.map(one => memberRow(one, cluster)), ""),
			effects?.length > 0 && table("Effects", ["Effect", "#Handled", "#Waiting", "#Set aside", "#Tried again", "State"], effects.map(effectRow), ""),
			table("Busiest actions", ["Action", "#Commits", "#Now"], actions.slice(0, 12).map(([name, number, speed]) => [name, count(number), rate(speed)]), "No action was dispatched yet."),
			table("Errors by code", ["Code", "#Answers"], errors.map(([code, number]) => [code, count(number)]), "No request was refused yet."));
	}
}

/** Members show how they are now and then, with their clocks: that of this one says how long ago. */
const memberRow = (one, {member, attached, suspended, members}) => {
	const ago = members.find(other => other.name === member)?.clock - one.clock, number = value => value === undefined ? "–" : count(value);
	return [one.name === member ? `${one.name} (this one)` : one.name, number(one.revision), number(one.behind), one.clock === undefined ? "–" : ago > 0 ? `${duration(ago)} ago` : "now",
		one.agrees === false ? "differs" : one.name !== member ? "agrees" : suspended ? "suspended" : attached ? "agrees" : "detached", one.version ?? "–"];
};

const effectRow = ({name, state}) => [
	h("a", {href: `#stores/effect/${name}`}, foreign(name)), count(state.succeeded ?? 0), count((state.waiting ?? 0) + (state.running ?? 0)), count(Object.keys(state.failed ?? {}).length), count(state.retried ?? 0),
	state.paused ? "paused" : state.owner === "" ? "no service" : "ready",
];
