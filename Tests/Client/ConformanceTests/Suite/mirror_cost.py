#!/usr/bin/env python3
"""Shows that a change costs a mirror of 100,000 stores no more memory than one of ten: nothing that grows with the stores is
copied. Memory is counted, not time, so that a busy machine changes nothing."""

import asyncio
import json
import os
import sys
import tempfile
import tracemalloc

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../../Sources/Clients/Python"))
from fluxbus import aio  # noqa: E402

CHANGES = 20


async def peak(size, place):
    """The most bytes that any of some changes needed at once."""
    path = os.path.join(place, str(size))
    bus = asyncio.get_running_loop().create_future()

    async def welcome(reader, writer):
        def say(message):
            writer.write(json.dumps(message).encode() + b"\n")

        hello = json.loads(await reader.readline())
        say({"id": hello["id"], "ok": True, "epoch": "e", "revision": 1})
        subscribe = json.loads(await reader.readline())
        say({"id": subscribe["id"], "ok": True, "sub": 1, "epoch": "e", "revision": 1})
        states = {f"counter/{number}": {"count": 0} for number in range(size)}
        say({"event": "change", "sub": 1, "from": 0, "revision": 1, "reset": True, "states": states})
        bus.set_result(say)

    server = await asyncio.start_unix_server(welcome, path)
    client = await aio.connect(f"unix:{path}")
    mirror = await client.mirror("counter")
    changes, say, peaks = mirror.changes(), await bus, []
    assert len(mirror) == size
    for revision in range(1, CHANGES + 1):
        patch = {"counter/0": {"count": revision}}
        tracemalloc.start()
        say({"event": "change", "sub": 1, "from": revision, "revision": revision + 1, "changes": patch})
        change = await changes.__anext__()
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert change.states == {"counter/0": {"count": revision}} and mirror["counter/0"] == {"count": revision}
    await client.close()
    server.close()
    # The first ones may fill caches of the interpreter.
    return max(peaks[CHANGES // 2 :])


def main():
    with tempfile.TemporaryDirectory() as place:
        small, large = asyncio.run(peak(10, place)), asyncio.run(peak(100_000, place))
    print(f"a change needs {small} bytes with 10 stores, {large} with 100,000")
    # A copy of the table would take millions.
    return 0 if large < 2 * small else 1


if __name__ == "__main__":
    sys.exit(main())
