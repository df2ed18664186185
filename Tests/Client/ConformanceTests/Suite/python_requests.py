"""What becomes of requests in the Python clients when their bus is another one, when nobody waits for them, or when the logger's
handler makes them: on the session, where this program says what the bus would, and with a bus that a thread of it is."""

import asyncio
import gc
import logging
import os
import socket
import sys
import threading
import weakref

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../../Sources/Clients/Python"))
import fluxbus  # noqa: E402
from fluxbus._session import WINDOW, Session  # noqa: E402
from fluxbus._subscription import Feed, Mirror  # noqa: E402
from fluxbus._wire import BusError, decode, encode  # noqa: E402


class Run:
    """A session, and what has become of its requests."""

    def __init__(self):
        self.session, self.outcomes, self.originals = Session(lambda: None), {}, {}

    def connect(self, epoch, **members):
        """What it sends when the bus has greeted."""
        self.session.connected({})
        hello = self.sent()[-1]
        self.hear(id=hello["id"], ok=True, epoch=epoch, revision=5, **members)
        return self.sent()

    def hear(self, **members):
        self.session.received(encode(members).encode() + b"\n")

    def sent(self):
        return [decode(line) for line in self.session.outgoing().decode().splitlines()]

    def ask(self, name, op, is_wanted=lambda: True, **members):
        def done(reply, error):
            assert name not in self.outcomes, name
            self.outcomes[name] = error.code if error else "ok"
            self.originals[name] = error and error.details.get("original")

        self.session.request({"op": op, **members}, done, is_wanted)


def check_epochs():
    """A revision means nothing in another epoch, unless the request says itself of which one it is."""
    run = Run()
    run.ask("early", "get", store="counter/a", revision=4)
    assert len(run.connect("e1")) == 1
    run.hear(id=1, ok=True, revision=5)
    run.ask("read", "get", store="counter/a", revision=4)
    run.ask("keyed", "drop", store="counter/a", ifRevision=4)
    assert len(run.sent()) == 2
    run.session.lost("it was cut")
    run.ask("late", "drop", store="counter/a", ifRevision=4)
    run.ask("batch", "dispatch", actions=[{"store": "counter/a", "action": "go", "ifRevision": 4}])
    run.ask("history", "history", since=4)
    run.ask("other", "dispatch", store="counter/a", action="go", payload={"since": 1})
    sent = run.connect("e2")
    assert [each.get("epoch") for each in sent] == ["e1", None], sent
    assert run.outcomes == {"early": "ok", **dict.fromkeys(["read", "late", "batch", "history"], "conflict")}, run.outcomes


def check_ephemeral():
    """A store that goes with its session may have gone, where the reply is that of a connection before."""
    for resumed in [{}, {"resumed": False}, {"resumed": True}]:
        run = Run()
        run.connect("e")
        run.ask("passing", "create", store="counter/a", ephemeral=True)
        run.ask("batch", "dispatch", actions=[{"op": "create", "store": "counter/b", "ephemeral": True}])
        run.ask("other", "create", store="counter/c")
        run.session.lost("it was cut")
        for each in run.connect("e", **resumed):
            run.hear(id=each["id"], ok=True, revision=4, duplicate=True)
        passing = "ok" if resumed.get("resumed") else "outcome_unknown"
        assert run.outcomes == {"passing": passing, "batch": passing, "other": "ok"}, run.outcomes


def check_refusals():
    """What was sent before may have been committed, where the bus refuses it without having looked for its key."""
    codes = ["conflict", "forbidden", "unknown_type", "too_large", "limit"]
    for code in [*codes, "unknown_store"]:
        for revision in [{}, {"revision": 4}]:
            run, error = Run(), {"code": code, "message": "No.", **revision}
            run.connect("e")
            for name in ["again", "nameless"]:
                run.ask(name, "dispatch", store="counter/a", action="go")
            run.ask("read", "get", store="counter/a")
            run.session.lost("it was cut")
            sent = run.connect("e")
            run.ask("once", "dispatch", store="counter/a", action="go")
            for each in [sent[0], {}, sent[2], *run.sent()]:
                run.hear(**{"id": each["id"]} if each else {}, ok=False, error=error)
            again = "outcome_unknown" if code in codes and not revision else code
            assert run.outcomes == {"again": again, "nameless": again, "read": code, "once": code}, run.outcomes
            for name in ["again", "nameless"] if again != code else []:
                assert run.originals[name].code == code, run.originals


def check_copies():
    """What the program changes later is not asked for again, nor left."""
    run, steps, where = Run(), [{"store": "counter/a", "action": "go"}], {"==": [{"var": "count"}, 1]}
    run.connect("e")
    run.ask("will", "will", actions=steps)
    run.session.subscribe(Mirror({"op": "subscribe", "type": "counter", "where": where}, run.session.unsubscribe))
    sent = run.sent()
    run.hear(id=sent[0]["id"], ok=True, revision=5)
    steps[0]["action"], where["=="] = "stop", 7
    run.session.lost("it was cut")
    again = run.connect("e")
    assert [again[0]["actions"], again[1]["where"]] == [sent[0]["actions"], sent[1]["where"]], again


def check_end():
    """What was sent may have been committed, and a will left, when the program waits no longer for the bus."""
    requests = {"dispatch": {"store": "counter/a", "action": "go"}, "will": {"actions": []}, "get": {"store": "counter/a"}}
    for is_sent in [True, False]:
        for is_lost in [True, False]:
            run = Run()
            if is_sent:
                run.connect("e")
            for op, members in requests.items():
                run.ask(op, op, **members)
            if is_lost:
                run.session.lost("it was cut")
            run.session.end()
            sent = "outcome_unknown" if is_sent else "closed"
            assert run.outcomes == {"dispatch": sent, "will": sent, "get": "closed"}, run.outcomes


def check_numbers():
    """On another connection the number of a subscription is that of another one, which goes on."""
    run = Run()
    run.connect("e")
    run.ask("unsubscribe", "unsubscribe", sub=1)
    run.session.lost("it was cut")
    assert run.connect("e") == [] and run.outcomes == {"unsubscribe": "outcome_unknown"}, run.outcomes


def check_text():
    """Text that can't be sent is refused, once and for all."""
    run, broken = Run(), {"==": [{"var": "name"}, "\ud800"]}
    run.ask("broken", "dispatch", store="counter/a", action="go", **{"if": broken})
    try:
        run.session.subscribe(Mirror({"type": "counter", "where": broken}, run.session.unsubscribe))
        raise AssertionError("it is subscribed to")
    except BusError as error:
        assert error.code == "invalid_request", error
    assert run.outcomes == {"broken": "invalid_request"} and run.connect("e") == []


def check_given_up():
    """Nobody waits, and yet it is settled, at the next connection and where too many wait."""
    run = Run()
    run.ask("first", "ping", lambda: False)
    run.connect("e")
    run.session.lost("it was cut")
    for number in range(WINDOW):
        run.ask(number, "ping", lambda: False)
    assert len(run.session.waiting) == 1 and run.outcomes == dict.fromkeys(["first", *range(WINDOW - 1)], "timed_out")


def check_reset():
    """A mirror is never empty between two states."""
    mirror = Mirror({"type": "counter"}, lambda _: None)
    change = {"event": "change", "from": 0, "reset": True, "revision": 5, "states": {"counter/a": {"count": 1}}}
    mirror.take(change, "e")
    counts = set()

    def look(*_):
        counts.add(len(mirror))
        return look

    sys.settrace(look)
    mirror.take({**change, "states": {"counter/b": {}, "counter/c": {}}}, "e")
    sys.settrace(None)
    assert counts == {1, 2} and set(mirror) == {"counter/b", "counter/c"}, counts


def serve(listener):
    """A bus that answers every request but those on `counter/none`, and ends the connection after one on `counter/last`."""
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        with connection, connection.makefile() as lines:
            for line in lines:
                if "counter/last" in line:
                    break
                if "counter/none" in line:
                    # From here on it is silent.
                    for line in lines:
                        pass
                    break
                reply = {"id": decode(line)["id"], "ok": True, "epoch": "e", "revision": 5}
                connection.sendall(encode(reply).encode() + b"\n")


def bus_of(listener):
    threading.Thread(target=serve, args=(listener,), daemon=True).start()
    return listener.getsockname()


def check_addresses():
    """A host is reached at its second address where the first one swallows what is sent to it."""
    deaf = socket.create_server(("127.0.0.1", 0), backlog=0)
    fillers = [socket.socket() for _ in range(4)]
    for each in fillers:
        each.setblocking(False)
        each.connect_ex(deaf.getsockname())
    places, look_up = [deaf.getsockname(), bus_of(listener)], socket.getaddrinfo
    socket.getaddrinfo = lambda *_, **__: [(socket.AF_INET, socket.SOCK_STREAM, 6, "", place) for place in places]
    try:
        fluxbus.connect("tcp:bus.example:7411", connect_timeout=20).close()
    finally:
        socket.getaddrinfo = look_up
        for each in [deaf, *fillers]:
            each.close()


class Foreign:
    """A loop that is not asyncio's own, such as uvloop's, and knows less of how to open a connection."""

    def __init__(self, loop):
        self.loop = loop

    def __getattr__(self, name):
        return getattr(self.loop, name)


async def check_loops(address):
    loop, opening = Foreign(asyncio.get_running_loop()), asyncio.open_connection
    is_running, asyncio.get_running_loop = asyncio.get_running_loop, lambda: loop
    asyncio.open_connection = lambda host, port, *, ssl, limit: opening(host, port, ssl=ssl, limit=limit)
    try:
        await (await fluxbus.aio.connect(address)).close()
    finally:
        asyncio.get_running_loop, asyncio.open_connection = is_running, opening


def check_room(address):
    """A revision belongs to the epoch in which it was named, also where the request waits for room."""

    class Oldest:
        _is_wanted = True

        def _wait(self, _timeout):
            session.epoch = "e2"
            return True

    oldest = Oldest()
    with fluxbus.connect(address) as bus:
        session = bus._bus._session
        bus._window.extend([lambda: oldest] * WINDOW)
        try:
            bus.send("drop", store="counter/a", ifRevision=4).result()
            raise AssertionError("it was sent")
        except BusError as error:
            assert error.code == "conflict", error


class Hasty(logging.Handler):
    """Does not wait for the next attempt when it hears that the connection is lost."""

    def emit(self, record):
        self.bus.reconnect()


async def check_hurry(address):
    handler, log = Hasty(), logging.getLogger("fluxbus")
    async with fluxbus.aio.connect(address, back_off=(600, 600), timeout=20) as handler.bus:
        log.addHandler(handler)
        try:
            await handler.bus.request("revert", store="counter/last")
            raise AssertionError("somebody has answered")
        except BusError as error:
            assert error.code == "outcome_unknown", error
        await handler.bus.request("ping")
        log.removeHandler(handler)


async def check_silence(address):
    """A connection that stays silent is given up as one that is lost, and whoever hears of it need not wait."""
    class Heard(logging.Handler):
        def emit(self, record):
            said.append(record.getMessage())

    said, handler, log = [], Heard(), logging.getLogger("fluxbus")
    async with fluxbus.aio.connect(address, back_off=(600, 600), timeout=20, keep_alive=0.05) as bus:
        log.addHandler(handler)
        try:
            await bus.request("revert", store="counter/none")
            raise AssertionError("somebody has answered")
        except BusError as error:
            assert error.code == "outcome_unknown", error
        bus.reconnect()
        await bus.request("ping")
        log.removeHandler(handler)
    assert said and all("said nothing" in text for text in said), said


def check_replies(address):
    """A reply is kept by nobody but the program."""
    with fluxbus.connect(address) as bus:
        pending = bus.send("ping")
        assert pending.result()["ok"]
        kept = weakref.ref(pending)
        del pending
        gc.collect()
        assert kept() is None


def check_long():
    """A thread may wait for the next change as long as it takes."""

    class Looking(Feed):
        def _is_ready(self):
            looked.set()
            return super()._is_ready()

    for timeout in [None, 1e10, float("inf")]:
        mirror, looked = Mirror({"type": "counter"}, lambda _: None), threading.Event()
        thread = threading.Thread(target=lambda: looked.wait() and mirror.end(None))
        thread.start()
        try:
            assert list(Looking(mirror, timeout)) == []
        finally:
            thread.join()


async def check_endless(address):
    """What the program waits for may take as long as it takes."""
    endless = float("inf")
    options = {"timeout": endless, "connect_timeout": endless, "patience": endless, "keep_alive": endless}
    with fluxbus.connect(address, **options) as bus:
        assert bus.request("ping")["ok"]
        for timeout in [None, 1e10, endless]:
            assert bus.send("ping").result(timeout)["ok"]
        bus.close(endless)
    bus = await fluxbus.aio.connect(address, **options)
    assert (await bus.request("ping"))["ok"]
    await bus.close(endless)


async def check_goodbye():
    """What the bus said before it went is read, also where a write fails before."""
    ours, theirs = socket.socketpair()
    path, open_unix_connection = "unix:/nowhere", asyncio.open_unix_connection
    asyncio.open_unix_connection = lambda _path, limit: asyncio.open_connection(sock=ours, limit=limit)
    theirs.sendall(b'{"id":1,"ok":true,"epoch":"e","revision":5}\n')
    try:
        bus = await fluxbus.aio.connect(path)
    finally:
        asyncio.open_unix_connection = open_unix_connection
    theirs.recv(1 << 16)
    theirs.sendall(b'{"event":"goodbye","code":"kicked","message":"Go away."}\n')
    theirs.close()
    try:
        await bus.request("revert", store="counter/a")
        raise AssertionError("somebody has answered")
    except BusError as error:
        original = error.details["original"]
        assert "Go away." in str(original) and original.details == {"reason": "kicked"}, original
    await bus.close(0)


async def check_close(address):
    """All that is said at the end, to a bus that is silent, shares one time."""
    bus, times = await fluxbus.aio.connect(address, linger=9), []
    asked, ask = bus.request("revert", store="counter/none"), bus._ask

    def noted(body, timeout, own=False):
        times.append((body["op"], timeout))
        return ask(body, timeout, own)

    bus._ask = noted
    await bus.close(0.01)
    assert [op for op, _ in times] == ["ping", "hello"] and times[1][1] < 0.005, times
    assert asked.exception().code == "outcome_unknown", asked


class Handler(logging.Handler):
    """Uses the bus, and ends it, when it hears that the connection is lost."""

    def emit(self, record):
        if self.refusals:
            return
        for use in [lambda: self.bus.request("ping"), lambda: self.bus.mirror("counter")]:
            try:
                use()
            except BusError as error:
                self.refusals.append(error.code)
        self.pending = self.bus.send("ping")
        self.bus.close()


def check_log(address):
    handler, log = Handler(), logging.getLogger("fluxbus")
    handler.bus, handler.refusals = fluxbus.connect(address, back_off=(0.01, 0.02)), []
    log.addHandler(handler)
    last = handler.bus.send("revert", store="counter/last")
    handler.bus._thread.join(20)
    log.removeHandler(handler)
    assert not handler.bus._thread.is_alive() and handler.refusals == ["invalid_request"] * 2, handler.refusals
    for pending in [last, handler.pending]:
        try:
            assert pending.result()["ok"] and pending is handler.pending
        except BusError as error:
            assert error.code in ("outcome_unknown", "closed"), error


for check in [
    check_epochs, check_ephemeral, check_refusals, check_copies, check_end, check_numbers, check_text, check_given_up,
    check_reset, check_long,
]:
    check()
listener = socket.create_server(("127.0.0.1", 0))
check_addresses()
address = "tcp:127.0.0.1:%d" % listener.getsockname()[1]
for check in [check_room, check_replies, check_log]:
    check(address)
for check in [check_loops, check_hurry, check_silence, check_endless, check_close]:
    asyncio.run(check(address))
asyncio.run(check_goodbye())
