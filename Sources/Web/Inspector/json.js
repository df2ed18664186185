// The JSON of the bus, exactly: integers have 64 bits, 1 and 1.0 are two values, members are ordered by the bytes of their
// names. A plain JSON.parse would show other numbers than the bus holds.

/** A number whose text says more than a double does, such as 1.0 or 1e3. It computes like a number. */
export class Exact extends Number {
	constructor(source) {
		super(source);
		this.source = source;
	}
	toString() {return this.source;}
}

/** Whether some number of the text may differ from what JSON.parse makes of it. */
const special = /\d{16}|\d\.\d*0([,}\]\s]|$)|\d[eE]|-0/;

function exactly(_, value, context) {
	const source = typeof value === "number" ? context?.source : undefined;
	if (source === undefined || source === String(value)) return value;
	return /^-?\d+$/.test(source) && source !== "-0" ? BigInt(source) : new Exact(source);
}

export function parse(text) {
	return special.test(text) ? JSON.parse(text, exactly) : JSON.parse(text);
}

/** "null", "boolean", "number", "string", "array" or "object"; "none" for what is not there. */
export function kindOf(value) {
	if (value === undefined) return "none";
	if (value === null) return "null";
	if (Array.isArray(value)) return "array";
	const type = typeof value;
	if (type === "bigint" || value instanceof Exact) return "number";
	return type;
}

export const isObject = value => kindOf(value) === "object";
export const isContainer = value => typeof value === "object" && value !== null && !(value instanceof Exact);

/** The order of two names by their UTF-8 bytes, which is that of the bus. */
export function byBytes(a, b) {
	const length = Math.min(a.length, b.length);
	for (let i = 0; i < length; i++) {
		let x = a.charCodeAt(i), y = b.charCodeAt(i);
		if (x === y) continue;
		// Surrogates stand for what comes after all others.
		if (x >= 0xd800 && x < 0xe000) x += 0x2000;
		else if (x >= 0xe000) x -= 0x800;
		if (y >= 0xd800 && y < 0xe000) y += 0x2000;
		else if (y >= 0xe000) y -= 0x800;
		return x - y;
	}
	return a.length - b.length;
}

export const keysOf = object => Object.keys(object).sort(byBytes);

/** The text of a value as the bus writes it. */
export const encode = value => write(value, "");

/** The same over several lines. */
export const encodeLines = value => write(value, "\n");

/** `line` is what a line begins with; where it is empty there is one line. */
function write(value, line) {
	const inner = line && line + "  ";
	switch (kindOf(value)) {
	case "null": return "null";
	case "array": return enclose("[", value.map(element => write(element, inner)), "]", line, inner);
	case "object":
		return enclose("{", keysOf(value).filter(key => value[key] !== undefined)
			.map(key => JSON.stringify(key) + (line ? ": " : ":") + write(value[key], inner)), "}", line, inner);
	case "string": return JSON.stringify(value);
	default: return String(value);
	}
}

const enclose = (start, parts, end, line, inner) => parts.length === 0 ? start + end : start + inner + parts.join("," + inner) + line + end;

/** The beginning of a value's text, at most about `limit` characters, without making the rest. */
export function encodeStart(value, limit) {
	const kind = kindOf(value);
	if (kind === "string") return value.length > limit ? JSON.stringify(value.slice(0, limit)).slice(0, -1) + "…" : JSON.stringify(value);
	if (kind !== "array" && kind !== "object") return encode(value);
	let text = kind === "array" ? "[" : "{", isFirst = true;
	for (const key of kind === "array" ? value.keys() : keysOf(value)) {
		if (text.length > limit) return text.slice(0, limit) + "…";
		if (!isFirst) text += ", ";
		isFirst = false;
		if (kind === "object") text += encodeStart(key, limit) + ": ";
		text += encodeStart(value[key], limit - text.length > 20 ? limit - text.length : 20);
	}
	return text + (kind === "array" ? "]" : "}");
}

export function isEqual(a, b) {
	if (a === b) return true;
	const kind = kindOf(a);
	if (kind !== kindOf(b)) return false;
	if (kind === "number") return String(a) === String(b);
	if (kind === "array") return a.length === b.length && a.every((element, i) => isEqual(element, b[i]));
	if (kind !== "object") return false;
	const keys = Object.keys(a);
	return keys.length === Object.keys(b).length && keys.every(key => Object.hasOwn(b, key) && isEqual(a[key], b[key]));
}

export const pointerOf = tokens => tokens.map(token => "/" + String(token).replaceAll("~", "~0").replaceAll("/", "~1")).join("");

export const tokensOf = pointer => pointer.split("/").slice(1).map(token => token.replaceAll("~1", "/").replaceAll("~0", "~"));

/** The part of a value at these tokens; undefined where there is none. */
export function resolve(value, tokens) {
	for (const token of tokens) {
		if (!isContainer(value) || !Object.hasOwn(value, token)) return undefined;
		value = value[token];
	}
	return value;
}

/** What differs between two values, as the smallest parts that changed: {path, old, new}, undefined where nothing stood. */
export function differences(old, now) {
	const found = [];
	collect(old, now, [], found);
	return found;
}

function collect(old, now, path, found) {
	if (isEqual(old, now)) return;
	const kind = kindOf(old);
	if (kind === "object" && kindOf(now) === "object") {
		const keys = [...Object.keys(old), ...Object.keys(now).filter(key => !Object.hasOwn(old, key))].sort(byBytes);
		for (const key of keys) {
			const before = Object.hasOwn(old, key) ? old[key] : undefined;
			collect(before, Object.hasOwn(now, key) ? now[key] : undefined, [...path, key], found);
		}
	} else if (kind === "array" && kindOf(now) === "array" && areAligned(old, now)) {
		for (let i = 0; i < Math.max(old.length, now.length); i++) collect(old[i], now[i], [...path, i], found);
	} else {
		found.push({path, old, new: now});
	}
}

/** Element by element only when most are where they were; otherwise the whole array is clearer. */
function areAligned(old, now) {
	const common = Math.min(old.length, now.length);
	let equal = 0;
	for (let i = 0; i < common; i++) if (isEqual(old[i], now[i])) equal++;
	return common > 0 && (common - equal) * 2 <= common || common === 1 && old.length === now.length;
}

/** A pattern of addresses as a test: with a slash a pattern of the bus, otherwise a part of the address; * and ? stand for others. */
export function globTest(pattern) {
	const text = pattern.trim();
	if (text === "") return () => true;
	if (text.includes("/")) return address => matches(text, address);
	const part = `*${text.toLowerCase()}*`;
	return address => address.toLowerCase().split("/").some(name => matches(part, name));
}

/** Whether all of a text matches, in at most as many steps as the product of both lengths: others choose patterns, too. */
function matches(pattern, text) {
	let at = 0, place = 0, star = -1, starPlace = 0;
	while (place < text.length) {
		if (pattern[at] === "*") {
			star = at++;
			starPlace = place;
		} else if (pattern[at] === text[place] || pattern[at] === "?" && text[place] !== "/") {
			at++;
			place++;
		} else if (star >= 0 && text[starPlace] !== "/") {
			at = star + 1;
			place = ++starPlace;
		} else {
			return false;
		}
	}
	while (pattern[at] === "*") at++;
	return at === pattern.length;
}
