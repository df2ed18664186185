#!/usr/bin/env python3
"""Runs the conformance scenarios against a client: `run.py [--scenario NAME]... -- DRIVER...`; `--list` names them.

A driver is a small program around the client. It reads commands as JSON lines and answers each, when it is done, by a line
with its `call`: `{"call":1,"value":…}` or `{"call":1,"error":CODE}`. The page "Write a client" lists the commands.

A scenario is a list of steps. In one with `steps` this program is the bus, and says exactly what stands there; in one with
`live` the bus is fluxbusd (`$FLUXBUSD`, `$FLUXBUS_TYPES`), behind a proxy that cuts connections at random places.
Nothing sleeps: every step waits for what it names, and gives up after twenty seconds.
"""

import argparse
import asyncio
import json
import os
import random
import signal
import sys
import tempfile

PATIENCE = 20
HERE = os.path.dirname(os.path.abspath(__file__))


class Failure(Exception):
    pass


def matches(pattern, value, names):
    """Members that the pattern does not name may be there; "$name" is anything, and the same everywhere."""
    if isinstance(pattern, str) and pattern.startswith("$"):
        if pattern == "$any":
            return True
        if pattern in names:
            return names[pattern] == value and type(names[pattern]) is type(value)
        names[pattern] = value
        return True
    if isinstance(pattern, dict):
        return isinstance(value, dict) and all(
            name not in value if wanted == "$absent" else name in value and matches(wanted, value[name], names)
            for name, wanted in pattern.items()
        )
    if isinstance(pattern, list):
        return isinstance(value, list) and len(pattern) == len(value) and all(
            matches(wanted, element, names) for wanted, element in zip(pattern, value)
        )
    return pattern == value and isinstance(pattern, bool) == isinstance(value, bool)


def filled(pattern, names):
    if isinstance(pattern, str):
        if pattern.startswith("$long:"):
            return "x" * int(pattern[6:])
        return names.get(pattern, pattern)
    if isinstance(pattern, dict):
        return {name: filled(value, names) for name, value in pattern.items()}
    if isinstance(pattern, list):
        return [filled(value, names) for value in pattern]
    return pattern


def without_twins(members):
    if len(dict(members)) < len(members):
        raise Failure(f"the client says a member twice: {members}")
    return dict(members)


class Driver:
    """The client's program."""

    def __init__(self):
        self.results, self.count = {}, 0

    async def start(self, command):
        self.process = await asyncio.create_subprocess_exec(
            *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=1 << 26
        )
        self.reader = asyncio.ensure_future(self.read())

    async def read(self):
        while True:
            line = await self.process.stdout.readline()
            if not line:
                break
            answer = json.loads(line)
            self.results[answer["call"]].set_result(answer)
        for result in self.results.values():
            if not result.done():
                result.set_exception(Failure("the driver has ended before its answer"))
                result.exception()

    def ask(self, command):
        self.count += 1
        result = self.results[self.count] = asyncio.get_running_loop().create_future()
        self.process.stdin.write(json.dumps({"call": self.count, **command}).encode() + b"\n")
        return result

    async def value(self, command):
        return value_of(await asyncio.wait_for(self.ask(command), PATIENCE))

    async def stop(self):
        """It ends by itself at the end of its input, with nothing on its mind."""
        for result in self.results.values():
            if not result.done():
                result.cancel()
        self.process.stdin.close()
        try:
            status = await asyncio.wait_for(self.process.wait(), PATIENCE)
        except asyncio.TimeoutError:
            self.process.kill()
            raise Failure("the driver did not end with its input")
        if status:
            raise Failure(f"the driver ended with {status}")


def value_of(answer):
    if "error" in answer:
        raise Failure(f"it failed with {answer['error']}: {answer.get('message')}")
    return answer["value"]


class ScriptedPlace:
    """Where a bus listens that says what the scenario says, and the connection there that the steps are about."""

    def __init__(self, path):
        self.path, self.arrived = path, asyncio.Queue()
        self.reader = self.writer = None
        self.writers = []

    async def start(self):
        self.server = await asyncio.start_unix_server(self.welcome, self.path, limit=1 << 26)

    async def refuse(self):
        self.server.close()
        if os.path.exists(self.path):
            os.unlink(self.path)

    async def welcome(self, reader, writer):
        self.writers.append(writer)
        self.arrived.put_nowait((reader, writer))

    async def accept(self):
        self.reader, self.writer = await self.arrived.get()

    async def hear(self):
        line = await self.reader.readline()
        if not line.endswith(b"\n"):
            raise Failure("the client has ended the connection instead")
        return json.loads(line, object_pairs_hook=without_twins)

    def cut(self):
        self.writer.transport.abort()

    def stop(self):
        self.server.close()
        for writer in self.writers:
            writer.transport.abort()


class ScriptedBus:
    """The members of a bus, one of which the steps are about."""

    def __init__(self, folder, count):
        self.places = [ScriptedPlace(os.path.join(folder, f"bus{number}")) for number in range(count)]
        self.at = 0

    @property
    def place(self):
        return self.places[self.at]

    @property
    def address(self):
        return ",".join(f"unix:{place.path}" for place in self.places)

    async def start(self):
        for place in self.places:
            await place.start()

    def stop(self):
        for place in self.places:
            place.stop()


async def step(name, arguments, driver, members, calls, names):
    bus = members.place
    if name == "do":
        calls[arguments[0]] = driver.ask({**filled(arguments[1], names), "address": members.address})
    elif name == "done":
        value = value_of(await calls[arguments[0]])
        if len(arguments) > 1 and not matches(arguments[1], value, names):
            raise Failure(f"the client shows {json.dumps(value)}")
    elif name == "fails":
        answer = await calls[arguments[0]]
        if answer.get("error") != arguments[1]:
            raise Failure(f"the client shows {json.dumps(answer)}")
    elif name == "accept":
        await bus.accept()
    elif name == "greet":
        await bus.accept()
        heard = await bus.hear()
        if heard.get("op") != "hello" or heard.get("protocol") != 1 or not matches(
            arguments[1] if len(arguments) > 1 else {}, heard, names
        ):
            raise Failure(f"the client says {json.dumps(heard)}")
        reply = {
            "id": heard["id"], "ok": True, "protocol": 1, "server": "scripted", "version": "0",
            "identity": {"uid": 1, "pid": 1}, "limits": {"line": 1 << 20}, **filled(arguments[0], names),
        }
        bus.writer.write(json.dumps(reply).encode() + b"\n")
    elif name == "hears":
        heard = await bus.hear()
        if not matches(arguments[0], heard, names):
            raise Failure(f"the client says {json.dumps(heard)}")
    elif name == "says":
        data = json.dumps(filled(arguments[0], names), ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        if len(arguments) > 1:
            bus.writer.write(data[: arguments[1]])
            await bus.writer.drain()
            bus.writer.write_eof()
        else:
            bus.writer.write(data)
    elif name == "drips":
        # Every byte a write of its own, with room for the client to read between.
        for byte in json.dumps(filled(arguments[0], names), ensure_ascii=False).encode() + b"\n":
            bus.writer.write(bytes([byte]))
            await bus.writer.drain()
            await asyncio.get_running_loop().run_in_executor(None, os.sched_yield)
    elif name == "sends":
        bus.writer.write(bytes.fromhex(arguments[0]))
    elif name == "cut":
        bus.cut()
    elif name == "closed":
        while await bus.reader.read(1 << 16):
            pass
    elif name == "refuses":
        await bus.refuse()
    elif name == "listens":
        await bus.start()
    elif name == "member":
        members.at = arguments[0] - 1
    else:
        raise Failure("there is no such step")


async def run_scripted(scenario, driver, place):
    bus, calls, names = ScriptedBus(place, scenario.get("members", 1)), {}, {}
    await bus.start()
    try:
        for number, (name, *arguments) in enumerate(scenario["steps"], 1):
            try:
                await asyncio.wait_for(step(name, arguments, driver, bus, calls, names), PATIENCE)
            except (Failure, asyncio.TimeoutError, OSError) as error:
                raise Failure(f"step {number}, {json.dumps([name, *arguments])}: {error or 'nothing came'}") from None
    finally:
        bus.stop()


class Daemon:
    """fluxbusd, which can be killed and started again."""

    def __init__(self, place, log):
        self.path = os.path.join(place, "daemon")
        self.command = [
            os.environ.get("FLUXBUSD", "fluxbusd"), "--listen", f"unix:{self.path}", "--types",
            os.environ.get("FLUXBUS_TYPES", os.path.join(HERE, "../../../../config/types")), "--store", "counter/main", "--store", "counter/other",
        ] + (["--log", os.path.join(place, "log")] if log else [])

    async def start(self):
        self.process = await asyncio.create_subprocess_exec(*self.command, stderr=asyncio.subprocess.PIPE)
        told = await asyncio.wait_for(self.process.stderr.readline(), PATIENCE)
        while b"listening" not in told:
            if not told:
                raise Failure("fluxbusd has ended")
            told = await asyncio.wait_for(self.process.stderr.readline(), PATIENCE)
        self.errors = asyncio.ensure_future(self.process.stderr.read())

    async def kill(self):
        if self.process.returncode is None:
            self.process.send_signal(signal.SIGKILL)
        await self.process.wait()
        await self.errors

    async def states(self, where="true"):
        reader, writer = await asyncio.open_unix_connection(self.path, limit=1 << 26)
        writer.write(json.dumps({"op": "get", "type": "counter", "where": where}).encode() + b"\n")
        reply = json.loads(await reader.readline())
        writer.close()
        return reply["states"]


class Proxy:
    """Stands between client and daemon, and cuts each connection after a random number of bytes, so many times."""

    def __init__(self, place, target, cuts, seed):
        self.path, self.target, self.cuts = os.path.join(place, "bus"), target, cuts
        self.random, self.connections, self.done = random.Random(seed), 0, asyncio.Event()
        self.writers = set()
        if not cuts:
            self.done.set()

    async def start(self):
        self.server = await asyncio.start_unix_server(self.welcome, self.path)

    async def welcome(self, reader, writer):
        self.connections += 1
        # The first attempt is the client's own affair: it is let through far enough.
        left = [int(2 ** self.random.uniform(0, 13)) + (4000 if self.connections == 1 else 0)]
        isCut = self.cuts > 0
        self.writers.add(writer)
        try:
            upstream = await asyncio.open_unix_connection(self.target)
        except OSError:
            writer.transport.abort()
            self.writers.discard(writer)
            return
        self.writers.add(upstream[1])
        await asyncio.gather(
            self.pump(reader, upstream[1], left, isCut), self.pump(upstream[0], writer, left, isCut)
        )
        self.writers -= {writer, upstream[1]}
        writer.transport.abort()
        upstream[1].transport.abort()

    async def pump(self, reader, writer, left, isCut):
        try:
            while True:
                data = await reader.read(1 << 16)
                if not data:
                    break
                if isCut:
                    if left[0] <= 0:
                        break
                    data, rest = data[: left[0]], data[left[0]:]
                    left[0] -= len(data)
                    writer.write(data)
                    await writer.drain()
                    if left[0] <= 0 and self.cuts > 0:
                        self.cuts -= 1
                        if self.cuts == 0:
                            self.done.set()
                    if rest or left[0] <= 0:
                        break
                else:
                    writer.write(data)
                    await writer.drain()
        except OSError:
            pass
        # Either end takes the other with it: what was written last is still delivered.
        writer.close()

    def stop(self):
        self.server.close()
        for writer in self.writers:
            writer.transport.abort()


async def run_live(scenario, driver, place, seed):
    live = scenario["live"]
    scale = 1 if os.environ.get("FLUXBUS_CONFORMANCE_FULL") else live.get("ordinary", 1)
    daemon = Daemon(place, live.get("log", True))
    await daemon.start()
    proxy = Proxy(place, daemon.path, int(live.get("cuts", 0) * scale), seed)
    await proxy.start()
    order = random.Random(seed)
    try:
        await driver.value({"do": "connect", "address": f"unix:{proxy.path}"})
        await driver.value({"do": "mirror", "name": "all", "target": "counter"})
        if "where" in live:
            await driver.value({"do": "mirror", "name": "set", "target": "counter", "where": live["where"]})
        sent, under, kills, counts, failed = 0, set(), live.get("kills", 0), {"main": 0, "other": 0}, {}
        due = order.randrange(50, 300)
        while sent < live.get("dispatches", 0) * scale or not proxy.done.is_set() or kills:
            while len(under) < 32:
                store = order.choice(["main", "other"])
                by = order.randrange(1, 5)
                call = driver.ask(
                    {"do": "dispatch", "target": f"counter/{store}", "action": "increment", "payload": {"by": by}}
                )
                call.meant = (store, by)
                under.add(call)
                sent += 1
            finished, under = await asyncio.wait(under, timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
            if not finished:
                raise Failure(f"nothing was answered for {PATIENCE} s, after {sent} dispatches")
            count(finished, counts, failed)
            if kills and sent > due:
                kills, due = kills - 1, sent + order.randrange(50, 300)
                await daemon.kill()
                await daemon.start()
        if under:
            finished, under = await asyncio.wait(under, timeout=PATIENCE)
            if under:
                raise Failure(f"{len(under)} dispatches of {sent} were never answered")
            count(finished, counts, failed)
        if set(failed) - set(live.get("mayFail", [])):
            raise Failure(f"dispatches failed: {failed}")
        last = await driver.value({"do": "dispatch", "target": "counter/main", "action": "increment", "payload": {"by": 1}})
        shown = await driver.value({"do": "until", "name": "all", "revision": last["revision"]})
        states = await daemon.states()
        if shown != states:
            raise Failure(f"the mirror shows {shown}, the bus {states}")
        wanted = {f"counter/{name}": number + (name == "main") for name, number in counts.items()}
        found = {name: state["count"] for name, state in states.items()}
        if live.get("exact", True) and found != wanted:
            raise Failure(f"the bus holds {found}; what was answered makes {wanted}")
        if "where" in live:
            await compare_set(live["where"], driver, daemon)
        print(f"  {sent} dispatches, {proxy.connections} connections, {failed or 'no'} failures", file=sys.stderr)
        await driver.value({"do": "close"})
    finally:
        proxy.stop()
        await daemon.kill()


async def compare_set(where, driver, daemon):
    """The mirror by value is what the bus says, once it has heard of a commit that changed the set."""
    before, now, changed = await daemon.states(where), None, None
    while changed is None:
        last = await driver.value({"do": "dispatch", "target": "counter/main", "action": "increment", "payload": {"by": 1}})
        now = await daemon.states(where)
        changed = last["revision"] if now != before else None
    shown = await driver.value({"do": "until", "name": "set", "revision": changed})
    if shown != now:
        raise Failure(f"the mirror by value shows {shown}, the bus {now}")


def count(finished, counts, failed):
    for call in finished:
        answer = call.result()
        if "error" in answer:
            failed[answer["error"]] = failed.get(answer["error"], 0) + 1
        else:
            counts[call.meant[0]] += call.meant[1]


def scenarios():
    folder = os.path.join(HERE, "..", "Scenarios")
    found = {}
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            for scenario in json.load(file):
                found[scenario["name"]] = scenario
    return found


async def run(scenario, command, seed):
    with tempfile.TemporaryDirectory() as place:
        driver = Driver()
        await driver.start(command)
        try:
            await (run_scripted(scenario, driver, place) if "steps" in scenario else run_live(scenario, driver, place, seed))
            await driver.stop()
        finally:
            if driver.process.returncode is None:
                driver.process.kill()
                await driver.process.wait()
            driver.reader.cancel()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--scenario", action="append")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("driver", nargs="*")
    options = parser.parse_args()
    every = scenarios()
    if options.list:
        print("\n".join(every))
        return 0
    status = 0
    for name in options.scenario or every:
        try:
            asyncio.run(run(every[name], options.driver, options.seed))
            print(f"ok {name}")
        except (Failure, asyncio.TimeoutError) as error:
            status = 1
            print(f"not ok {name} (seed {options.seed}): {error or 'nothing came in time'}")
    return status


if __name__ == "__main__":
    sys.exit(main())
