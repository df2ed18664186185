// What becomes of requests in the JavaScript client when their connection is lost: this program is the bus.
import assert from "node:assert";
import {once} from "node:events";
import {mkdtempSync, rmSync} from "node:fs";
import {createServer} from "node:net";
import {tmpdir} from "node:os";
import {join} from "node:path";
import {createInterface} from "node:readline";
import {connect} from "../../../../Sources/Clients/JavaScript/fluxbus.js";

const folder = mkdtempSync(join(tmpdir(), "fb")), place = join(folder, "bus");
const server = createServer();
await once(server.listen(place), "listening");

/** The next connection, once the bus has greeted on it, which it does when it is to. */
async function accepted(greeting, when) {
	const [socket] = await once(server, "connection");
	const lines = createInterface({input: socket.on("error", () => {})}).on("error", () => {})[Symbol.asyncIterator]();
	const hear = async () => JSON.parse((await lines.next()).value);
	const say = line => socket.write(`${JSON.stringify(line)}\n`);
	const {id} = await hear();
	await when;
	say({id, ok: true, revision: 5, ...greeting});
	return {socket, hear, say};
}

/** A client, and the bus's side of it. */
const options = {backOff: [1, 2], timeout: 20_000};
const connected = (greeting, more) => Promise.all([connect(`unix:${place}`, {...options, ...more}), accepted(greeting)]);

/** The code of the error, or `ok`. */
const outcome = promise => promise.then(() => "ok", ({code}) => code);

// A store that goes with its session may have gone, where the reply is that of a connection before.
for (const [resumed, wanted] of [[undefined, "outcome_unknown"], [false, "outcome_unknown"], [true, "ok"]]) {
	const [bus, first] = await connected({epoch: "e"});
	const asked = [
		bus.create("counter/a", {}, {ephemeral: true}),
		bus.batch([{op: "create", store: "counter/b", ephemeral: true}]),
		bus.create("counter/c"),
	].map(outcome);
	for (const _ of asked) await first.hear();
	first.socket.destroy();
	const again = await accepted({epoch: "e", resumed});
	for (const _ of asked) again.say({id: (await again.hear()).id, ok: true, revision: 4, duplicate: true});
	assert.deepEqual(await Promise.all(asked), [wanted, wanted, "ok"]);
	await bus.close({timeout: 0});
}

// What was sent before may have been committed, where the bus refuses it without having looked for its key.
const codes = ["conflict", "forbidden", "unknown_type", "too_large", "limit"];
for (const code of [...codes, "unknown_store"]) for (const revision of [undefined, 4]) {
	const [bus, first] = await connected({epoch: "e"});
	const errorOf = promise => promise.catch(error => error);
	const again = [bus.dispatch("counter/a", "go"), bus.dispatch("counter/a", "go"), bus.get("counter/a")].map(errorOf);
	for (const _ of again) await first.hear();
	first.socket.destroy();
	const next = await accepted({epoch: "e"}), refuse = id => next.say({id, ok: false, error: {code, message: "No.", revision}});
	const asked = [...again, errorOf(bus.dispatch("counter/a", "go"))], ids = [];
	for (const _ of asked) ids.push((await next.hear()).id);
	// A line that is too long is refused without its id.
	ids[1] = undefined;
	ids.forEach(refuse);
	const errors = await Promise.all(asked), isUnsure = codes.includes(code) && !revision;
	const wanted = isUnsure ? "outcome_unknown" : code;
	assert.deepEqual(errors.map(error => error.code), [wanted, wanted, code, code]);
	for (const error of isUnsure ? errors.slice(0, 2) : []) assert.equal(error.details.original.code, code);
	await bus.close({timeout: 0});
}

// What the program changes later is not asked for again, nor left.
{
	const [bus, first] = await connected({epoch: "e"});
	const steps = [{store: "counter/a", action: "go", payload: {by: 2n ** 60n}}], select = ["/count"], where = {"==": [{var: "count"}, 1]};
	const left = bus.will(steps), mirrored = bus.mirror("counter", {where, select}), sent = [];
	for (const _ of [left, mirrored]) {
		sent.push(await first.hear());
		first.say({id: sent.at(-1).id, ok: true, revision: 5, sub: 1, epoch: "e"});
	}
	first.say({event: "bookmark", sub: 1, revision: 5});
	await Promise.all([left, mirrored]);
	steps[0].payload.by = 3;
	select[0] = "/isEven";
	where["=="][1] = 7;
	first.socket.destroy();
	const next = await accepted({epoch: "e"}), again = [await next.hear(), await next.hear()];
	for (const name of ["op", "actions", "type", "where", "select"])
		assert.deepEqual(again.map(each => each[name]), ["will", "subscribe"].map(op => sent.find(each => each.op === op)[name]), name);
	await bus.close({timeout: 0});
}

// A gap that comes while nobody takes is within the one that stands for all that did not fit.
{
	const [bus, first] = await connected({epoch: "e"}), subscribed = bus.actions("counter");
	first.say({id: (await first.hear()).id, ok: true, revision: 5, sub: 1, epoch: "e"});
	first.say({event: "bookmark", sub: 1, revision: 5});
	const actions = await subscribed, pinged = bus.request("ping");
	const {id} = await first.hear(), count = 1_001;
	for (let index = 1; index <= count; index++)
		first.say({event: "action", sub: 1, revision: 5 + index, store: "counter/a", action: "go"});
	first.say({event: "gap", sub: 1, revision: 9_000});
	first.say({id, ok: true});
	await pinged;
	for (let index = 1; index < count; index++) assert.equal((await actions.next()).value.revision, 5 + index);
	assert.deepEqual((await actions.next()).value, {gap: true, revision: 9_000});
	await bus.close({timeout: 0});
}

// A revision means nothing in another epoch, also where the request was not sent yet; a payload names none.
const [bus, first] = await connected({epoch: "e1"});
let greet;
const coming = accepted({epoch: "e2"}, new Promise(resolve => greet = resolve));
first.socket.destroy();
while (bus.connected) await new Promise(setImmediate);
const late = [
	bus.drop("counter/a", {ifRevision: 4}), bus.request("history", {since: 4}),
	bus.batch([{store: "counter/a", action: "reset", ifRevision: 4}]),
	bus.dispatch("counter/a", "reset", {since: 4}),
].map(outcome);
greet();
const again = await coming, heard = await again.hear();
again.say({id: heard.id, ok: true, revision: 6});
assert.deepEqual(await Promise.all(late), ["conflict", "conflict", "conflict", "ok"]);
assert.deepEqual(heard.payload, {since: 4});
await bus.close({timeout: 0});

// Who hears that the connection is lost may ask for the next attempt at once: ten minutes are not waited for.
const [hasty, before] = await connected({epoch: "e"}, {backOff: [600_000, 600_000]});
const revert = hasty.request("revert", {store: "counter/a"}).catch(({code}) => {
	hasty.reconnect();
	return code;
});
await before.hear();
before.socket.destroy();
await accepted({epoch: "e"});
assert.equal(await revert, "outcome_unknown");
await hasty.close({timeout: 0});

// What was sent may have been committed, and a will left, when the program waits no longer for the bus.
for (const isSent of [true, false]) {
	const [bus, first] = await connected({epoch: "e"}, {backOff: [600_000, 600_000]});
	if (!isSent) {
		first.socket.destroy();
		while (bus.connected) await new Promise(setImmediate);
	}
	const asked = [bus.dispatch("counter/a", "go"), bus.will([["counter/a", "go"]]), bus.get("counter/a")].map(outcome);
	for (const _ of isSent ? asked : []) await first.hear();
	await bus.close({timeout: 0});
	const sent = isSent ? "outcome_unknown" : "closed";
	assert.deepEqual(await Promise.all(asked), [sent, sent, "closed"]);
}

// What the bus said before it went is read, also where a write fails before.
{
	const [bus, first] = await connected({epoch: "e"});
	first.say({event: "goodbye", code: "kicked", message: "Go away."});
	first.socket.destroy();
	const {details: {original}} = await bus.request("revert", {store: "counter/a"}).catch(error => error);
	assert.deepEqual([original.message, original.details], ["The connection has ended: Go away.", {reason: "kicked"}]);
	await bus.close({timeout: 0});
}

// A time that is too long for a timer is not over at once.
for (const time of [2 ** 31, Infinity]) {
	let greet, attempts = 0;
	const count = () => attempts++;
	server.on("connection", count);
	const long = {connectTimeout: time, keepAlive: time, backOff: [time, time], timeout: time};
	const connecting = connect(`unix:${place}`, long), coming = accepted({epoch: "e"}, new Promise(resolve => greet = resolve));
	// A timer that was set to these times is over after one millisecond.
	const passed = () => new Promise(resolve => setTimeout(resolve, 3));
	await passed();
	greet();
	const [bus, first] = await Promise.all([connecting, coming]);
	await passed();
	const asked = bus.request("get", {store: "counter/a"});
	assert.equal((await first.hear()).op, "get");
	first.socket.destroy();
	while (bus.connected) await passed();
	await passed();
	assert.equal(attempts, 1);
	const back = accepted({epoch: "e"});
	bus.reconnect();
	const next = await back, {id, op} = await next.hear(), closed = bus.close({timeout: time});
	assert.equal(op, "get");
	await passed();
	next.say({id, ok: true, states: {}});
	next.say({id: (await next.hear()).id, ok: true});
	assert.equal(await outcome(asked), "ok");
	await closed;
	server.off("connection", count);
}

server.close();
rmSync(folder, {recursive: true});
