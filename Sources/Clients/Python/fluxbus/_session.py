"""A client of one bus without its connections: bytes come in, bytes and answers go out, whatever connection there is.

- The bus answers in order, so what is unanswered is a queue. A reply that does not belong to the head of it, or
  anything else that does not follow the protocol, ends the connection, and the next one continues from what was exact.
- A request is encoded once. What it had seen is added when it is first written, and stays the same.
"""

from __future__ import annotations

import secrets
import threading
from collections import deque
from itertools import count
from typing import Any, Callable, Deque

from ._subscription import Subscription
from ._wire import JSON, BusError, decode, error_of, late, outcome_unknown, parts_of, written

#: A line from the bus may have this many bytes; a longer one ends the connection.
LONGEST_LINE = 64 << 20
#: So many requests are unanswered at once; others wait.
WINDOW = 10_000
#: Operations that carry a key, and those that only read or are the same when done twice.
KEYED = frozenset("dispatch create drop cancel".split())
REPEATABLE = frozenset("get stores types history blame samples sync ping stats timers will clients dispatch".split())
#: They can't say whether a request was committed before: the bus has not looked for its key, or, with conflict, can't remember it.
UNSURE = frozenset("conflict forbidden unknown_type too_large limit unavailable".split())
#: Members that name a revision, which means nothing in another epoch.
REVISIONS = frozenset("ifRevision revision since until".split())
ELSEWHERE = "The bus began a new epoch after this was asked for, in which the revision that it names means another state."

Done = Callable[[JSON, "BusError | None"], object]
IsWanted = Callable[[], bool]


def ignore(_reply: JSON, _error: BusError | None) -> None:
    """For who does not wait for a reply."""


class Request:
    """A request that is not answered yet. One of the connection's `own` is not repeated on another."""

    __slots__ = (
        "number", "line", "done", "is_wanted", "keyed", "repeats", "own", "written", "tells_seen", "seen", "will",
        "names_revision", "epoch", "ephemeral", "torn",
    )

    def __init__(self, number: int, prefix: str, body: JSON, done: Done, is_wanted: IsWanted, own: bool) -> None:
        self.number, self.done, self.is_wanted, self.own, self.written = number, done, is_wanted, own, 0
        self.keyed = body["op"] in KEYED and not body.get("dryRun")
        self.repeats = self.keyed or body["op"] in REPEATABLE
        self.tells_seen = self.keyed and not ("after" in body or "epoch" in body)
        text, parts = written(body), parts_of(body)
        #: What the program changes later is not left again.
        self.will, self.seen = decode(text.decode()) if body["op"] == "will" else None, b""
        #: The epoch of the revision that it names, where there is one.
        self.names_revision, self.epoch = any(REVISIONS & part.keys() for part in parts), ""
        #: It makes a store that goes with its session, which may have ended since it was first written.
        self.ephemeral, self.torn = self.keyed and any(part.get("ephemeral") for part in parts), False
        key = f',"key":"{prefix}-{number}"' if self.keyed and "key" not in body else ""
        self.line = f'{{"id":{number}{key},'.encode() + text[1:-1]

    def fits(self, epoch: str) -> bool:
        """Whether it means there what it meant when it was made. One with a key says so itself once it was written."""
        return self.epoch in ("", epoch) or bool(self.keyed and self.written)


class Session:
    """Requests and subscriptions, for any thread. `wake` is called when there is something to send."""

    def __init__(self, wake: Callable[[], object]) -> None:
        self._wake, self._lock = wake, threading.RLock()
        self.open, self.greeting, self._goodbye = False, {}, {}  # type: bool, JSON, JSON
        self.error: BusError | None = None
        self.revision, self.epoch, self._rest = 0, "", bytearray()
        self._numbers, self._prefix = count(1), secrets.token_hex(8)
        self._lines: list[bytes] = []
        self.unanswered: Deque[Request] = deque()
        self.waiting: Deque[Request] = deque()
        self._will: JSON | None = None
        self._subscriptions: dict[int, Subscription[Any]] = {}
        self._granted: dict[int, Subscription[Any]] = {}

    # Requests

    def request(
        self, body: JSON, done: Done = ignore, is_wanted: IsWanted = lambda: True, own: bool = False,
        epoch: str | None = None,
    ) -> None:
        """Sends a request, now or when there is a connection; `done` is called once: reply or error.

        A revision that it names is one of `epoch`, else of the epoch of now.
        """
        if "id" in body:
            done({}, BusError("invalid_request", "The client numbers its requests itself: leave out `id`."))
            return
        if "ack" in body:
            done({}, BusError("invalid_request", "The client matches replies by order and needs them all: leave out `ack`."))
            return
        try:
            request = Request(next(self._numbers), self._prefix, body, done, is_wanted, own)
        except BusError as error:
            done({}, error)
            return
        with self._lock:
            if self.error:
                done({}, self.error)
            elif own:
                self._write(request)
            else:
                if len(self.waiting) % WINDOW == WINDOW - 1:
                    self.waiting = deque(filter(self._is_wanted, self.waiting))
                request.epoch = (self.epoch if epoch is None else epoch) if request.names_revision else ""
                self.waiting.append(request)
                self._write_waiting()

    def _is_wanted(self, request: Request) -> bool:
        """Whether somebody waits for it; else it is settled here."""
        is_wanted = request.is_wanted()
        if not is_wanted:
            request.done({}, late())
        return is_wanted

    def _write_waiting(self) -> None:
        while self.open and self.waiting and len(self.unanswered) < WINDOW:
            request = self.waiting.popleft()
            if not request.fits(self.epoch):
                request.done({}, BusError("conflict", ELSEWHERE))
            elif self._is_wanted(request):
                self._write(request)

    def _write(self, request: Request) -> None:
        if not request.written:
            # For when it is sent again.
            seen = b',"after":%d,"epoch":"%b"' % (self.revision, self.epoch.encode()) if request.tells_seen else b""
            line, request.seen = request.line + b"}\n", seen
        else:
            line = request.line + request.seen + b"}\n"
            request.torn |= not self.greeting.get("resumed")
        request.written += 1
        self.unanswered.append(request)
        if not self._lines:
            self._wake()
        self._lines.append(line)

    def outgoing(self) -> bytes:
        with self._lock:
            lines, self._lines = self._lines, []
        return b"".join(lines)

    def subscribe(self, subscription: Subscription[Any]) -> None:
        with self._lock:
            self._subscriptions[id(subscription)] = subscription
            if self.error:
                subscription.end(self.error)
            elif self.open:
                self._ask_for(subscription)

    def _ask_for(self, subscription: Subscription[Any]) -> None:
        def done(reply: JSON, error: BusError | None) -> None:
            if error:
                self._subscriptions.pop(id(subscription), None)
                subscription.end(error)
                return
            subscription.number = reply["sub"]
            self._granted[reply["sub"]] = subscription
            if subscription.ended:
                self.unsubscribe(subscription)
            elif not subscription.epoch:
                subscription.take({"event": "gap", "revision": reply["revision"]}, reply["epoch"])

        self.request(subscription.request(), done, own=True)

    def unsubscribe(self, subscription: Subscription[Any]) -> None:
        with self._lock:
            self._subscriptions.pop(id(subscription), None)
            if self._granted.pop(subscription.number, None):
                self.request({"op": "unsubscribe", "sub": subscription.number}, own=True)
            subscription.end(None)

    # The connection

    def connected(self, hello: JSON) -> None:
        """There is a new connection."""
        self._rest, self._goodbye = bytearray(), {}
        self.request({"op": "hello", "protocol": 1, **hello}, self._greeted, own=True)

    def _greeted(self, reply: JSON, error: BusError | None) -> None:
        if error:
            if self.error:
                return
            raise error
        if reply["epoch"] != self.epoch:
            self.epoch, self.revision = reply["epoch"], 0
        self.revision = max(self.revision, reply["revision"])
        self.greeting, self.open = reply, True
        if self._will and not reply.get("resumed"):
            self.request(self._will, own=True)
        for subscription in list(self._subscriptions.values()):
            self._ask_for(subscription)
        self._write_waiting()

    def received(self, data: bytes) -> None:
        """Takes what has come; raises the refusal of `hello`, or what shows that this is not the protocol."""
        self._rest += data
        if len(self._rest) > LONGEST_LINE:
            raise ValueError("a line is too long")
        if b"\n" in data:
            lines, _, self._rest = self._rest.rpartition(b"\n")
            with self._lock:
                for line in lines.decode().split("\n"):
                    if line.strip():
                        self._take(decode(line))

    def _take(self, message: JSON) -> None:
        if "event" not in message:
            self._answered(message)
        elif message["event"] == "goodbye":
            self._goodbye = message
        elif message.get("sub") in self._granted:
            self._granted[message["sub"]].take(message, self.epoch)
            if not message.get("more"):
                self.revision = max(self.revision, message["revision"])

    def _answered(self, reply: JSON) -> None:
        request, ok, number = self.unanswered[0], reply.get("ok") is True, reply.get("id")
        # A line that the bus could not read is answered without its id.
        if number != request.number and (ok or number is not None):
            raise ValueError("a reply came out of turn")
        self.unanswered.popleft()
        error = None if ok else error_of(reply)
        if ok and request.will:
            self._will = request.will
        if ok and reply.get("revision", 0) > self.revision:
            self.revision = reply["revision"]
        if error and error.code in UNSURE and request.keyed and request.written > 1:
            # A conflict over `if_revision` names the store's revision, and is certain.
            error = error if "revision" in error.details else outcome_unknown(error)
        if request.ephemeral and request.torn and reply.get("duplicate"):
            error = outcome_unknown(BusError("closed", "The store may have gone with the connection over which it was made."))
        request.done(reply, error)
        if self.waiting:
            self._write_waiting()

    def lost(self, why: str) -> BusError:
        """The connection is no more. What may be repeated waits for the next one."""
        sentence = f"The connection to the bus has ended: {self._goodbye.get('message', why)}"
        error = BusError("closed", sentence, {"reason": self._goodbye.get("code")})
        with self._lock:
            self.open, self._lines, self._granted = False, [], {}
            unanswered, self.unanswered = self.unanswered, deque()
            for request in reversed([each for each in unanswered if not each.own]):
                if request.repeats:
                    self.waiting.appendleft(request)
                else:
                    request.done({}, outcome_unknown(error))
        if self._goodbye.get("code") == "protocol":
            self.end(error)
        return error

    def end(self, error: BusError | None = None) -> None:
        """There is no connection after this one. Whoever waits hears why; no error means that this program is done."""
        with self._lock:
            if self.error:
                return
            self.error = error or BusError("closed", "The bus was closed by this program.")
            for request in [*self.unanswered, *self.waiting]:
                # What was written once may have been committed, and a will left.
                is_known = not request.written or request.repeats and not (request.keyed or request.will)
                request.done({}, self.error if is_known else outcome_unknown(self.error))
            self.unanswered, self.waiting = deque(), deque()
            for subscription in self._subscriptions.values():
                subscription.end(error)
