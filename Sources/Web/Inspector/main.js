// The page as a whole: signing in, the connection's state, the views and how to get from one to another.

import {Bus} from "./bus.js";
import {ClientsView} from "./clients.js";
import {whoOf} from "./commits.js";
import {Definitions} from "./definitions.js";
import {DispatchView} from "./dispatch.js";
import {dialog, draw, h, replace, sentence, setText} from "./dom.js";
import {Explorer} from "./explorer.js";
import {HealthView} from "./health.js";
import {LogView} from "./log.js";
import {Session} from "./session.js";
import {LiveSource} from "./sources.js";
import {TimeView} from "./time.js";
import {forgetColours} from "./trends.js";

const names = ["stores", "log", "time", "dispatch", "clients", "health"];
const at = id => document.getElementById(id);
const session = new Session();

const app = {
	definitions: new Definitions(),
	view: null,
	bus: null,
	/** The past is read over a connection of its own: requests behind a long read wait for it. */
	past() {
		if (!pastBus) {
			pastBus = makeBus(() => {}, () => {});
			pastBus.open();
		}
		return pastBus;
	},
	go(hash) {
		location.hash = hash;
		route();
	},
	announce(text) {
		setText(at("announcement"), text);
		at("announcement").hidden = false;
		clearTimeout(announcing);
		announcing = setTimeout(() => {at("announcement").hidden = true;}, 8000);
	},
};
let pastBus = null, views = null, routed = null, announcing = 0, counting = 0;

function makeBus(onStatus, onEpoch) {
	return new Bus({
		url: `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/bus`, greeting: () => session.greeting(), onStatus, onEpoch,
		async probe() {
			try {
				await session.look();
			} catch {
				return {reason: "fluxbus-web can’t be reached."};
			}
			return session.isReady ? {} : {refused: "You are not signed in any more."};
		},
	});
}

// MARK: The connection

async function begin() {
	try {
		await session.begin();
	} catch {
		showStatus({phase: "lost", reason: "fluxbus-web can’t be reached.", retryAt: performance.now() + 2000});
		return void setTimeout(begin, 2000);
	}
	setText(at("bus-address"), session.bus);
	if (session.isReady) connect();
	else ask(session.problem);
}

function ask(problem) {
	at("app").hidden = true;
	at("gate").hidden = false;
	showStatus({phase: "closed", reason: ""});
	session.ask(at("gate"), problem, () => location.reload());
}

function connect() {
	app.bus = makeBus(showStatus, (from, to) => renew(from, to));
	start();
	app.bus.open();
}

const phases = {closed: "Signed out", connecting: "Connecting…", live: "Live", lost: "Connection lost", refused: "Refused"};

function showStatus({phase, reason, retryAt}) {
	const box = at("status");
	box.className = `status ${phase}`;
	setText(at("status-text"), phases[phase] + (phase === "lost" || phase === "refused" ? `: ${reason}` : ""));
	clearInterval(counting);
	const countDown = () => setText(at("status-countdown"), phase === "lost" ? `Next try in ${Math.max(0, Math.ceil((retryAt - performance.now()) / 1000))} s` : "");
	countDown();
	if (phase === "lost") counting = setInterval(countDown, 250);
	at("retry").hidden = phase !== "lost" && phase !== "refused";
	if (phase === "live") live();
	if (phase === "refused") refused(reason);
}

function refused(reason) {
	pastBus?.close("refused", reason);
	if (session.signIn === "token" && !app.bus.hello.ok) {
		session.setToken(null);
		ask(reason);
	} else if (!session.isReady) ask(reason);
}

async function live() {
	const {identity, version, revision} = app.bus.hello;
	setText(at("bus-version"), `fluxbusd ${version}`);
	setText(at("who"), whoOf(identity));
	if (app.stores.source.revision === 0) app.stores.source.revision = revision;
	showRevision();
	if (pastBus && (pastBus.status.phase === "lost" || pastBus.status.phase === "refused")) pastBus.open();
	try {
		await app.definitions.load(app.bus);
		app.stores.definitionsChanged();
		app.time.explorer.definitionsChanged();
		app.dispatch.definitionsChanged();
	} catch (error) {
		if (error.code !== "closed") app.stores.fail(sentence(error));
	}
}

/** Another history: revisions don't compare. */
function renew(from, to) {
	const note = at("epoch-note");
	replace(note, h("span", `The bus began a new epoch (${to.slice(0, 8)}…, before ${from.slice(0, 8)}…): commits that this page has shown may be gone.`),
		" ", h("button.link", {onclick: () => {note.hidden = true;}}, "OK"));
	note.hidden = false;
	app.stores.source.revision = 0;
	for (const view of Object.values(views)) view.renew?.();
}

const showRevision = () => draw(drawRevision);
const drawRevision = () => setText(at("revision"), app.stores.source.revision.toLocaleString("en-US"));

// MARK: Views

function start() {
	app.stores = new Explorer(app, "stores", callbacks => new LiveSource(app.bus, {
		...callbacks, onRevision: showRevision, onError: error => app.stores.fail(sentence(error)),
	}));
	app.time = new TimeView(app);
	app.dispatch = new DispatchView(app);
	views = {stores: new StoresView(), log: new LogView(app), time: app.time, dispatch: app.dispatch, clients: new ClientsView(app), health: new HealthView(app)};
	for (const name of names) at(`panel-${name}`).append(name === "stores" ? app.stores.element : views[name].element);
	for (const tab of document.querySelectorAll("[role=tab]")) {
		tab.addEventListener("click", () => app.go(tab.dataset.view));
		tab.addEventListener("keydown", tabKey);
	}
	at("app").hidden = false;
	addEventListener("hashchange", route);
	route();
}

class StoresView {
	#wanted = "";
	show(rest) {
		this.#wanted = rest;
		this.#try(100);
		app.stores.list.draw();
	}
	/** A store may have to arrive first. */
	#try(times) {
		if (this.#wanted === "" || app.view !== "stores") return;
		const isType = !this.#wanted.includes("/");
		if (isType && app.stores.source.isReady) {
			app.stores.filter.value = `${this.#wanted}/*`;
			app.stores.tree.setFilter(app.stores.filter.value);
			app.stores.list.draw();
		} else if (isType || !app.stores.reveal(this.#wanted)) {
			if (times > 0) requestAnimationFrame(() => this.#try(times - 1));
		}
	}
	hide() {}
}

function route() {
	const [, name, , rest] = /^#([a-z]*)(\/(.*))?$/.exec(location.hash) ?? [null, "stores"];
	if (location.hash === routed) return;
	routed = location.hash;
	const view = names.includes(name) ? name : "stores";
	if (app.view !== view) {
		views[app.view]?.hide();
		app.view = view;
		for (const other of names) {
			const tab = at(`tab-${other}`), isChosen = other === view;
			tab.setAttribute("aria-selected", String(isChosen));
			tab.tabIndex = isChosen ? 0 : -1;
			at(`panel-${other}`).hidden = !isChosen;
		}
		at(`tab-${view}`).scrollIntoView({block: "nearest", inline: "nearest"});
		document.title = `${at(`tab-${view}`).textContent} – FluxBus`;
	}
	views[view].show(decodeURIComponent(rest ?? ""));
}

function tabKey(event) {
	const tabs = names, place = tabs.indexOf(app.view);
	const next = {ArrowRight: place + 1, ArrowLeft: place - 1, Home: 0, End: tabs.length - 1}[event.key];
	if (next === undefined) return;
	event.preventDefault();
	const name = tabs[(next + tabs.length) % tabs.length];
	app.go(name);
	at(`tab-${name}`).focus();
}

// MARK: The keyboard

const keys = [
	["1 … 6", "Go to a view"], ["/", "Filter"], ["↑ ↓ ← →", "Move in a list or tree; open and close"], ["Enter", "Show details"], ["Space", "Open or close"], ["Esc", "Close details"],
	["p", "Pause or continue the log"], ["[ ]", "One revision earlier or later"], ["t", "Light or dark"], ["?", "This help"],
];

function help() {
	const check = h("input", {type: "checkbox", id: "shortcuts-on", checked: hasShortcuts(), onchange: () => localStorage.setItem("fluxbus-shortcuts", check.checked ? "on" : "off")});
	dialog("Keyboard", h("div", h("table.keys", h("tbody", keys.map(([key, what]) => h("tr", h("th", {scope: "row"}, h("kbd", key)), h("td", what))))),
		h("p.check", check, h("label", {for: "shortcuts-on"}, "Shortcuts of a single key"))), [["Close"]]);
}

const hasShortcuts = () => localStorage.getItem("fluxbus-shortcuts") !== "off";

addEventListener("keydown", event => {
	if (event.ctrlKey || event.metaKey || event.altKey || !views || document.querySelector("dialog[open]")) return;
	if (event.target.closest("input, textarea, select, [contenteditable]") || !hasShortcuts()) return;
	const view = names[Number(event.key) - 1];
	if (view) app.go(view);
	else if (event.key === "/") at({log: "log-target", time: "time-filter"}[app.view] ?? "stores-filter").focus();
	else if (event.key === "?") help();
	else if (event.key === "t") switchTheme();
	else if (event.key === "p" && app.view === "log") views.log.togglePause();
	else if ((event.key === "[" || event.key === "]") && app.view === "time") app.time.step(event.key === "[" ? -1 : 1);
	else return;
	if (event.key === "/" && !["stores", "log", "time"].includes(app.view)) app.go("stores");
	event.preventDefault();
});

// MARK: Light and dark

const isDark = () => (document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";

function showTheme() {
	at("theme").setAttribute("aria-label", isDark() ? "Switch to light" : "Switch to dark");
	setText(at("theme"), isDark() ? "☀" : "☾");
	forgetColours();
	views?.health.redraw();
}

function switchTheme() {
	document.documentElement.dataset.theme = isDark() ? "light" : "dark";
	localStorage.setItem("fluxbus-theme", document.documentElement.dataset.theme);
	showTheme();
}

const theme = localStorage.getItem("fluxbus-theme");
if (theme) document.documentElement.dataset.theme = theme;
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", showTheme);
showTheme();

at("theme").addEventListener("click", switchTheme);
at("help").addEventListener("click", help);
at("retry").addEventListener("click", () => app.bus ? app.bus.open() : location.reload());
at("sign-out").addEventListener("click", async () => {
	await session.end();
	app.bus?.close();
	pastBus?.close();
	location.reload();
});
begin();
