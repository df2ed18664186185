// The page as a whole: signing in, the connection's state, the views and how to get from one to another.

import {addressOf, readAddress} from "./address.js";
import {ClientsView} from "./clients.js";
import {whoOf} from "./commits.js";
import {Definitions} from "./definitions.js";
import {DispatchView} from "./dispatch.js";
import {copy, dialog, draw, h, replace, sentence, setText} from "./dom.js";
import {Explorer} from "./explorer.js";
import {BusError} from "./fluxbus.js";
import {FlowView} from "./flow.js";
import {HealthView} from "./health.js";
import {LogView} from "./log.js";
import {Palette} from "./palette.js";
import {Session} from "./session.js";
import {LiveSource} from "./sources.js";
import {StorePage} from "./store.js";
import {TypeTable} from "./table.js";
import {TimeView} from "./time.js";
import {forgetColours} from "./trends.js";
import {undoButton} from "./undo.js";

const names = ["stores", "log", "time", "dispatch", "clients", "health", "flow"];
/** Views without a tab of their own, and whose they share. */
const shared = {store: "stores", table: "stores"};
const tabOf = view => shared[view] ?? view;
const at = id => document.getElementById(id);
const session = new Session();

const app = {
	definitions: new Definitions(),
	view: null,
	bus: null,
	/** The past is read over a connection of its own: requests behind a long read wait for it. */
	past: () => past,
	remembered: () => session.remembered(),
	/** The bus, for what must not be done later than somebody wants it. */
	now() {
		if (!app.bus.connected) throw new BusError("offline", "There is no connection to the bus now.");
		return app.bus;
	},
	go(hash) {
		location.hash = hash;
		route();
	},
	/** The view shows something else by itself. With `isStep`, Back leads to what it showed before. */
	note(rest, options, isStep = false) {
		// Somebody has gone elsewhere just now, and the browser has not said so yet.
		if (location.hash !== routed) return route();
		const hash = addressOf(app.view, rest, options);
		if (hash === location.hash) return;
		history[isStep ? "pushState" : "replaceState"](null, "", hash);
		routed = last[tabOf(app.view)] = location.hash;
	},
	/** With the revision of a commit of this page, it can be undone for as long as the text is there. */
	announce(text, revision) {
		replace(at("announcement"), text, revision !== undefined && [" ", undoButton(app, revision, text => app.announce(text))]);
		at("announcement").hidden = false;
		clearTimeout(announcing);
		announcing = setTimeout(() => {at("announcement").hidden = true;}, revision === undefined ? 8000 : 30_000);
	},
};
const past = {
	bus: null,
	isOver: false,
	async request(op, members) {
		if (past.isOver) throw new BusError("closed", "The connection is closed.");
		past.bus ??= past.connect();
		return (await past.bus).request(op, members);
	},
	/** Begins again until it has come about: who asked waits, as for a connection that was lost. */
	async connect() {
		try {
			return await session.connect(status => {
				if (isKick(status)) refused(status.error.message);
			});
		} catch (error) {
			if (past.isOver || error.code === "unauthorized") throw error;
			await new Promise(resolve => setTimeout(resolve, 1000));
			return past.connect();
		}
	},
	close() {
		past.isOver = true;
		past.bus?.then(bus => bus.close({timeout: 0}), () => {});
	},
};
/** Where each view was left. */
const last = {};
let views = null, routed = null, announcing = 0, counting = 0, epoch = null, retry = () => {};

// MARK: The connection

/** A sentence where fluxbus-web does not answer. */
const problemOf = answer => answer.then(() => null, () => "fluxbus-web can’t be reached.");

async function begin() {
	const problem = await problemOf(session.begin());
	if (problem) return again(problem);
	setText(at("bus-address"), session.bus || location.host);
	if (session.isReady) connect();
	else ask(session.problem);
}

function ask(problem) {
	at("app").hidden = true;
	at("gate").hidden = false;
	showStatus("closed");
	session.ask(at("gate"), problem, () => location.reload());
}

/** The first connection; the client library makes those after it. */
async function connect() {
	showStatus("connecting");
	try {
		app.bus = await session.connect(changed);
	} catch (error) {
		if (error.code === "unauthorized") return unauthorized(error);
		const problem = await problemOf(session.look());
		return session.isReady ? again(problem ?? error.message) : refused(signedOut);
	}
	start();
	setInterval(beat, 1000);
	changed(app.bus.status);
}

/** Begins once more in a while, or when somebody can't wait. */
function again(reason) {
	const timer = setTimeout(() => retry(), 2000);
	retry = () => {
		clearTimeout(timer);
		retry = () => {};
		begin();
	};
	showStatus("lost", reason, Date.now() + 2000);
}

const signedOut = "You are not signed in any more.";
const isKick = ({error}) => error?.details.reason === "kicked";

/** How it is with the connection now. */
async function changed(status) {
	const {phase, error, retryAt} = status;
	if (!app.bus) return;
	if (phase === "live") {
		retry = () => {};
		showStatus("live");
		live();
	} else if (isKick(status)) {
		refused(error.message);
	} else if (phase === "lost") {
		retry = () => app.bus.reconnect();
		showStatus("lost", error.message, retryAt);
		if (error.code !== "unreachable") return;
		const problem = await problemOf(session.look());
		if (!session.isReady) refused(signedOut);
		else if (problem && app.bus.status === status) showStatus("lost", problem, retryAt);
	} else if (error.code === "unauthorized") {
		unauthorized(error);
	}
}

const phases = {closed: "Signed out", connecting: "Connecting…", live: "Live", lost: "Connection lost", refused: "Refused"};

function showStatus(phase, reason, retryAt) {
	at("status").className = `status ${phase}`;
	setText(at("status-text"), statusText(phase, reason));
	clearInterval(counting);
	const countDown = () => setText(at("status-countdown"), phase === "lost" ? `; retrying in ${Math.max(0, Math.ceil((retryAt - Date.now()) / 1000))} s` : "");
	countDown();
	if (phase === "lost") counting = setInterval(countDown, 250);
	at("retry").hidden = phase !== "lost" && phase !== "refused";
}

function statusText(phase, reason) {
	if (!reason) return phases[phase];
	if (phase !== "lost") return `${phases[phase]}: ${reason}`;
	const sentence = reason.replace(/\.$/, "");
	return /Bus not running at .*/.exec(sentence)?.[0] ?? `${phases[phase]}: ${sentence}`;
}

/** The bus, or fluxbus-web, does not want this page as it is. */
function refused(reason) {
	app.bus?.close({timeout: 0});
	past.close();
	retry = () => location.reload();
	showStatus("refused", reason);
	if (!session.isReady) ask(reason);
}

function unauthorized(error) {
	session.setToken(null);
	refused(error.message);
}

async function live() {
	const {identity, version, epoch: now} = app.bus.greeting;
	if (epoch !== null && epoch !== now) renew(epoch, now);
	epoch = now;
	setText(at("bus-version"), `fluxbusd ${version}`);
	setText(at("who"), whoOf(identity));
	showRevision();
	past.bus?.then(bus => bus.reconnect(), () => {});
	try {
		await app.definitions.load(app.bus);
		for (const view of [app.stores, app.time.explorer, app.dispatch, views.store, views.table]) view.definitionsChanged();
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
	for (const view of Object.values(views)) view.renew?.();
}

/** The bus is asked: it tells a page nothing of commits that change nothing it may see. */
async function beat() {
	if (!document.hidden && app.bus.connected) await app.bus.request("sync").catch(() => {});
	showRevision();
}

const showRevision = () => draw(drawRevision);
const drawRevision = () => setText(at("revision"), app.bus.revision.toLocaleString("en-US"));

// MARK: Views

function start() {
	app.stores = new Explorer(app, "stores", callbacks => new LiveSource(app.bus, {
		...callbacks, onError: error => app.stores.fail(sentence(error)),
	}), isStep => {
		if (isStep !== null && app.view === "stores") app.note(app.stores.place.rest, app.stores.place.options, isStep);
	});
	app.time = new TimeView(app);
	app.dispatch = new DispatchView(app);
	const stores = {element: app.stores.element, show: (rest, options) => app.stores.go(rest, options), hide() {}};
	views = {
		stores, store: new StorePage(app), table: new TypeTable(app), log: new LogView(app), time: app.time, dispatch: app.dispatch,
		clients: new ClientsView(app), health: new HealthView(app), flow: new FlowView(app),
	};
	for (const [name, {element}] of Object.entries(views)) at(`panel-${tabOf(name)}`).append(element);
	for (const tab of document.querySelectorAll("[role=tab]")) {
		tab.addEventListener("click", () => visit(tab.dataset.view));
		tab.addEventListener("keydown", tabKey);
	}
	at("app").hidden = false;
	addEventListener("hashchange", route);
	route();
}

function route() {
	if (location.hash === routed) return;
	const {view: name, rest, options} = readAddress(location.hash);
	const view = Object.hasOwn(views, name) ? name : "stores", tab = tabOf(view);
	routed = last[tab] = location.hash;
	if (app.view !== view) {
		views[app.view]?.hide();
		app.view = view;
		for (const other of names) {
			const button = at(`tab-${other}`), isChosen = other === tab;
			button.setAttribute("aria-selected", String(isChosen));
			button.tabIndex = isChosen ? 0 : -1;
			at(`panel-${other}`).hidden = !isChosen;
		}
		for (const child of at(`panel-${tab}`).children) child.hidden = child !== views[view].element;
		at(`tab-${tab}`).scrollIntoView({block: "nearest", inline: "nearest"});
	}
	document.title = `${view !== tab && rest ? rest : at(`tab-${tab}`).textContent} – FluxBus`;
	views[view].show(rest, options);
}

/** Goes to a view as it was left; from a page that shares its tab to the view itself. */
const visit = name => app.go(shared[app.view] === name ? name : last[name] || name);

function tabKey(event) {
	const tabs = names, place = tabs.indexOf(tabOf(app.view));
	const next = {ArrowRight: place + 1, ArrowLeft: place - 1, Home: 0, End: tabs.length - 1}[event.key];
	if (next === undefined) return;
	event.preventDefault();
	const name = tabs[(next + tabs.length) % tabs.length];
	visit(name);
	at(`tab-${name}`).focus();
}

// MARK: The keyboard

const keys = [
	["Ctrl K", "Go to anything"], ["1 … 7", "Go to a view"], ["/", "Filter"], ["↑ ↓ ← →", "Move in a list or tree; open and close"], ["Enter", "Show details"], ["Space", "Open or close"], ["Esc", "Close details"],
	["p", "Pause or continue the log"], ["g", "Group alike commits"], ["[ ]", "One revision earlier or later"], ["{ }", "Previous or next change of the selected store"], ["Space", "Play or pause in Time"], ["t", "Light or dark"], ["?", "This help"],
];

function help() {
	const check = h("input", {type: "checkbox", id: "shortcuts-on", checked: hasShortcuts(), onchange: () => localStorage.setItem("fluxbus-shortcuts", check.checked ? "on" : "off")});
	dialog("Keyboard", h("div", h("table.keys", h("tbody", keys.map(([key, what]) => h("tr", h("th", {scope: "row"}, h("kbd", key)), h("td", what))))),
		h("p.check", check, h("label", {for: "shortcuts-on"}, "Enable single-key shortcuts"))), [["Close"]]);
}

/** What / goes to. */
const fields = {stores: "stores-filter", table: "table-filter", log: "log-target", time: "time-filter"};

const hasShortcuts = () => localStorage.getItem("fluxbus-shortcuts") !== "off";

const palette = new Palette(app, names.map(name => [name, at(`tab-${name}`).textContent]), name => {
	visit(name);
	at(`tab-${name}`).focus();
});

addEventListener("keydown", event => {
	if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === "k" && views && !document.querySelector("dialog[open]")) {
		event.preventDefault();
		return palette.open();
	}
	if (event.ctrlKey || event.metaKey || event.altKey || !views || document.querySelector("dialog[open]")) return;
	if (event.target.closest("input, textarea, select, [contenteditable]") || !hasShortcuts()) return;
	const view = names[Number(event.key) - 1];
	if (view) {
		visit(view);
		at(`tab-${view}`).focus();
	}
	else if (event.key === "/") {
		if (!fields[app.view]) app.go("stores");
		at(fields[app.view]).focus();
	}
	else if (event.key === "?") help();
	else if (event.key === "t") switchTheme();
	else if (event.key === "p" && app.view === "log") views.log.togglePause();
	else if (event.key === "g" && app.view === "log") views.log.toggleGroups();
	else if ("[]{} ".includes(event.key) && app.view === "time" && !event.target.closest("button, a, [role=tree]")) app.time.key(event.key);
	else return;
	event.preventDefault();
});

// MARK: Light and dark

const isDark = () => (document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";

function showTheme() {
	at("theme").setAttribute("aria-label", isDark() ? "Switch to light" : "Switch to dark");
	setText(at("theme"), isDark() ? "☀" : "☾");
	forgetColours();
	for (const view of Object.values(views ?? {})) view.redraw?.();
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
at("go").addEventListener("click", () => {
	if (views) palette.open();
});
at("copy-link").addEventListener("click", async () => {
	if (await copy(location.href)) app.announce("The link to what is shown was copied. It works for whoever can sign in here.");
});
at("retry").addEventListener("click", () => retry());
at("sign-out").addEventListener("click", async () => {
	await session.end();
	location.reload();
});
begin();
