// Mistakes that the compiler finds: each line that says so, and no other.

import { Bus, Mirror } from "fluxbus";
import { counter, CounterType } from "./counter.js";
import { door } from "./door.js";
import { everything, Everything, EverythingType } from "./everything.js";
import { thermostat, Thermostat, ThermostatType } from "./thermostat.js";

export async function mistakes(bus: Bus, state: Everything): Promise<void> {
  await bus.dispatch(counter.increment("main", { by: "5" })); // wrong
  await bus.dispatch(counter.increment("main", { bye: 5 })); // wrong
  await bus.dispatch(counter.increment()); // wrong
  await bus.dispatch(counter.increment(5)); // wrong
  await bus.dispatch(counter.increment); // wrong
  await bus.dispatch(counter.increment("main"), { ifRevison: 4 }); // wrong
  await bus.dispatch(thermostat.setTarget("main")); // wrong
  await bus.dispatch(door.opens("main")); // wrong
  await bus.batch([door.open("main"), door]); // wrong
  everything.configure("main", { door: { open: true }, measured: null, mode: "nowhere" }); // wrong
  everything.configure("main", { door: {}, measured: null, mode: "auto" }); // wrong
  everything.configure("main", { door: { open: true }, measured: null, mode: "auto", step: 3 }); // wrong
  everything.configure("main", { door: { open: true }, mode: "auto" }); // wrong
  const kitchen = bus.store<CounterType>("counter/kitchen");
  await kitchen.dispatch("increment", { by: 2 }, { ifRevision: 4 });
  await kitchen.dispatch("increase", { by: 2 }); // wrong
  await kitchen.dispatch("increment", { by: "2" }); // wrong
  await kitchen.dispatch("increment", { bye: 2 }); // wrong
  await kitchen.dispatch("reset", { by: 2 }); // wrong
  await kitchen.dispatch("increment", 2); // wrong
  await kitchen.dispatch("increment", {}, { ifRevison: 4 }); // wrong
  await bus.store<ThermostatType>("thermostat/living").dispatch("setTarget"); // wrong
  await bus.store<ThermostatType>("thermostat/living").dispatch("setTarget", {}); // wrong
  bus.store<CounterType>("counters/kitchen"); // wrong
  bus.store<ThermostatType>("counter/kitchen"); // wrong
  (await kitchen.get()).counts; // wrong
  const isEven: string | null = (await kitchen.get()).isEven; // wrong
  (await bus.store<EverythingType>("everything/main").get()).title.toFixed(); // wrong
  (await kitchen.mirror()).get("counter/kitchen")?.isEvn; // wrong
  const heating: Mirror<Thermostat> = await kitchen.mirror(); // wrong
  for await (const change of await kitchen.mirror()) change.states.get("counter/kitchen")?.sum; // wrong
  const title: number = state.title; // wrong
  state.count = 5; // wrong
  state.rooms["hall"].size; // wrong
  console.log(heating, title, isEven);
}
