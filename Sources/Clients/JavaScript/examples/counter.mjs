// One counter in as many processes as you like: each line of input is a number to add; every process prints the count whenever
// any of them changes it.
import {createInterface} from "node:readline";
import {connect} from "../fluxbus.js";

const bus = await connect();
await bus.create("counter/example", {}, {ifMissing: true});
const counters = await bus.mirror("counter/example");
const show = () => console.log(counters.get("counter/example").count);

show();
(async () => { for await (const _ of counters) show(); })();

for await (const line of createInterface({input: process.stdin})) {
	if (line === "reset") await bus.dispatch("counter/example", "reset");
	else await bus.dispatch("counter/example", "increment", {by: Number(line)});
}
await bus.close();
