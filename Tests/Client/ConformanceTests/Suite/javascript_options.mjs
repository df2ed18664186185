// What the JavaScript client makes of options: a bus that this program is hears what it sends.
import assert from "node:assert";
import {getEventListeners, setMaxListeners} from "node:events";
import {mkdtempSync, rmSync} from "node:fs";
import {createServer} from "node:net";
import {tmpdir} from "node:os";
import {join} from "node:path";
import {createInterface} from "node:readline";
import {BusTimeoutError, connect} from "../../../../Sources/Clients/JavaScript/fluxbus.js";

const heard = [], lines = [], folder = mkdtempSync(join(tmpdir(), "fb"));

/** Answers every request but those about `counter/silent`. */
const server = createServer(socket => {
	const input = createInterface({input: socket.on("error", () => {})});
	// The client ends connections in the middle of what is said.
	input.on("error", () => {}).on("line", line => {
		lines.push(line);
		heard.push(JSON.parse(line));
		if (!line.includes("counter/silent"))
			socket.write(`{"id":${heard.at(-1).id},"ok":true,"revision":5,"epoch":"e","sub":1,"states":{}}\n`);
	});
});
await new Promise(resolve => server.listen(join(folder, "bus"), resolve));
const address = `unix:${join(folder, "bus")}`, bus = await connect(address), hasty = await connect(address, {timeout: 10});

const silent = ["counter/silent", "reset"];
const calls = {
	dispatch: options => bus.dispatch(...silent, {}, options),
	batch: options => bus.batch([silent], options),
	create: options => bus.create("counter/silent", {}, options),
	drop: options => bus.drop("counter/silent", options),
	get: options => bus.get("counter/silent", options),
	states: options => bus.states("counter/silent", options),
	will: options => bus.will([silent], options),
	request: options => bus.request("samples", {store: "counter/silent"}, options),
	mirror: options => bus.mirror("counter/silent", options),
	actions: options => bus.actions("counter/silent", options),
};
const isLate = error => error instanceof BusTimeoutError && error.code === "timed_out";
for (const [name, call] of Object.entries(calls)) {
	await assert.rejects(call({timeout: 10}), isLate, name);
	const why = new Error("enough"), ends = new AbortController();
	await assert.rejects(call({signal: AbortSignal.abort(why)}), why, name);
	const ended = call({signal: ends.signal});
	ends.abort(why);
	await assert.rejects(ended, why, name);
	assert.deepEqual(getEventListeners(ends.signal, "abort"), [], name);
}
await assert.rejects(hasty.get("counter/silent"), isLate);
await assert.rejects(hasty.mirror("counter/silent"), isLate);
assert(heard.every(request => !("timeout" in request) && !("signal" in request)));

// A signal that serves many requests is let go by each that is answered.
const {signal} = new AbortController();
for (let count = 0; count < 20; count++) await bus.request("ping", {}, {signal, timeout: 2 ** 31});
await bus.actions("counter", {signal, timeout: 10_000, where: "count > 2"});
assert.equal(heard.at(-1).where, "count > 2");
assert.deepEqual(getEventListeners(signal, "abort"), []);

// What JSON has no word for is refused, and a null is one.
const ring = {};
ring.ring = ring;
for (const by of [NaN, Infinity, [{n: -Infinity}], ring])
	await assert.rejects(bus.dispatch("counter/a", "increment", {by}), {code: "invalid_request"});
await assert.rejects(bus.mirror("counter", {where: {"==": [1, NaN]}}), {code: "invalid_request"});
await bus.dispatch("counter/a", "increment", {by: null, text: "null", large: 2n ** 60n});
assert.deepEqual(heard.at(-1).payload, {by: null, text: "null", large: 2 ** 60});

// The bus has integers of 64 bits: a number beyond them has an exponent.
for (const [value, text] of [
	[2 ** 63, "9.223372036854776e+18"], [-(2 ** 63), "-9.223372036854776e+18"], [1e20, "1e+20"], [1e21, "1e+21"],
	[2 ** 62, "4611686018427388000"], [2n ** 63n - 1n, "9223372036854775807"], ["9".repeat(20), `"${"9".repeat(20)}"`],
]) {
	await bus.dispatch("counter/a", "increment", {by: [value]});
	assert(lines.at(-1).includes(`"by":[${text}]`), lines.at(-1));
	await bus.create("counter/a", {by: value});
	assert(lines.at(-1).includes(`"by":${text}}`), lines.at(-1));
}

// What nobody waits for any more is not sent, and holds up nothing behind it, however much it is.
const many = new AbortController(), said = heard.length;
setMaxListeners(0, many.signal);
const left = Array.from({length: 10_001}, () => bus.get("counter/a", {signal: many.signal}));
many.abort();
assert((await Promise.allSettled(left)).every(({status}) => status === "rejected"));
await bus.get("counter/b", {timeout: 1000});
assert.equal(heard.length, said + 1);

// What Node refuses at once is an error of this call, and of nothing after it.
for (const [place, tls] of [["tcp:localhost:99999"], ["tls:localhost:1", {cert: "none"}]])
	await assert.rejects(connect(place, {tls, connectTimeout: 100}), {code: "invalid_address", message: RegExp(place)});

// The client numbers requests itself, and needs every reply.
const before = heard.length, calm = {store: "counter/a", action: "reset"};
for (const name of ["id", "ack"])
	await assert.rejects(bus.request("dispatch", {...calm, [name]: false}),
		{code: "invalid_request", message: RegExp(`leave out \`${name}\``)});
await bus.request("ping");
assert.equal(heard.length, before + 1);

await Promise.all([bus.close({timeout: 0}), hasty.close({timeout: 0})]);
server.close();
rmSync(folder, {recursive: true});
