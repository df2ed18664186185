"""The client for asyncio: the same names as those of the one for threads, awaited."""

from __future__ import annotations

import asyncio
import logging
import os
import random
import secrets
import ssl
from collections import deque
from contextlib import suppress
from itertools import count
from typing import Any, Generator, Iterable, Mapping, Sequence, TypeVar, Union, overload

from ._session import Session
from ._subscription import Action, Actions, Change, Feed, Gap, Mirror, Subscription
from ._wire import (
    JSON, ActionOf, Addresses, BusError, Condition, Place, Resolved, S, StepOf, Target, action_of, dispatch_of, late,
    pattern_of, request_of, resolve, step_of, target_of,
)

__all__ = ["Action", "Bus", "BusError", "Change", "Feed", "Gap", "Mirror", "connect"]

#: Records when a connection is lost, and when it is restored.
log = logging.getLogger("fluxbus")
log.addHandler(logging.NullHandler())

T = TypeVar("T")
Duration = Union[float, str]
#: Failures after which another attempt may succeed.
PASSING = frozenset("unreachable untrusted timed_out limit unavailable closed".split())
#: What shows that something is not the protocol, or no longer a connection.
FAULTS = (ValueError, LookupError, TypeError, AttributeError, RecursionError, EOFError, OSError)
CHUNK = 1 << 18


def read_to_the_end(reader: asyncio.StreamReader, transport: asyncio.BaseTransport) -> None:
    """Reads what is left when a write fails: the bus may have said why it ends the connection."""
    protocol = transport.get_protocol()
    connection_lost = protocol.connection_lost

    def lost(error: Exception | None) -> None:
        if isinstance(error, ConnectionError):
            with suppress(OSError):
                while data := os.read(transport.get_extra_info("socket").fileno(), CHUNK):
                    reader.feed_data(data)
            error = None
        connection_lost(error)

    setattr(protocol, "connection_lost", lost)


class Link:
    """Keeps a session connected: begins again when a connection is lost or silent."""

    def __init__(
        self, address: Addresses = None, *, client: str | None = None, token: str | None = None,
        tls: ssl.SSLContext | None = None, session: str | None = None, linger: Duration = 0,
        timeout: float | None = None, connect_timeout: float = 5, patience: float = 0, keep_alive: float = 30,
        back_off: tuple[float, float] = (0.05, 10),
    ) -> None:
        self.timeout, self._patience = timeout, patience
        # The one that answered last comes first.
        self._places, self._tls, self._connect_timeout = deque(resolve(address)), tls, connect_timeout
        self._keep_alive, self._back_off, self._heard = keep_alive, back_off, False
        self._hello: JSON = {"client": client} if client else {}
        if session or linger:
            self._hello.update(session=session or secrets.token_hex(16), linger=linger)
        self._secret = token if token is not None else os.environ.get("FLUXBUS_TOKEN")
        self._session = Session(lambda: self._loop.call_soon_threadsafe(self._flush))
        self._writer: asyncio.StreamWriter | None = None
        self._rest: asyncio.Future[None] | None = None

    async def _start(self) -> None:
        self._loop = asyncio.get_running_loop()
        await self._first()
        self._runner = self._loop.create_task(self._run())

    async def _first(self) -> None:
        """The first connection: one attempt, or as many as the patience allows."""
        deadline = self._loop.time() + self._patience
        for attempt in count():
            try:
                return await self._connect()
            except BusError as error:
                wait = self._wait_after(attempt)
                if error.code not in PASSING or self._loop.time() + wait > deadline:
                    raise
                await asyncio.sleep(wait)

    def _flush(self) -> None:
        if self._writer:
            self._writer.write(self._session.outgoing())

    async def _connect(self) -> None:
        """One attempt at each address, which share its time, up to the bus's greeting."""
        deadline = self._loop.time() + self._connect_timeout
        for left in range(len(self._places), 0, -1):
            try:
                return await self._connect_to(self._places[0], (deadline - self._loop.time()) / left)
            except BusError as error:
                self._places.rotate(-1)
                if error.code not in PASSING or left == 1:
                    raise

    async def _connect_to(self, place: Resolved, timeout: float) -> None:
        # Not `wait_for`: before Python 3.12 it may lose a cancellation, and this would go on when the program ends.
        greeting = self._loop.create_task(self._greet(*place))
        try:
            if not (await asyncio.wait([greeting], timeout=timeout))[0]:
                raise asyncio.TimeoutError
            greeting.result()
        except BaseException as fault:
            greeting.cancel()
            lost = self._disconnect(fault)
            if isinstance(fault, BusError):
                raise
            if isinstance(fault, asyncio.TimeoutError):
                lost = BusError("timed_out", "The bus did not answer in the time allowed; see whether it is busy.")
            elif isinstance(fault, ssl.SSLCertVerificationError):
                lost = BusError("untrusted", f"The bus can't prove that it is the one: {fault.verify_message}.")
            elif isinstance(fault, OSError) and not self._writer:
                lost = BusError("unreachable", f"Nothing answers at {place[1]}: {fault.strerror or fault}.")
            elif not isinstance(fault, FAULTS):
                raise
            raise lost from None

    async def _greet(self, scheme: str, host: str, port: int) -> None:
        self._writer = None
        if scheme == "unix":
            self._reader, self._writer = await asyncio.open_unix_connection(host, limit=CHUNK)
        else:
            context = (self._tls or ssl.create_default_context()) if scheme == "tls" else None
            # A host may have an address that swallows what is sent to it; only asyncio's loops can hurry on.
            is_own = isinstance(self._loop, asyncio.BaseEventLoop)
            delay: dict[str, Any] = {"happy_eyeballs_delay": 0.25} if is_own else {}
            opening = asyncio.open_connection(host, port, ssl=context, limit=CHUNK, **delay)
            self._reader, self._writer = await opening
        if scheme != "tls":
            read_to_the_end(self._reader, self._writer.transport)
        token = {"token": self._secret} if self._secret and scheme != "unix" else {}
        self._session.connected({**self._hello, **token})
        while not self._session.open:
            await self._read()

    async def _read(self) -> None:
        data = await self._reader.read(CHUNK)
        if not data:
            raise EOFError("the connection was lost")
        self._heard = True
        self._session.received(data)

    def _disconnect(self, fault: BaseException) -> BusError:
        if self._writer:
            self._writer.transport.abort()
        is_foreign = isinstance(fault, FAULTS) and not isinstance(fault, (EOFError, OSError))
        return self._session.lost(f"what came does not follow the protocol: {fault}" if is_foreign else str(fault))

    async def _run(self) -> None:
        while not self._session.error:
            watch = self._loop.create_task(self._watch())
            try:
                while True:
                    await self._read()
            except FAULTS as fault:
                # Whoever is told may ask for the next attempt at once.
                self._rest = self._loop.create_future()
                log.warning("%s", self._disconnect(fault).message)
            finally:
                watch.cancel()
            await self._reconnect()

    def _wait_after(self, attempt: int) -> float:
        """Longer after each attempt, and at random, so that a bus's clients do not come back in step."""
        longest: float = min(self._back_off[0] * 2 ** min(attempt, 30), self._back_off[1])
        return longest * random.SystemRandom().uniform(0.5, 1)

    async def _reconnect(self) -> None:
        for attempt in count():
            if self._session.open or self._session.error:
                break
            if attempt or not self._rest:
                self._rest = self._loop.create_future()
            await asyncio.wait([self._rest], timeout=self._wait_after(attempt))
            try:
                await self._connect()
                log.info("connected again to %s", self._places[0][1])
            except BusError as error:
                if error.code not in PASSING:
                    self._session.end(error)

    def reconnect(self) -> None:
        """Makes the next attempt at once, where one is waited for."""
        if self._rest and not self._rest.done():
            self._rest.set_result(None)

    async def _watch(self) -> None:
        """Asks a bus that is silent whether it is there, and gives up a connection that stays silent."""
        silent = 0
        while silent < 2:
            self._heard = False
            await asyncio.sleep(self._keep_alive)
            silent = 0 if self._heard else silent + 1
            if silent == 1:
                self._session.request({"op": "ping"}, own=True)
        # Whoever reads gives the connection up, as where it was lost.
        self._reader.set_exception(EOFError("the bus has said nothing for a long time"))

    async def close(self, timeout: float = 5) -> None:
        """Waits until every request is answered or the timeout has passed, then disconnects: requests still waiting fail with `closed`."""
        if self._session.error:
            return
        deadline = self._loop.time() + timeout
        if self._session.unanswered or self._session.waiting:
            await asyncio.gather(self._ask({"op": "ping"}, timeout), return_exceptions=True)
        if self._session.open and "session" in self._hello:
            left = min(deadline - self._loop.time(), 2)
            leaving = self._ask({"op": "hello", **self._hello, "linger": 0}, left, own=True)
            await asyncio.gather(leaving, return_exceptions=True)
        self._session.end()
        self._runner.cancel()
        self._disconnect(EOFError("closed"))
        if self._writer:
            with suppress(OSError, asyncio.TimeoutError):
                await asyncio.wait_for(self._writer.wait_closed(), 2)

    def _ask(self, body: JSON, timeout: float | None = None, own: bool = False) -> asyncio.Future[JSON]:
        answer: asyncio.Future[JSON] = self._loop.create_future()

        def done(reply: JSON, error: BusError | None) -> None:
            if not answer.done():
                answer.set_exception(error) if error else answer.set_result(reply)

        limit = self.timeout if timeout is None else timeout
        if limit is not None:
            timer = self._loop.call_later(limit, done, {}, late())
            answer.add_done_callback(lambda _: timer.cancel())
        self._session.request(body, done, lambda: not answer.done(), own)
        return answer


class Bus(Link):
    """A client of the bus. It reconnects by itself.

    Where a target is asked for, `"counter/kitchen"` is one store and `"counter"` every store of the type; what reads
    takes patterns, too, such as `"counter/k*"`. Every request is keyed: it commits exactly once, whatever becomes of
    connections. One that has timed out, or whose task is cancelled while it waits, is no longer sent again; whether it
    was committed is unknown.
    """

    def request(self, op: str, /, *, timeout: float | None = None, **members: Any) -> asyncio.Future[JSON]:
        """Any request of the protocol, and its reply: `bus.request("history", since=4)`."""
        return self._ask(request_of(op, {}, members), timeout)

    def dispatch(
        self, target: Place | ActionOf, action: str | None = None, payload: Mapping[str, Any] | None = None, *,
        if_revision: int | None = None, condition: Condition | None = None, where: Condition | None = None,
        returning: str | None = None, key: str | None = None, delay: Duration | None = None, at: float | None = None,
        timer: str | None = None, traceparent: str | None = None, dry_run: bool = False, timeout: float | None = None,
    ) -> asyncio.Future[JSON]:
        """Commits an action now, or `delay` from now or `at` a time, and gives the reply. It is sent at once.

        The action is a target, its name and perhaps a payload; or what a function of printed code makes of them.

        With a `condition`, for one store, it is a `conflict` unless that expression holds for the store's state. With
        `where`, for a type, it goes to the stores for which that expression holds. With
        `returning="changes"` or `"states"` the reply tells what has changed.
        `traceparent` (W3C Trace Context) goes along into events, the log and what follows.
        Where the action `returns` something, the reply has it as `result`, or by the stores' addresses as `results`.
        """
        options = {
            "if_revision": if_revision, "condition": condition, "where": where, "returning": returning, "key": key,
            "delay": delay, "at": at, "timer": timer, "traceparent": traceparent,
        }
        body = dispatch_of(target, action, payload)
        return self._ask(request_of("dispatch", body, {**options, "dry_run": dry_run or None}), timeout)

    def batch(
        self, actions: Iterable[StepOf], *, key: str | None = None, dry_run: bool = False,
        returning: str | None = None, traceparent: str | None = None, timeout: float | None = None,
    ) -> asyncio.Future[JSON]:
        """Several actions as one commit: `bus.batch([("counter/a", "increment", {"by": 2}), ("door", "lock")])`.

        A mapping is an element as the protocol has it, so that stores come and go, and actions have conditions:
        `{"op": "create", "store": "counter/b"}`, `{"store": "counter/a", "action": "reset", "if": "count > 9"}`.
        """
        options = {
            "actions": [step_of(part) for part in actions], "key": key, "dry_run": dry_run or None,
            "returning": returning, "traceparent": traceparent,
        }
        return self._ask(request_of("dispatch", {}, options), timeout)

    def create(
        self, address: Place, state: Mapping[str, Any] | None = None, *, ephemeral: bool = False,
        if_missing: bool = False, ttl: Duration | None = None, key: str | None = None, timeout: float | None = None,
    ) -> asyncio.Future[JSON]:
        options = {
            "state": state, "ephemeral": ephemeral or None, "if_missing": if_missing or None, "ttl": ttl, "key": key,
        }
        return self._ask(request_of("create", {"store": str(address)}, options), timeout)

    def drop(
        self, target: Place, *, if_revision: int | None = None, condition: Condition | None = None,
        where: Condition | None = None, key: str | None = None, timeout: float | None = None,
    ) -> asyncio.Future[JSON]:
        """Drops a store; or, with `where`, the stores of a type for which that expression holds."""
        options = {"if_revision": if_revision, "condition": condition, "where": where, "key": key}
        return self._ask(request_of("drop", target_of(target), options), timeout)

    @overload
    async def get(
        self, address: Target[S], *, select: Sequence[str] | None = None, timeout: float | None = None
    ) -> S: ...
    @overload
    async def get(
        self, address: str, *, select: Sequence[str] | None = None, timeout: float | None = None
    ) -> JSON: ...
    async def get(self, address: Place, *, select: Sequence[str] | None = None, timeout: float | None = None) -> Any:
        """The state of one store."""
        reply = await self._ask(request_of("get", {"store": str(address)}, {"select": select}), timeout)
        return dict(reply["states"][str(address)])

    @overload
    async def states(
        self, target: Target[S], *, where: Condition | None = None, select: Sequence[str] | None = None,
        timeout: float | None = None,
    ) -> dict[str, S]: ...
    @overload
    async def states(
        self, target: str, *, where: Condition | None = None, select: Sequence[str] | None = None,
        timeout: float | None = None,
    ) -> dict[str, JSON]: ...
    async def states(
        self, target: Place, *, where: Condition | None = None, select: Sequence[str] | None = None,
        timeout: float | None = None,
    ) -> dict[str, Any]:
        """All states that match, and for which an expression holds, page by page; the timeout is that of one page."""
        states: dict[str, JSON] = {}
        page: JSON = {"next": None}
        while "next" in page:
            members = {"where": where, "select": select, "after": page["next"]}
            page = await self._ask(request_of("get", pattern_of(target), members), timeout)
            states.update(page["states"])
        return states

    async def will(self, actions: Iterable[ActionOf], *, timeout: float | None = None) -> None:
        """Leaves actions for the end of this client: the bus dispatches them, however it ends."""
        await self._ask({"op": "will", "actions": [action_of(*part) for part in actions]}, timeout)

    @overload
    async def mirror(
        self, target: Target[S], *, where: Condition | None = None, select: Sequence[str] | None = None,
        cause: bool = False, timeout: float | None = None,
    ) -> Mirror[S]: ...
    @overload
    async def mirror(
        self, target: str, *, where: Condition | None = None, select: Sequence[str] | None = None,
        cause: bool = False, timeout: float | None = None,
    ) -> Mirror[JSON]: ...
    async def mirror(
        self, target: Place, *, where: Condition | None = None, select: Sequence[str] | None = None,
        cause: bool = False, timeout: float | None = None,
    ) -> Mirror[Any]:
        """A mirror of all stores that match, and for which an expression holds now, once it has their states. With `cause`
        its changes tell what caused them."""
        body = request_of("subscribe", pattern_of(target), {"where": where, "select": select, "cause": cause or None})
        mirror: Mirror[Any] = Mirror(body, self._session.unsubscribe)
        await self._begin(mirror, timeout)
        return mirror

    async def actions(
        self, target: Place, *, where: Condition | None = None, timeout: float | None = None
    ) -> Feed[Union[Action, Gap]]:
        """Actions as they are committed; a `Gap` where some may be missing. With `where` it is those on stores for which
        that expression holds before or after. With a `timeout`, waiting longer for the next one is `timed_out`."""
        body = request_of("subscribe", pattern_of(target), {"where": where, "actions": True})
        feed = await self._begin(Actions(body, self._session.unsubscribe), None)
        feed.timeout = timeout
        return feed

    async def _begin(self, subscription: Subscription[T], timeout: float | None) -> Feed[T]:
        """Waits for what comes first."""
        feed = subscription.feed(self.timeout if timeout is None else timeout)
        self._session.subscribe(subscription)
        try:
            async for _ in feed:
                return feed
            raise BusError("closed", "The bus was closed by this program.")
        except BaseException:
            self._session.unsubscribe(subscription)
            raise

    @property
    def connected(self) -> bool:
        return self._session.open

    @property
    def greeting(self) -> JSON:
        """What the bus said of itself at the last connection: `epoch`, `identity`, `limits`, `version`."""
        return self._session.greeting

    @property
    def revision(self) -> int:
        """The newest revision that this client has heard of."""
        return self._session.revision

    def __await__(self) -> Generator[Any, None, Bus]:
        return self.__aenter__().__await__()

    async def __aenter__(self) -> Bus:
        await self._start()
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.close()


#: Connects to the bus: `bus = await connect()`, or `async with connect() as bus`.
connect = Bus
