# Uses printed Python as a program of its own does: dispatches, and prints the states that it mirrors.

import asyncio

import awkward
import counter
import door
import everything
import presence
import thermostat
import todo
import value

import fluxbus
from fluxbus import Mirror, Step, aio

steps: list[Step] = [
    counter.increment("main", by=5),
    counter.increment("main"),
    thermostat.set_target("main", celsius=21.5),
    thermostat.boost("main"),
    thermostat.set_mode("main", mode="manual"),
    door.open("main"),
    todo.add("main", id="1", title="Milk"),
    todo.toggle("main", id="1"),
    presence.enter("main", name="anna"),
    value.set("main", value={"a": [None, 1.5, "x"]}),
    awkward.import_(
        "main", in_=5, my_name="n", class_=None, quo_te=["q"], self=2.5, func="f", default={"a": 1}, value1=True,
        payload=[1],
    ),
    awkward.import_("main", in_=6),
    awkward.switch_on2("main"),
    awkward.switch_on("main"),
    awkward.switch_on3("main", by=2),
    awkward.list_("main"),
    awkward.str_("main"),
    awkward.init("main"),
    awkward.default("main"),
    awkward.dispatch("main"),
    awkward.encode("main"),
    awkward.self("main"),
    awkward.match("main"),
    everything.configure(
        "main", door={"open": True}, measured=None, mode="by hand", note=None, extra=[1], names=["a"],
        ages={"a b": 1}, level=6, limit=1.5, step=2,
    ),
]


def described(state: everything.Everything) -> str:
    rooms = [room["size"] + 1 for room in state["rooms"].values()]
    return f"{state['title']} {state['count'] + 1} {state['mode'] == 'by hand'} {rooms} {state['plain list']}"


def applied(action: counter.CounterAction) -> int:
    if action["action"] == "reset":
        return 0
    by = action["payload"].get("by", 1)
    return by if action["action"] == "increment" else -by


async def later() -> None:
    async with aio.connect() as bus:
        doors: Mirror[door.Door] = await bus.mirror(door.store())
        changes = doors.changes()
        reply = await bus.dispatch(door.open("raw"), returning="states")
        async for change in changes:
            print(change.states["door/raw"]["isOpen"], change.revision == reply["revision"])
            break


with fluxbus.connect() as bus:
    for step in steps:
        bus.dispatch(step)
    bus.batch([everything.quiet("main", for_=1), counter.increment(None, by=0)])
    bus.will([door.open("main")])
    bus.submit(counter.increment(None, by=0)).result()
    counters = bus.mirror(counter.store())
    print(len(counters), counters["counter/main"]["count"] + 1, counters["counter/main"]["isEven"])
    heating: thermostat.Thermostat = bus.get(thermostat.store("main"))
    print(heating["target"], bus.states(thermostat.store())["thermostat/raw"]["mode"])
    print(described(bus.get(everything.store("main"))))

asyncio.run(later())
