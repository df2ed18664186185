"""Getting about: Ctrl-K, pins, what is open at first; and the picture of who dispatches and who watches."""

from bus import World, nothing_wrong
from webdriver import check, equal, until

OPTIONS = "return [...document.querySelectorAll('#palette-list [role=option]')].map(one => one.querySelector('bdi')?.textContent);"
BOXES = """return Object.fromEntries([...document.querySelectorAll('.flow-node')].map(one => [one.querySelector('.flow-name').textContent,
    [one.querySelector('.flow-rate').textContent, one.classList.contains('faint'), one.getAttribute('aria-pressed')]]));"""
LINES = """return [...document.querySelectorAll('.flow-line')].map(one => [one.textContent, Number(one.getAttribute('stroke-width')), one.classList.contains('faint')]);"""


def ctrl_k_goes_anywhere():
    """A few letters find views, types, stores, actions, revisions and times; all of it with the keyboard, and as a screen reader expects it."""
    with World() as world:
        world.start_daemon()
        client = world.client()
        made = client.dispatch("counter/kitchen", "increment", by=4)
        page = world.open()
        page.wait_text("#stores-counts", "8 stores")

        def go(text, wanted=None):
            page.press("k", hold="control")
            page.find("#palette-input")
            page.type("#palette-input", text)
            until(lambda: page.run(OPTIONS) and (wanted is None or wanted in page.run(OPTIONS)), f"{text} finds {wanted}, not {page.run(OPTIONS)}")
            return page.run(OPTIONS)
        first = go("", "Stores")
        equal(first, ["Clients", "Dispatch", "Flow", "Health", "Log", "Stores", "Time"], "what is offered at first")
        page.screenshot("palette-empty-light")
        page.press("escape")
        equal(go("kit", "counter/kitchen")[0], "counter/kitchen", "the store that is found first")
        equal(page.run("const one = document.querySelector('#palette-input'); return [one.getAttribute('role'), document.getElementById(one.getAttribute('aria-activedescendant')).getAttribute('aria-selected')];"),
              ["combobox", "true"], "what a screen reader is told")
        page.screenshot("palette-light")
        page.press("enter")
        page.wait_text("#panel-stores .details", "counter/kitchen")
        go("thsett", "thermostat setTarget")
        page.press("enter")
        page.wait("return document.querySelector('#dispatch-target').value === 'thermostat' && document.querySelector('#dispatch-action').value === 'setTarget';", "the form of the action is shown")
        go(str(made), f"Revision {made}")
        page.press("enter")
        page.wait_text(".log .details", f"Revision {made}")
        go(str(made - 1), f"Stores at revision {made - 1}")
        page.press("down", "enter")
        page.wait_text("#time-moment", f"Revision {made - 1} ")
        go("0s ago")
        until(lambda: [one.split(" 20")[0] for one in page.run(OPTIONS)[:2] if one] == ["Commits since", "Stores at"], f"a time is found, not {page.run(OPTIONS)}")
        page.press("down", "enter")
        page.wait_text("#time-moment", f"Revision {made} ")
        go("1m")
        until(lambda: page.run(OPTIONS)[0].startswith("Commits since "), "the time is found")
        page.press("enter")
        until(lambda: page.run("return document.querySelector('#log-span').value;") == "between", "commits of a time are shown")
        page.wait_text("#log-counts", f"{made} commits")
        go("heal", "Health")
        until(lambda: page.run(OPTIONS)[0] == "Health", "the view is found")
        page.press("enter")
        page.wait("return document.activeElement.id === 'tab-health';", "the view has the focus")
        page.press("k", hold="control")
        page.type("#palette-input", "nothing like this")
        page.wait_text("#palette-list", "No matches.")
        page.press("enter")
        page.press("escape")
        page.wait("return document.querySelector('dialog') === null;", "it closes")
        page.click("#go")
        page.find("#palette-input")
        nothing_wrong(world)


def small_types_are_open_at_first():
    """Types of at most 20 stores are open, larger ones are closed, and neither changes by itself when stores come."""
    with World(stores=[f"counter/k{number:02}" for number in range(21)] + [f"door/d{number:02}" for number in range(20)]) as world:
        page = world.open()
        page.wait_text("#stores-counts", "41 stores")
        kinds = lambda: [(row["kind"], row["name"]) for row in world.rows()]
        until(lambda: ("store", "d00") in kinds(), "the doors are shown")
        check(("type", "counter") in kinds() and ("store", "k00") not in kinds(), "The counters are open.")
        client = world.client()
        for number in range(3):
            client.ask(op="create", store=f"door/e{number}")
        page.wait_text("#stores-counts", "44 stores")
        check(("store", "d00") in kinds(), "The doors have closed.")
        nothing_wrong(world)


def pins_stay_before_the_eyes():
    """A store or a value that is pinned stands above the tree with what it is now, also after a reload; a click shows it."""
    with World() as world:
        page = world.open()
        client = world.client()
        world.wait_member("counter/kitchen", "count", "0")
        pins = lambda: page.run("return [...document.querySelectorAll('.pins li')].map(one => [one.querySelector('a').textContent, one.querySelector('.value').textContent]);")
        page.click_row("#stores-tree", "count:")
        page.click_text("#panel-stores .details button", "Pin")
        first = until(pins, "the value is pinned")
        address = first[0][0].split(" ")[0]
        page.click_row("#stores-tree", "front")
        page.wait_text("#panel-stores .details", "door/front")
        page.click_text("#panel-stores .details button", "Pin")
        equal([pin[0] for pin in pins()], [f"{address} count", "door/front"], "what is pinned")
        client.dispatch(address, "increment", by=7)
        until(lambda: pins()[0][1] == "7", f"the pin shows what it is now, not {pins()}")
        page.screenshot("pins-light")
        # Also where its row is not drawn.
        page.run("location.hash = 'stores?filter=todo/*'; location.reload();")
        world.wait_live()
        page.wait_text("#stores-counts", "1 of 8 stores")
        until(lambda: pins() and pins()[0][1] == "7", f"it is pinned after a reload, not {pins()}")
        client.dispatch(address, "increment")
        until(lambda: pins()[0][1] == "8", "the pin is up to date")
        client.ask(op="drop", store="door/front")
        until(lambda: pins()[1][1] == "gone", "a store that went is told")
        page.click_text(".pins a", address)
        page.wait_text("#panel-stores .details", address)
        page.click(".pins button")
        equal([pin[0] for pin in pins()], ["door/front"], "what is still pinned")
        nothing_wrong(world)


def flow_shows_who_does_what():
    """Who dispatches to which types and who watches them, with widths by rate; a click leaves what goes through a box."""
    with World() as world:
        world.start_daemon()
        sensor, panel = world.client(), world.client()
        sensor.ask(op="hello", client="sensor")
        panel.ask(op="hello", client="panel")
        panel.ask(op="subscribe", match="thermostat/*", initial=False)
        panel.ask(op="subscribe", store="door/front", initial=False)
        for number in range(60):
            sensor.dispatch("thermostat/living", "measured", celsius=15 + number / 10)
        panel.dispatch("counter/kitchen", "increment")
        panel.dispatch("thermostat/living", "setTarget", celsius=21)
        page = world.open("flow")
        until(lambda: {"sensor", "panel", "thermostat", "counter", "door"} <= set(page.run(BOXES)), f"the boxes are shown, not {page.run(BOXES)}")
        told = lambda: {text: width for text, width, _ in page.run(LINES)}
        until(lambda: {"panel watches thermostat", "panel watches door"} <= set(told()), f"who watches is shown, not {told()}")
        width = {text.split(":")[0]: width for text, width in told().items()}
        check(width["sensor to thermostat"] > width["panel to thermostat"], f"The widths do not tell the rates: {width}")
        check("panel watches counter" not in width and "sensor to counter" not in width, f"There are lines of nothing: {width}")
        table = page.shown("#panel-flow .tables")
        check("thermostat measured" in table and "60" in table and "thermostat/*" in table, f"The table lacks something: {table}")
        page.screenshot("flow-light")
        # What comes is counted while one looks.
        for _ in range(5):
            sensor.dispatch("counter/hall", "increment")
        until(lambda: any(text.startswith("sensor to counter") for text in told()), "a new line comes")
        # A click leaves what goes through a box; so does the keyboard.
        page.run("[...document.querySelectorAll('.flow-node')].find(one => one.ariaLabel.startsWith('Dispatch: sensor')).dispatchEvent(new MouseEvent('click', {bubbles: true}));")
        until(lambda: page.run(BOXES)["sensor"][2] == "true", "the box is chosen")
        faint = {text.split(":")[0]: faint for text, _, faint in page.run(LINES)}
        check(faint["panel to counter"] and faint["panel watches door"] and not faint["sensor to thermostat"] and not faint["panel watches thermostat"], f"What goes on elsewhere is not faint: {faint}")
        check("setTarget" not in page.shown("#panel-flow .tables"), "The table has what others dispatch.")
        check(page.url.endswith("#flow?who=sensor"), f"The address lacks the choice: {page.url}")
        page.screenshot("flow-chosen-light")
        page.run("history.back();")
        until(lambda: page.run(BOXES)["sensor"][2] == "false", "Back leads to all of it")
        page.run("[...document.querySelectorAll('.flow-node')].find(one => one.ariaLabel.startsWith('Types: thermostat')).focus();")
        page.press("enter")
        until(lambda: page.run(BOXES)["thermostat"][2] == "true", "the keyboard chooses a box")
        page.click_text("#panel-flow .tables a", "60")
        page.wait_text("#log-counts", "60 commits")
        equal(page.run("return ['target', 'by', 'action'].map(name => document.querySelector(`#log-${name}`).value);"), ["thermostat", "sensor", "measured"], "what the log is asked for")
        nothing_wrong(world)


def flow_fits_on_a_phone():
    """390 pixels wide, in dark, and on a bus without a log: nothing scrolls sideways."""
    with World(log=False) as world:
        page = world.open("flow", width=390, height=844, dark=True)
        client = world.client()
        client.ask(op="hello", client="a-client-with-a-rather-long-name")
        client.ask(op="subscribe", match="*/*", initial=False)
        until(lambda: client.dispatch("counter/kitchen", "increment") and any(name.startswith("a-client") for name in page.run(BOXES)), "the client is shown")
        # Without a log only what comes after the page has subscribed is seen.
        until(lambda: client.dispatch("counter/kitchen", "increment") and any(text.startswith("a-client-with-a-rather-long-name to counter") for text, *_ in page.run(LINES)),
              "what it dispatches is shown")
        page.screenshot("flow-dark-phone")
        equal(page.run("return document.documentElement.scrollWidth;"), 390, "how wide the page is")
        nothing_wrong(world)
