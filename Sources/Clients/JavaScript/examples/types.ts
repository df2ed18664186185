// Checked by the tests, not run: what the declarations promise, used as a program would.
import {connect, BusError, type Change, type Mirror} from "../fluxbus.js";

interface Counter { readonly count: number; readonly isEven: boolean }

export async function run(): Promise<number> {
	const bus = await connect("unix:/run/fluxbus/bus.sock", {client: "example", linger: 10, timeout: 30_000, backOff: [50, 1000]});
	const reply = await bus.dispatch("counter/a", "increment", {by: 2n ** 60n}, {signal: new AbortController().signal});
	await bus.batch([["counter/a", "increment", {by: 1}], ["counter", "reset"]], {traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"});
	await bus.create("counter/b", {}, {key: "b is made once"});
	await bus.drop("counter/b", {key: "and dropped once"});
	await bus.drop("counter", {where: "count > 9"});
	await bus.batch([{op: "drop", type: "counter", where: {"var": "isEven"}}, {type: "counter", action: "reset", where: "count < 0"}]);
	const mirror: Mirror<Counter> = await bus.mirror<Counter>("counter", {signal: new AbortController().signal});
	for await (const change of mirror) {
		const latest: Change<Counter> = change;
		for (const [address, {count}] of latest.states) console.log(address, count.toFixed());
		break;
	}
	await bus.will([["door/front", "close"]], {timeout: 1000});
	for await (const event of await bus.actions("door", {where: "isOpen", timeout: 1000})) {
		if (event.gap) continue;
		console.log(event.target, event.action, event.result, event.results?.["door/front"], event.traceparent?.length);
	}
	try {
		await bus.get<Counter>("counter/a", {timeout: 1000});
	} catch (error) {
		if (error instanceof BusError) console.log(error.code, error.details.path);
	}
	await bus.close({timeout: 0});
	return reply.revision;
}
