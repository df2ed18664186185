// Uses printed TypeScript as a program of its own does: `requests` are sent by `send.js`.

import { awkWard1, AwkWard1 } from "./awkward";
import { counter, Counter, CounterAction } from "./counter";
import { door } from "./door";
import { everything, Everything } from "./everything";
import { presence } from "./presence";
import { thermostat } from "./thermostat";
import { todo } from "./todo";
import { value } from "./value";

export const requests: readonly object[] = [
  counter.increment("main", { by: 5 }),
  counter.increment("main"),
  thermostat.setTarget("main", { celsius: 21.5 }),
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
  counter.increment(null, { by: 0 }),
];

// For a bus that has the type.
export const more: readonly object[] = [
  everything.configure("main", {
    door: { open: true }, measured: null, mode: "by hand", note: null, extra: [1], names: ["a"], ages: { "a b": 1 },
    level: 6, limit: 1.5, step: 2,
  }),
  everything.quiet("main", { for: 1 }),
];

// Mistakes are found before anything runs.
export function mistakes(): void {
  // @ts-expect-error
  counter.increment("main", { by: "5" });
  // @ts-expect-error
  counter.increment("main", { bye: 5 });
  // @ts-expect-error
  counter.increment();
  // @ts-expect-error
  thermostat.setTarget("main");
  // @ts-expect-error
  door.opens("main");
  // @ts-expect-error
  everything.configure("main", { door: { open: true }, measured: null, mode: "nowhere" });
  // @ts-expect-error
  everything.configure("main", { door: {}, measured: null, mode: "auto" });
  // @ts-expect-error
  everything.configure("main", { door: { open: true }, measured: null, mode: "auto", step: 3 });
  // @ts-expect-error
  everything.configure("main", { door: { open: true }, mode: "auto" });
}

export function described(state: Everything): string {
  // @ts-expect-error
  const title: number = state.title;
  // @ts-expect-error
  state.count = 5;
  const size: number | undefined = state.rooms["hall"]?.size;
  return `${state.title} ${state.count + 1} ${state.mode === "by hand"} ${size} ${state["plain list"].length} ${title}`;
}

export function applied(action: CounterAction): number {
  switch (action.action) {
    case "increment": return action.payload.by ?? 1;
    case "decrement": return -(action.payload.by ?? 1);
    case "reset": return 0;
  }
}

export const members: readonly (keyof Counter | keyof AwkWard1)[] = ["count", "isEven", "quo\"te\\", "größe"];
