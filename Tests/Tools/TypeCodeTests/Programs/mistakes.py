# Mistakes that a type checker finds: each line that says so, and no other.

import counter
import door
import everything
import thermostat

import fluxbus
from fluxbus import Mirror, aio


def mistakes(bus: fluxbus.Bus) -> None:
    bus.dispatch(counter.increment("main", by="5"))  # wrong
    bus.dispatch(counter.increment("main", bye=5))  # wrong
    bus.dispatch(counter.increment("main", 5))  # wrong
    bus.dispatch(counter.increment())  # wrong
    bus.dispatch(counter.increment(5))  # wrong
    bus.dispatch(counter.increment)  # wrong
    bus.dispatch(counter.increment("main", by=5), if_revison=4)  # wrong
    bus.dispatch(thermostat.set_target("main"))  # wrong
    bus.dispatch(thermostat.set_target("main", celsius=None))  # wrong
    bus.dispatch(door.opens("main"))  # wrong
    bus.batch([door.open("main"), door])  # wrong
    everything.configure("main", door={"open": True}, measured=None, mode="no")  # wrong
    everything.configure("main", door={}, measured=None, mode="auto")  # wrong
    everything.configure("main", door={"open": 1}, measured=None, mode="auto")  # wrong
    everything.configure("main", door={"open": True}, mode="auto")  # wrong
    everything.configure("main", door={"open": True}, measured=None, mode="auto", step=3)  # wrong
    everything.configure("main", door={"open": True}, measured=1, mode="by hand", note=None, step=5)
    bus.get(counter.store("main"))["counts"]  # wrong
    bus.get(everything.store("main"))["title"] + 1  # wrong
    bus.get(counter.store("main"))["isEven"].upper()  # wrong
    bus.get(everything.store("main"))["step"] = 3  # wrong
    bus.get(everything.store("main"))["rooms"]["hall"]["sise"]  # wrong
    bus.states(counter.store())["counter/main"]["isOdd"]  # wrong
    heating: Mirror[thermostat.Thermostat] = bus.mirror(counter.store())  # wrong
    counters: Mirror[counter.Counter] = bus.mirror(counter.store())
    counters["counter/main"]["isEvn"]  # wrong
    for change in counters.changes():
        change.states["counter/main"]["sum"]  # wrong


async def more(bus: aio.Bus) -> None:
    await bus.dispatch(counter.increment("main", by="5"))  # wrong
    (await bus.get(counter.store("main")))["counts"]  # wrong
    doors: Mirror[door.Door] = await bus.mirror(counter.store())  # wrong
