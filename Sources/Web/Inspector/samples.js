// Counters of the bus over the last hour: those that fluxbus-web remembers, every ten seconds, and those that this page has
// asked for since, every second.

/** How many samples of its own the page keeps, and over how many of them quantiles are taken. */
const most = 300, recent = 10;
/** A daemon that began so much later than the one before is another one, in seconds; times are kept in whole ones. */
const tolerance = 2.5;
/** How far back samples are shown, in seconds. */
export const longest = 3600;

export class Samples {
	#remembered = [];
	#own = [];
	/** How far the clock here is ahead of that of fluxbus-web. */
	#ahead = 0;

	/** Takes what fluxbus-web remembers, and its clock. */
	remember({samples, now}) {
		const ahead = Date.now() / 1000 - now;
		if (Math.abs(ahead - this.#ahead) > 1) this.#ahead = ahead;
		this.#remembered = samples.map(({time, isDown, histograms, ...stats}) => isDown ? {time} : {time, stats, quantiles: histograms});
	}

	/** The time there, in seconds since 1970. */
	get now() {return Date.now() / 1000 - this.#ahead;}

	add(stats) {
		const sample = {time: this.now, stats};
		sample.quantiles = quantiles(stats, this.#own[Math.max(0, this.#own.length - recent)]?.stats);
		this.#own.push(sample);
		if (this.#own.length > most) this.#own.shift();
	}

	/** All since a time, oldest first. */
	since(time) {
		const begin = this.#own[0]?.time ?? Infinity;
		return [...this.#remembered.filter(one => one.time < begin - 1), ...this.#own].filter(one => one.time >= time);
	}

	get last() {return this.#own.at(-1);}

	/** A sample of some seconds ago, of the same daemon, with all that `stats` tells. */
	get earlier() {
		const last = this.last, own = this.#own.slice(-1 - recent);
		return own.find(one => Number(one.stats.uptime) <= Number(last.stats.uptime)) ?? last;
	}
}

/** What was measured between two answers, {name: {p50, p99}}, by the buckets that grew. */
function quantiles(stats, before) {
	const found = {}, isAnew = before && before.uptime > stats.uptime;
	for (const [name, {buckets = []}] of Object.entries(stats.histograms ?? {})) {
		const earlier = new Map(before && !isAnew ? before.histograms?.[name]?.buckets : []);
		const grown = buckets.map(([bound, number]) => [Number(bound), number - (earlier.get(bound) ?? 0)]);
		const total = before ? grown.reduce((sum, [, number]) => sum + number, 0) : 0;
		if (total === 0) continue;
		const at = part => {
			let left = part * total;
			return grown.find(([, number]) => (left -= number) <= 0)?.[0] ?? grown.at(-1)[0];
		};
		found[name] = {p50: at(0.5), p99: at(0.99)};
	}
	return found;
}

/** A number of each sample; null where there is none. */
export const values = (samples, take) => samples.map(({stats}) => {
	const value = stats && take(stats);
	return value === undefined || value === null ? null : Number(value);
});

/** The growth of a number, per second; null where the daemon began to count at zero, and while nothing was known. */
export function rates(samples, take) {
	const numbers = values(samples, take);
	return samples.map((sample, i) => {
		const before = samples[i - 1];
		if (i === 0 || numbers[i] === null || numbers[i - 1] === null || isRestart(before, sample)) return null;
		return Math.max(0, (numbers[i] - numbers[i - 1]) / (sample.time - before.time));
	});
}

const begin = ({time, stats}) => time - Number(stats.uptime);
// Also of a daemon that had run for so short a time that its uptime does not tell: what it counts, it counts from zero.
const counted = ({stats}, name) => Number(stats.totals?.[name] ?? 0);
const isRestart = (before, after) => Number(after.stats.uptime) < Number(before.stats.uptime) || begin(after) - begin(before) > tolerance ||
	Object.keys(before.stats.totals ?? {}).some(name => counted(after, name) < counted(before, name));

/** When the daemon was restarted, in seconds since 1970. */
export function restarts(samples) {
	const known = samples.filter(one => one.stats);
	return known.slice(1).filter((one, i) => isRestart(known[i], one)).map(begin);
}
