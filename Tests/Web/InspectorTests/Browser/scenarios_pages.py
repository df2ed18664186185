"""The page of a store, and a type as a table."""

import json
import time

from bus import World, nothing_wrong
from webdriver import check, equal, until


def _parts(page):
    """What stands in each part of a store's page, by its title."""
    return page.run("""return Object.fromEntries([...document.querySelectorAll(".store-page .part")].map(one => [one.querySelector("h3").textContent, one.innerText]));""")


def _wait_part(page, title, text):
    return until(lambda: next((shown for name, shown in _parts(page).items() if name == title and text in shown), None), f"{title} says {text!r}")


def a_store_has_a_page():
    """State with times as times, a chart, the last commits, watchers, timers and failed effects; it follows the bus."""
    with World(stores=["light/hall", "presence/office", "counter/kitchen", "effect/bell"]) as world:
        world.start_daemon()
        client = world.client()
        client.ask(op="hello", client="panel")
        client.ask(op="subscribe", type="light", initial=False)
        client.dispatch("light/hall", "switchOn", seconds=600)
        client.dispatch("light/hall", "dim", brightness=40)
        client.ask(op="dispatch", store="effect/bell", action="setAside", payload={"event": "4:0", "store": "light/hall", "action": "dim", "reason": "exit status 3", "tries": 2})
        page = world.open("stores/light/hall")
        page.click_text("#panel-stores .details a", "Open")
        _wait_part(page, "State", "brightness")
        check(page.url.endswith("#store/light/hall") and "light/hall" in page.run("return document.title;"), f"The address is {page.url}.")
        equal(page.run("return [...document.querySelectorAll('.store-page .state tr th .member')].map(one => one.textContent);")[-2:], ["isOn", "brightness"], "members")
        check("In percent." in _parts(page)["State"], "What a member is for is not told.")
        page.wait("return document.querySelector('.store-page .chart-plot path.line') !== null;", "the chart is drawn")
        commits = client.ask(op="history", store="light/hall", order="newest")["commits"]
        shown = _wait_part(page, "Last commits", "brightness 100 → 40")
        for commit in commits:
            check(str(commit["revision"]) in shown, f"Revision {commit['revision']} is not listed: {shown}")
        _wait_part(page, "Last commits", "isOn false → true")
        _wait_part(page, "Watchers", "panel")
        check("off" in _wait_part(page, "Timers", "switchOff") and "in 9 min" in _parts(page)["Timers"], f"The timer is told otherwise: {_parts(page)['Timers']}")
        check("exit status 3" in _wait_part(page, "Effects", "effect/bell"), "The failed effect is not told.")
        _wait_part(page, "Store", f"Revision\n{commits[0]['revision']}")
        # It goes on as the bus does.
        revision = client.dispatch("light/hall", "dim", brightness=55)
        _wait_part(page, "State", "55")
        _wait_part(page, "Last commits", f"{revision} ")
        # A second value joins the chart, and the address names both.
        page.click(".store-page button[aria-label='Chart isOn']")
        until(lambda: "chart=/brightness" in page.url and "with=light/hall/isOn" in page.url, f"the address names both values: {page.url}")
        page.wait("return document.querySelector('.store-page .chart-plot path.value-1') !== null;", "both are drawn")
        # Times are times, also within a member.
        entered = client.dispatch("presence/office", "enter", name="ada")
        world.go("store/presence/office")
        when = client.ask(op="history", since=entered - 1, limit=1)["commits"][0]["time"]
        text = _wait_part(page, "State", "people.ada.since")
        check(time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(when)) in text, f"The time is not one: {text}")
        # A store that goes, and one that is not there, say so.
        client.ask(op="drop", store="presence/office")
        page.wait_text(".store-page .empty", "This store does not exist now.")
        client.ask(op="create", store="presence/office")
        _wait_part(page, "State", "people")
        page.run("history.back();")
        _wait_part(page, "State", "brightness")
        # The tab leads back to the tree, and from elsewhere to the page.
        page.click("#tab-log")
        page.click("#tab-stores")
        _wait_part(page, "State", "brightness")
        page.click("#tab-stores")
        page.find("#stores-tree")
        nothing_wrong(world)


def a_store_is_acted_on_and_undone():
    """Actions are buttons; a dispatch can be repeated, and undone unless something came after it, which is named."""
    with World() as world:
        world.start_daemon()
        client = world.client()
        client.ask(op="hello", client="panel")
        count = lambda store="counter/kitchen": client.ask(op="get", store=store)["states"][store]["count"]
        page = world.open("store/counter/kitchen")
        page.click_text(".store-side .actions button", "increment…")
        page.type("#store-payload-0", "5")
        page.press("enter")
        page.wait_text(".store-side .result", "1 store matched, 1 changed.")
        equal(count(), 5, "the count after a dispatch")
        actions = page.run("return [...document.querySelectorAll('.store-side .actions button')].map(one => one.textContent);")
        equal(actions[:3], ["increment…", "decrement…", "reset"], "the actions in the order of the type's file, before the form's")
        page.click_text(".store-side .result button", "Repeat")
        until(lambda: count() == 10, "the dispatch is repeated")
        repeated = page.wait_text(".store-side .result", "Revision 10")
        page.click_text(".store-side .result button", "Undo")
        page.wait_text(".store-side .result", "Undone in revision 11: the store is as it was before revision 10.")
        equal(count(), 5, "the count after Undo")
        equal(world.command("log", "-n", "1")[0]["reverted"], {"store": "counter/kitchen", "to": 9}, "what undid it")
        page.click_text(".store-side .result button", "Undo that")
        page.wait_text(".store-side .result", "as it was before revision 11")
        equal(count(), 10, "the count after what undid it was undone")
        # An action without a payload needs no form. What came after it is not undone with it.
        page.click_text(".store-side .actions button", "reset")
        page.wait_text(".store-side .result", "Revision 13")
        client.dispatch("counter/kitchen", "increment", by=7)
        page.click_text(".store-side .result button", "Undo")
        text = page.wait_text(".store-side .result", "Not undone")
        check("count of counter/kitchen changed again in revision 14, by" in text, f"What came after it is told otherwise: {text}")
        equal(count(), 7, "the count after a refusal")
        # So it is for all stores of a type, at once or not at all.
        world.go("dispatch/counter?action=increment")
        page.wait("return document.querySelector('#dispatch-action').value === 'increment';", "the address chooses the action")
        page.click("#dispatch-preview")
        page.wait_text("#dispatch-result", "2 stores match")
        page.click("#dispatch-send")
        page.wait_text("#dispatch-result", "2 stores matched")
        page.click_text("#dispatch-result button", "Undo")
        page.wait_text("#dispatch-result", "2 stores are as they were before revision 15.")
        equal(count(), 7, "the count after all was undone")
        page.click_text(".dispatch .form button", "Preview")
        page.wait_text("#dispatch-result", "2 stores match")
        page.click("#dispatch-send")
        page.wait_text("#dispatch-result", "2 stores matched")
        client.dispatch("counter/kitchen", "increment", by=1)
        page.click_text("#dispatch-result button", "Undo")
        text = page.wait_text("#dispatch-result", "Not undone: count of counter/kitchen changed again")
        check("reverted already" not in text, f"Something was undone: {text}")
        equal([count(), count("counter/hall")], [9, 1], "the counts of both stores")
        nothing_wrong(world)


# Ends the connection behind the reply to the first revert, before the page does anything else.
CUT = """const send = WebSocket.prototype.send;
WebSocket.prototype.send = function (line) {
    const {op, id} = JSON.parse(line), {onmessage, onclose} = this;
    if (op === "revert") {
        WebSocket.prototype.send = send;
        this.onmessage = event => {
            onmessage(event);
            if (JSON.parse(event.data).id !== id) return;
            this.onmessage = this.onclose = null;
            this.close();
            onclose(new CloseEvent("close"));
        };
    }
    send.call(this, line);
};"""


def what_is_undone_is_undone_now():
    """Without a connection nothing is undone, and nothing more when it is back: it would be done at a time that nobody chose."""
    with World() as world:
        world.start_daemon()
        revision = world.client().ask(op="dispatch", type="counter", action="increment", payload={"by": 5})["revision"]
        page = world.open(f"log/{revision}")
        page.wait_text(".log .details", "Undo")
        world.daemon.stop()
        page.wait_text("#status", "Bus not running")
        page.click_text(".log .details button", "Undo")
        page.wait_text(".log .details", "Not undone: There is no connection to the bus now.")
        world.start_daemon()
        world.wait_live()
        page.open(world.base)
        world.wait_live()
        world.go(f"log/{revision}")
        page.wait_text(".log .details", "Undo")
        page.run(CUT)
        page.click_text(".log .details button", "Undo")
        page.wait_text(".log .details", "Not undone: There is no connection to the bus now. 1 of 2 stores had been reverted already.")
        world.wait_live()
        client = world.client()
        equal(sorted(state["count"] for state in client.ask(op="get", type="counter")["states"].values()), [0, 5], "the counts")
        equal(client.ask(op="sync")["revision"], revision + 1, "the newest revision")
        nothing_wrong(world)


def a_commit_of_many_stores_stays():
    """What names more stores than are compared is not undone in part, nor said to have changed nothing where the first of them are as they were."""
    stores = [f"counter/c{number:03}" for number in range(150)]
    with World(stores=stores) as world:
        world.start_daemon()
        client = world.client()
        actions = [{"store": store, "action": "increment", "payload": {"by": number // 100}} for number, store in enumerate(stores)]
        revision = client.ask(op="dispatch", actions=actions)["revision"]
        page = world.open(f"log/{revision}")
        page.click_text(".log .details button", "Undo")
        page.wait_text(".log .details", "Not undone: This commit may have changed more than 100 stores")
        equal(client.ask(op="sync")["revision"], revision, "the newest revision")
        until(lambda: page.text("#log-list .what") == "no change in the first stores", f"the row says that there are more: {page.text('#log-list .what')}")
        nothing_wrong(world)


def a_pattern_of_another_client_freezes_nothing():
    """Others choose what they watch: a pattern that takes long to compare with a name does not stop the page."""
    name = "counter/" + "a" * 60 + "b"
    with World(stores=[name]) as world:
        world.start_daemon()
        client = world.client()
        client.ask(op="hello", client="panel")
        client.ask(op="subscribe", match="counter/" + "*a" * 25, initial=False)
        client.ask(op="subscribe", match="counter/" + "*a" * 25 + "?", initial=False)
        page = world.open(f"store/{name}")
        watchers = _wait_part(page, "Watchers", "panel")
        check("*a?" in watchers and watchers.count("*a") == 25, f"The page says otherwise who watches: {watchers}")
        nothing_wrong(world)


def _table(page):
    """The rows of the table as they are drawn: by the titles of their columns."""
    return page.run("""const heads = [...document.querySelectorAll(".table-head [role=columnheader]")].map(one => one.textContent.replace(/ [↑↓]$/, ""));
        return [...document.querySelectorAll("#table-grid .table-row")].map(row => Object.fromEntries([...row.children].map((cell, i) => [heads[i], cell.textContent])));""")


def a_type_is_a_table():
    """Members are columns: sorted, narrowed by an expression, and what is chosen is dispatched to in one commit."""
    with World(stores=[f"counter/c{number}" for number in range(8)] + ["door/front"]) as world:
        world.start_daemon()
        client = world.client()
        for number in range(8):
            client.dispatch(f"counter/c{number}", "increment", by=number * 5 % 8)
        page = world.open("stores/counter")
        page.click_text("#panel-stores .details a", "Table")
        page.wait_text("#table-counts", "8 stores")
        rows = until(lambda: len(_table(page)) == 8 and _table(page), "all rows are drawn")
        equal([row["Store"] for row in rows], [f"c{number}" for number in range(8)], "stores in order")
        equal(list(rows[0])[1:], ["Store", "count", "isEven"], "columns")
        page.click_text(".table-head button", "count")
        counts = lambda: [int(row.get("count") or -1) for row in _table(page)]
        until(lambda: counts() == sorted(range(8)), "they are sorted")
        page.click_text(".table-head button", "count")
        until(lambda: counts() == sorted(range(8), reverse=True), "they are sorted the other way")
        equal(page.run("return [...document.querySelectorAll('.table-head [role=columnheader]')].map(one => one.ariaSort);"), [None, "none", "descending", "none"], "what is told of the order")
        client.dispatch("counter/c0", "increment", by=100)
        until(lambda: counts()[0] == 100, "a change moves a row")
        page.type("#table-where", "count >= 5")
        page.wait_text("#table-counts", "4 stores match")
        check("where=count" in page.url and "sort=count" in page.url and "down=1" in page.url, f"The address lacks something: {page.url}")
        sorted_url = page.url
        page.type("#table-where", "count >")
        page.wait_text("#table-where-problem", "line 1, column")
        equal(len(_table(page)), 4, "rows while the expression is wrong")
        page.type("#table-where", "count >= 5")
        page.wait_text("#table-counts", "4 stores match")
        # Chosen by keys and by a click, and dispatched to in one commit.
        page.run("document.querySelector('#table-grid').focus();")
        page.press("home", "space", "down", "space")
        until(lambda: page.shown("#table-dispatch") == "Dispatch to 2 stores…", "two are chosen")
        page.run("document.querySelectorAll('#table-grid .table-row input')[2].click();")
        until(lambda: page.shown("#table-dispatch") == "Dispatch to 3 stores…", "three are chosen")
        chosen = [row["Store"] for row in _table(page)][:3]
        check("chosen=" + ",".join(chosen) in page.url, f"The address does not name {chosen}: {page.url}")
        page.run("window.isOld = true; location.reload();")
        page.wait("return !window.isOld;", "the page is loaded again")
        world.wait_live()
        until(lambda: page.shown("#table-dispatch") == "Dispatch to 3 stores…" and counts()[:1] == [100], "a reload shows the same")
        equal(page.run("return [...document.querySelectorAll('#table-grid .table-row[aria-selected=true]')].length;"), 3, "chosen rows")
        page.click("#table-dispatch")
        page.wait_text("#dispatch-reach", "3 stores in one commit.")
        page.choose("#dispatch-action", "decrement")
        page.click("#dispatch-preview")
        page.wait_text("#dispatch-result", "Preview: 3 stores match, 3 would change")
        page.click("#dispatch-send")
        page.wait_text("#dispatch-result", "3 stores matched, 3 changed.")
        equal([action["store"] for action in world.command("log", "-n", "1")[0]["actions"]], [f"counter/{name}" for name in chosen], "stores of the commit")
        page.click_text("#dispatch-result button", "Undo")
        page.wait_text("#dispatch-result", "3 stores are as they were")
        page.run("history.back();")
        until(lambda: page.shown("#table-dispatch") == "Dispatch to 3 stores…", "Back shows the table")
        # A row leads to its store, and numbers that change have a curve.
        for by in (1, -3, 5):
            client.dispatch(f"counter/{chosen[0]}", "increment", by=by)
            until(lambda: page.run("return [...document.querySelectorAll('#table-grid canvas')].length;") > 0, "the rows are there")
        page.wait("return [...document.querySelectorAll('#table-grid canvas')].some(one => !one.hidden);", "a curve is drawn")
        page.run("document.querySelector('#table-grid').focus();")
        page.press("home", "enter")
        page.wait_text("#store-title", f"counter/{chosen[0]}")
        # A link to another type shows none of the one before, also where its expression is wrong.
        world.go("table/counter")
        page.wait_text("#table-counts", "8 stores")
        world.go("table/door?where=openings >")
        page.wait_text("#table-where-problem", "line 1, column")
        client.dispatch("counter/c0", "increment")
        # The page knows of a store that came after it.
        page.wait_text("#revision", str(client.ask(op="create", store="counter/after")["revision"]))
        equal(_table(page), [], "rows of another type")
        nothing_wrong(world)
