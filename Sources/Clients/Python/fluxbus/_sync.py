"""The client for ordinary code: a session in a thread of its own, which any number of threads may use."""

import asyncio
import concurrent.futures
import ssl
import threading
from collections import deque
from types import TracebackType
from typing import (
    Any,
    Coroutine,
    Deque,
    Dict,
    Generic,
    Iterable,
    Iterator,
    Mapping,
    Optional,
    Sequence,
    Tuple,
    Type,
    TypeVar,
    Union,
)

from ._session import (
    WINDOW,
    Action,
    Actions,
    Change,
    Feed,
    Gap,
    Session,
    States,
    StatesView,
    combine_changes,
    started,
    subscribed,
)
from ._wire import ActionOf, BusError, JSONObject, actions_of, batch_of, create_of, dispatch_of, get_of, pattern_of, renamed, subscribe_to

T = TypeVar("T")


class Pending:
    """A request under way. `result()` waits for its reply."""

    __slots__ = ("_bus", "_reply", "_error", "_event", "_done", "_wanted")

    def __init__(self, bus: "Bus") -> None:
        self._bus, self._done, self._wanted = bus, False, True
        self._reply: JSONObject = {}
        self._error: Optional[BusError] = None
        self._event: Optional[threading.Event] = None

    def done(self) -> bool:
        return self._done

    def result(self, timeout: Optional[float] = None) -> JSONObject:
        """The reply, or the `BusError`. After `timeout` seconds, those of the bus without one, it is `timed_out`."""
        if not self._wait(self._bus.timeout if timeout is None else timeout):
            self._wanted = False
            raise BusError(
                "timed_out",
                "The bus did not answer in the time allowed; whether this was committed is unknown: look, then decide.",
            )
        if self._error:
            raise self._error
        return self._reply

    def _wait(self, timeout: Optional[float]) -> bool:
        if self._done:
            return True
        with self._bus._lock:
            event = self._event = self._event or threading.Event()
        # Whoever settles it marks it done first and looks for the event then: one of the two sees the other.
        return self._done or event.wait(timeout)

    def _settle(self, reply: JSONObject, error: Optional[BusError]) -> None:
        self._reply, self._error, self._done = reply, error, True
        if self._event:
            self._event.set()

    def _is_wanted(self) -> bool:
        return self._wanted


class Feeding(Generic[T]):
    """Items as they come; ends when the bus or what they are of is closed. For one thread."""

    def __init__(self, bus: "Bus", feed: Feed[T], timeout: Optional[float]) -> None:
        self._bus, self._feed, self._timeout = bus, feed, timeout

    def __iter__(self) -> "Feeding[T]":
        return self

    def __next__(self) -> T:
        while True:
            item = self._feed.take()
            if item is not None:
                return item
            if self._feed.is_over() or not self._bus._run(self._feed.ready(), self._timeout):
                raise StopIteration


class Mirror(StatesView):
    """The states of all stores that match, by address, kept as they are on the bus.

    What it gives is never changed later: a change makes new states. It is read from any thread without waiting.
    """

    def __init__(self, bus: "Bus", states: States) -> None:
        super().__init__(states)
        self._bus = bus

    def changes(self, timeout: Optional[float] = None) -> Iterator[Change]:
        """Every change from now on. A consumer that falls far behind gets several as one. With a `timeout`, waiting longer
        for the next one is `timed_out`."""
        feed = Feed(combine_changes)
        if self._bus._run(self._added(feed)):
            return Feeding(self._bus, feed, timeout)
        return iter(())

    async def _added(self, feed: Feed[Change]) -> bool:
        self._states.feeds.add(feed)
        if self._states.ended:
            feed.end(self._states.error)
        return True

    def close(self) -> None:
        with self._bus._lock:
            if not self._bus._stopped:
                self._bus._loop.call_soon_threadsafe(self._bus._session.unsubscribe, self._states)


class Bus:
    """A client of the bus, made by `connect()`. It reconnects by itself; any number of threads may use it.

    Where a target is asked for, `"counter/kitchen"` is one store and `"counter"` every store of the type; what reads takes
    patterns, too, such as `"counter/k*"`. Every request is keyed: it commits exactly once, whatever becomes of connections.
    """

    def __init__(self, timeout: Optional[float]) -> None:
        self.timeout = timeout
        self._session: Session
        self._loop, self._lock = asyncio.new_event_loop(), threading.Lock()
        self._submitted: Deque[Tuple[JSONObject, Pending]] = deque()
        self._window: Deque[Pending] = deque()
        self._stopped = False
        self._thread = threading.Thread(target=self._serve, name="fluxbus", daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        self._loop.run_forever()
        # Whoever waits has been told that it is over, and gets to hear it.
        for _ in range(2):
            tasks = asyncio.all_tasks(self._loop)
            if tasks:
                self._loop.run_until_complete(asyncio.wait(tasks, timeout=1))
            for task in asyncio.all_tasks(self._loop):
                task.cancel()
            self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.close()

    def _run(self, work: "Coroutine[Any, Any, T]", timeout: Optional[float] = None) -> T:
        with self._lock:
            if self._stopped:
                work.close()
                raise BusError("closed", "The bus was closed by this program.")
            future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result(timeout)
        except concurrent.futures.CancelledError:
            raise BusError("closed", "The bus was closed by this program.") from None
        except concurrent.futures.TimeoutError:
            raise BusError("timed_out", "Nothing came in the time allowed.") from None
        finally:
            future.cancel()

    def _hand_over(self) -> None:
        """In the loop's thread: everything that was submitted since it was woken."""
        while self._submitted:
            body, pending = self._submitted.popleft()
            try:
                self._session.request(body, pending._settle).is_wanted = pending._is_wanted
            except BusError as error:
                pending._settle({}, error)
            except (ValueError, TypeError, RecursionError) as error:
                pending._settle({}, BusError("invalid_request", f"This can't be written as JSON: {error}."))

    def _wake(self) -> None:
        with self._lock:
            if not self._stopped:
                self._loop.call_soon_threadsafe(self._hand_over)
                return
        self._refuse_submitted()

    def _refuse_submitted(self) -> None:
        with self._lock:
            submitted, self._submitted = self._submitted, deque()
        for _, pending in submitted:
            pending._settle({}, BusError("closed", "The bus was closed by this program."))

    def _send(self, body: JSONObject) -> Pending:
        pending = Pending(self)
        while len(self._window) >= WINDOW:
            with self._lock:
                oldest = self._window[0]
            if not oldest._wait(self.timeout):
                raise BusError("timed_out", "There was no room in the time allowed; this was not committed.")
            with self._lock:
                if self._window and self._window[0] is oldest:
                    self._window.popleft()
        with self._lock:
            first = not self._submitted
            self._submitted.append((body, pending))
            self._window.append(pending)
        if first:
            self._wake()
        return pending

    def send(self, op: str, **body: Any) -> Pending:
        """Sends any request of the protocol, without waiting for its reply."""
        return self._send({"op": op, **renamed(body)})

    def request(self, op: str, *, timeout: Optional[float] = None, **body: Any) -> JSONObject:
        """Any request of the protocol, and its reply: `bus.request("history", since=4)`."""
        return self.send(op, **body).result(timeout)

    def submit(
        self, target: str, action: str, payload: Optional[Mapping[str, Any]] = None, **options: Any
    ) -> Pending:
        """Dispatches without waiting for the reply, with the options of `dispatch`. Where 10,000 requests are unanswered it
        waits for room."""
        return self._send(dispatch_of(target, action, payload, options))

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
        timeout: Optional[float] = None,
    ) -> JSONObject:
        """Commits an action now, or `delay` from now or `at` a time, and gives the reply."""
        options = {"if_revision": if_revision, "key": key, "delay": delay, "at": at, "timer": timer}
        return self.submit(target, action, payload, dry_run=dry_run, **options).result(timeout)

    def batch(self, actions: Iterable[ActionOf], *, key: Optional[str] = None, dry_run: bool = False) -> JSONObject:
        """Several actions as one commit: `bus.batch([("counter/a", "increment", {"by": 2}), ("counter/b", "reset")])`."""
        return self._send(batch_of(actions, key, dry_run)).result()

    def create(
        self,
        address: str,
        state: Optional[Mapping[str, Any]] = None,
        *,
        ephemeral: bool = False,
        if_missing: bool = False,
        ttl: Union[None, float, str] = None,
    ) -> JSONObject:
        return self._send(create_of(address, state, ephemeral, if_missing, ttl)).result()

    def drop(self, address: str) -> JSONObject:
        return self._send({"op": "drop", "store": address}).result()

    def get(self, address: str, *, select: Optional[Sequence[str]] = None) -> JSONObject:
        """The state of one store."""
        reply = self._send(get_of({"store": address}, select, None)).result()
        return dict(reply["states"][address])

    def states(self, target: str, *, select: Optional[Sequence[str]] = None) -> Dict[str, JSONObject]:
        """All states that match, page by page."""
        states: Dict[str, JSONObject] = {}
        after: Optional[str] = None
        while True:
            reply = self._send(get_of(pattern_of(target), select, after)).result()
            states.update(reply["states"])
            after = reply.get("next")
            if after is None:
                return states

    def will(self, actions: Iterable[ActionOf]) -> None:
        """Leaves actions for the end of this client: the bus dispatches them, however it ends."""
        self._send({"op": "will", "actions": actions_of(actions)}).result()

    def mirror(
        self, target: str, *, select: Optional[Sequence[str]] = None, timeout: Optional[float] = None
    ) -> Mirror:
        """A mirror of all stores that match, once it has their states."""
        body = subscribe_to(target, select)
        states = self._run(subscribed(self._session, lambda ready: States(body, ready)), timeout or self.timeout)
        return Mirror(self, states)

    def actions(self, target: str, *, timeout: Optional[float] = None) -> Iterator[Union[Action, Gap]]:
        """Actions as they are committed; a `Gap` where some may be missing."""
        body = {"op": "subscribe", **pattern_of(target), "actions": True}
        actions = self._run(subscribed(self._session, lambda ready: Actions(body, ready)), self.timeout)
        return Feeding(self, actions.feed, timeout)

    @property
    def connected(self) -> bool:
        return self._session.open

    @property
    def greeting(self) -> JSONObject:
        """What the bus said of itself at the last connection: `epoch`, `identity`, `limits`, `version`."""
        return self._session.greeting

    def close(self, timeout: float = 5) -> None:
        """Leaves when everything submitted is answered, or after the timeout; then whoever waits hears `closed`."""
        if self._stopped:
            return
        try:
            self._run(self._session.close(timeout))
        finally:
            self._stop()

    def _stop(self) -> None:
        with self._lock:
            if not self._stopped:
                self._stopped = True
                self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._refuse_submitted()

    def __enter__(self) -> "Bus":
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()


def connect(
    address: Optional[str] = None,
    *,
    client: Optional[str] = None,
    token: Optional[str] = None,
    tls: Optional[ssl.SSLContext] = None,
    session: Optional[str] = None,
    linger: Union[float, str] = 0,
    timeout: Optional[float] = 30,
    connect_timeout: float = 5,
    keep_alive: float = 30,
    back_off: Tuple[float, float] = (0.05, 10),
) -> Bus:
    """Connects to the bus at `address`, such as `unix:/run/fluxbus/bus.sock` or `tls:bus.example:7412`, else at
    `$FLUXBUS_ADDRESS`, else at this machine's. One attempt; a connection that is lost later is made again by itself.

    `token` (else `$FLUXBUS_TOKEN`) says who this is beyond this machine; `tls` is an `ssl.SSLContext`. With `linger` in
    seconds the bus keeps the will and the ephemeral stores that long after a lost connection, under the name `session`.
    `timeout` is how many seconds a request may take; `back_off` the first and the longest wait before reconnecting.
    """
    bus = Bus(timeout)
    try:
        options = (address, client, token, tls, session, linger, connect_timeout, keep_alive, back_off)
        bus._session = bus._run(started(*options))
    except BaseException:
        bus._stop()
        raise
    return bus
