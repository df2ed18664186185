"""The conformance driver of the Python clients: `driver.py` for the one for threads, `driver.py --aio` for asyncio."""

import asyncio
import json
import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../../Sources/Clients/Python"))
import fluxbus  # noqa: E402

OPTIONS = {"back_off": (0.001, 0.01)}
output = threading.Lock()


def answer(call, value=None, error=None):
    line = {"call": call, "error": error.code, "message": error.message} if error else {"call": call, "value": value}
    with output:
        print(json.dumps(line), flush=True)


def shown(reply):
    return {"revision": reply["revision"], "duplicate": reply.get("duplicate", False)}


def action(event):
    if isinstance(event, fluxbus.Gap):
        return {"gap": event.revision}
    names = ["target", "action", "result", "results", "traceparent"]
    return {name: getattr(event, name) for name in names if getattr(event, name) is not None}


def change(event):
    return {"revision": event.revision, **({"cause": event.cause} if event.cause else {})}


def mirrored(command):
    return {"where": command.get("where"), "cause": command.get("cause", False)}


def tuples(actions):
    return [(part["target"], part["action"], part.get("payload", {})) for part in actions]


class Threads:
    def __init__(self):
        self.mirrors, self.changes, self.actions = {}, {}, {}

    def carry_out(self, command):
        do, bus = command["do"], getattr(self, "bus", None)
        if do == "connect":
            self.bus = fluxbus.connect(command["address"], **command.get("options", {}), **OPTIONS)
        elif do == "batch":
            return shown(bus.batch(tuples(command["actions"]), traceparent=command.get("traceparent")))
        elif do == "create":
            return shown(bus.create(command["target"]))
        elif do == "drop":
            return shown(bus.drop(command["target"], where=command.get("where")))
        elif do == "get":
            return bus.get(command["target"])
        elif do == "request":
            bus.request(command["op"], **command["members"])
        elif do == "will":
            bus.will(tuples(command["actions"]))
        elif do == "mirror":
            self.mirrors[command["name"]] = mirror = bus.mirror(command["target"], **mirrored(command))
            self.changes[command["name"]] = mirror.changes()
        elif do == "until":
            mirror = self.mirrors[command["name"]]
            while mirror.revision < command["revision"]:
                next(self.changes[command["name"]])
            return dict(mirror)
        elif do == "states":
            return dict(self.mirrors[command["name"]])
        elif do == "changes":
            return [change(next(self.changes[command["name"]])) for _ in range(command["count"])]
        elif do == "ended":
            return [1 for _ in self.changes[command["name"]]] and None
        elif do == "actions":
            self.actions[command["name"]] = bus.actions(command["target"])
        elif do == "take":
            return [action(next(self.actions[command["name"]])) for _ in range(command["count"])]
        elif do == "close":
            bus.close(command.get("timeout", 5))
        return None

    def run(self, command, pending=None):
        try:
            answer(command["call"], shown(pending.result(60)) if pending else self.carry_out(command))
        except fluxbus.BusError as error:
            answer(command["call"], error=error)

    def serve(self):
        for line in sys.stdin:
            command = json.loads(line)
            pending = None
            if command["do"] == "dispatch":
                payload, traced = command.get("payload", {}), command.get("traceparent")
                pending = self.bus.submit(command["target"], command["action"], payload, traceparent=traced)
            threading.Thread(target=self.run, args=(command, pending), daemon=True).start()
        # A thread that writes while the interpreter ends would abort it.
        output.acquire()


class Tasks:
    def __init__(self):
        self.mirrors, self.changes, self.actions = {}, {}, {}

    async def carry_out(self, command):
        do, bus = command["do"], getattr(self, "bus", None)
        if do == "connect":
            self.bus = await fluxbus.aio.connect(command["address"], **command.get("options", {}), **OPTIONS)
        elif do == "dispatch":
            payload, traced = command.get("payload", {}), command.get("traceparent")
            return shown(await bus.dispatch(command["target"], command["action"], payload, traceparent=traced))
        elif do == "batch":
            return shown(await bus.batch(tuples(command["actions"]), traceparent=command.get("traceparent")))
        elif do == "create":
            return shown(await bus.create(command["target"]))
        elif do == "drop":
            return shown(await bus.drop(command["target"], where=command.get("where")))
        elif do == "get":
            return await bus.get(command["target"])
        elif do == "request":
            await bus.request(command["op"], **command["members"])
        elif do == "will":
            await bus.will(tuples(command["actions"]))
        elif do == "mirror":
            self.mirrors[command["name"]] = mirror = await bus.mirror(command["target"], **mirrored(command))
            self.changes[command["name"]] = mirror.changes()
        elif do == "until":
            mirror = self.mirrors[command["name"]]
            while mirror.revision < command["revision"]:
                await self.changes[command["name"]].__anext__()
            return dict(mirror)
        elif do == "states":
            return dict(self.mirrors[command["name"]])
        elif do == "changes":
            return [change(await self.changes[command["name"]].__anext__()) for _ in range(command["count"])]
        elif do == "ended":
            return [1 async for _ in self.changes[command["name"]]] and None
        elif do == "actions":
            self.actions[command["name"]] = await bus.actions(command["target"])
        elif do == "take":
            return [action(await self.actions[command["name"]].__anext__()) for _ in range(command["count"])]
        elif do == "close":
            await bus.close(command.get("timeout", 5))
        return None

    async def run(self, command):
        try:
            answer(command["call"], await self.carry_out(command))
        except fluxbus.BusError as error:
            answer(command["call"], error=error)

    async def serve(self):
        reader = asyncio.StreamReader(limit=1 << 26)
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        tasks = set()
        while True:
            line = await reader.readline()
            if not line:
                return
            task = asyncio.ensure_future(self.run(json.loads(line)))
            tasks.add(task)
            task.add_done_callback(tasks.discard)


if __name__ == "__main__":
    if "--aio" in sys.argv:
        asyncio.run(Tasks().serve())
    else:
        Threads().serve()
