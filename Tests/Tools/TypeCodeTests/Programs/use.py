# Uses printed Python as a program of its own does: sends requests to a bus, and prints each with its reply.

import json
import socket
import sys
from typing import Any

import awkward
import counter
import door
import everything
import presence
import thermostat
import todo
import value

requests: list[dict[str, Any]] = [
    counter.increment("main", {"by": 5}),
    counter.increment("main"),
    thermostat.set_target("main", {"celsius": 21.5}),
    thermostat.boost("main"),
    thermostat.set_mode("main", {"mode": "manual"}),
    door.open("main"),
    todo.add("main", {"id": "1", "title": "Milk"}),
    todo.toggle("main", {"id": "1"}),
    presence.enter("main", {"name": "anna"}),
    value.set("main", {"value": {"a": [None, 1.5, "x"]}}),
    awkward.import_("main", {
        "in": 5, "my name": "n", "class": None, "quo\"te\\": ["q"], "self": 2.5, "func": "f", "default": {"a": 1},
        "value1": True, "payload": [1],
    }),
    awkward.import_("main", {"in": 6}),
    awkward.switch_on2("main"),
    awkward.switch_on("main"),
    awkward.switch_on3("main", {"by": 2}),
    awkward.list_("main"),
    awkward.str_("main"),
    awkward.init("main"),
    awkward.default("main"),
    awkward.dispatch("main"),
    awkward.encode("main"),
    awkward.self("main"),
    awkward.match("main"),
    counter.increment(None, {"by": 0}),
]

requests.append(everything.configure("main", {
    "door": {"open": True}, "measured": None, "mode": "by hand", "note": None, "extra": [1], "names": ["a"],
    "ages": {"a b": 1}, "level": 6, "limit": 1.5, "step": 2,
}))
requests.append(everything.quiet("main", {"for": 1}))


# Mistakes are found before anything runs.
def mistakes() -> None:
    counter.increment("main", {"by": "5"})  # type: ignore
    counter.increment("main", {"bye": 5})  # type: ignore
    counter.increment()  # type: ignore
    thermostat.set_target("main")  # type: ignore
    door.opens("main")  # type: ignore
    everything.configure("main", {"door": {"open": True}, "measured": None, "mode": "no"})  # type: ignore
    everything.configure("main", {"door": {}, "measured": None, "mode": "auto"})  # type: ignore
    everything.configure("main", {"door": {"open": True}, "mode": "auto"})  # type: ignore
    everything.configure("main", {"door": {"open": True}, "measured": 1, "mode": "by hand", "note": None, "step": 5})


def described(state: everything.Everything) -> str:
    rooms = [room["size"] + 1 for room in state["rooms"].values()]
    state["title"] + 1  # type: ignore
    state["step"] = 3  # type: ignore
    return f"{state['title']} {state['count'] + 1} {state['mode'] == 'by hand'} {rooms} {state['plain list']}"


def applied(action: counter.CounterAction) -> int:
    if action["action"] == "reset":
        return 0
    by = action["payload"].get("by", 1)
    return by if action["action"] == "increment" else -by


with socket.socket(socket.AF_UNIX) as connection:
    connection.connect(sys.argv[1])
    lines = connection.makefile("rw", encoding="utf-8", newline="\n")
    for request in requests:
        lines.write(json.dumps(request) + "\n")
        lines.flush()
        print(json.dumps(request))
        print(lines.readline(), end="")
