"""What the Python clients, for threads and for asyncio, make of options: a bus that this program is hears what they send."""

import asyncio
import os
import sys
import tempfile
import threading
import time
from contextlib import suppress

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../../Sources/Clients/Python"))
import fluxbus  # noqa: E402
from fluxbus._wire import decode, encode  # noqa: E402

heard = []


async def welcome(reader, writer):
    """Answers every request but those on `counter/silent`, and ends the connection after one on `counter/last`."""
    with suppress(OSError):
        async for line in reader:
            request = decode(line.decode())
            heard.append(request)
            if b"counter/last" in line:
                break
            if b"counter/silent" not in line:
                writer.write(encode({"id": request["id"], "ok": True, "revision": 5, "epoch": "e", "sub": 1}).encode() + b"\n")
    writer.close()


def members(request):
    return {name: value for name, value in request.items() if name not in ("id", "after", "epoch")}


def is_late(call, *arguments, **options):
    """Nobody answers it, and nothing of its time-out is sent."""
    try:
        call(*arguments, timeout=0.01, **options)
        raise AssertionError("somebody has answered")
    except fluxbus.BusTimeoutError as error:
        assert error.code == "timed_out", error
    assert "timeout" not in heard[-1], heard[-1]


def check(call):
    """`call` makes a request by its name and arguments, and gives the reply."""
    silent = [("counter/silent", "reset")]
    for name in ["create", "drop", "get", "states", "mirror"]:
        is_late(call, name, "counter/silent")
    is_late(call, "dispatch", *silent[0])
    is_late(call, "request", "samples", store="counter/silent")
    is_late(call, "will", silent)
    call("actions", "counter", where="count > 2")
    assert members(heard[-1]) == {"op": "subscribe", "type": "counter", "actions": True, "where": "count > 2"}, heard[-1]
    for options in [{}, {"traceparent": "00-1-2-01", "returning": "states"}]:
        is_late(call, "batch", silent, **options)
    assert members(heard[-1]) == {
        "op": "dispatch", "actions": [{"store": "counter/silent", "action": "reset"}], "key": heard[-1]["key"],
        "traceparent": "00-1-2-01", "return": "states",
    }, heard[-1]
    for name in ["create", "drop"]:
        call(name, "counter/a", key="mine")
        assert members(heard[-1]) == {"op": name, "store": "counter/a", "key": "mine"}, heard[-1]
    before = len(heard)
    for name in ["id", "ack"]:
        try:
            call("request", "dispatch", store="counter/a", action="reset", **{name: False})
            raise AssertionError(f"{name} was sent")
        except fluxbus.BusError as error:
            assert error.code == "invalid_request" and f"leave out `{name}`" in str(error), error
    assert len(heard) == before, heard[before:]


def check_reconnect(bus, call):
    """It does not wait for its next attempt, which is a minute away."""
    assert bus.revision == 5, bus.revision
    try:
        call("request", "revert", store="counter/last")
        raise AssertionError("somebody has answered")
    except fluxbus.BusConnectionError as error:
        assert error.code == "outcome_unknown", error
    while not bus.connected:
        bus.reconnect()
        time.sleep(0.001)


class InLoop:
    """A bus of asyncio's, as another thread sees it."""

    def __init__(self, bus):
        self.bus, self.loop = bus, asyncio.get_running_loop()

    def __getattr__(self, name):
        return getattr(self.bus, name)

    def reconnect(self):
        self.loop.call_soon_threadsafe(self.bus.reconnect)

    def call(self, name, *arguments, **options):
        async def made():
            return await getattr(self.bus, name)(*arguments, **options)

        return asyncio.run_coroutine_threadsafe(made(), self.loop).result()


async def check_tasks(address):
    loop = asyncio.get_running_loop()
    async with fluxbus.aio.connect(address) as bus, fluxbus.aio.connect(address, back_off=(60, 60)) as patient:
        await loop.run_in_executor(None, check, InLoop(bus).call)
        await loop.run_in_executor(None, check_reconnect, InLoop(patient), InLoop(patient).call)
        await bus.close(0)


def check_threads(address):
    bus, patient = fluxbus.connect(address), fluxbus.connect(address, back_off=(60, 60))
    check(lambda name, *arguments, **options: getattr(bus, name)(*arguments, **options))
    is_late(lambda *arguments, **options: bus.submit(*arguments, **options).result(), "counter/silent", "reset")
    is_late(lambda *arguments, **options: bus.send(*arguments, **options).result(), "get", store="counter/silent")
    check_reconnect(patient, lambda name, *arguments, **options: getattr(patient, name)(*arguments, **options))
    bus.close(0)
    patient.close()


def serve(place, loop):
    asyncio.set_event_loop(loop)
    loop.run_until_complete(asyncio.start_unix_server(welcome, place))
    loop.call_soon(ready.set)
    loop.run_forever()


ready = threading.Event()
with tempfile.TemporaryDirectory() as folder:
    place = os.path.join(folder, "bus")
    threading.Thread(target=serve, args=(place, asyncio.new_event_loop()), daemon=True).start()
    ready.wait()
    check_threads(f"unix:{place}")
    asyncio.run(check_tasks(f"unix:{place}"))
