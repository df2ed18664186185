"""Signing in, the state of the connection, the clients and the counters."""

import os
import urllib.error
import urllib.request

from bus import World, nothing_wrong, user
from webdriver import Browser, Failed, check, equal, until

TOKENS = {"panel": "correct-horse-battery-staple", "guest": "another-token-of-the-bus"}


def signing_in_by_link():
    """The link works once and leaves no token in the address; another one is refused with a sentence; signing out ends it."""
    with World() as world:
        page = world.open()
        check("token" not in page.url, f"The token stays in the address: {page.url}")
        page.open(world.base)
        world.wait_live()
        page.click("#sign-out")
        page.wait_text("#gate", "Open the link")
        used = world.link.split("#token=")[1]
        page.type("#sign-in", used)
        page.click(".sign-in button")
        page.wait("return document.querySelector('.sign-in .error').textContent.length > 20;", "the refusal is told")
        page.screenshot("sign-in-light")
        reply = page.run_async("const done = arguments[0]; const socket = new WebSocket('/bus'); socket.onclose = () => done('closed'); socket.onopen = () => done('open');")
        equal(reply, "closed", "the bus for who is not signed in")


def signing_in_by_token():
    """A bus on TCP asks for a token: a wrong one is refused with the bus's sentence, a right one is kept in the tab only."""
    with World(token=TOKENS) as world:
        world.start_daemon()
        world.start_web()
        page = world.browser = Browser(world.directory)
        page.open(world.base)
        page.wait_text("#gate", "This bus asks for a token")
        page.type("#sign-in", "a-token-of-nobody-at-all")
        page.click(".sign-in button")
        page.wait("return /token/i.test(document.querySelector('.sign-in .error')?.textContent ?? '');", "the bus's sentence is shown")
        page.type("#sign-in", TOKENS["panel"])
        page.click(".sign-in button")
        world.wait_live()
        page.wait_text("#who", "panel")
        page.wait_text("#stores-counts", "8 stores")
        equal(page.run("return [sessionStorage.length, Object.values(localStorage).some(one => one.includes('horse')), document.cookie];"), [1, False, ""], "where the token is kept")
        page.open(world.base)
        world.wait_live()
        page.click("#sign-out")
        page.wait_text("#gate", "This bus asks for a token")
        equal(page.run("return sessionStorage.length;"), 0, "what is kept after signing out")


def goes_on_after_the_daemon_restarts():
    """While the daemon is away the page says so and counts down; then it goes on where it was, in the same epoch."""
    with World() as world:
        page = world.open()
        world.wait_member("counter/kitchen", "count", "0")
        world.go("store/door/front")
        page.wait("return [...document.querySelectorAll('.store-side .actions button')].some(one => one.textContent === 'lock');", "the actions are there")
        world.daemon.stop()
        page.wait_text("#status", f"Bus not running at {world.address}; retrying in ")
        check(page.shown("#status").startswith("Bus not running"), f"The state says more than that: {page.shown('#status')}")
        # What is dispatched now is refused: it would be committed at a time that nobody chose.
        page.click_text(".store-side .actions button", "lock")
        page.wait_text(".store-side .result", "There is no connection to the bus now.")
        world.go("stores")
        page.screenshot("lost-light")
        equal(world.member("counter/kitchen", "count"), "0", "what was known before")
        world.start_daemon()
        world.wait_live()
        client = world.client()
        client.dispatch("counter/kitchen", "increment", by=3)
        world.wait_member("counter/kitchen", "count", "3")
        client.ask(op="create", store="counter/new")
        page.wait_text("#stores-counts", "9 stores")
        check(page.run("return document.querySelector('#epoch-note').hidden;"), "A new epoch is told where there was none.")
        equal(world.command("get", "door/front")[0]["state"]["isLocked"], False, "whether the door is locked")
        nothing_wrong(world)


def tells_of_a_new_epoch():
    """A bus without a log starts over: the page says that what it showed may be gone, and shows what is."""
    with World(log=False) as world:
        page = world.open()
        world.client().ask(op="create", store="counter/gone")
        page.wait_text("#stores-counts", "9 stores")
        world.daemon.stop()
        page.wait_text("#status", "Connection lost")
        world.start_daemon()
        page.wait_text("#epoch-note", "new epoch")
        page.wait_text("#stores-counts", "8 stores")
        check(all(row["name"] != "gone" for row in world.rows()), "A store of the old epoch is still shown.")
        page.click("#epoch-note button")
        page.wait("return document.querySelector('#epoch-note').hidden;", "the note goes")
        nothing_wrong(world)


def goes_on_after_the_web_server_restarts():
    """The session survives a restart of fluxbus-web; one may also try at once instead of waiting."""
    with World() as world:
        page = world.open("log")
        world.web.stop()
        page.wait_text("#status", "Connection lost")
        world.client().dispatch("counter/kitchen", "increment", by=9)
        world.start_web()
        # It may have come back by itself in the meantime.
        page.run("document.querySelector('#retry').click();")
        world.wait_live()
        until(lambda: "increment" in page.shown("#log-list"), "the log shows what came meanwhile")
        world.go("stores")
        world.wait_member("counter/kitchen", "count", "9")
        nothing_wrong(world)


def an_event_source_goes_on_exactly():
    """A browser's own EventSource misses nothing and hears nothing twice over restarts of the daemon, of fluxbus-web, and of both."""
    with World() as world:
        page = world.open()
        page.run("""window.told = [];
            window.source = new EventSource("/v1/changes?match=counter/kitchen&actions=true");
            source.addEventListener("action", event => told.push(JSON.parse(event.data).payload.by));
            source.addEventListener("gap", () => told.push("gap"));""")
        page.wait("return source.readyState === 1;", "the feed is open")
        count = 0

        def dispatch(times):
            nonlocal count
            client = world.client()
            for _ in range(times):
                count += 1
                client.dispatch("counter/kitchen", "increment", by=count)

        dispatch(3)
        for restarted in ("daemon", "web", "both", "daemon"):
            if restarted != "daemon":
                world.web.stop()
                dispatch(2)
            if restarted != "web":
                world.daemon.stop()
                world.start_daemon()
                dispatch(2)
            if restarted != "daemon":
                world.start_web()
            dispatch(2)
            page.wait("return told.length >= arguments[0];", f"all is told after a restart of {restarted}", count)
            equal(page.run("return told;"), list(range(1, count + 1)), f"what was told after a restart of {restarted}")


def clients_are_listed_and_sent_away():
    """Everybody who is on, with what they watch; a kick asks first, and the client hears the reason."""
    with World() as world:
        page = world.open()
        client = world.client()
        client.ask(op="hello", client="sensor<b>")
        client.ask(op="subscribe", match="counter/*", initial=False)
        client.dispatch("counter/hall", "increment")
        world.go("clients")
        text = page.wait_text("#clients-table", "sensor<b>")
        told = {one["id"]: one for one in world.client().ask(op="clients")["clients"]}
        number = next(number for number, one in told.items() if one.get("client") == "sensor<b>")
        row = page.shown(f"[data-client='{number}']")
        for part in (str(number), user(os.getuid()), "sensor<b>", "unix", "counter/*"):
            check(part in row, f"The row lacks {part!r}: {row}")
        check("(this page)" in text, "The page does not know itself.")
        page.screenshot("clients-light")
        page.click(f"[data-client='{number}'] button")
        page.wait_text("dialog", f"Kick client {number}?")
        page.screenshot("kick-light")
        page.click_text("dialog button", "Cancel")
        page.wait("return document.querySelector('dialog') === null;", "the dialog closes")
        check(client.try_to(op="ping")["ok"], "A kick that was cancelled was carried out.")
        page.click(f"[data-client='{number}'] button")
        page.type("#kick-reason", "Too many readings.")
        page.click_text("dialog button.danger", "Kick")
        goodbye = client.event()
        equal((goodbye["event"], goodbye["code"]), ("goodbye", "kicked"), "what the client hears")
        check("Too many readings." in goodbye["message"], f"The reason is not told: {goodbye}")
        page.wait("return document.querySelector(`[data-client='${arguments[0]}']`) === null;", "the client goes from the list", number)
        nothing_wrong(world)


def a_kicked_page_says_so():
    """Whoever is sent away does not come back by itself, and reads why."""
    with World() as world:
        page = world.open()
        client = world.client()
        number = next(one["id"] for one in client.ask(op="clients")["clients"] if one.get("client") == "inspector")
        client.ask(op="kick", client=number, reason="Maintenance.")
        page.wait_text("#status", "Refused")
        page.wait_text("#status", "Maintenance.")
        page.click("#retry")
        world.wait_live()
        client.dispatch("counter/kitchen", "increment", by=2)
        world.wait_member("counter/kitchen", "count", "2")
        nothing_wrong(world)
