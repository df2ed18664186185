"""The Log view."""

import json

from bus import World, nothing_wrong, user
from webdriver import check, equal, until

ROWS = """return [...document.querySelectorAll("#log-list .log-row")].map(row => Object.fromEntries([...row.children].map(cell =>
    [cell.className.split(" ")[0], cell.textContent])));"""


def _rows(page):
    return page.run(ROWS)


def log_shows_every_commit():
    """What comes and what came, as `fluxbus log` tells it, with what changed; also what changes nothing or is no dispatch."""
    with World() as world:
        world.start_daemon()
        client = world.client()
        client.dispatch("counter/kitchen", "increment", by=2)
        page = world.open("log", height=1600)
        until(lambda: len(_rows(page)) == 9, "the past is shown")
        client.dispatch("door/front", "rang")
        client.dispatch("counter/kitchen", "increment", by=3)
        client.ask(op="dispatch", type="counter", action="increment", payload={"by": 1})
        client.ask(op="dispatch", actions=[{"store": "counter/hall", "action": "reset"}, {"store": "door/front", "action": "open"}])
        client.ask(op="create", store="counter/new")
        client.ask(op="drop", store="counter/new")
        client.ask(op="dispatch", store="light/hall", action="switchOn", payload={"seconds": 60})
        client.ask(op="revert", store="counter/kitchen", revision=9)
        newest = client.ask(op="dispatch", store="counter/hall", action="increment", **{"in": 3600}, timer="later")["revision"]
        until(lambda: len(_rows(page)) == newest, "all commits are shown")
        until(lambda: all(row["what"] for row in _rows(page)), "what they changed is shown")
        shown, told = list(reversed(_rows(page))), world.command("log", "--since", "0")
        equal([int(row["revision"]) for row in shown], [commit["revision"] for commit in told], "revisions")
        for row, commit in zip(shown, told):
            for action in commit["actions"]:
                part = " ".join([action.get("store", action.get("type")), action["action"]] + ([json.dumps(action["payload"], separators=(",", ":"), sort_keys=True)] if action["payload"] else []))
                check(part in row["actions-cell"], f"Revision {commit['revision']} shows {row['actions-cell']!r}, without {part!r}")
            equal(row["who"], "daemon" if commit["by"].get("daemon") else user(commit['by']['uid']), f"who made {commit['revision']}")
        what = {int(row["revision"]): row["what"] for row in shown}
        equal(what[10], "no change", "what a bell changed")
        equal(what[11], "count 2 → 5, isEven true → false", "what an increment changed")
        equal(what[12], "counter/hall count 0 → 1, isEven true → false · counter/kitchen count 5 → 6, isEven false → true", "what one to a type changed")
        equal((what[14], what[15]), ("+ counter/new", "− counter/new"), "what came and went")
        equal(what[17], "counter/kitchen count 6 → 2", "what the revert changed")
        page.screenshot("log-mixed-light")
        nothing_wrong(world)


def log_filters_and_pauses():
    """By store, type, user and action; a pause holds the list, and going on shows what came meanwhile."""
    with World() as world:
        world.start_daemon()
        client = world.client()
        for store in ("counter/kitchen", "counter/hall", "counter/kitchen"):
            client.dispatch(store, "increment")
        client.dispatch("door/front", "rang")
        client.dispatch("counter/kitchen", "reset")
        page = world.open("log")
        until(lambda: len(_rows(page)) == 13, "all is shown")
        revisions = lambda: [int(row["revision"]) for row in _rows(page)]
        page.type("#log-target", "counter/kitchen")
        until(lambda: revisions() == [13, 11, 9, 1], f"one store's commits are shown, not {revisions()}")
        page.type("#log-action", "increment")
        until(lambda: revisions() == [11, 9], "one action's commits are shown")
        page.type("#log-target", "counter")
        until(lambda: revisions() == [11, 10, 9], "one type's increments are shown")
        page.type("#log-target", "x")
        page.run("const one = document.querySelector('#log-target'); one.value = ''; one.dispatchEvent(new Event('input'));")
        page.type("#log-action", "x")
        page.run("const one = document.querySelector('#log-action'); one.value = ''; one.dispatchEvent(new Event('input'));")
        until(lambda: len(revisions()) == 13, "all is shown again")
        page.type("#log-by", "daemon")
        until(lambda: revisions() == list(range(8, 0, -1)), "the daemon's commits are shown")
        page.type("#log-by", str(client.ask(op="hello")["identity"]["pid"]))
        until(lambda: revisions() == [13, 12, 11, 10, 9], "one process's commits are shown")
        page.click("#log-pause")
        page.wait_text("#log-counts", "paused")
        client.dispatch("door/front", "rang")
        # The page knows of a store that came after it, so it had the time to show what came before.
        client.ask(op="create", store="counter/after")
        page.wait_text("#revision", "15")
        equal(len(revisions()), 5, "commits while it pauses")
        page.click("#log-pause")
        until(lambda: revisions()[:2] == [15, 14], "what came meanwhile is shown")
        nothing_wrong(world)


def log_shows_what_is_about_stores_like_this():
    """An expression leaves the commits that may concern a store for which it holds now."""
    with World() as world:
        world.start_daemon()
        client = world.client()
        client.dispatch("counter/kitchen", "increment", by=4)
        client.dispatch("counter/hall", "increment")
        client.dispatch("door/front", "rang")
        client.ask(op="dispatch", type="counter", action="increment")
        page = world.open("log")
        until(lambda: len(_rows(page)) == 12, "all is shown")
        revisions = lambda: [int(row["revision"]) for row in _rows(page)]
        page.type("#log-where", "count > 2")
        made = next(commit["revision"] for commit in world.command("log", "--since", "0") if "counter/kitchen" in commit.get("created", {}))
        until(lambda: revisions() == [12, 9, made], f"commits about one counter are shown, not {revisions()}")
        client.dispatch("counter/hall", "increment", by=4)
        until(lambda: revisions()[:4] == [13, 12, 10, 9], f"commits about both counters are shown, not {revisions()}")
        page.type("#log-where", "count >")
        page.wait_text("#log-where-problem", "line 1, column")
        check(revisions()[:4] == [13, 12, 10, 9], "A wrong expression changes what is shown.")
        page.run("const one = document.querySelector('#log-where'); one.value = ''; one.dispatchEvent(new Event('input'));")
        until(lambda: len(revisions()) == 13, "all is shown again")
        equal(page.text("#log-where-problem"), "", "the problem of no expression")
        nothing_wrong(world)


def log_finds_what_is_far_back():
    """By user and by action the bus looks through all of the log, however much of it the page could hold."""
    with World(stores=["counter/main", "door/front"]) as world:
        world.start_daemon()
        client = world.client()
        rang = client.dispatch("door/front", "rang")
        for _ in range(60_000):
            client.send(op="dispatch", store="counter/main", action="increment", ack=False)
        client.ask(op="sync")
        page = world.open("log")
        page.wait_text("#log-counts", "commits loaded")
        page.type("#log-action", "rang")
        page.wait_text("#log-counts", "1 commit")
        until(lambda: [int(row["revision"]) for row in _rows(page)] == [rang], f"revision {rang} is shown, not {_rows(page)}")
        page.type("#log-by", "nobody-like-this")
        page.wait_text("#panel-log .empty", "No commit matches this filter.")
        page.type("#log-by", str(client.ask(op="hello")["identity"]["uid"]))
        until(lambda: [int(row["revision"]) for row in _rows(page)] == [rang], "the user's commit is shown")
        # What comes meanwhile is found, too.
        again = client.dispatch("door/front", "rang")
        until(lambda: [int(row["revision"]) for row in _rows(page)] == [again, rang], "the next one is shown")
        nothing_wrong(world)


def a_click_means_the_row_that_is_seen():
    """What has come is in the list before it is drawn; a click in between is about what is on the screen."""
    with World() as world:
        page = world.open("log")
        client = world.client()
        seen = client.dispatch("counter/kitchen", "increment")
        until(lambda: _rows(page) and int(_rows(page)[0]["revision"]) == seen, "the newest is shown")
        page.run("window.undrawn = []; window.requestAnimationFrame = drawing => undrawn.push(drawing);")
        for _ in range(5):
            client.dispatch("counter/kitchen", "increment")
            page.wait("return undrawn.length > 0;", "there is something to draw")
            page.run("document.querySelector('#log-list .log-row').click();")
            page.wait_text(".log .details h3", f"Revision {seen}")
            page.click(".log .details .close")
            seen = page.run("undrawn.splice(0).forEach(drawing => drawing()); return Number(document.querySelector('#log-list .log-row .revision').textContent);")
        nothing_wrong(world)


def log_holds_still_around_a_chosen_commit():
    """While somebody looks at a commit, what comes moves neither it nor its details."""
    with World() as world:
        page = world.open("log")
        client = world.client()
        chosen = client.dispatch("counter/kitchen", "increment")
        until(lambda: _rows(page) and int(_rows(page)[0]["revision"]) == chosen, "the newest is shown")
        page.click_text("#log-list .log-row", str(chosen))
        place = """const row = document.querySelector("#log-list [aria-selected=true]");
            return row && [row.querySelector(".revision").textContent, Math.round(row.getBoundingClientRect().top)];"""
        before = page.wait(place, "a commit is chosen")
        for _ in range(50):
            client.dispatch("counter/hall", "increment")
        page.wait_text(".log .news", "50 new commits")
        equal(page.run(place), before, "the chosen commit and where it stands")
        check(f"Revision {chosen}" in page.shown(".log .details"), "The details are of another commit.")
        page.press("escape")
        page.click(".log .news")
        until(lambda: int(_rows(page)[0]["revision"]) == chosen + 50, "the newest is shown")
        nothing_wrong(world)


def a_commit_shows_the_states_around_it():
    """A click on a commit shows who, which actions, and what differs, as `fluxbus diff` tells it."""
    with World() as world:
        world.start_daemon()
        client = world.client()
        revision = client.ask(op="dispatch", actions=[{"type": "counter", "action": "increment", "payload": {"by": 5}}, {"store": "todo/home", "action": "add", "payload": {"id": "milk", "title": "Milk"}}])["revision"]
        client.dispatch("counter/hall", "increment")
        page = world.open("log")
        until(lambda: len(_rows(page)) == 10, "the log is shown")
        page.click_text("#log-list .log-row", str(revision))
        page.wait_text(".log .details", "State before and after")
        lines = world.command("diff", str(revision - 1), str(revision), codes=(1,))
        check(len(lines) >= 6, "The diff has too few lines to compare.")
        shown = page.run("""return [...document.querySelectorAll(".log .store-differences")].flatMap(section => [...section.querySelectorAll(".difference")].map(one =>
            [section.querySelector("h4").textContent, one.querySelector(".path").textContent, one.querySelector("del .value")?.textContent ?? null, one.querySelector("ins .value")?.textContent ?? null]));""")
        text = lambda value: None if value is None else json.dumps(value, separators=(",", ":"), sort_keys=True)
        equal(shown, [[line["store"], line["path"][1:].replace("/", "."), text(line.get("old")), text(line.get("new"))] for line in lines], "the differences")
        page.click_text(".log .details a", "All stores before it")
        page.wait_text("#time-moment", f"Revision {revision - 1} ")
        world.wait_member("counter/hall", "count", "0", prefix="time")
        nothing_wrong(world)


def older_commits_come_as_one_scrolls():
    """Beyond what is loaded first, all commits are there down to the first one."""
    with World(stores=["counter/main"]) as world:
        world.start_daemon()
        client = world.client()
        for _ in range(1200):
            client.send(op="dispatch", store="counter/main", action="increment", ack=False)
        client.ask(op="sync")
        page = world.open("log")
        page.wait_text("#log-counts", "commits")
        check("loaded" in page.shown("#log-counts"), f"The whole log was loaded at once: {page.shown('#log-counts')}")
        until(lambda: page.run("const list = document.querySelector('#log-list'); list.scrollTop = list.scrollHeight; return document.querySelector('#log-counts').textContent;") == "1,201 commits",
              "the whole log is there")
        until(lambda: _rows(page) and _rows(page)[-1]["revision"] == "1", "the first commit is shown")
        before = _rows(page)[0]["revision"]
        client.dispatch("counter/main", "increment")
        page.wait_text(".log .news", "1 new commit")
        equal(_rows(page)[0]["revision"], before, "the first row on screen after a new commit")
        page.click(".log .news")
        until(lambda: _rows(page)[0]["revision"] == "1202", "the newest is shown")
        nothing_wrong(world)


def a_bus_without_a_log_shows_commits_as_they_come():
    """Without an action log there is no past, and the page says so; commits show while it is open."""
    with World(log=False) as world:
        page = world.open("log")
        page.wait_text("#panel-log .empty", "Add log: to fluxbusd.yaml to keep history.")
        client = world.client()
        until(lambda: len(_rows(page)) == 0, "the list is empty")
        page.wait("return document.querySelector('#log-counts').textContent === '0 commits';", "the list is there")
        client.dispatch("counter/kitchen", "increment", by=2)
        client.dispatch("door/front", "rang")
        client.ask(op="create", store="counter/new")
        until(lambda: [row["revision"] for row in _rows(page)] == ["11", "10", "9"], "three commits are shown")
        rows = _rows(page)
        equal((rows[2]["actions-cell"], rows[2]["what"]), ('counter/kitchen increment {"by":2}', "count 0 → 2"), "the increment")
        equal(rows[1]["actions-cell"], "door/front rang", "what changes nothing")
        equal(rows[0]["what"], "+ counter/new", "the store that came")
        # A pause holds what comes, also while another view is shown.
        page.click("#log-pause")
        client.dispatch("counter/kitchen", "increment", by=5)
        world.go("time")
        page.wait_text("#panel-time", "Add log: to fluxbusd.yaml to keep history.")
        client.dispatch("door/front", "rang")
        # The page knows of a store that came after it.
        client.ask(op="create", store="counter/after")
        page.wait_text("#revision", "14")
        world.go("log")
        equal([row["revision"] for row in _rows(page)], ["11", "10", "9"], "commits while it pauses")
        page.click("#log-pause")
        until(lambda: [row["revision"] for row in _rows(page)] == ["14", "13", "12", "11", "10", "9"], f"what came meanwhile is shown, not {_rows(page)}")
        equal(_rows(page)[2]["what"], "count 2 → 7, isEven true → false", "the increment during the pause")
        nothing_wrong(world)


def what_is_lost_without_a_log_is_told():
    """On a bus without a log, a pause holds 10,000 commits: a row says that others came before, and another that the bus was too quick."""
    with World(log=False) as world:
        page = world.open("log")
        page.wait_text("#panel-log .empty", "Add log: to fluxbusd.yaml to keep history.")
        held = page.run_async("""const done = arguments[0];
            const fail = () => Promise.reject(Object.assign(new Error("no log"), {code: "unavailable"}));
            const mirror = Object.assign(new Map(), {revision: 0, changes: () => ({[Symbol.asyncIterator]() {return this;}, next: () => new Promise(() => {})}), close() {}});
            const actions = async function* () {
                for (let revision = 1; revision <= 10_002; revision++) yield {revision, target: "counter/kitchen", action: "increment", payload: {}};
                feed.isPaused = false;
                yield {gap: true, revision: 20_000};
                done([feed.commits.length, feed.commits[0].revision, ...feed.commits.filter(one => one.isAfterGap).map(one => one.revision)]);
            };
            let feed;
            import("/inspector/feed.js").then(({Feed}) => {
                feed = new Feed({past: () => ({request: fail}), bus: {actions: async () => actions(), mirror: async () => mirror}}, {onReset() {}, onNews() {}, onError() {}});
                feed.isPaused = true;
                feed.start();
            });""")
        equal(held, [10_001, 3, 3, 20_000], "how many there are, the first of them, and those that follow on a gap")
        # A page that was away does not know what came meanwhile.
        world.web.stop()
        page.wait_text("#status", "Connection lost")
        client = world.client()
        for _ in range(3):
            client.dispatch("door/front", "rang")
        world.start_web()
        page.run("document.querySelector('#retry').click();")
        world.wait_live()
        page.wait_text("#log-list", "earlier commits may be missing")
        nothing_wrong(world)
