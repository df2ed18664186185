"""A client of FluxBus, the state bus.

`connect()` is for ordinary code, from any number of threads; `fluxbus.aio.connect()` is the same for asyncio.
"""

from . import aio
from ._subscription import Action, Change, Feed, Gap, Mirror
from ._sync import Bus, Pending, connect
from ._wire import BusConnectionError, BusError, BusTimeoutError, Step, Target

__all__ = [
    "Action", "Bus", "BusConnectionError", "BusError", "BusTimeoutError", "Change", "Feed", "Gap", "Mirror", "Pending",
    "Step", "Target", "aio", "connect",
]
