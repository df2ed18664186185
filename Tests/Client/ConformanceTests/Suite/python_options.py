"""What the Python clients, for threads and for asyncio, make of options: a bus that this program is hears what they send."""

import asyncio
import os
import sys
import tempfile
import threading
from contextlib import suppress

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../../Sources/Clients/Python"))
import fluxbus  # noqa: E402
from fluxbus._wire import decode, encode  # noqa: E402

heard = []


async def welcome(reader, writer):
    """Answers every request but those on `counter/silent`."""
    with suppress(OSError):
        async for line in reader:
            request = decode(line.decode())
            heard.append(request)
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


def serve(place, loop):
    asyncio.set_event_loop(loop)
    loop.run_until_complete(asyncio.start_unix_server(welcome, place))
    loop.call_soon(ready.set)
    loop.run_forever()


async def check_tasks(address):
    async with fluxbus.aio.connect(address) as bus:
        loop = asyncio.get_running_loop()

        async def made(name, arguments, options):
            return await getattr(bus, name)(*arguments, **options)

        def call(name, *arguments, **options):
            return asyncio.run_coroutine_threadsafe(made(name, arguments, options), loop).result()

        await loop.run_in_executor(None, check, call)
        await bus.close(0)


ready = threading.Event()
with tempfile.TemporaryDirectory() as folder:
    place = os.path.join(folder, "bus")
    threading.Thread(target=serve, args=(place, asyncio.new_event_loop()), daemon=True).start()
    ready.wait()
    bus = fluxbus.connect(f"unix:{place}")
    check(lambda name, *arguments, **options: getattr(bus, name)(*arguments, **options))
    is_late(lambda *arguments, **options: bus.submit(*arguments, **options).result(), "counter/silent", "reset")
    is_late(lambda *arguments, **options: bus.send(*arguments, **options).result(), "get", store="counter/silent")
    bus.close(0)
    asyncio.run(check_tasks(f"unix:{place}"))
