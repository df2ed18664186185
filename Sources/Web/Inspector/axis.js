// An axis of time below a plot: round times of day or dates, as many as there is room for.

const second = 1, minute = 60, hour = 3600, day = 86_400;
const steps = [second, 2, 5, 10, 15, 30, minute, 2 * minute, 5 * minute, 10 * minute, 15 * minute, 30 * minute, hour, 2 * hour, 3 * hour, 6 * hour, 12 * hour, day, 2 * day, 7 * day, 14 * day, 30 * day, 90 * day, 365 * day];
const two = number => String(number).padStart(2, "0");

/** Round times between two, in seconds, with what is written below them: at least 70 pixels each. */
export function ticks(from, until, width) {
	const least = (until - from) / Math.max(1, Math.floor(width / 70)), step = steps.find(one => one >= least) ?? steps.at(-1);
	// Round where somebody lives, not in UTC.
	const shift = new Date(from * 1000).getTimezoneOffset() * minute, found = [];
	for (let at = Math.ceil((from - shift) / step) * step + shift; at <= until; at += step) found.push({at, text: textOf(at, step)});
	return found;
}

function textOf(time, step) {
	const date = new Date(time * 1000);
	if (step >= day) return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
	const clock = `${two(date.getHours())}:${two(date.getMinutes())}`;
	return step < minute ? `${clock}:${two(date.getSeconds())}` : clock;
}

/** Draws the axis at the bottom of a canvas: marks at `y`, and below them texts in `colour`. */
export function drawAxis(context, {from, until, x, y, width, line, colour}) {
	context.font = "11px system-ui, sans-serif";
	context.textAlign = "center";
	for (const {at, text} of ticks(from, until, width)) {
		const place = Math.round(x(at)) + 0.5, half = context.measureText(text).width / 2;
		context.strokeStyle = line;
		context.beginPath();
		context.moveTo(place, y);
		context.lineTo(place, y + 3);
		context.stroke();
		context.fillStyle = colour;
		context.fillText(text, Math.min(Math.max(place, half + 1), width - half - 1), y + 13);
	}
	context.textAlign = "start";
}

/** A canvas as large as it is shown, with what scales its drawing to CSS pixels; null while it is not shown. */
export function prepared(canvas) {
	const width = canvas.clientWidth, height = canvas.clientHeight;
	if (width === 0) return null;
	const scale = window.devicePixelRatio || 1, context = canvas.getContext("2d"), style = getComputedStyle(canvas);
	canvas.width = Math.round(width * scale);
	canvas.height = Math.round(height * scale);
	context.scale(scale, scale);
	return {context, width, height, accent: style.color, second: style.outlineColor, line: style.borderTopColor, muted: style.caretColor};
}
