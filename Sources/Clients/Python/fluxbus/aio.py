"""The client for asyncio: the same names as those of the one for threads, awaited."""

import asyncio
import ssl
from types import TracebackType
from typing import (
    Any,
    AsyncIterator,
    Dict,
    Generator,
    Generic,
    Iterable,
    Mapping,
    Optional,
    Sequence,
    Tuple,
    Type,
    TypeVar,
    Union,
)

from ._session import Action, Actions, Change, Feed, Gap, Session, States, StatesView, combine_changes, started, subscribed
from ._wire import ActionOf, BusError, JSONObject, actions_of, batch_of, create_of, dispatch_of, get_of, pattern_of, renamed, subscribe_to

__all__ = ["Action", "Bus", "BusError", "Change", "Gap", "Mirror", "connect"]

T = TypeVar("T")


class Feeding(Generic[T]):
    """Items as they come; ends when the bus or what they are of is closed. For one task."""

    def __init__(self, feed: Feed[T]) -> None:
        self._feed = feed

    def __aiter__(self) -> "Feeding[T]":
        return self

    async def __anext__(self) -> T:
        while await self._feed.ready():
            item = self._feed.take()
            if item is not None:
                return item
        raise StopAsyncIteration


class Mirror(StatesView):
    """The states of all stores that match, by address, kept as they are on the bus.

    What it gives is never changed later: a change makes new states.
    """

    def __init__(self, session: Session, states: States) -> None:
        super().__init__(states)
        self._session = session

    def changes(self) -> AsyncIterator[Change]:
        """Every change from now on. A consumer that falls far behind gets several as one."""
        feed = Feed(combine_changes)
        self._states.feeds.add(feed)
        if self._states.ended:
            feed.end(self._states.error)
        return Feeding(feed)

    def close(self) -> None:
        self._session.unsubscribe(self._states)


class Bus:
    """A client of the bus, made by `connect()`. It reconnects by itself.

    Where a target is asked for, `"counter/kitchen"` is one store and `"counter"` every store of the type; what reads takes
    patterns, too, such as `"counter/k*"`. Every request is keyed: it commits exactly once, whatever becomes of connections.
    A task that is cancelled while it waits no longer has its request sent again; whether it was committed is unknown.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    async def request(self, op: str, **body: Any) -> JSONObject:
        """Any request of the protocol, and its reply: `await bus.request("history", since=4)`."""
        return await self._session.call({"op": op, **renamed(body)})

    def dispatch(
        self,
        target: str,
        action: str,
        payload: Optional[Mapping[str, Any]] = None,
        *,
        if_revision: Optional[int] = None,
        key: Optional[str] = None,
        delay: Union[None, float, str] = None,
        at: Optional[float] = None,
        timer: Optional[str] = None,
        dry_run: bool = False,
    ) -> "asyncio.Future[JSONObject]":
        """Commits an action now, or `delay` from now or `at` a time, and gives the reply. Not awaited, it is sent all the same."""
        options = {"if_revision": if_revision, "key": key, "delay": delay, "at": at, "timer": timer, "dry_run": dry_run}
        return self._session.call(dispatch_of(target, action, payload, options))

    async def batch(
        self, actions: Iterable[ActionOf], *, key: Optional[str] = None, dry_run: bool = False
    ) -> JSONObject:
        """Several actions as one commit: `await bus.batch([("counter/a", "increment", {"by": 2}), ("door", "lock")])`."""
        return await self._session.call(batch_of(actions, key, dry_run))

    async def create(
        self,
        address: str,
        state: Optional[Mapping[str, Any]] = None,
        *,
        ephemeral: bool = False,
        if_missing: bool = False,
        ttl: Union[None, float, str] = None,
    ) -> JSONObject:
        return await self._session.call(create_of(address, state, ephemeral, if_missing, ttl))

    async def drop(self, address: str) -> JSONObject:
        return await self._session.call({"op": "drop", "store": address})

    async def get(self, address: str, *, select: Optional[Sequence[str]] = None) -> JSONObject:
        """The state of one store."""
        reply = await self._session.call(get_of({"store": address}, select, None))
        return dict(reply["states"][address])

    async def states(self, target: str, *, select: Optional[Sequence[str]] = None) -> Dict[str, JSONObject]:
        """All states that match, page by page."""
        states: Dict[str, JSONObject] = {}
        after: Optional[str] = None
        while True:
            reply = await self._session.call(get_of(pattern_of(target), select, after))
            states.update(reply["states"])
            after = reply.get("next")
            if after is None:
                return states

    async def will(self, actions: Iterable[ActionOf]) -> None:
        """Leaves actions for the end of this client: the bus dispatches them, however it ends."""
        await self._session.call({"op": "will", "actions": actions_of(actions)})

    async def mirror(self, target: str, *, select: Optional[Sequence[str]] = None) -> Mirror:
        """A mirror of all stores that match, once it has their states."""
        body = subscribe_to(target, select)
        return Mirror(self._session, await subscribed(self._session, lambda ready: States(body, ready)))

    async def actions(self, target: str) -> AsyncIterator[Union[Action, Gap]]:
        """Actions as they are committed; a `Gap` where some may be missing: `async for action in await bus.actions("door")`."""
        body = {"op": "subscribe", **pattern_of(target), "actions": True}
        return Feeding((await subscribed(self._session, lambda ready: Actions(body, ready))).feed)

    @property
    def connected(self) -> bool:
        return self._session.open

    @property
    def greeting(self) -> JSONObject:
        """What the bus said of itself at the last connection: `epoch`, `identity`, `limits`, `version`."""
        return self._session.greeting

    async def close(self, timeout: float = 5) -> None:
        """Leaves when everything asked for is answered, or after the timeout; then whoever waits hears `closed`."""
        await self._session.close(timeout)


class Connecting:
    """Both `bus = await connect()` and `async with connect() as bus`."""

    def __init__(self, *options: Any) -> None:
        self._options = options
        self._bus: Bus

    async def _connect(self) -> Bus:
        return Bus(await started(*self._options))

    def __await__(self) -> Generator[Any, None, Bus]:
        return self._connect().__await__()

    async def __aenter__(self) -> Bus:
        self._bus = await self._connect()
        return self._bus

    async def __aexit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        await self._bus.close()


def connect(
    address: Optional[str] = None,
    *,
    client: Optional[str] = None,
    token: Optional[str] = None,
    tls: Optional[ssl.SSLContext] = None,
    session: Optional[str] = None,
    linger: Union[float, str] = 0,
    connect_timeout: float = 5,
    keep_alive: float = 30,
    back_off: Tuple[float, float] = (0.05, 10),
) -> Connecting:
    """Connects to the bus, with the options of `fluxbus.connect()`; time-outs of requests are `asyncio.wait_for`'s."""
    return Connecting(address, client, token, tls, session, linger, connect_timeout, keep_alive, back_off)
