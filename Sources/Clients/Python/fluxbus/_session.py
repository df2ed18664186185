"""One connection after the other to one bus: what is unanswered, what is subscribed, and what happens when it breaks.

Everything here runs in one event loop. The clients for threads and for asyncio stand on it. Three rules keep it short:

- The bus answers in order, so what is unanswered is a queue. A reply that does not belong to the head of it, or anything
  else that does not follow the protocol, ends the connection, and the next one continues from what was exact.
- A request is encoded once. Its key, and what it had seen, are added when it is first written, and stay the same.
- States are never changed in place. A change makes new ones, so what a program holds stays what it was.
"""

import asyncio
import os
import random
import secrets
import ssl
import threading
from collections import deque
from typing import Any, Callable, Coroutine, Deque, Dict, Generic, Iterator, List, Mapping, Optional, Set, Tuple, TypeVar, Union
from weakref import WeakSet

from ._wire import BusError, JSONObject, decode, encode, error_of, merged, resolve

#: A line from the bus may have this many bytes; a longer one ends the connection.
LONGEST_LINE = 64 << 20
#: So many requests may be unanswered; whoever asks for more waits.
WINDOW = 10_000
#: So many changes or actions wait for a consumer; more changes are merged, more actions become a gap.
BACKLOG = 1_000
#: Operations that only read, or that are the same when done twice.
REPEATABLE = frozenset(
    ["get", "stores", "types", "history", "sync", "ping", "stats", "timers", "will", "clients", "unsubscribe"]
)
KEYED = frozenset(["dispatch", "create", "drop", "cancel"])

Done = Callable[[JSONObject, Optional[BusError]], None]
T = TypeVar("T")


class Change:
    """What a mirror has become: states that are new or different, addresses that are gone.

    After a `reset` it stands for everything, and what is not in `states` is gone. `coalesced` commits are merged in it.
    """

    __slots__ = ("revision", "states", "dropped", "reset", "coalesced")

    def __init__(self, revision: int, states: JSONObject, dropped: Set[str], reset: bool, coalesced: int) -> None:
        self.revision, self.states, self.dropped = revision, states, dropped
        self.reset, self.coalesced = reset, coalesced

    def followed_by(self, other: "Change") -> "Change":
        if other.reset:
            return other
        self.revision, self.coalesced = other.revision, self.coalesced + other.coalesced
        for address in other.dropped:
            self.states.pop(address, None)
        self.states.update(other.states)
        self.dropped = (self.dropped | other.dropped).difference(other.states)
        return self


class Action:
    """An action that was committed. `target` is a store's address or a type; `by` says who sent it."""

    __slots__ = ("revision", "target", "action", "payload", "by", "time")

    def __init__(self, event: JSONObject) -> None:
        self.revision: int = event["revision"]
        self.target: str = event["store"] if "store" in event else event["type"]
        self.action: str = event["action"]
        self.payload: JSONObject = event.get("payload", {})
        self.by: JSONObject = event.get("by", {})
        self.time: float = event.get("time", 0)


class Gap:
    """Actions up to and with this revision may be missing."""

    __slots__ = ("revision",)

    def __init__(self, revision: int) -> None:
        self.revision = revision


class Feed(Generic[T]):
    """What waits for one consumer: a bounded queue, which may be emptied from another thread."""

    def __init__(self, combine: Callable[[Deque[T], T], None]) -> None:
        self._queue: Deque[T] = deque()
        self._lock, self._combine = threading.Lock(), combine
        self._ended, self._error = False, None  # type: bool, Optional[BusError]
        self._waiters: List[asyncio.Future[None]] = []

    def push(self, item: T) -> None:
        with self._lock:
            if len(self._queue) < BACKLOG:
                self._queue.append(item)
            else:
                self._combine(self._queue, item)
        self._wake()

    def take(self) -> Optional[T]:
        with self._lock:
            return self._queue.popleft() if self._queue else None

    def end(self, error: Optional[BusError]) -> None:
        if not self._ended:
            self._ended, self._error = True, error
            self._wake()

    def _wake(self) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    def is_over(self) -> bool:
        """Whether nothing more is pushed; raises what it ended with."""
        if self._error and not self._queue:
            raise self._error
        return self._ended

    async def ready(self) -> bool:
        """Waits until there is something to take; `False` after the end."""
        while not self._queue:
            if self.is_over():
                return False
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            await waiter
        return True


def combine_changes(queue: Deque[Change], change: Change) -> None:
    queue[-1] = queue[-1].followed_by(change)


def combine_actions(queue: "Deque[Union[Action, Gap]]", event: Union[Action, Gap]) -> None:
    queue.clear()
    queue.append(Gap(event.revision))


class Subscription:
    """Where one subscription stands, on whatever connection."""

    def __init__(self, body: JSONObject, ready: "asyncio.Future[None]") -> None:
        self.body, self.ready = body, ready
        self.sub: Optional[int] = None
        self.position: Optional[Tuple[int, str]] = None
        self.ended, self.error = False, None  # type: bool, Optional[BusError]

    def wire(self) -> JSONObject:
        point = self.resume_point()
        return {**self.body, "since": point[0], "epoch": point[1]} if point else self.body

    def resume_point(self) -> Optional[Tuple[int, str]]:
        return self.position

    def granted(self, revision: int, epoch: str) -> None:
        self.sub = None

    def take(self, event: JSONObject, epoch: str) -> None:
        raise NotImplementedError

    def end(self, error: Optional[BusError]) -> None:
        self.ended, self.error = True, error
        if not self.ready.done():
            self.ready.set_exception(error or BusError("closed", "The subscription was closed by this program."))
            self.ready.exception()


class States(Subscription):
    """A mirror: the states, exact after every event."""

    def __init__(self, body: JSONObject, ready: "asyncio.Future[None]") -> None:
        super().__init__(body, ready)
        self.states: JSONObject = {}
        # Programs read it from other threads: an iteration is over a copy, which has no half of a change.
        self._lock = threading.Lock()
        self.feeds: WeakSet[Feed[Change]] = WeakSet()
        self._parts: List[JSONObject] = []

    def granted(self, revision: int, epoch: str) -> None:
        self._parts = []

    def take(self, event: JSONObject, epoch: str) -> None:
        if event["event"] == "bookmark":
            self.position = (event["revision"], epoch)
        if event["event"] != "change":
            return
        self._parts.append(event)
        if event.get("more"):
            return
        parts, self._parts = self._parts, []
        reset, start = bool(parts[0].get("reset")), parts[0]["from"]
        if not reset and (self.position is None or start != self.position[0]):
            raise ValueError(f"changes before revision {start} are missing")
        before = {} if reset else self.states
        changed, dropped = {}, set()  # type: JSONObject, Set[str]
        for part in parts:
            changed.update(part.get("states", {}))
            dropped.difference_update(changed)
            for address, patch in part.get("changes", {}).items():
                changed[address] = merged(changed.get(address, before.get(address)), patch)
            for address in part.get("dropped", ()):
                changed.pop(address, None)
                dropped.add(address)
        self._apply(reset, changed, dropped)
        self.position = (event["revision"], epoch)
        if not self.ready.done():
            self.ready.set_result(None)
        if reset or changed or dropped:
            for feed in list(self.feeds):
                # Each its own: one that is merged into must not be another's.
                count = event.get("coalesced", 1)
                feed.push(Change(event["revision"], dict(changed), set(dropped), reset, count))

    def _apply(self, reset: bool, changed: JSONObject, dropped: Set[str]) -> None:
        with self._lock:
            if reset:
                self.states = {}
            self.states.update(changed)
            for address in dropped:
                self.states.pop(address, None)

    def copy(self) -> Dict[str, JSONObject]:
        with self._lock:
            return dict(self.states)

    def end(self, error: Optional[BusError]) -> None:
        super().end(error)
        for feed in list(self.feeds):
            feed.end(error)


class StatesView(Mapping[str, JSONObject]):
    """The states of a mirror by address, for reading: what both kinds of mirrors are."""

    def __init__(self, states: States) -> None:
        self._states = states

    def __getitem__(self, address: str) -> JSONObject:
        state: JSONObject = self._states.states[address]
        return state

    def __iter__(self) -> Iterator[str]:
        return iter(self.copy())

    def copy(self) -> Dict[str, JSONObject]:
        """All states, of one revision."""
        return self._states.copy()

    def __len__(self) -> int:
        return len(self._states.states)

    @property
    def revision(self) -> int:
        """That of the last event: the states are those of this revision, in the bus's `epoch`."""
        return self._states.position[0] if self._states.position else 0

    @property
    def error(self) -> Optional[BusError]:
        """Why nothing more comes, if the bus has ended it."""
        return self._states.error


class Actions(Subscription):
    """Actions as they happen. A commit may hold several: when only some of them came, it is asked for again as a whole, and
    those are skipped."""

    def __init__(self, body: JSONObject, ready: "asyncio.Future[None]") -> None:
        super().__init__(body, ready)
        self.feed: Feed[Union[Action, Gap]] = Feed(combine_actions)
        self._seen, self._skip = 0, 0

    def resume_point(self) -> Optional[Tuple[int, str]]:
        if self.position and self._seen:
            return self.position[0] - 1, self.position[1]
        return self.position

    def granted(self, revision: int, epoch: str) -> None:
        self._skip = self._seen
        if self.position is None:
            self.position = (revision, epoch)
        if not self.ready.done():
            self.ready.set_result(None)

    def take(self, event: JSONObject, epoch: str) -> None:
        revision = event["revision"]
        if event["event"] == "action":
            same = self.position is not None and self.position[0] == revision
            if same and self._skip > 0:
                self._skip -= 1
                return
            self._seen, self._skip = self._seen + 1 if same else 1, 0
            self.feed.push(Action(event))
        else:
            self._seen = self._skip = 0
            if event["event"] == "gap":
                self.feed.push(Gap(revision))
        self.position = (revision, epoch)

    def end(self, error: Optional[BusError]) -> None:
        super().end(error)
        self.feed.end(error)


def outcome_unknown(original: BusError) -> BusError:
    sentence = "The connection was lost, and whether this was committed is unknown: look, then decide."
    return BusError("outcome_unknown", sentence, {"original": original})


def always() -> bool:
    return True


class Request:
    """A request that is not answered yet."""

    __slots__ = ("text", "done", "keyed", "repeats", "own", "line", "id", "is_repeated", "is_wanted")

    def __init__(self, text: bytes, done: Done, keyed: int, repeats: bool, own: bool) -> None:
        self.text, self.done, self.keyed, self.repeats, self.own = text, done, keyed, repeats, own
        self.line, self.id, self.is_repeated = b"", 0, False
        self.is_wanted: Callable[[], bool] = always


class Session(asyncio.Protocol):
    """A client of one bus; `start` once, then any number of requests, then `close`."""

    def __init__(
        self,
        address: Optional[str],
        hello: JSONObject,
        token: Optional[str],
        tls: Optional[ssl.SSLContext],
        back_off: Tuple[float, float],
        connect_timeout: float,
        keep_alive: float,
    ) -> None:
        self.place, self._hello, self._token, self._tls = resolve(address), hello, token, tls
        self._back_off, self._connect_timeout, self._keep_alive = back_off, connect_timeout, keep_alive
        self.loop = asyncio.get_running_loop()
        self.greeting: JSONObject = {}
        self.epoch, self._epoch, self.revision = "", b"", 0
        self.open, self.error = False, None  # type: bool, Optional[BusError]
        self._transport: Optional[asyncio.Transport] = None
        self._greeted: asyncio.Future[None] = self.loop.create_future()
        self._lost: asyncio.Future[None] = self.loop.create_future()
        self._runner: Optional[asyncio.Task[None]] = None
        self._waiting, self._unanswered = deque(), deque()  # type: Deque[Request], Deque[Request]
        self._lines: List[bytes] = []
        self._tail = bytearray()
        self._heard, self._fault = True, ""
        self._timer: Optional[asyncio.TimerHandle] = None
        self._goodbye: JSONObject = {}
        self._closing = False
        self._will: Optional[bytes] = None
        self._subscriptions: List[Subscription] = []
        self._numbers: Dict[int, Subscription] = {}
        self._room: Deque[asyncio.Future[None]] = deque()
        self._random, self._prefix, self._count = random.SystemRandom(), secrets.token_hex(8).encode(), 0

    # Requests

    def request(self, body: JSONObject, done: Done, own: bool = False) -> Request:
        """Sends a request, now or when there is a connection; `done` is called once, with the reply or an error."""
        if self._closing and not own:
            raise self.error or BusError("closed", "The bus is being closed by this program.")
        return self._send(body, done, own)

    def _send(self, body: JSONObject, done: Done, own: bool) -> Request:
        op = body["op"]
        keyed = 0 if op not in KEYED or body.get("dryRun") else 2 if "key" in body else 1
        request = Request(encode(body), done, keyed, bool(keyed) or op in REPEATABLE or op == "dispatch", own)
        if op == "will":
            self._will = request.text
        if self.error:
            done({}, self.error)
        elif self.open or own:
            self._write(request)
        else:
            self._waiting.append(request)
        return request

    def call(self, body: JSONObject) -> "asyncio.Future[JSONObject]":
        """The same for a task: where 10,000 requests are unanswered it waits for room. Who is cancelled does not ask again."""
        if self._is_full() and not self.error:
            return asyncio.ensure_future(self._call_when_there_is_room(body))
        answer: asyncio.Future[JSONObject] = self.loop.create_future()

        def done(reply: JSONObject, error: Optional[BusError]) -> None:
            if not answer.done():
                answer.set_exception(error) if error else answer.set_result(reply)

        self.request(body, done).is_wanted = lambda: not answer.done()
        return answer

    async def _call_when_there_is_room(self, body: JSONObject) -> JSONObject:
        while self._is_full() and not self.error:
            room: asyncio.Future[None] = self.loop.create_future()
            self._room.append(room)
            try:
                await room
            except asyncio.CancelledError:
                self._make_room()
                raise
        return await self.call(body)

    def _is_full(self) -> bool:
        if len(self._unanswered) + len(self._waiting) >= WINDOW and not self.open:
            self._waiting = deque(request for request in self._waiting if request.is_wanted())
        return len(self._unanswered) + len(self._waiting) >= WINDOW

    def _write(self, request: Request) -> None:
        if not request.line:
            self._count = number = self._count + 1
            if request.keyed == 1:
                mark = b'%b,"id":%d,"after":%d,"epoch":"%b","key":"%b-%d"}\n'
                request.line = mark % (request.text, number, self.revision, self._epoch, self._prefix, number)
            elif request.keyed:
                request.line = b'%b,"id":%d,"after":%d,"epoch":"%b"}\n' % (request.text, number, self.revision, self._epoch)
            else:
                request.line = b'%b,"id":%d}\n' % (request.text, number)
            request.id = number
        self._unanswered.append(request)
        if not self._lines:
            self.loop.call_soon(self._flush)
        self._lines.append(request.line)

    def _flush(self) -> None:
        lines, self._lines = self._lines, []
        if self._transport and lines:
            self._transport.write(b"".join(lines))

    def _answered(self, reply: JSONObject) -> None:
        if not self._unanswered:
            raise ValueError("a reply came without a request")
        request, ok, number = self._unanswered[0], reply.get("ok") is True, reply.get("id")
        # A line that the bus could not read is answered without its id.
        if number != request.id and (ok or number is not None):
            raise ValueError("a reply came out of turn")
        self._unanswered.popleft()
        revision = reply.get("revision")
        if ok and isinstance(revision, int) and revision > self.revision:
            self.revision = revision
        error = None if ok else error_of(reply)
        # A conflict over `if_revision` names the store's revision; the other kind can't say whether it was committed before.
        if error and error.code == "conflict" and request.is_repeated and request.keyed and "revision" not in error.details:
            error = outcome_unknown(error)
        request.done(reply, error)
        self._make_room()

    def _make_room(self) -> None:
        free = WINDOW - len(self._unanswered) - len(self._waiting)
        if self._room and (self.error or free > WINDOW // 2):
            for _ in range(len(self._room) if self.error else min(free, len(self._room))):
                room = self._room.popleft()
                if not room.done():
                    room.set_result(None)

    # Subscriptions

    def subscribe(self, subscription: Subscription) -> None:
        self._subscriptions.append(subscription)
        if self.error:
            subscription.end(self.error)
        elif self.open:
            self._ask_for(subscription)

    def _ask_for(self, subscription: Subscription) -> None:
        def done(reply: JSONObject, error: Optional[BusError]) -> None:
            gone = subscription not in self._subscriptions
            if error and not gone:
                self._subscriptions.remove(subscription)
                subscription.end(error)
            elif not error and gone:
                self.request({"op": "unsubscribe", "sub": reply["sub"]}, lambda _reply, _error: None, own=True)
            elif not error:
                subscription.granted(reply["revision"], reply["epoch"])
                subscription.sub = reply["sub"]
                self._numbers[reply["sub"]] = subscription

        self.request(subscription.wire(), done, own=True)

    def unsubscribe(self, subscription: Subscription) -> None:
        if subscription in self._subscriptions:
            self._subscriptions.remove(subscription)
            number = subscription.sub
            if self._numbers.get(number or 0) is subscription:
                del self._numbers[number or 0]
                self.request({"op": "unsubscribe", "sub": number}, lambda _reply, _error: None, own=True)
            subscription.end(None)

    # The connection

    async def start(self) -> None:
        await self._attempt()
        self._runner = self.loop.create_task(self._run())

    async def _run(self) -> None:
        attempt = 0
        while not self.error:
            await self._lost
            attempt = 0
            while not self.open and not self.error:
                # Cut at random by up to half, so that many clients of one bus do not come back in step.
                full = min(self._back_off[0] * 2 ** min(attempt, 30), self._back_off[1])
                if self._transport:
                    await self._lost
                await asyncio.sleep(full * self._random.uniform(0.5, 1))
                attempt += 1
                try:
                    await self._attempt()
                except BusError as error:
                    if error.code not in ("unreachable", "untrusted", "timed_out", "limit", "unavailable", "closed"):
                        self.end(error)

    async def _attempt(self) -> None:
        scheme, host, port = self.place
        self._greeted, self._lost = self.loop.create_future(), self.loop.create_future()
        self._goodbye, self._fault, self._transport = {}, "", None
        context = (self._tls or ssl.create_default_context()) if scheme == "tls" else None
        try:
            opening: Coroutine[Any, Any, Any] = (
                self.loop.create_unix_connection(lambda: self, host)
                if scheme == "unix"
                else self.loop.create_connection(lambda: self, host, port, ssl=context)
            )
            await asyncio.wait_for(self._greet(opening), self._connect_timeout)
        except asyncio.TimeoutError:
            self._abort("no answer in time")
            raise BusError("timed_out", "The bus did not answer in the time allowed; see whether it is busy.") from None
        except ssl.SSLCertVerificationError as error:
            raise BusError("untrusted", f"The bus can't prove that it is the one: {error.verify_message}.") from None
        except OSError as error:
            raise BusError("unreachable", f"Nothing answers at {host}: {error.strerror or error}.") from None
        except BaseException:
            self._abort("given up")
            raise

    async def _greet(self, opening: "Coroutine[Any, Any, Any]") -> None:
        await opening
        await self._greeted

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport, self._tail, self._heard = transport, bytearray(), True
        body = {"op": "hello", "protocol": 1, **self._hello}
        if self._token and self.place[0] != "unix":
            body["token"] = self._token
        self.request(body, self._on_hello, own=True)

    def _on_hello(self, reply: JSONObject, error: Optional[BusError]) -> None:
        if error:
            return self._greeted.set_exception(error) if not self._greeted.done() else None
        if reply["epoch"] != self.epoch:
            self.epoch, self._epoch, self.revision = reply["epoch"], reply["epoch"].encode(), reply["revision"]
        self.greeting, self.open = reply, True
        if self._will and not reply.get("resumed"):
            self._write(Request(self._will, lambda _reply, _error: None, 0, True, True))
        for subscription in self._subscriptions:
            self._ask_for(subscription)
        waiting, self._waiting = self._waiting, deque()
        for request in waiting:
            if request.is_wanted():
                self._write(request)
        self._make_room()
        self._watch(self._transport)
        if not self._greeted.done():
            self._greeted.set_result(None)

    def _watch(self, transport: Optional[asyncio.Transport], asked: bool = False) -> None:
        """Asks a connection that is silent whether it is still one."""
        if transport is not self._transport or not self.open:
            return
        if self._heard:
            self._heard, asked = False, False
        elif asked:
            return self._abort("the bus has said nothing for a long time")
        else:
            asked = True
            self.request({"op": "ping"}, lambda _reply, _error: None, own=True)
        self._timer = self.loop.call_later(self._keep_alive, self._watch, transport, asked)

    def data_received(self, data: bytes) -> None:
        self._heard = True
        if b"\n" not in data:
            self._tail += data
            if len(self._tail) > LONGEST_LINE:
                self._abort("a line is too long")
            return
        lines = data.split(b"\n")
        lines[0], self._tail = bytes(self._tail) + lines[0], bytearray(lines.pop())
        try:
            for line in lines:
                if line and not self._fault:
                    self._take(decode(line))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            self._abort(f"what came does not follow the protocol: {error}")

    def _take(self, message: JSONObject) -> None:
        event = message.get("event")
        if event is None:
            return self._answered(message)
        if event == "goodbye":
            self._goodbye = message
            return
        subscription = self._numbers.get(message.get("sub", 0))
        if subscription:
            subscription.take(message, self.epoch)
            if message["revision"] > self.revision and not message.get("more"):
                self.revision = message["revision"]

    def _abort(self, fault: str) -> None:
        self._fault = self._fault or fault
        if self._transport:
            self._transport.abort()

    def connection_lost(self, _error: Optional[Exception]) -> None:
        self.open, self._lines, self._numbers, self._transport = False, [], {}, None
        if self._timer:
            self._timer.cancel()
        unanswered, self._unanswered = self._unanswered, deque()
        why = self._goodbye.get("message") or self._fault or "the connection was lost"
        lost = BusError("closed", f"The connection to the bus has ended: {why}", {"reason": self._goodbye.get("code")})
        again: Deque[Request] = deque()
        for request in unanswered:
            request.is_repeated = True
            if not request.own and request.repeats:
                again.append(request)
            elif not request.own:
                request.done({}, outcome_unknown(lost))
        self._waiting = again + self._waiting
        if self._goodbye.get("code") == "protocol":
            self.end(lost)
        if not self._greeted.done():
            self._greeted.set_exception(lost)
            self._greeted.exception()
        if not self._lost.done():
            self._lost.set_result(None)

    def end(self, error: BusError) -> None:
        """No connection after this one: whoever waits hears why."""
        if self.error:
            return
        self.error = error
        for request in list(self._unanswered) + list(self._waiting):
            # What was written once may have been committed.
            is_known = not request.line or request.repeats and not request.keyed
            request.done({}, error if is_known else outcome_unknown(error))
        self._unanswered.clear()
        self._waiting.clear()
        for subscription in self._subscriptions:
            subscription.end(None if error.code == "closed" and not error.details else error)
        self._make_room()
        self._abort(error.message)

    async def close(self, timeout: float) -> None:
        """Leaves when everything submitted is answered, or after the timeout: then who waits hears `closed`. A session's
        will and ephemeral stores go."""
        if self._closing:
            return
        self._closing = True
        transport, lost = self._transport, self._lost
        if self._unanswered or self._waiting:
            await self._answer_to({"op": "ping"}, timeout, own=False)
        if self.open and self._hello.get("session"):
            await self._answer_to({"op": "hello", **self._hello, "linger": 0}, min(timeout, 2), own=True)
        self.end(BusError("closed", "The bus was closed by this program."))
        if self._runner:
            self._runner.cancel()
        if transport and not lost.done():
            await asyncio.wait([lost], timeout=2)

    async def _answer_to(self, body: JSONObject, timeout: float, own: bool) -> None:
        answered: asyncio.Future[None] = self.loop.create_future()
        self._send(body, lambda _reply, _error: None if answered.done() else answered.set_result(None), own)
        await asyncio.wait([answered], timeout=timeout)


async def started(
    address: Optional[str],
    client: Optional[str],
    token: Optional[str],
    tls: Optional[ssl.SSLContext],
    session: Optional[str],
    linger: Union[float, str],
    connect_timeout: float,
    keep_alive: float,
    back_off: Tuple[float, float],
) -> Session:
    hello: JSONObject = {"client": client} if client else {}
    if session or linger:
        hello.update(session=session or secrets.token_hex(16), linger=linger)
    secret = token if token is not None else os.environ.get("FLUXBUS_TOKEN")
    begun = Session(address, hello, secret, tls, back_off, connect_timeout, keep_alive)
    await begun.start()
    return begun


S = TypeVar("S", bound=Subscription)


async def subscribed(session: Session, make: "Callable[[asyncio.Future[None]], S]") -> S:
    """A subscription that the bus has granted, and answered with its first states if it has any."""
    subscription = make(session.loop.create_future())
    session.subscribe(subscription)
    try:
        await subscription.ready
    except BaseException:
        session.unsubscribe(subscription)
        raise
    return subscription
