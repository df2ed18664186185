// A form made from the schemas of an action's payload. Each field gives a value, nothing (left out), or a mistake.

import {encode, isObject, kindOf, parse} from "./json.js";
import {h, safe} from "./dom.js";

/** The schema as an object, whether it was written as a name or as words. */
export function normalized(schema) {
	const words = typeof schema === "string" ? {type: schema} : {...schema};
	if (typeof words.type === "string" && words.type.endsWith("?")) Object.assign(words, {type: words.type.slice(0, -1), optional: true});
	if (!words.type) {
		if (words.properties || words.values) words.type = "object";
		else if (words.items || words.maxItems !== undefined) words.type = "array";
		else if (words.minLength !== undefined || words.maxLength !== undefined) words.type = "string";
		else if (words.minimum !== undefined || words.maximum !== undefined) words.type = "number";
		else words.type = "any";
	}
	return words;
}

/** What the schema says, in a few words. */
function hint(words, isOptional) {
	const parts = [words.nullable ? `${words.type} or null` : words.type];
	if (words.minimum !== undefined && words.maximum !== undefined) parts.push(`${words.minimum} to ${words.maximum}`);
	else if (words.minimum !== undefined) parts.push(`at least ${words.minimum}`);
	else if (words.maximum !== undefined) parts.push(`at most ${words.maximum}`);
	if (words.minLength !== undefined && words.minLength === words.maxLength) parts.push(`exactly ${words.minLength} characters`);
	else {
		if (words.minLength !== undefined) parts.push(`at least ${words.minLength} characters`);
		if (words.maxLength !== undefined) parts.push(`at most ${words.maxLength} characters`);
	}
	if (words.maxItems !== undefined) parts.push(`at most ${words.maxItems} elements`);
	if (words.default !== undefined) parts.push(`default ${encode(words.default)}`);
	else if (isOptional) parts.push("optional");
	return parts.join(", ");
}

class Mistake extends Error {}

/** One field: `element`, `read()` (throws a mistake, undefined is left out), `mark(sentence)`, `inner` fields by name. */
function field(path, name, schema, isOptional, id, changed) {
	const words = normalized(schema), mayLack = isOptional || words.default !== undefined;
	if (words.type === "object" && isObject(words.properties)) return group(path, name, words, isOptional, id, changed);
	const describedBy = `${id}-hint ${id}-error`;
	const common = {id, "aria-describedby": describedBy, "data-path": path, autocomplete: "off", spellcheck: "false"};
	const change = {oninput: changed, onchange: changed};
	let input, read;
	if (words.enum) {
		input = h("select", {...common, ...change}, mayLack && h("option", {value: ""}, words.default !== undefined ? `default: ${safe(encode(words.default))}` : "not set"),
			words.enum.map((choice, place) => h("option", {value: String(place)}, safe(typeof choice === "string" ? choice : encode(choice)))), words.nullable && h("option", {value: "null"}, "null"));
		read = () => input.value === "" ? undefined : input.value === "null" ? null : words.enum[Number(input.value)];
	} else if (words.type === "boolean") {
		input = h("select", {...common, ...change}, mayLack && h("option", {value: ""}, words.default !== undefined ? `default: ${words.default}` : "not set"),
			h("option", {value: "true"}, "true"), h("option", {value: "false"}, "false"), words.nullable && h("option", {value: "null"}, "null"));
		read = () => input.value === "" ? undefined : JSON.parse(input.value);
	} else if (words.type === "integer" || words.type === "number") {
		input = h("input", {...common, ...change, type: "text", inputmode: words.type === "integer" ? "numeric" : "decimal", placeholder: words.default !== undefined ? encode(words.default) : "", required: !mayLack});
		read = () => number(input.value.trim(), words, mayLack);
	} else if (words.type === "string") {
		const isLong = !(words.maxLength <= 200) && /text|body|note|description|comment|message/i.test(name);
		input = h(isLong ? "textarea" : "input", {...common, ...change, ...isLong ? {rows: "3"} : {type: "text"}, placeholder: typeof words.default === "string" ? words.default : ""});
		read = () => input.value === "" && mayLack ? undefined : input.value;
	} else {
		input = h("textarea", {...common, ...change, rows: "3", class: "code", placeholder: {object: "{}", array: "[]", any: "JSON: null, 5, \"text\", [1, 2], {\"a\": 1}"}[words.type], required: !mayLack});
		read = () => json(input.value.trim(), words, mayLack);
	}
	let nothing = null;
	if (words.nullable && input.tagName !== "SELECT" && words.type !== "any") {
		nothing = h("input", {type: "checkbox", id: `${id}-null`, onchange: () => {input.disabled = nothing.checked; changed();}});
	}
	const problem = h("span.error", {id: `${id}-error`});
	return {
		path,
		element: h("div.form-field", h("label", {for: id}, safe(name), !mayLack && h("span.muted", " required")), input,
			nothing && h("span.check", nothing, h("label", {for: `${id}-null`}, "null")),
			h("span.muted.small", {id: `${id}-hint`}, safe(hint(words, isOptional)), words.summary && ` · ${safe(words.summary)}`), problem),
		read: () => nothing?.checked ? null : read(),
		mark: sentence => {
			problem.textContent = sentence ? safe(sentence) : "";
			if (sentence) input.setAttribute("aria-invalid", "true");
			else input.removeAttribute("aria-invalid");
		},
		focus: () => input.focus(),
		inner: [],
	};
}

function number(text, words, mayLack) {
	if (text === "") {
		if (mayLack) return undefined;
		throw new Mistake("Must be a number.");
	}
	if (words.type === "integer" && !/^-?\d+$/.test(text)) throw new Mistake("Must be an integer.");
	try {
		const value = parse(text);
		if (kindOf(value) === "number") return value;
	} catch {/* Said below. */}
	throw new Mistake("Must be a number, such as 20.5.");
}

function json(text, words, mayLack) {
	if (text === "") {
		if (mayLack) return undefined;
		throw new Mistake("Must be a value, as JSON.");
	}
	let value;
	try {
		value = parse(text);
	} catch (error) {
		throw new Mistake(`This is not JSON: ${error.message}`);
	}
	if (words.type !== "any" && kindOf(value) !== words.type && !(value === null && words.nullable)) throw new Mistake(`Must be an ${words.type}.`);
	return value;
}

/** An object with known properties: a field for each. */
function group(path, name, words, isOptional, id, changed) {
	const required = Array.isArray(words.required) ? words.required : [];
	const mayLack = isOptional || words.default !== undefined;
	const inner = Object.entries(words.properties).map(([key, schema], place) => field(`${path}.${key}`, key, schema, !required.includes(key), `${id}-${place}`, changed));
	const given = mayLack ? h("input", {type: "checkbox", id: `${id}-given`, onchange: () => {box.disabled = !given.checked; changed();}}) : null;
	const box = h("fieldset", {disabled: given !== null}, h("legend", safe(name)), inner.map(one => one.element));
	const problem = h("span.error");
	return {
		path, inner,
		element: h("div.form-field", given && h("span.check", given, h("label", {for: `${id}-given`}, `Include ${safe(name)}`)), box, problem),
		read: () => given && !given.checked ? undefined : readAll(inner),
		mark: sentence => {problem.textContent = sentence ? safe(sentence) : "";},
		focus: () => inner[0]?.focus(),
	};
}

/** Reads all fields; marks the wrong ones and throws the first mistake. */
function readAll(fields) {
	const values = Object.create(null);
	let first = null;
	for (const one of fields) {
		one.mark("");
		try {
			const value = one.read();
			if (value !== undefined) values[one.path.split(".").at(-1)] = value;
		} catch (mistake) {
			if (!(mistake instanceof Mistake)) throw mistake;
			if (one.inner.length === 0) one.mark(mistake.message);
			first ??= mistake;
		}
	}
	if (first) throw first;
	return values;
}

/** The form of an action, whose ids begin with `prefix`: `element`, `members`, `read()` which gives the payload or null after marking what is wrong, `mark(path, sentence)`. */
export function payloadForm(action, changed, prefix = "payload") {
	const fields = Object.entries(action.payload ?? {}).map(([name, schema], place) => {
		const words = normalized(schema);
		return field(name, name, words, words.optional === true, `${prefix}-${place}`, changed);
	});
	const find = (list, path) => {
		for (const one of list) {
			const found = find(one.inner, path);
			if (found) return found;
			if (path === one.path || path.startsWith(one.path + ".") || path.startsWith(one.path + "[")) return one;
		}
		return undefined;
	};
	return {
		members: fields.map(one => one.path),
		element: h("div.form-fields", fields.length === 0 ? h("p.muted", "This action takes no payload.") : fields.map(one => one.element)),
		read() {
			try {
				return readAll(fields);
			} catch (mistake) {
				if (mistake instanceof Mistake) return null;
				throw mistake;
			}
		},
		/** Marks the field of a path such as items.title; false if there is none. */
		mark(path, sentence) {
			const one = find(fields, path);
			one?.mark(sentence);
			one?.focus();
			return one !== undefined;
		},
	};
}
