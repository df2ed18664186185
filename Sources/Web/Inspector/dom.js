// Building blocks of the page. Whatever comes from the bus becomes text here, never markup.

import {encode, encodeStart} from "./json.js";

/** An element: h("p.note", {onclick}, "text", child), where attributes may be left out, and children may be null or false. */
export function h(name, ...children) {
	const [tag, ...classes] = name.split("."), element = document.createElement(tag), first = children[0];
	if (tag === "button") element.type = "button";
	if (classes.length) element.className = classes.join(" ");
	if (first && typeof first === "object" && !(first instanceof Node) && !Array.isArray(first)) {
		children.shift();
		for (const [name, value] of Object.entries(first)) {
			if (value === undefined || value === null || value === false) continue;
			if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
			else if (name === "class") element.className = value;
			else if (name === "value") element.value = value;
			else element.setAttribute(name, value === true ? "" : value);
		}
	}
	append(element, children);
	return element;
}

/** An element of a drawing: svg("path", {class: "line", d}). */
export function svg(name, attributes, ...children) {
	const element = document.createElementNS("http://www.w3.org/2000/svg", name);
	for (const [name, value] of Object.entries(attributes)) setAttribute(element, name, value);
	append(element, children);
	return element;
}

function append(element, children) {
	for (const child of children.flat(Infinity)) {
		if (child === null || child === undefined || child === false) continue;
		element.append(child instanceof Node ? child : String(child));
	}
}

export function replace(element, ...children) {
	element.textContent = "";
	append(element, children);
	return element;
}

/** Sets text only where it differs, which costs layout otherwise. */
export function setText(element, text) {
	if (element.firstChild?.nodeType === 3 && element.childNodes.length === 1) {
		if (element.firstChild.data !== text) element.firstChild.data = text;
	} else if (text !== "" || element.firstChild) element.textContent = text;
}

export function setAttribute(element, name, value) {
	if (value === null || value === undefined) {
		if (element.hasAttribute(name)) element.removeAttribute(name);
	} else if (element.getAttribute(name) !== String(value)) element.setAttribute(name, value);
}

/** Controls, marks that reverse the direction of writing, and what has no width: written as escapes, so that they show. */
const hidden = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;
export const safe = text => text.replace(hidden, sign => "\\u" + sign.charCodeAt(0).toString(16).padStart(4, "0"));

/** A value in one line, cut. */
export const brief = (value, limit = 200) => safe(encodeStart(value, limit));

/** Text from elsewhere, isolated from the direction of what is around it. */
export const foreign = (text, className) => h("bdi", {class: className}, safe(String(text)));

const step = 2000;

const safeLines = text => text.split("\n").map(safe).join("\n");

/** A text of one or several lines that is cut, with a button that shows more of it. */
export function longText(text, className = "value") {
	const shown = h("bdi", safeLines(text.slice(0, step)));
	const box = h("span", {class: className}, shown);
	if (text.length <= step) return box;
	let length = step;
	const button = h("button.link", {onclick: () => {
		length += Math.max(20_000, length);
		shown.textContent = safeLines(text.slice(0, length));
		say();
	}});
	const say = () => {
		button.textContent = `Show more (${count(Math.max(0, text.length - length))} characters hidden)`;
		button.hidden = length >= text.length;
	};
	say();
	box.append(" ", button);
	return box;
}

export const longValue = value => longText(typeof value === "string" ? JSON.stringify(value) : encode(value));

export const count = (number, one, many = one + "s") => {
	const text = Number(number).toLocaleString("en-US");
	return one === undefined ? text : `${text} ${Number(number) === 1 ? one : many}`;
};

export function bytes(number) {
	let value = Number(number), unit = 0;
	while (value >= 1024 && unit < 4) {value /= 1024; unit++;}
	return `${unit === 0 ? value : value.toFixed(value < 10 ? 2 : 1)} ${["B", "KiB", "MiB", "GiB", "TiB"][unit]}`;
}

/** A length of time in seconds, in the unit that fits. */
export function duration(seconds) {
	const value = Number(seconds);
	if (value === 0) return "0 s";
	if (value < 1e-3) return `${(value * 1e6).toFixed(value < 1e-5 ? 1 : 0)} µs`;
	if (value < 1) return `${(value * 1e3).toFixed(value < 0.01 ? 2 : 1)} ms`;
	if (value < 60) return `${value.toFixed(value < 10 ? 1 : 0)} s`;
	if (value < 3600) return `${Math.floor(value / 60)} min ${Math.floor(value % 60)} s`;
	if (value < 86_400) return `${Math.floor(value / 3600)} h ${Math.floor(value % 3600 / 60)} min`;
	return `${Math.floor(value / 86_400)} d ${Math.floor(value % 86_400 / 3600)} h`;
}

export const rate = number => `${number >= 100 ? count(Math.round(number)) : number.toFixed(number < 10 ? 1 : 0)}/s`;

const two = number => String(number).padStart(2, "0");

/** A time of the bus, in seconds since 1970, as the clock here shows it. */
export function clock(time) {
	const date = new Date(Number(time) * 1000);
	return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${String(date.getMilliseconds()).padStart(3, "0")}`;
}

export function dateAndTime(time) {
	const date = new Date(Number(time) * 1000);
	return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${clock(time)}`;
}

// MARK: Frames

const dirty = new Set();

/** Draws once in the next frame, however often it is asked. */
export function draw(drawing) {
	if (dirty.size === 0) requestAnimationFrame(drawAll);
	dirty.add(drawing);
}

function drawAll() {
	const drawings = [...dirty];
	dirty.clear();
	for (const drawing of drawings) drawing();
}

/** Calls `action` once things have been quiet for so many milliseconds. */
export function debounce(milliseconds, action) {
	let timer = 0;
	const later = (...values) => {
		clearTimeout(timer);
		timer = setTimeout(() => action(...values), milliseconds);
	};
	later.cancel = () => clearTimeout(timer);
	return later;
}

// MARK: Dialogs

/** A modal dialog with buttons [[label, action, class]]; an action that returns false keeps it open. */
export function dialog(title, content, buttons) {
	const id = `dialog-${++dialogs}`;
	const box = h("dialog", {"aria-labelledby": id});
	const bar = h("div.actions");
	const close = () => box.close();
	for (const [label, action, className] of buttons) {
		bar.append(h("button", {class: className, onclick: async () => {
			if (await action?.() !== false) close();
		}}, label));
	}
	append(box, [h("h2", {id}, title), content, bar]);
	box.addEventListener("close", () => box.remove());
	document.body.append(box);
	box.showModal();
	return {box, close, bar};
}
let dialogs = 0;

/** Copies text; where the browser does not let a page do that, shows it for copying by hand. */
export async function copy(text) {
	try {
		await navigator.clipboard.writeText(text);
		return true;
	} catch {
		const area = h("textarea.code", {rows: "6", readonly: true, "aria-label": "Text to copy", value: text});
		dialog("Copy", h("div", area), [["Close"]]);
		area.select();
		return false;
	}
}

/** The sentence for a failure. */
export const sentence = error => error.code === "unknown_op" ? "This bus is older than this page and can't tell that; update fluxbusd." : error.message;

/** A table with a title; a head that begins with # is that of numbers. Without rows a sentence says why. */
export function table(title, heads, rows, empty) {
	const isNumber = heads.map(head => head.startsWith("#")), cell = (name, isOfNumbers) => isOfNumbers ? name + ".number" : name;
	return h("section.pane", h("h3", title), rows.length === 0 ? h("p.muted", empty)
		: h("div.table-scroll", h("table", h("thead", h("tr", heads.map((head, i) => h(cell("th", isNumber[i]), {scope: "col"}, head.replace("#", ""))))),
			h("tbody", rows.map(cells => h("tr", cells.map((value, i) => h(i === 0 ? "th" : cell("td", isNumber[i]), i === 0 && {scope: "row"}, value instanceof Node ? value : foreign(value)))))))));
}

export const note = (text, className = "note") => h("p", {class: className}, foreign(text));
