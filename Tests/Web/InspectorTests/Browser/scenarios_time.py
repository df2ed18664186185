"""The Time view."""

import json

from bus import World, nothing_wrong
from webdriver import check, equal, until


def _history(world):
    """A bus with a past: the revisions of its commits and their times."""
    world.start_daemon()
    client = world.client()
    for value in (1, 2, 3):
        client.dispatch("counter/kitchen", "increment", by=value)
    client.ask(op="create", store="counter/late")
    client.dispatch("todo/home", "add", id="milk", title="Milk")
    client.ask(op="drop", store="door/front")
    return client


def time_shows_any_revision():
    """The slider moves all stores to any moment, by revision and by time, from the keyboard too."""
    with World() as world:
        _history(world)
        page = world.open("time", height=2400)
        page.wait_text("#time-moment", "Revision 14 of 14, the newest")
        page.wait_text("#time-counts", "8 stores")
        slide = """const one = document.querySelector("#time-slider"); one.value = arguments[0]; one.dispatchEvent(new Event("input"));"""
        for revision in (10, 9, 13, 8, 12):
            page.run(slide, revision)
            page.wait_text("#time-moment", f"Revision {revision} of 14")
            told = {line["store"]: line["state"] for line in world.command("at", str(revision), "*/*")}
            page.wait_text("#time-counts", f"{len(told)} stores")
            for store, name in (("counter/kitchen", "count"), ("todo/home", "total"), ("counter/hall", "isEven")):
                world.wait_member(store, name, json.dumps(told[store][name]), prefix="time")
            equal("front" in [row["name"] for row in world.rows("time")], "door/front" in told, f"whether the door is there at {revision}")
        check(page.url.endswith("#time/12"), f"The address does not name the revision: {page.url}")
        page.run("document.querySelector('#time-slider').focus();")
        page.press("left")
        page.wait_text("#time-moment", "Revision 11 of 14")
        page.press("home")
        page.wait_text("#time-moment", "Revision 0 of 14")
        page.wait_text("#panel-time .empty", "There are no stores")
        page.choose("#time-scale", "time")
        commit = world.command("log", "--since", "9", "--limit", "1")[0]
        page.wait("return Number(document.querySelector('#time-slider').max) > 1e9;", "the slider is one of times")
        page.run(slide, commit["time"])
        shown = [one["revision"] for one in world.command("log", "--since", "0") if one["time"] <= commit["time"]][-1]
        page.wait_text("#time-moment", f"Revision {shown} of 14")
        page.click("#panel-time [title='Newest revision']")
        page.wait_text("#time-moment", "the newest")
        nothing_wrong(world)


def two_marks_compare():
    """The difference of two marks is the one that `fluxbus diff` tells; a filter narrows it."""
    with World() as world:
        _history(world)
        page = world.open("time/9")
        page.wait_text("#time-moment", "Revision 9 ")
        page.click_text("#panel-time button", "Mark A")
        world.go("time/14")
        page.wait_text("#time-moment", "Revision 14 ")
        page.click_text("#panel-time button", "Mark B")
        page.click("#time-compare")
        page.wait_text(".comparison", "Revision 9 → 14: 4 stores of 9 differ")
        lines = world.command("diff", "9", "14", codes=(1,))
        text = lambda value: None if value is None else json.dumps(value, separators=(",", ":"), sort_keys=True)
        places = lambda line: {"old": line["path"][1:].replace("/", "."), "new": ""}["old"] or ("created" if "old" not in line else "dropped")
        shown = page.run("""return [...document.querySelectorAll(".comparison .store-differences")].flatMap(section => [...section.querySelectorAll(".difference")].map(one =>
            [section.querySelector("h4").textContent, one.querySelector(".path").textContent, one.querySelector("del .value")?.textContent ?? null, one.querySelector("ins .value")?.textContent ?? null]));""")
        equal(shown, [[line["store"], places(line), text(line.get("old")), text(line.get("new"))] for line in lines], "the differences")
        page.screenshot("compare-light")
        page.type("#time-filter", "counter/*")
        page.click("#time-compare")
        page.wait_text(".comparison", "2 stores of 3 differ")
        nothing_wrong(world)


def a_value_of_the_past_tells_its_origin():
    """A click on a value asks for its origin, which is what `fluxbus blame --at` says; what is older than the log says so."""
    with World() as world:
        client = _history(world)
        page = world.open("time/10")
        page.wait_text("#time-moment", "Revision 10 ")
        world.wait_member("counter/kitchen", "count", "3", prefix="time")
        click = """[...document.querySelectorAll("#time-tree .row")].find(row => row.querySelector(".name").textContent === arguments[0] && row.getAttribute("aria-level") === "3" && row.querySelector(".value").textContent === arguments[1]).click();"""
        page.run(click, "count:", "3")
        text = page.wait_text("#panel-time .blame", "After")
        blame = world.command("blame", "counter/kitchen", "/count", "--at", "10")[0]
        for part in (f"Revision\n{blame['revision']}\n", f'increment {{"by":2}}', f"Before\n{blame['old']}", f"After\n{blame['new']}"):
            check(part in text, f"The origin lacks {part!r}: {text!r}")
        # A long past: the value that was set last is found across windows that double.
        for _ in range(700):
            client.send(op="dispatch", store="counter/kitchen", action="increment", payload={"by": 0}, ack=False)
        newest = client.ask(op="sync")["revision"]
        world.go(f"time/{newest}")
        page.wait_text("#time-moment", f"Revision {newest} ")
        world.wait_member("counter/kitchen", "count", "6", prefix="time")
        page.run(click, "count:", "6")
        blame = world.command("blame", "counter/kitchen", "/count", "--at", str(newest))[0]
        page.wait_text("#panel-time .blame", f"Revision\n{blame['revision']}\n")
        nothing_wrong(world)


def revert_shows_first_what_it_changes():
    """The way back shows the difference first, and does nothing when somebody changes the store meanwhile."""
    with World() as world:
        client = _history(world)
        page = world.open("time/10")
        page.wait_text("#time-moment", "Revision 10 ")
        world.wait_member("counter/kitchen", "count", "3", prefix="time")
        page.click_row("#time-tree", "kitchen")
        page.click_text("#panel-time .details button", "Revert to revision 10")
        text = page.wait_text("dialog", "This would change")
        for part in ("count", "− 6", "+ 3", "Only if still at revision"):
            check(part in text, f"The dialog lacks {part!r}: {text}")
        page.screenshot("revert-light")
        client.dispatch("counter/kitchen", "increment", by=10)
        page.click_text("dialog button", "Revert")
        text = page.wait_text("dialog", "Somebody changed it meanwhile")
        page.wait_text("dialog", "− 16")
        equal(world.command("get", "counter/kitchen")[0]["state"]["count"], 16, "the state after a conflict")
        page.click_text("dialog button", "Revert")
        page.wait("return document.querySelector('dialog') === null;", "the dialog closes")
        equal(world.command("get", "counter/kitchen")[0]["state"]["count"], 3, "the state after the revert")
        commit = world.command("log", "-n", "1")[0]
        equal(commit["reverted"], {"store": "counter/kitchen", "to": 10}, "the newest commit")
        page.wait_text("#announcement", f"This is revision {commit['revision']}")
        page.click_text("#panel-time .details button", "Revert to revision 10")
        page.wait_text("dialog", "there is nothing to revert")
        page.click_text("dialog button", "Cancel")
        nothing_wrong(world)


def the_past_plays():
    """Playing moves on by revisions or by the clock until the newest; a step by hand stops it."""
    with World() as world:
        _history(world)
        page = world.open("time/9")
        page.wait_text("#time-moment", "Revision 9 ")
        page.run("""window.seen = []; new MutationObserver(() => seen.push(document.querySelector("#time-moment strong").textContent))
            .observe(document.querySelector("#time-moment"), {childList: true});""")
        page.choose("#time-speed", "5")
        page.run("document.activeElement.blur();")
        page.press("space")
        until(lambda: page.run("return document.querySelector('#time-play').ariaPressed;") == "true", "it plays")
        page.wait_text("#time-moment", "Revision 14 of 14, the newest")
        until(lambda: page.run("return document.querySelector('#time-play').ariaPressed;") == "false", "it stops at the newest")
        seen = [int(one.split()[1]) for one in page.run("return seen;")]
        check(seen == sorted(seen) and len(set(seen)) >= 4, f"It did not go through the revisions: {seen}")
        until(lambda: page.url.split("#")[1] == "time/14", "the address follows")
        # From the newest it begins anew; a step by hand stops it.
        page.click("#time-play")
        page.wait("return Number(/Revision (\\d+)/.exec(document.querySelector('#time-moment').textContent)[1]) < 6;", "it begins at the oldest")
        page.run("document.activeElement.blur();")
        page.press("]")
        equal(page.run("return document.querySelector('#time-play').ariaPressed;"), "false", "whether it plays after a step")
        page.choose("#time-scale", "time")
        page.wait("return Number(document.querySelector('#time-slider').max) > 1e9;", "the slider is one of times")
        check("scale=time" in page.url, f"The address does not say how the slider goes: {page.url}")
        equal(page.run("return [...document.querySelector('#time-speed').options].map(one => one.textContent)[0];"), "1×", "speeds by time")
        page.click("#time-play")
        page.wait_text("#time-moment", "the newest")
        nothing_wrong(world)


def the_next_change_of_a_store_is_found():
    """From any moment to the next and the previous change of the selected store or member, over commits that changed nothing of it."""
    with World() as world:
        client = _history(world)
        for _ in range(120):
            client.send(op="dispatch", store="counter/kitchen", action="increment", payload={"by": 0}, ack=False)
        last = client.dispatch("counter/kitchen", "increment", by=2)
        page = world.open("time/10?store=counter/kitchen&path=/isEven")
        page.wait_text("#panel-time .details", "isEven")
        page.wait_text("#time-moment", "Revision 10 ")
        # 1, 3 and 6 came with 9, 10 and 11: it was odd until then, and is even since.
        page.click_text("#panel-time button", "Change ›")
        page.wait_text("#time-moment", "Revision 11 ")
        page.click_text("#panel-time button", "Change ›")
        page.wait_text("#announcement", "counter/kitchen has not changed since revision 11.")
        page.run("document.activeElement.blur();")
        page.press("{")
        page.wait_text("#time-moment", "Revision 9 ")
        # Who follows a link gets there, also where the page notes what it shows before the browser tells of it.
        page.run("""location.hash = "time/11?store=counter/kitchen";
            [...document.querySelectorAll("#panel-time button")].find(button => button.textContent === "Mark A").click();""")
        page.wait_text("#panel-time .details", "Revert to revision 11")
        page.run("document.activeElement.blur();")
        page.press("}")
        page.wait_text("#time-moment", f"Revision {last} ")
        page.press("{")
        page.wait_text("#time-moment", "Revision 11 ")
        check("store=counter/kitchen" in page.url, f"The address lacks the store: {page.url}")
        nothing_wrong(world)


def a_revert_is_undone():
    """After a revert the page offers the way back, which another change closes; the address has marks and the comparison."""
    with World() as world:
        client = _history(world)
        page = world.open("time/10?store=counter/kitchen&a=9&b=11&compare=1")
        page.wait_text(".comparison", "Revision 9 → 11: 1 store of 8 differ")
        page.click_text("#panel-time .details button", "Revert to revision 10")
        page.wait_text("dialog", "This would change")
        page.click_text("dialog button", "Revert")
        page.wait_text("#announcement", "counter/kitchen is as it was at revision 10. This is revision 15.")
        page.click_text("#announcement button", "Undo")
        page.wait_text("#announcement", "Undone in revision 16: the store is as it was before revision 15.")
        equal(world.command("get", "counter/kitchen")[0]["state"]["count"], 6, "the count after all")
        page.click_text("#panel-time .details button", "Revert to revision 10")
        page.wait_text("dialog", "This would change")
        page.click_text("dialog button", "Revert")
        page.wait_text("#announcement", "This is revision 17.")
        client.dispatch("counter/kitchen", "increment", by=40)
        page.click_text("#announcement button", "Undo")
        page.wait_text("#announcement", "Not undone: count of counter/kitchen changed again in revision 18")
        equal(world.command("get", "counter/kitchen")[0]["state"]["count"], 43, "the count after a refusal")
        nothing_wrong(world)
