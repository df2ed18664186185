// The Clients view: who is on the bus, what they watch, how far behind they are; and the way to send one away.

import {byFacts, whoOf} from "./commits.js";
import {bytes, count, dateAndTime, dialog, duration, foreign, h, note, replace, safe, sentence, setText} from "./dom.js";

/** How many clients are shown at first, and how often they are asked for, in milliseconds. */
const most = 200, rhythm = 2000;

const columns = [
	["Id", one => String(one.id)],
	["Who", one => safe(whoOf(one.by)) + (one.self ? " (this page)" : ""), one => safe(byFacts(one.by))],
	["Program", one => safe(one.client ?? "")],
	["Address", one => safe(one.address ?? "")],
	["Watches", one => safe((one.watches ?? []).slice(0, 3).join(" ")) + (one.subscriptions > 3 ? ` + ${one.subscriptions - 3}` : ""), one => safe((one.watches ?? []).join("\n"))],
	["Behind", one => one.lagging ? String(one.lagging) : "–", () => "Subscriptions that are behind", "number"],
	["Waiting", one => bytes(one.waiting), () => "Bytes written for it and not taken yet", "number"],
	["Held", one => bytes(one.held), () => "Bytes it sent that are not executed yet", "number"],
	["Dispatched", one => count(one.dispatched), null, "number"],
	["Delivered", one => count(one.delivered), null, "number"],
	["Idle", one => duration(Math.round(one.idle)), null, "number"],
	["Since", one => dateAndTime(one.since).slice(0, 19)],
];

export class ClientsView {
	#timer = 0;
	#shown = most;
	#rows = new Map();

	constructor(app) {
		this.app = app;
		this.counts = h("output.muted", {id: "clients-counts"});
		this.problem = h("p.empty", {role: "status", hidden: true});
		this.body = h("tbody");
		this.table = h("table.clients", {id: "clients-table"}, h("caption.hidden", "Clients of the bus"),
			h("thead", h("tr", columns.map(([name, , , className]) => h("th", {scope: "col", class: className}, name)), h("th", {scope: "col"}, h("span.hidden", "Action")))), this.body);
		this.more = h("button.link", {hidden: true, onclick: () => {this.#shown += most; this.#draw();}});
		this.element = h("div.clients-view", h("div.bar", this.counts), this.problem,
			h("div.pane.scroll.table-scroll", {tabindex: "0", role: "region", "aria-label": "Clients"}, this.table, this.more));
	}

	show() {
		this.#generation++;
		this.#poll(this.#generation);
	}
	#generation = 0;

	hide() {
		this.#generation++;
		clearTimeout(this.#timer);
	}

	async #poll(generation) {
		if (!document.hidden) await this.#read(generation);
		if (generation === this.#generation) this.#timer = setTimeout(() => this.#poll(generation), rhythm);
	}

	async #read(generation) {
		try {
			const clients = [];
			let after;
			do {
				const reply = await this.app.bus.request("clients", {...after !== undefined && {after}});
				clients.push(...reply.clients);
				after = reply.next;
			} while (after !== undefined);
			if (generation !== this.#generation) return;
			this.clients = clients;
			this.problem.hidden = true;
			this.table.hidden = false;
			this.#draw();
		} catch (error) {
			if (generation !== this.#generation || error.code === "closed") return;
			this.problem.hidden = false;
			this.table.hidden = true;
			setText(this.counts, "");
			setText(this.problem, sentence(error));
		}
	}

	#draw() {
		const lagging = this.clients.filter(one => one.lagging).length;
		setText(this.counts, `${count(this.clients.length, "client")}${lagging ? `, ${lagging} behind` : ""}`);
		const shown = this.clients.slice(0, this.#shown), rows = new Map();
		for (const one of shown) {
			const row = this.#rows.get(one.id) ?? this.#makeRow(one);
			rows.set(one.id, row);
			columns.forEach(([, text, title], i) => {
				const cell = row.cells[i].firstChild, value = text(one);
				setText(cell, value);
				if (title) cell.title = title(one);
			});
			row.element.classList.toggle("behind", one.lagging > 0);
		}
		for (const [id, row] of this.#rows) if (!rows.has(id)) row.element.remove();
		this.#rows = rows;
		[...rows.values()].forEach((row, i) => {if (this.body.children[i] !== row.element) this.body.insertBefore(row.element, this.body.children[i] ?? null);});
		this.more.hidden = shown.length === this.clients.length;
		setText(this.more, `${count(this.clients.length - shown.length)} more`);
	}

	#makeRow(one) {
		const cells = columns.map(([name, , , className]) => h("td", {class: className, "data-label": name}, h("bdi")));
		const kick = h("button.quiet", {"aria-label": `Kick client ${one.id}`, onclick: () => this.#kick(one)}, "Kick…");
		return {cells, element: h("tr", {"data-client": one.id}, cells, h("td.row-action", kick))};
	}

	#kick(one) {
		const reason = h("input", {type: "text", id: "kick-reason", maxlength: "300", autocomplete: "off"});
		const answer = h("p.error", {role: "alert"});
		dialog(`Kick client ${one.id}?`, h("div",
			h("p", foreign(whoOf(one.by)), one.client && [" · ", foreign(one.client)], one.self && h("strong", " This is the page you are looking at.")),
			note("Its connection ends, its wills are committed, and its ephemeral stores are dropped. It may connect again."),
			h("div.form-field", h("label", {for: "kick-reason"}, "Reason (the client is told)"), reason), answer),
		[["Cancel"], ["Kick", async () => {
			try {
				await this.app.now().request("kick", {client: one.id, ...reason.value.trim() && {reason: reason.value.trim()}});
				this.app.announce(`Client ${one.id} was disconnected.`);
				this.#read(this.#generation);
			} catch (error) {
				if (one.self && error.code === "outcome_unknown") return true;
				setText(answer, sentence(error));
				return false;
			}
			return true;
		}, "danger"]]);
		reason.focus();
	}

	/** Ids of another daemon are no ids. */
	renew() {
		this.#rows.clear();
		replace(this.body);
	}
}
