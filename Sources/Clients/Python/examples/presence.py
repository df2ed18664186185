"""Who is there: `presence.py NAME` enters, prints everybody whenever that changes, and leaves with the end of its input.
If it is killed, its will takes it off the list."""

import asyncio
import sys
from typing import Any

from fluxbus import aio


async def show(office: aio.Mirror[Any]) -> None:
    changes = office.changes()
    print(*sorted(office["presence/example"]["people"]), flush=True)
    async for _ in changes:
        print(*sorted(office["presence/example"]["people"]), flush=True)


async def main(name: str) -> None:
    async with aio.connect(client=name) as bus:
        await bus.create("presence/example", if_missing=True)
        await bus.will([("presence/example", "leave", {"name": name})])
        await bus.dispatch("presence/example", "enter", {"name": name})
        shown = asyncio.ensure_future(show(await bus.mirror("presence/example")))
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
        await bus.dispatch("presence/example", "leave", {"name": name})
    await shown


asyncio.run(main(sys.argv[1]))
