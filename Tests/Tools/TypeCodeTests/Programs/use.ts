// Uses printed TypeScript as a program of its own does: dispatches, and prints the states that it mirrors.

import { BusConnectionError, connect } from "fluxbus";
import { awkWard1, AwkWard1 } from "./awkward.js";
import { counter, Counter, CounterAction, CounterType } from "./counter.js";
import { door } from "./door.js";
import { everything, Everything, EverythingType } from "./everything.js";
import { presence } from "./presence.js";
import { thermostat, ThermostatType } from "./thermostat.js";
import { todo } from "./todo.js";
import { value } from "./value.js";

const requests = [
  counter.increment("main", { by: 5 }),
  counter.increment("main"),
  thermostat.boost("main"),
  thermostat.setMode("main", { mode: "manual" }),
  door.open("main"),
  todo.add("main", { id: "1", title: "Milk" }),
  todo.toggle("main", { id: "1" }),
  presence.enter("main", { name: "anna" }),
  value.set("main", { value: { a: [null, 1.5, "x"] } }),
  awkWard1.import("main", {
    in: 5, "my name": "n", class: null, "quo\"te\\": ["q"], self: 2.5, func: "f", default: { a: 1 }, value1: true,
    payload: [1],
  }),
  awkWard1.import("main", { in: 6 }),
  awkWard1["switch-on"]("main"),
  awkWard1.switch_on("main"),
  awkWard1.switchOn("main", { by: 2 }),
  awkWard1.list("main"),
  awkWard1.str("main"),
  awkWard1.init("main"),
  awkWard1.default("main"),
  awkWard1.dispatch("main"),
  awkWard1.encode("main"),
  awkWard1.self("main"),
  awkWard1.match("main"),
];

function described(state: Everything): string {
  const size: number | undefined = state.rooms["hall"]?.size;
  return `${state.title} ${state.count + 1} ${state.mode === "by hand"} ${size} ${state["plain list"].length}`;
}

export function applied(action: CounterAction): number {
  switch (action.action) {
    case "increment": return action.payload.by ?? 1;
    case "decrement": return -(action.payload.by ?? 1);
    case "reset": return 0;
  }
}

export const members: readonly (keyof Counter | keyof AwkWard1)[] = ["count", "isEven", "quo\"te\\", "größe"];

const bus = await connect();
const living = bus.store<ThermostatType>("thermostat/main");
await living.dispatch("setTarget", { celsius: 21.5 });
for (const request of requests) await bus.dispatch(request);
const all = bus.store<EverythingType>("everything/main");
await all.dispatch("configure", {
  door: { open: true }, measured: null, mode: "by hand", note: null, extra: [1], names: ["a"], ages: { "a b": 1 },
  level: 6, limit: 1.5, step: 2,
});
await bus.batch([everything.quiet("main", { for: 1 }), counter.increment(null, { by: 0 })]);
await bus.will([door.open("main")]);
const counters = await bus.store<CounterType>("counter").mirror();
const changes = counters.changes();
const main = counters.get("counter/main");
console.log(counters.size, main && main.count, main?.isEven, (await living.get()).target);
console.log(described(await all.get()));
await bus.store<CounterType>("counter/raw").dispatch("decrement", undefined, { return: "changes" });
for await (const change of changes) {
  console.log(change.states.get("counter/raw")?.count);
  break;
}
await bus.dispatch(counter.increment("raw", { by: 1 }));
await bus.close();
console.log(await bus.dispatch(counter.reset(null)).catch((error) => error instanceof BusConnectionError));
