// The address of the page says what is shown: #view/what?option=value. So a view can be reloaded, gone back to, and sent to
// somebody else as a link.

/** Parts of an address, {view, rest, options}; text that is not UTF-8 stays as it is written. */
export function readAddress(hash) {
	const [, view, , rest = "", , query = ""] = /^#([a-z]*)(\/([^?]*))?(\?(.*))?$/.exec(hash) ?? ["", ""];
	return {view, rest: decoded(rest), options: new URLSearchParams(query)};
}

/** The address of a view. Options without a value are left out. */
export function addressOf(view, rest = "", options = {}) {
	const given = Object.entries(options).filter(([, value]) => value !== undefined && value !== null && value !== "" && value !== false);
	const what = rest === "" ? "" : "/" + encodeURIComponent(rest).replace(/%(2F|3A|40|2A|2C)/g, decodeURIComponent);
	const query = new URLSearchParams(given.map(([name, value]) => [name, value === true ? "1" : String(value)])).toString();
	return `#${view}${what}${query && "?" + query.replace(/%(2F|3A|40|2C)/g, decodeURIComponent)}`;
}

function decoded(text) {
	try {
		return decodeURIComponent(text);
	} catch {
		return text;
	}
}

/** A time as addresses have it, and back; undefined where there is none. */
export const timeText = seconds => seconds === undefined ? undefined : new Date(seconds * 1000).toISOString();
export function timeOf(text) {
	const time = Date.parse(text ?? "") / 1000;
	return Number.isFinite(time) ? time : undefined;
}
