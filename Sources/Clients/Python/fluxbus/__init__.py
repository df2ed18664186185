"""A client of FluxBus, the state bus.

`connect()` is for ordinary code, from any number of threads; `fluxbus.aio.connect()` is the same for asyncio.
"""

from . import aio
from ._session import Action, Change, Gap
from ._sync import Bus, Mirror, Pending, connect
from ._wire import BusError

__all__ = ["Action", "Bus", "BusError", "Change", "Gap", "Mirror", "Pending", "aio", "connect"]
