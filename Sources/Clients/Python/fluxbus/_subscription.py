"""What a program subscribes to, from one connection to the next: the states of stores, and actions.

States are never changed in place. A change makes new ones, so what a program holds stays what it was.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from dataclasses import dataclass
from typing import Any, AsyncIterator, Callable, Deque, Generic, Iterator, Mapping, NamedTuple, TypeVar, Union
from weakref import WeakSet

from ._wire import JSON, BusError, S, decode, merged, written

#: So many changes or actions wait for a consumer; those of one that falls further behind become one.
BACKLOG = 1_000
T = TypeVar("T")


def bounded(timeout: float | None) -> float:
    """The time for which a thread waits: at most half of what a lock can, as the time of now is added to it."""
    longest = threading.TIMEOUT_MAX / 2
    return longest if timeout is None else min(timeout, longest)


@dataclass
class Change(Generic[S]):
    """What a mirror has become: states that are new or different, addresses that are gone.

    After a `reset` it stands for everything, and what is not in `states` is gone. `coalesced` commits are merged in it.
    Where the mirror was asked for causes and it is one commit, `cause` has its `actions`, `by` and `time`.
    """

    revision: int
    states: dict[str, S]
    dropped: set[str]
    reset: bool
    coalesced: int
    cause: JSON | None = None


class Action(NamedTuple):
    """An action that was committed. `target` is a store's address or a type; `by` says who sent it.

    What it returned is `result`, or by the stores' addresses `results` where the target is a type. `traceparent` is the
    place of its dispatch in a trace. Each is `None` where there is none.
    """

    revision: int
    target: str
    action: str
    payload: JSON
    by: JSON
    time: float
    result: Any = None
    results: JSON | None = None
    traceparent: str | None = None


class Gap(NamedTuple):
    """Actions up to and with this revision may be missing."""

    revision: int


class Feed(Iterator[T], AsyncIterator[T]):
    """What comes, for one consumer: by `async for` in the loop of the bus, by `for` in any other thread."""

    def __init__(self, source: Subscription[T], timeout: float | None) -> None:
        self._source, self.timeout = source, timeout
        self._queue: Deque[T] = deque()
        self._waiter: asyncio.Future[None] | None = None

    def push(self, item: T, instead: Callable[[], T]) -> None:
        """Adds an item. Where too many wait, one for all of them stands instead."""
        if len(self._queue) >= BACKLOG:
            self._queue.clear()
            item = instead()
        self._queue.append(item)
        self.wake()

    def wake(self) -> None:
        if self._waiter and not self._waiter.done():
            self._waiter.set_result(None)

    def _is_ready(self) -> bool:
        return bool(self._queue) or self._source.ended

    def _take(self, is_ready: bool, end: Exception) -> T:
        with self._source.news:
            if self._queue:
                return self._queue.popleft()
        raise (self._source.error or end) if is_ready else BusError("timed_out", "Nothing came in the time allowed.")

    def __next__(self) -> T:
        with self._source.news:
            return self._take(self._source.news.wait_for(self._is_ready, bounded(self.timeout)), StopIteration())

    async def __anext__(self) -> T:
        if not self._is_ready():
            self._waiter = asyncio.get_running_loop().create_future()
            await asyncio.wait([self._waiter], timeout=self.timeout)
        return self._take(self._is_ready(), StopAsyncIteration())


class Subscription(Generic[T]):
    """Where one subscription stands; it outlives connections. `leave` ends it, from any thread."""

    def __init__(self, body: JSON, leave: Callable[[Subscription[T]], object]) -> None:
        # What the program changes later is not asked for.
        self._body: JSON = decode(written(body).decode())
        self._leave = leave
        #: What was seen last: the states of a mirror are those of this revision.
        self.revision, self.epoch, self.number = 0, "", 0
        #: Why nothing more comes, if the bus has ended it.
        self.error: BusError | None = None
        self.ended = False
        #: Held while anything changes here that other threads look at.
        self.news = threading.Condition()
        self._feeds: WeakSet[Feed[T]] = WeakSet()

    def feed(self, timeout: float | None) -> Feed[T]:
        feed = Feed(self, timeout)
        with self.news:
            self._feeds.add(feed)
        return feed

    def _tell(self, what: Callable[[Feed[T]], None]) -> None:
        with self.news:
            for feed in list(self._feeds):
                what(feed)
            self.news.notify_all()

    def request(self) -> JSON:
        """What asks for all that has not been seen."""
        return {**self._body, "since": self.revision, "epoch": self.epoch} if self.epoch else self._body

    def take(self, event: JSON, epoch: str) -> None:
        raise NotImplementedError

    def end(self, error: BusError | None) -> None:
        self.ended, self.error = True, error
        self._tell(Feed.wake)

    def close(self) -> None:
        self._leave(self)


class Mirror(Subscription[Change[S]], Mapping[str, S]):
    """The states of all stores that match, by address, kept as they are on the bus. Any thread may read it.

    What it gives is never changed later. One state after the other may be of different revisions; `copy()` is of one.
    """

    def __init__(self, body: JSON, leave: Callable[[Subscription[Change[S]]], object]) -> None:
        super().__init__(body, leave)
        self._states: dict[str, Any] = {}
        self._reset, self._new, self._cause = False, {}, None  # type: bool, dict[str, Any], JSON | None

    def __getitem__(self, address: str) -> S:
        state: S = self._states[address]
        return state

    def __len__(self) -> int:
        return len(self._states)

    def __iter__(self) -> Iterator[str]:
        return iter(self.copy())

    def copy(self) -> dict[str, S]:
        with self.news:
            return dict(self._states)

    def changes(self, timeout: float | None = None) -> Feed[Change[S]]:
        """Every change from now on; to a consumer that falls far behind, all states as one change, which is a reset.
        With a `timeout`, waiting longer for the next one is `timed_out`."""
        return self.feed(timeout)

    def take(self, event: JSON, epoch: str) -> None:
        if event["event"] == "bookmark":
            self.revision, self.epoch = event["revision"], epoch
        elif event["event"] == "change":
            self._collect(event)
            if not event.get("more"):
                self._apply(event["revision"], epoch, event.get("coalesced", 1))

    def _collect(self, event: JSON) -> None:
        """Adds a part of a change to those before it. No state stands for one that is gone."""
        if "from" in event:
            self._reset, self._new, self._cause = event.get("reset", False), {}, None
            if not self._reset and event["from"] != self.revision:
                raise ValueError(f"changes before revision {event['from']} are missing")
        self._cause = self._cause or event.get("cause")
        before: Mapping[str, Any] = {} if self._reset else self._states
        for address, patch in event.get("changes", {}).items():
            self._new[address] = merged(self._new.get(address, before.get(address)), patch)
        self._new.update(event.get("states", {}))
        self._new.update(dict.fromkeys(event.get("dropped", ())))

    def _apply(self, revision: int, epoch: str, coalesced: int) -> None:
        states = {address: state for address, state in self._new.items() if state is not None}
        change = Change(revision, states, set(self._new).difference(states), self._reset, coalesced, self._cause)
        with self.news:
            if change.reset:
                # At once, for whoever reads it meanwhile.
                self._states = dict(states)
            else:
                self._states.update(states)
                for address in change.dropped:
                    self._states.pop(address, None)
            self.revision, self.epoch = revision, epoch
            if change.reset or self._new:
                self._tell(lambda feed: feed.push(change, self._whole))

    def _whole(self) -> Change[S]:
        return Change(self.revision, self.copy(), set(), True, 1)


class Actions(Subscription[Union[Action, Gap]]):
    """Actions as they happen; what comes first is a `Gap`, after which they come.

    A connection may be lost between those of one commit: all are asked for again, and what was seen is left out.
    """

    _seen = (0, 0)

    def take(self, event: JSON, epoch: str) -> None:
        kind, revision, place = event["event"], event["revision"], (event["revision"], event.get("index", 0))
        if not self._feeds:
            self.close()
        elif kind == "action" and (epoch != self.epoch or place > self._seen):
            # One without an index is the only one of its commit, which is not asked for again.
            self.revision, self.epoch, self._seen = revision - ("index" in event), epoch, place
            target, payload, by = event.get("store", event.get("type")), event.get("payload", {}), event.get("by", {})
            told = [event.get(name) for name in ("result", "results", "traceparent")]
            action = Action(revision, target, event["action"], payload, by, event.get("time", 0), *told)
            self._tell(lambda feed: feed.push(action, lambda: Gap(revision)))
        elif kind in ("gap", "bookmark"):
            self.revision, self.epoch, self._seen = revision, epoch, (0, 0)
            if kind == "gap":
                self._tell(lambda feed: feed.push(Gap(revision), lambda: Gap(revision)))
