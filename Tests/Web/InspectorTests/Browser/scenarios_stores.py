"""The Stores view."""

import json

from bus import World, nothing_wrong
from webdriver import check, equal, until


def stores_equal_what_the_command_line_says():
    """Every store and member that the tree shows is what `fluxbus get` says."""
    with World() as world:
        world.start_daemon()
        client = world.client()
        client.dispatch("counter/kitchen", "increment", by=9007199254740993)
        client.dispatch("thermostat/living", "setTarget", celsius=21.0)
        client.dispatch("presence/office", "enter", name="ada")
        page = world.open(height=2400)
        page.wait_text("#stores-counts", "8 stores of 7 types")
        world.wait_member("counter/kitchen", "count", "9007199254740993")
        world.wait_member("thermostat/living", "target", "21.0")
        for line in world.command("get", "*/*"):
            for name, value in line["state"].items():
                shown = world.member(line["store"], name)
                check(shown is not None, f"{line['store']} shows no {name}")
                if not isinstance(value, (dict, list)):
                    equal(json.loads(shown), value, f"{name} of {line['store']}")
        rows = world.rows()
        equal({row["name"] for row in rows if row["computed"]}, {"isEven:", "isSafe:", "frosty:", "heating:", "total:"}, "members marked as computed")
        equal([row["name"] for row in rows if row["kind"] == "type"], sorted({line["store"].split("/")[0] for line in world.command("get", "*/*")}), "types")
        nothing_wrong(world)


def changes_show_at_once_and_flash():
    """A change shows without a reload, flashes and draws a curve; stores come and go."""
    with World() as world:
        page = world.open()
        client = world.client()
        world.wait_member("counter/kitchen", "count", "0")
        page.run("""window.flashed = new Set(); new MutationObserver(() => {
            for (const row of document.querySelectorAll("#stores-tree .row.flash .name")) flashed.add(row.textContent);
        }).observe(document.querySelector("#stores-tree"), {subtree: true, attributes: true, attributeFilter: ["class"]});""")
        for value in (1, 3, 6):
            client.dispatch("counter/kitchen", "increment", by=value - int(world.member("counter/kitchen", "count")))
            world.wait_member("counter/kitchen", "count", str(value))
        equal(set(page.run("return [...flashed];")), {"count:", "isEven:"}, "what flashed")
        page.wait("return document.querySelectorAll('#stores-tree .row.flash').length === 0;", "the flash ends")
        drawn = """return [...document.querySelectorAll("#stores-tree .row")].filter(row => !row.querySelector("canvas").hidden
            && row.querySelector("canvas").getContext("2d").getImageData(0, 0, 64, 18).data.some(byte => byte > 0)).length;"""
        equal(page.run(drawn), 1, "curves drawn")
        client.ask(op="create", store="counter/new", state={"count": 5})
        page.wait_text("#stores-counts", "9 stores")
        world.wait_member("counter/new", "count", "5")
        client.ask(op="drop", store="counter/new")
        page.wait_text("#stores-counts", "8 stores")
        check(all(row["name"] != "new" for row in world.rows()), "A store that went is still shown.")
        page.wait_text("#revision", str(client.ask(op="sync")["revision"]))
        nothing_wrong(world)


def filter_by_glob():
    """The filter takes patterns of the bus and parts of addresses."""
    with World() as world:
        page = world.open()
        page.wait_text("#stores-counts", "8 stores")
        for pattern, wanted in [("counter/*", ["hall", "kitchen"]), ("*/hall", ["hall", "hall"]), ("KITCH", ["kitchen"]), ("*/?o*", ["home", "volume"])]:
            page.type("#stores-filter", pattern)
            until(lambda: [row["name"] for row in world.rows() if row["kind"] == "store"] == wanted,
                  f"{pattern} shows {wanted}, not {[row['name'] for row in world.rows() if row['kind'] == 'store']}")
        page.type("#stores-filter", "nothing/*")
        page.wait_text("#panel-stores .empty", "No store matches this filter.")
        page.wait_text("#stores-counts", "0 of 8 stores")
        nothing_wrong(world)


def filter_by_where():
    """An expression chooses stores, live and in the past; a wrong one is told beside it, with the place."""
    with World() as world:
        page = world.open()
        client = world.client()
        page.wait_text("#stores-counts", "8 stores")
        shown = lambda prefix="stores": [row["name"] for row in world.rows(prefix) if row["kind"] == "store"]
        client.dispatch("counter/hall", "increment", by=3)
        page.type("#stores-where", "count > 2")
        page.wait_text("#stores-counts", "1 of 8 stores")
        equal(shown(), ["hall"], "stores that count more than 2")
        client.dispatch("counter/kitchen", "increment", by=4)
        page.wait_text("#stores-counts", "2 of 8 stores")
        equal(shown(), ["hall", "kitchen"], "stores that count more than 2 by now")
        client.dispatch("counter/hall", "reset")
        page.wait_text("#stores-counts", "1 of 8 stores")
        page.type("#stores-filter", "nothing")
        page.wait_text("#panel-stores .empty", "No store matches this filter.")
        page.type("#stores-filter", "*/*")
        page.type("#stores-where", "count > 2 && (count < ")
        problem = page.wait_text("#stores-where-problem", "line 1, column")
        check("count > 2 && (count <" in problem, f"The expression is not shown: {problem}")
        equal(page.run("return [document.querySelector('#stores-where').ariaInvalid, document.querySelector('#stores-where-problem mark').textContent];"),
              ["true", "…"], "the place of the mistake")
        equal(shown(), ["kitchen"], "stores while the expression is wrong")
        page.type("#stores-where", "count >> 2")
        page.wait("return document.querySelector('#stores-where-problem mark').textContent === '> 2';", "the mistake is marked")
        page.type("#stores-where", '{">":[{"var":"count"},2]}')
        page.wait("return document.querySelector('#stores-where-problem').textContent === '' && !document.querySelector('#stores-where').ariaInvalid;", "JsonLogic is right")
        page.wait_text("#stores-counts", "1 of 8 stores")
        # Integers beyond 2^53 are meant as they are written.
        client.dispatch("value/volume", "set", value=2**53 + 1)
        page.type("#stores-where", '{"==":[{"var":"value"},9007199254740993]}')
        until(lambda: shown() == ["volume"], f"the store with this value is shown, not {shown()}")
        page.run("const one = document.querySelector('#stores-where'); one.value = ''; one.dispatchEvent(new Event('input'));")
        page.wait_text("#stores-counts", "8 of 8 stores")
        world.go("time/9")
        page.wait_text("#time-moment", "Revision 9 of 12")
        page.type("#time-where", "count > 2")
        page.wait_text("#time-counts", "1 of 8 stores")
        equal(shown("time"), ["hall"], "stores that counted more than 2 then")
        page.press("tab")
        page.run("document.activeElement.blur();")
        page.press("]")
        page.wait_text("#time-counts", "2 of 8 stores")
        page.type("#time-where", "count >")
        page.wait_text("#time-where-problem", "line 1, column")
        nothing_wrong(world)


def stores_are_in_the_address():
    """The address has both filters, the store and the member that is selected: a reload shows the same, and Back what was selected before."""
    with World() as world:
        world.start_daemon()
        client = world.client()
        client.dispatch("counter/hall", "increment", by=3)
        client.dispatch("counter/kitchen", "increment", by=4)
        page = world.open()
        page.type("#stores-filter", "counter/*")
        page.type("#stores-where", "count > 2")
        page.wait_text("#stores-counts", "2 of 8 stores")
        page.click_row("#stores-tree", "kitchen")
        page.wait_text("#panel-stores .details", "counter/kitchen")
        store = page.url
        page.click_row("#stores-tree", "count:")
        page.wait_text("#panel-stores .details", "/count")
        for part in ("#stores/counter/hall?", "path=/count", "filter=counter/", "where=count"):
            check(part in page.url, f"The address lacks {part}: {page.url}")
        member = page.url
        page.run("window.isOld = true; location.reload();")
        page.wait("return !window.isOld;", "the page is loaded again")
        world.wait_live()
        page.wait_text("#panel-stores .details", "/count")
        page.wait_text("#stores-counts", "2 of 8 stores")
        equal(page.run("return [document.querySelector('#stores-filter').value, document.querySelector('#stores-where').value];"), ["counter/*", "count > 2"], "the filters")
        equal(page.url, member, "the address after a reload")
        page.run("history.back();")
        page.wait_text("#panel-stores .details", "counter/kitchen")
        equal(page.url, store, "the address after Back")
        page.wait("return document.querySelector('#stores-tree [aria-selected=true] .name')?.textContent === 'kitchen';", "the row is selected")
        # A view opens as it was left.
        page.press("6")
        page.press("1")
        page.wait_text("#panel-stores .details", "counter/kitchen")
        equal(page.url, store, "the address on return")
        nothing_wrong(world)


def details_tell_who_set_a_value():
    """A member's details show its value and its origin as `fluxbus blame` does."""
    with World() as world:
        world.start_daemon()
        client = world.client()
        client.dispatch("counter/hall", "increment", by=4)
        revision = client.dispatch("counter/kitchen", "increment", by=4)
        client.dispatch("counter/hall", "increment", by=2)
        page = world.open()
        world.wait_member("counter/kitchen", "count", "4")
        page.click_row("#stores-tree", "count:", 1)
        page.wait_text("#panel-stores .details", "/count")
        check(page.run("""const [button, chart] = document.querySelectorAll("#panel-stores .details .actions, #panel-stores .details .chart");
            return button.matches(".actions") && chart.matches(".chart");"""), "The button stands below a chart that grows, and moves from under the pointer.")
        page.click_text("#panel-stores .details button", "Who set this?")
        text = page.wait_text("#panel-stores .blame", "Before")
        blame = world.command("blame", "counter/kitchen", "/count")[0]
        equal(blame["revision"], revision, "what blame says")
        for part in (str(blame["revision"]), f"uid {blame['by']['uid']}", f"pid {blame['by']['pid']}", 'counter/kitchen increment {"by":4}', str(blame["old"]), str(blame["new"])):
            check(part in text, f"The origin lacks {part}: {text}")
        page.screenshot("details-light")
        page.click(".details .close")
        page.wait("return document.querySelector('#panel-stores .details').hidden;", "the details close")
        page.run("""[...document.querySelectorAll("#stores-tree .row.store")][0].click();""")
        text = page.wait_text("#panel-stores .details", "Revision")
        check('{"count":6,"isEven":true}' in text, f"A store's details lack its state: {text}")
        page.run("""[...document.querySelectorAll("#stores-tree .row.type")][0].click();""")
        page.wait_text("#panel-stores .details", "increment(by) Add to the count.")
        nothing_wrong(world)


def an_address_that_is_no_text_harms_nothing():
    """Percent signs that stand for no text name no store; the page goes on."""
    with World() as world:
        page = world.open()
        world.go("stores/%E0%A4%A")
        world.go("log/counter%2Fkitchen")
        page.wait("return document.querySelector('#log-target').value === 'counter/kitchen';", "an address with percent signs is read")
        world.go("stores/counter/hall")
        page.wait_text("#panel-stores .details", "counter/hall")
        nothing_wrong(world)


def keyboard_alone_goes_through_the_page():
    """Every view is reached, a tree opened, a value found and an action dispatched without a pointer."""
    with World() as world:
        page = world.open()
        world.wait_member("counter/kitchen", "count", "0")
        page.press("/")
        equal(page.run("return document.activeElement.id;"), "stores-filter", "the focus after /")
        page.press(*"counter/*")
        until(lambda: page.shown("#stores-counts") == "2 of 8 stores", "the filter is typed")
        page.run("document.activeElement.blur();")
        for _ in range(30):
            page.press("tab")
            if page.run("return document.activeElement.id;") == "stores-tree":
                break
        equal(page.run("return document.activeElement.id;"), "stores-tree", "the focus after some Tabs")
        page.press("home")
        page.wait("""const tree = document.querySelector("#stores-tree"), row = tree.querySelector("[aria-selected=true]");
            return row?.querySelector(".name").textContent === "counter" && tree.getAttribute("aria-activedescendant") === row.id;""",
                  "the first row is selected")
        page.press("left")
        until(lambda: len(world.rows()) == 1, "the type closes")
        page.press("right", "right", "down", "down", "enter")
        page.wait_text("#panel-stores .details", "Pointer")
        page.press("escape")
        page.wait("return document.querySelector('#panel-stores .details').hidden;", "Escape closes the details")
        for key, view in enumerate(["stores", "log", "time", "dispatch", "clients", "health"], 1):
            page.press(str(key))
            page.wait("return !document.querySelector('#panel-' + arguments[0]).hidden && document.querySelector('#tab-' + arguments[0]).ariaSelected === 'true';", f"{key} shows {view}", view)
            equal(page.run("return document.activeElement.id;"), f"tab-{view}", f"the focus after {key}")
        page.run("document.querySelector('#tab-health').focus();")
        page.press("left", "left")
        page.wait("return !document.querySelector('#panel-dispatch').hidden && document.activeElement.id === 'tab-dispatch';", "arrows move between tabs")
        page.press("tab", *"counter/kitchen", "tab")
        page.wait("return document.querySelector('#dispatch-action').options.length === 3;", "the actions are there")
        page.press(*"incr", "tab", *"7", "enter")
        page.wait_text("#dispatch-result", "Preview: 1 store matches, 1 would change")
        page.press("tab", "tab", "enter")
        page.wait_text("#dispatch-result", "Dispatched")
        equal(world.command("get", "counter/kitchen")[0]["state"]["count"], 7, "the count")
        page.run("document.activeElement.blur();")
        page.press("?")
        page.wait_text("dialog", "Keyboard")
        page.press("escape")
        page.wait("return document.querySelector('dialog') === null;", "Escape closes the help")
        page.press("3")
        # The moment is where it was left, before the dispatch.
        page.wait_text("#time-moment", "Revision 8 of 9")
        page.run("document.activeElement.blur();")
        page.press("]")
        page.wait_text("#time-moment", "Revision 9 of 9, the newest")
        page.press("[")
        page.wait_text("#time-moment", "Revision 8 of 9")
        page.press("2")
        page.press("p")
        page.wait_text("#log-pause", "Continue")
        nothing_wrong(world)
