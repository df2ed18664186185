"""How the page looks and reads: both themes, a phone's width, names and contrast, motion."""

import os

from bus import World, nothing_wrong, user
from webdriver import check, equal, until

VIEWS = ["stores", "store/thermostat/living", "table/counter", "log", "time", "dispatch/todo/home", "clients", "health", "flow"]
with open(os.path.join(os.path.dirname(__file__), "audit.js")) as file:
    AUDIT = file.read()


def _fill(world):
    world.start_daemon()
    client = world.client()
    client.ask(op="hello", client="example")
    client.ask(op="subscribe", type="thermostat", initial=False)
    client.dispatch("thermostat/living", "measured", celsius=18.5)
    client.dispatch("todo/home", "add", id="milk", title="Milk, and a title that is longer than any phone is wide, so that it has to be cut somewhere")
    client.dispatch("presence/office", "enter", name="ada")
    for value in (3, 5, 2, 8, 6, 7):
        client.dispatch("counter/kitchen", "increment", by=value)
    return client


def _each_view(world, client, name, look):
    """Goes through all views with something selected in each, calls `look` there and takes a picture."""
    page = world.browser
    for view in VIEWS:
        world.go(view)
        plain = view.split("/")[0]
        if plain == "stores":
            until(lambda: world.rows(), "the tree is shown")
            for value in (4, -3, 6, -2):
                client.dispatch("counter/kitchen", "increment", by=value)
                until(lambda: world.member("counter/kitchen", "count") == str(world.command("get", "counter/kitchen")[0]["state"]["count"]), "the change is shown")
            page.screenshot(f"stores-plain-{name}")
            page.run("""[...document.querySelectorAll("#stores-tree .row")].find(row => row.querySelector(".name").textContent === "count:" && row.querySelector("canvas").hidden === false).click();""")
            page.wait("return document.querySelector('#panel-stores .details .chart-plot path.line') !== null;", "the chart is drawn")
            page.click_text("#panel-stores .details button", "Who set this?")
            page.wait_text("#panel-stores .blame", "After")
        elif plain == "store":
            page.wait("return document.querySelector('.store-page .chart-plot path.line') !== null;", "the chart is drawn")
            page.wait_text(".store-page", "No timers.")
            page.click_text(".store-side .actions button", "setTarget…")
            page.type("#store-payload-0", "21")
            page.press("enter")
            page.wait_text(".store-side .result", "Undo")
        elif plain == "table":
            page.wait_text("#table-counts", "2 stores")
            page.run("document.querySelector('#table-grid input').click();")
            page.wait_text("#table-dispatch", "Dispatch to 1 store…")
        elif plain == "log":
            until(lambda: page.run("return [...document.querySelectorAll('#log-list .what')].every(one => one.textContent) && document.querySelectorAll('#log-list .what').length > 5;"), "the changes are shown")
            page.screenshot(f"log-plain-{name}")
            page.click_text("#log-list .log-row", "10")
            page.wait_text(".log .details", "State before and after")
        elif plain == "time":
            page.wait_text("#time-moment", "the newest")
            page.press("[")
            page.wait_text("#time-moment", user(os.getuid()))
            until(lambda: world.rows("time"), "the tree of then is shown")
        elif plain == "dispatch":
            page.choose("#dispatch-action", "add")
            page.type("#payload-0", "bread")
            page.type("#payload-1", "Bread")
            page.click("#dispatch-preview")
            page.wait_text("#dispatch-result", "Preview: ")
        elif plain == "clients":
            page.wait_text("#clients-table", "example")
        elif plain == "flow":
            page.wait("return document.querySelectorAll('.flow-node').length > 4;", "the picture is drawn")
        else:
            page.wait_text(".plots", "Since the start")
            page.wait_text("#health-facts", "Stores")
        page.screenshot(f"{plain}-{name}")
        look(plain)


def _audited(world, dark):
    with world:
        client = _fill(world)
        page = world.open(dark=dark)
        name = "dark" if dark else "light"
        _each_view(world, client, name, lambda view: equal(page.run(AUDIT), [], f"what is wrong with {view} in {name}"))
        page.run("document.querySelector('#help').click();")
        page.wait_text("dialog", "Keyboard")
        page.screenshot(f"help-{name}")
        equal(page.run(AUDIT), [], f"what is wrong with the help in {name}")
        page.press("escape")
        page.click("#sign-out")
        page.wait_text("#gate", "Sign in")
        equal(page.run(AUDIT), [], f"what is wrong with signing in, in {name}")
        background = page.run("return getComputedStyle(document.body).backgroundColor;")
        equal(sum(map(int, background[4:-1].split(","))) < 200, dark, f"whether {background} is dark")


def light_is_accessible():
    """In light: names, roles, labels, ids, contrast, sizes in every view."""
    _audited(World(), dark=False)


def dark_is_accessible():
    """In dark: names, roles, labels, ids, contrast, sizes in every view."""
    _audited(World(), dark=True)


def _on_a_phone(dark):
    with World() as world:
        client = _fill(world)
        page = world.open(dark=dark, width=390, height=844)

        def look(view):
            wide = page.run("""const wide = [...document.querySelectorAll("body *")].filter(one => one.checkVisibility() && !one.closest(".hidden, .tabs, .row, .spacer, noscript")
                && one.getBoundingClientRect().right > 390.5 && one.getBoundingClientRect().width > 0).map(one => one.tagName + "." + one.className + " " + one.textContent.slice(0, 30));
                return [document.documentElement.scrollWidth, ...wide];""")
            equal(wide, [390], f"what of {view} is wider than the screen")
            equal(page.run(AUDIT), [], f"what is wrong with {view} on a phone")
        _each_view(world, client, "dark-phone" if dark else "light-phone", look)
        nothing_wrong(world)


def a_deep_link_on_a_phone_shows_its_row():
    """The row of a store that a link names is on screen, above the details that open with it."""
    with World(stores=[f"counter/k{number:03}" for number in range(300)]) as world:
        page = world.open(width=390, height=844)
        page.wait_text("#stores-counts", "300 stores")
        world.go("stores/counter/k222")
        page.wait_text("#panel-stores .details", "counter/k222")
        page.wait("""const row = document.querySelector("#stores-tree [aria-selected=true]"), box = document.querySelector("#stores-tree");
            const [inner, outer] = [row?.getBoundingClientRect(), box.getBoundingClientRect()];
            return inner?.top >= outer.top - 1 && inner.bottom <= outer.bottom + 1 && document.querySelector("#panel-stores .details").getBoundingClientRect().top >= inner.bottom - 1;""",
                  "the row is on screen")
        # So is one that is chosen where the details will be.
        page.click(".details .close")
        page.wait("return document.querySelector('#panel-stores .details').hidden;", "the details close")
        # As somebody would who sees the list before clicking in it.
        page.run_async("const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()));")
        page.run("""const rows = [...document.querySelectorAll("#stores-tree .row")], bottom = document.querySelector("#stores-tree").getBoundingClientRect().bottom;
            rows.filter(row => row.getBoundingClientRect().bottom <= bottom).at(-1).click();""")
        page.wait("""const row = document.querySelector("#stores-tree [aria-selected=true]"), details = document.querySelector("#panel-stores .details");
            return !details.hidden && row?.getBoundingClientRect().bottom <= details.getBoundingClientRect().top + 1;""", "the row that was chosen is on screen")
        nothing_wrong(world)


def light_on_a_phone():
    """390 pixels wide, in light: nothing scrolls sideways, everything can be done."""
    _on_a_phone(dark=False)


def dark_on_a_phone():
    """390 pixels wide, in dark."""
    _on_a_phone(dark=True)


def theme_can_be_switched():
    """The switch overrides what the system prefers, and is remembered."""
    with World() as world:
        page = world.open(dark=True)
        colour = lambda: page.run("return getComputedStyle(document.body).backgroundColor;")
        dark = colour()
        page.click("#theme")
        until(lambda: colour() != dark, "it becomes light")
        equal(page.run("return document.querySelector('#theme').getAttribute('aria-label');"), "Switch to dark", "what the switch says")
        page.open(world.base)
        world.wait_live()
        check(colour() != dark, "The choice is forgotten.")
        page.press("t")
        until(lambda: colour() == dark, "t makes it dark again")
        nothing_wrong(world)


def motion_is_reduced_where_that_is_wished():
    """Nothing fades for whoever prefers less motion; a change is still marked."""
    with World() as world:
        page = world.open(reduced_motion=True)
        world.wait_member("counter/kitchen", "count", "0")
        equal(page.run("return getComputedStyle(document.querySelector('#stores-tree .row')).transitionDuration;"), "0s", "how long a row fades")
        world.client().dispatch("counter/kitchen", "increment")
        page.wait("return document.querySelector('#stores-tree .row.flash') !== null;", "the change is marked")
        nothing_wrong(world)
