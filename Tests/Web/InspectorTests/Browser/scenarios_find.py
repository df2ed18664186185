"""Finding commits in the log: expressions, times, groups, links, and what a commit is copied as."""

import json
import os
import subprocess
import time

from bus import World, nothing_wrong
from scenarios_log import _rows
from webdriver import check, equal, until

CHOSEN = "return new URLSearchParams(location.hash.split('?')[1] ?? '').get(arguments[0]);"
CLIPBOARD = "const done = arguments[0]; navigator.clipboard.readText().then(done, error => done('error: ' + error));"


def _revisions(page):
    return [int(row["revision"]) for row in _rows(page)]


def _wait_revisions(page, wanted, what):
    until(lambda: _revisions(page) == wanted, f"{what} are shown: {wanted}")


def _allow_clipboard(world):
    world.browser.devtools(
        "Browser.grantPermissions", origin=world.base.rstrip("/"), permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])


def log_finds_by_payload():
    """An expression on payloads is looked for by the bus, through all of the log; a wrong one is shown, and the list stays."""
    with World() as world:
        world.start_daemon()
        client = world.client()
        wanted = [client.dispatch("counter/kitchen", "increment", by=by) for by in (70, 80)]
        for _ in range(1500):
            client.send(op="dispatch", store="counter/hall", action="increment", ack=False)
        client.ask(op="sync")
        page = world.open("log")
        until(lambda: len(_rows(page)) > 5, "the log is shown")
        page.type("#log-payload", "by > 60")
        _wait_revisions(page, wanted[::-1], "the large increments")
        page.wait_text("#log-histogram-said", "2 commits from ")
        page.type("#log-payload", "by > 75 && by <")
        page.wait_text("#log-payload-problem", "line 1, column")
        page.screenshot("log-payload-wrong")
        equal(_revisions(page), wanted[::-1], "what is shown beside a wrong expression")
        page.type("#log-payload", "by > 75")
        _wait_revisions(page, wanted[1:], "the largest increment")
        equal(page.text("#log-payload-problem"), "", "what is wrong with an expression that is right")
        # What comes is looked at, too.
        client.dispatch("counter/hall", "increment")
        wanted.append(client.dispatch("counter/hall", "increment", by=99))
        _wait_revisions(page, [wanted[2], wanted[1]], "both of them")
        nothing_wrong(world)


def log_finds_by_time():
    """A time of day leaves out what came before and after; the bars above the list show when, and a drag over them chooses."""
    with World() as world:
        world.start_daemon()
        client = world.client()
        first = [client.dispatch("counter/kitchen", "increment") for _ in range(3)]
        page = world.open("log")
        until(lambda: page.run("return Date.now() / 1000;") > client.ask(op="history", since=first[0] - 1, limit=1)["commits"][0]["time"] + 2, "two seconds pass")
        second = [client.dispatch("counter/hall", "increment") for _ in range(4)]
        page.run("location.reload();")
        world.wait_live()
        page.wait_text("#log-histogram-said", f"{second[-1]} commits from")
        page.screenshot("log-histogram-light")
        # The last eighth of the bars holds the second lot.
        box = page.run("const box = document.querySelector('#log-histogram').getBoundingClientRect(); return [box.left, box.top, box.width, box.height];")
        drag = lambda start, end: page.pointer([(box[0] + box[2] * start, box[1] + box[3] / 2), (box[0] + box[2] * end, box[1] + box[3] / 2)])
        drag(0.6, 0.999)
        _wait_revisions(page, second[::-1], "those of the chosen time")
        equal(page.run("return document.querySelector('#log-span').value;"), "between", "the time that is meant")
        page.wait_text("#log-histogram-said", f"{len(second)} commits from")
        check(page.run(CHOSEN, "from") and page.run(CHOSEN, "to"), "The address does not have the time.")
        page.screenshot("log-range-light")
        # What comes later is not of that time.
        client.dispatch("counter/hall", "increment")
        client.ask(op="create", store="counter/after")
        page.wait_text("#revision", str(second[-1] + 2))
        equal(_revisions(page), second[::-1], "what is shown of that time")
        page.run("history.back();")
        until(lambda: len(_revisions(page)) == second[-1] + 2, "Back shows all of it")
        page.wait_text("#log-histogram-said", f"{second[-1] + 2} commits from")
        # The keyboard does the same: from the first bar, so far that the first lot is in it.
        page.run("document.querySelector('#log-histogram').focus();")
        page.press("home")
        page.press(*["right"] * 10, hold="shift")
        said = page.text("#log-histogram-said")
        check(page.run("return document.querySelector('#log-histogram').getAttribute('aria-valuetext');") == said, "The bars do not say what is chosen.")
        page.press("enter")
        until(lambda: 0 < max(_revisions(page), default=0) < second[0], "what came first is shown")
        until(lambda: said.startswith(f"{len(_revisions(page))} commits"), f"as many are shown as the bars say, {said!r}, not {_revisions(page)}")
        page.choose("#log-span", "5m")
        until(lambda: len(_revisions(page)) == second[-1] + 2, "the last five minutes are shown")
        equal(page.run(CHOSEN, "last"), "5m", "the time that the address has")
        nothing_wrong(world)


def log_is_filtered_on_a_phone():
    """There the fields are behind a button, which says how many are filled."""
    with World() as world:
        world.start_daemon()
        client = world.client()
        rang = client.dispatch("door/front", "rang")
        page = world.open("log", width=390, height=844, dark=True)
        until(lambda: len(_rows(page)) > 3, "the log is shown")
        check(not page.run("return document.querySelector('#log-target').checkVisibility();"), "The fields take the room of the list.")
        page.click(".filters-open")
        page.screenshot("log-filters-dark-phone")
        page.type("#log-target", "door")
        page.type("#log-payload", "!has(x)")
        page.choose("#log-span", "1h")
        page.wait_text(".filters-open", "Filters (3)")
        page.click(".filters-open")
        until(lambda: rang in _revisions(page), "the bell is shown")
        wide = page.run("return document.documentElement.scrollWidth;")
        equal(wide, 390, "how wide the page is")
        nothing_wrong(world)


def log_groups_alike_commits():
    """Commits of one kind that follow one another are one row, with how many, how long, and what they changed together."""
    with World() as world:
        world.start_daemon()
        client = world.client()
        begin = client.dispatch("counter/kitchen", "reset")
        for number in range(42):
            client.dispatch("thermostat/living", "measured", celsius=15 + number / 10)
        client.dispatch("door/front", "rang")
        page = world.open("log")
        page.click("#log-group")
        until(lambda: len(_rows(page)) > 2 and "× 42" in _rows(page)[1]["actions-cell"], "the readings are one row")
        rows = _rows(page)
        equal((rows[0]["actions-cell"], rows[2]["actions-cell"]), ("door/front rang", "counter/kitchen reset"), "what is around the group")
        check(rows[1]["actions-cell"].startswith("measured × 42 in ") and rows[1]["actions-cell"].endswith(" · thermostat/living"), f"The group says {rows[1]['actions-cell']!r}.")
        until(lambda: "measured null → 19.1" in _rows(page)[1]["what"], "what they changed together is shown")
        equal(page.run(CHOSEN, "group"), "1", "what the address says")
        page.wait_text("#log-counts", "52 commits in ")
        page.click_text("#log-list .log-row", f"{begin + 1}–")
        text = page.wait_text(".log .details", f"Revisions {begin + 1} to {begin + 42}")
        check("min 15, max 19.1" in text, f"The readings' range is not told: {text}")
        page.screenshot("log-group-light")
        # One that comes belongs to no group, and the chosen one stays chosen.
        client.dispatch("counter/hall", "increment")
        page.wait_text(".log .news", "1 new commit")
        equal(page.run("return document.querySelector('#log-list [aria-selected=true] .actions-cell').textContent;").split(" in ")[0], "measured × 42", "what is chosen")
        page.click_text(".log .details button", "Show all 42")
        page.wait_text(".log .details", f"Revision {begin + 42}")
        until(lambda: sum("measured" in row["actions-cell"] and "×" not in row["actions-cell"] for row in _rows(page)) > 5, "each of them is shown")
        # All of it is in the address.
        page.run("location.reload();")
        world.wait_live()
        page.wait_text(".log .details", f"Revision {begin + 42}")
        until(lambda: any("× 42" in row["actions-cell"] for row in _rows(page)), "they are one row again")
        page.run("document.querySelector('#log-list').focus();")
        page.press("g")
        until(lambda: all("×" not in row["actions-cell"] for row in _rows(page)), "g shows each of them")
        nothing_wrong(world)


def log_suggests_and_keeps_filters():
    """Fields offer what there is; a filter is kept under a name, and a click on it shows the same again."""
    with World() as world:
        world.start_daemon()
        client = world.client()
        client.ask(op="hello", client="kitchen-panel")
        rang = client.dispatch("door/front", "rang")
        client.dispatch("thermostat/living", "setTarget", celsius=21)
        page = world.open("log")
        until(lambda: len(_rows(page)) > 5, "the log is shown")

        def offered(name):
            page.run("document.querySelector(arguments[0]).focus();", f"#log-{name}")
            return page.run("return [...document.querySelectorAll(`#${arguments[0]}-choices option`)].map(one => one.value);", f"log-{name}")
        until(lambda: {"door", "door/front"} <= set(offered("target")), "stores are offered")
        until(lambda: {"kitchen-panel", "daemon"} <= set(offered("by")), "those who were here are offered")
        page.type("#log-target", "door")
        check("rang" in offered("action") and "setTarget" not in offered("action") and "create" in offered("action"), f"Actions of the type are not offered: {offered('action')}")
        page.type("#log-action", "rang")
        page.type("#log-by", "kitchen-panel")
        _wait_revisions(page, [rang], "the bell")
        page.click("#log-saved")
        page.type("#filter-name", "Who rang")
        page.click_text("dialog form button", "Save")
        page.wait_text("dialog .kept", "Who rang")
        page.screenshot("log-saved-light")
        page.press("escape")
        page.click("#log-clear")
        until(lambda: len(_rows(page)) > 5, "all is shown again")
        equal(page.run("return location.hash;"), "#log", "the address without a filter")
        page.run("location.reload();")
        world.wait_live()
        page.click("#log-saved")
        page.click_text("dialog .kept a", "Who rang")
        _wait_revisions(page, [rang], "the bell again")
        equal(page.run("return [...document.querySelectorAll('#log-filters input')].map(one => one.value).filter(one => one);"), ["door", "kitchen-panel", "rang"], "the fields")
        page.click("#log-saved")
        page.click("dialog .kept button")
        page.wait_text("dialog .kept", "None yet.")
        nothing_wrong(world)


def a_link_shows_the_same_log():
    """The address has filters and the chosen commit: it can be copied, opened elsewhere, reloaded, and gone back from."""
    with World() as world:
        world.start_daemon()
        client = world.client()
        made = [client.dispatch("counter/kitchen", "increment", by=by) for by in (1, 5, 9)]
        page = world.open("log")
        _allow_clipboard(world)
        until(lambda: len(_rows(page)) == 11, "the log is shown")
        page.type("#log-target", "counter/kitchen")
        until(lambda: len(_rows(page)) == 4, "one store's commits are shown")
        page.type("#log-payload", "by > 3")
        _wait_revisions(page, made[:0:-1], "large increments")
        page.click_text("#log-list .log-row", str(made[1]))
        page.wait_text(".log .details", f"Revision {made[1]}")
        page.click("#copy-link")
        page.wait_text("#announcement", "was copied")
        link = page.run_async(CLIPBOARD)
        equal(link, page.url, "the link that was copied")
        equal(link.split("#")[1], f"log/counter/kitchen?payload=by+%3E+3&commit={made[1]}", "what it says")
        page.open("about:blank")
        page.open(link)
        world.wait_live()
        page.wait_text(".log .details", f"Revision {made[1]}")
        _wait_revisions(page, made[:0:-1], "large increments")
        # Back and Forward go through what was asked for, one field at a time.
        page.click(".log .details .close")
        page.type("#log-action", "reset")
        page.wait_text("#panel-log .empty", "No commit matches this filter.")
        page.run("window.isSame = true; history.back();")
        _wait_revisions(page, made[:0:-1], "what Back leads to")
        check(page.run("return window.isSame === true;"), "Back leads out of the page.")
        page.run("history.forward();")
        page.wait_text("#panel-log .empty", "No commit matches this filter.")
        # Another view, and this one as it was left.
        page.click("#tab-health")
        page.click("#tab-log")
        page.wait_text("#panel-log .empty", "No commit matches this filter.")
        equal(page.run("return document.querySelector('#log-action').value;"), "reset", "the field that was filled")
        nothing_wrong(world)


def a_commit_is_copied_in_four_ways():
    """As a command, a line of JSON, a request for curl and a test: each does again what the commit did."""
    with World() as world:
        world.start_daemon()
        client = world.client()
        one = client.dispatch("todo/home", "add", id="milk", title="Milk & 'butter'")
        both = client.ask(op="dispatch", actions=[{"store": "counter/kitchen", "action": "increment", "payload": {"by": 3}}, {"op": "create", "store": "counter/new"}, {"store": "counter/new", "action": "increment"}])["revision"]
        page = world.open("log")
        _allow_clipboard(world)

        def copied(revision, name):
            # What has come may be announced above the row.
            page.wait("""const row = [...document.querySelectorAll("#log-list .log-row")].find(one => one.textContent.startsWith(arguments[0]));
                row?.click(); return row !== undefined;""", f"revision {revision} is in the list", str(revision))
            page.wait_text(".log .details", "State before and after")
            page.wait_text(".log .details h3", f"Revision {revision}")
            page.run("document.querySelector('#announcement').textContent = '';")
            page.click_text(".log .copies button", name)
            page.wait_text("#announcement", "Copied")
            return page.run_async(CLIPBOARD)

        def again(text):
            done = subprocess.run(["sh", "-c", text], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, env=dict(
                os.environ, FLUXBUS_ADDRESS=world.address, TOKEN="x", PATH=f"{os.path.dirname(os.environ['FLUXBUS'])}:{os.environ['PATH']}"))
            equal(done.returncode, 0, f"{text} ends with {done.stderr}")
            return client.ask(op="history", order="newest", limit=1)["commits"][0]
        what = lambda commit: [commit["actions"], sorted(commit.get("created", {})), commit.get("steps")]
        state = lambda: client.ask(op="get", store="todo/home")["states"]["todo/home"]
        undo = lambda: client.ask(op="revert", store="todo/home", revision=one - 1)
        made = client.ask(op="history", since=one - 1, limit=2)["commits"]
        undo()
        equal(what(again(copied(one, "Command"))), what(made[0]), "what the command did")
        undo()
        line = copied(one, "JSON line")
        check("\n" not in line, "The line is several.")
        client.ask(**json.loads(line))
        equal(len(state()["items"]), 1, "what the line did")
        curl = copied(one, "curl")
        equal(curl, f"curl -H \"Authorization: Bearer $TOKEN\" -d '{{\"id\":\"milk\",\"title\":\"Milk & '\\''butter'\\''\"}}' {world.base}v1/dispatch/todo/home/add", "the request for curl")
        page.screenshot("log-copies-light")
        test = copied(one, "Test")
        types = f"{world.directory}/types"
        os.mkdir(types)
        with open(f"{os.environ['FLUXBUS_TYPES']}/todo.yaml") as file:
            definition = file.read()
        for name, text in (("todo.yaml", definition), ("todo.test.yaml", test)):
            with open(f"{types}/{name}", "w") as file:
                file.write(text)
        told = subprocess.run([os.environ["FLUXBUS"], "types", "test", types], capture_output=True, text=True, timeout=60)
        check(told.returncode == 0 and f"as at revision {one}" in told.stdout + told.stderr + test, f"The test fails: {test}{told.stdout}{told.stderr}")
        with open(f"{types}/todo.test.yaml", "w") as file:
            file.write(test.replace("butter", "bread", 1))
        equal(subprocess.run([os.environ["FLUXBUS"], "types", "test", types], capture_output=True, timeout=60).returncode == 0, False, "whether a test that says something else passes")
        # A batch stays one commit, in its order.
        client.ask(op="drop", store="counter/new")
        equal(what(again(copied(both, "Command"))), what(made[1]), "what the batch did")
        client.ask(op="drop", store="counter/new")
        client.ask(**json.loads(copied(both, "JSON line")))
        equal(client.ask(op="get", store="counter/new")["states"]["counter/new"]["count"], 1, "what the line of a batch did")
        nothing_wrong(world)
