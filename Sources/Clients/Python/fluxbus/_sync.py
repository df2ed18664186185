"""The client for ordinary code: that for asyncio in a thread of its own, which any number of threads may use."""

from __future__ import annotations

import asyncio
import functools
import ssl
import threading
from collections import deque
from typing import TYPE_CHECKING, Any, Awaitable, Callable, Coroutine, Deque, Mapping, Sequence, TypeVar, overload
from weakref import ReferenceType, ref

from . import aio
from ._session import WINDOW
from ._subscription import Mirror, bounded
from ._wire import JSON, ActionOf, Addresses, BusError, Condition, Place, S, Target, dispatch_of, late, request_of

if TYPE_CHECKING:
    from typing_extensions import Concatenate, ParamSpec

    P = ParamSpec("P")

T = TypeVar("T")


class Pending:
    """A request under way. `result()` waits for its reply."""

    __slots__ = ("_timeout", "_is_wanted", "_latch", "_reply", "_error", "__weakref__")

    def __init__(self, timeout: float | None) -> None:
        self._timeout, self._is_wanted, self._latch = timeout, True, threading.Lock()
        self._reply, self._error = {}, None  # type: JSON, BusError | None
        self._latch.acquire()

    def done(self) -> bool:
        return not self._latch.locked()

    def result(self, timeout: float | None = None) -> JSON:
        """The reply, or the `BusError`. After `timeout` seconds, those of the request or the bus without one, it is `timed_out`."""
        if not self._wait(self._timeout if timeout is None else timeout):
            self._is_wanted = False
            raise late()
        if self._error:
            raise self._error
        return self._reply

    def _wait(self, timeout: float | None) -> bool:
        is_done = self._latch.acquire(timeout=bounded(timeout))
        if is_done:
            self._latch.release()
        return is_done

    def _settle(self, reply: JSON, error: BusError | None) -> None:
        self._reply, self._error = reply, error
        self._latch.release()


def blocking(method: Callable[Concatenate[aio.Bus, P], Awaitable[T]]) -> Callable[Concatenate[Bus, P], T]:
    """The same for a thread, which waits."""

    @functools.wraps(method)
    def wait(self: Bus, /, *args: P.args, **options: P.kwargs) -> T:
        async def work() -> T:
            return await method(self._bus, *args, **options)

        return self._run(work())

    return wait


class Bus:
    """A client of the bus, made by `connect()`. It reconnects by itself; any number of threads may use it.

    Where a target is asked for, `"counter/kitchen"` is one store and `"counter"` every store of the type; what reads
    takes patterns, too, such as `"counter/k*"`. Every request is keyed: it commits exactly once, whatever becomes of
    connections. A handler of the logger `fluxbus` can't wait for it.
    """

    def __init__(self, timeout: float | None) -> None:
        self.timeout, self._is_closed = timeout, False
        self._bus: aio.Bus
        # One that is answered is kept by the program alone.
        self._window: Deque[ReferenceType[Pending]] = deque()
        self._loop, self._lock = asyncio.new_event_loop(), threading.Lock()
        self._thread = threading.Thread(target=self._serve, name="fluxbus", daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        self._loop.run_forever()
        self._loop.close()

    def _is_inside(self) -> bool:
        """Whether the client calls the program, which is in a handler of its logger: what waits there waits for itself."""
        return threading.current_thread() is self._thread

    request = blocking(aio.Bus.request)
    dispatch = blocking(aio.Bus.dispatch)
    batch = blocking(aio.Bus.batch)
    create = blocking(aio.Bus.create)
    drop = blocking(aio.Bus.drop)
    will = blocking(aio.Bus.will)
    actions = blocking(aio.Bus.actions)

    @overload
    def get(
        self, address: Target[S], *, select: Sequence[str] | None = None, timeout: float | None = None
    ) -> S: ...
    @overload
    def get(self, address: str, *, select: Sequence[str] | None = None, timeout: float | None = None) -> JSON: ...
    @functools.wraps(aio.Bus.get)
    def get(self, address: Place, **options: Any) -> Any:
        return self._run(self._bus.get(address, **options))

    @overload
    def states(
        self, target: Target[S], *, where: Condition | None = None, select: Sequence[str] | None = None,
        timeout: float | None = None,
    ) -> dict[str, S]: ...
    @overload
    def states(
        self, target: str, *, where: Condition | None = None, select: Sequence[str] | None = None,
        timeout: float | None = None,
    ) -> dict[str, JSON]: ...
    @functools.wraps(aio.Bus.states)
    def states(self, target: Place, **options: Any) -> dict[str, Any]:
        return self._run(self._bus.states(target, **options))

    @overload
    def mirror(
        self, target: Target[S], *, where: Condition | None = None, select: Sequence[str] | None = None,
        cause: bool = False, timeout: float | None = None,
    ) -> Mirror[S]: ...
    @overload
    def mirror(
        self, target: str, *, where: Condition | None = None, select: Sequence[str] | None = None,
        cause: bool = False, timeout: float | None = None,
    ) -> Mirror[JSON]: ...
    @functools.wraps(aio.Bus.mirror)
    def mirror(self, target: Place, **options: Any) -> Mirror[Any]:
        return self._run(self._bus.mirror(target, **options))

    def send(self, op: str, /, *, timeout: float | None = None, **members: Any) -> Pending:
        """Sends any request of the protocol, without waiting for its reply."""
        return self._send(request_of(op, {}, members), timeout)

    def submit(
        self, target: Place | ActionOf, action: str | None = None, payload: Mapping[str, Any] | None = None, *,
        timeout: float | None = None, **options: Any,
    ) -> Pending:
        """Dispatches without waiting for the reply, with the options of `dispatch`. Where 10,000 requests are
        unanswered it waits for room."""
        return self._send(request_of("dispatch", dispatch_of(target, action, payload), options), timeout)

    def _send(self, body: JSON, timeout: float | None) -> Pending:
        pending = Pending(self.timeout if timeout is None else timeout)
        # The bus may have begun a new one when there is room.
        epoch = self._bus._session.epoch
        with self._lock:
            oldest = self._window.popleft()() if len(self._window) >= WINDOW else None
            self._window.append(ref(pending))
        if oldest and oldest._is_wanted and not oldest._wait(0 if self._is_inside() else self.timeout):
            pending._is_wanted = False
            raise BusError("timed_out", "There was no room in the time allowed; this was not committed.")
        self._bus._session.request(body, pending._settle, lambda: pending._is_wanted, epoch=epoch)
        return pending

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        with self._lock:
            if self._is_closed or self._is_inside():
                work.close()
            if self._is_closed:
                raise BusError("closed", "The bus was closed by this program.")
            if self._is_inside():
                sentence = "A handler of the logger can't wait for the bus, which calls it: use `send`, or another thread."
                raise BusError("invalid_request", sentence)
            future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        finally:
            future.cancel()

    @property
    def connected(self) -> bool:
        return self._bus.connected

    @property
    def greeting(self) -> JSON:
        """What the bus said of itself at the last connection: `epoch`, `identity`, `limits`, `version`."""
        return self._bus.greeting

    @property
    def revision(self) -> int:
        """The newest revision that this client has heard of."""
        return self._bus.revision

    def reconnect(self) -> None:
        """Makes the next attempt at once, where one is waited for."""
        with self._lock:
            if not self._is_closed:
                self._loop.call_soon_threadsafe(self._bus.reconnect)

    def close(self, timeout: float = 5) -> None:
        """Waits until every request is answered or the timeout has passed, then disconnects: requests still waiting fail with `closed`.
        A handler of the logger does not wait for that."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
            future = asyncio.run_coroutine_threadsafe(self._end(timeout), self._loop)
        if self._is_inside():
            future.add_done_callback(lambda _: self._loop.stop())
        else:
            future.result()
            self._stop()

    async def _end(self, timeout: float) -> None:
        await self._bus.close(timeout)
        waiting = asyncio.all_tasks() - {asyncio.current_task()}
        if waiting: 
            await asyncio.wait(waiting, timeout=1)

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def __enter__(self) -> Bus:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


def connect(
    address: Addresses = None, *, client: str | None = None, token: str | None = None,
    tls: ssl.SSLContext | None = None, session: str | None = None, linger: aio.Duration = 0,
    timeout: float | None = 30, connect_timeout: float = 5, patience: float = 0, keep_alive: float = 30,
    back_off: tuple[float, float] = (0.05, 10),
) -> Bus:
    """Connects to the bus at `address`, such as `unix:/run/fluxbus/bus.sock` or `tls:bus.example:7412`, else at
    `$FLUXBUS_ADDRESS`, else at this machine's. Several, in a list or between commas, are the members of one bus, of
    which one that answers is taken. One attempt, or as many as `patience` seconds allow; a connection
    that is lost later is made again by itself.

    `token` (else `$FLUXBUS_TOKEN`) says who this is beyond this machine; `tls` is an `ssl.SSLContext`. With `linger` in
    seconds the bus keeps the will and the ephemeral stores that long after a lost connection, under the name `session`.
    `timeout` is how many seconds a request may take; `back_off` the first and the longest wait before reconnecting.
    """

    async def begin() -> aio.Bus:
        return await aio.connect(
            address, client=client, token=token, tls=tls, session=session, linger=linger, timeout=timeout,
            connect_timeout=connect_timeout, patience=patience, keep_alive=keep_alive, back_off=back_off,
        )

    bus = Bus(timeout)
    try:
        bus._bus = bus._run(begin())
    except BaseException:
        bus._stop()
        raise
    return bus
