"""The history of a value as a chart."""

import os

from bus import World, nothing_wrong, user
from webdriver import check, equal, until

# What of a chart is drawn: for each path its classes and how many strokes it has.
DRAWN = """return [...document.querySelectorAll(`${arguments[0]} .chart-plot path.line`)].map(one => [one.getAttribute("class"), one.getAttribute("d").split("M").length - 1]);"""
PLACE = """const box = document.querySelector(`${arguments[0]} .chart-plot`).getBoundingClientRect();
    return [box.left + 50 + (box.width - 70) * arguments[1], box.top + box.height / 2];"""


def _measured(world):
    """A room whose target three programs set, one after the other, while a sensor measures it."""
    world.start_daemon()
    sensor, panel, night = (world.client() for _ in range(3))
    for client, name in ((sensor, "sensor"), (panel, "panel"), (night, "night")):
        client.ask(op="hello", client=name)
    for step in range(12):
        sensor.dispatch("thermostat/living", "measured", celsius=round(18 + step * 0.3 - (step > 7) * 0.8, 1))
        if step % 4 == 1:
            panel.dispatch("thermostat/living", "setTarget", celsius=20 + step % 3)
        if step % 4 == 3:
            night.dispatch("thermostat/living", "setTarget", celsius=16.5)
    night.dispatch("thermostat/living", "setMode", mode="manual")
    return sensor, panel, night


def _chart(page, within):
    """Waits until the chart has been read."""
    page.wait("return document.querySelector(`${arguments[0]} .chart-plot path.line`) !== null;", "the chart is drawn", within)


def _click_member(page, name, level=3):
    page.run("""[...document.querySelectorAll("#stores-tree .row")].find(row => row.querySelector(".name").textContent === `${arguments[0]}:`).click();""", name)


def a_value_has_a_history():
    """A click on a number, a text or a boolean draws its history, with a colour for each author; a point leads to its commit."""
    with World(stores=["thermostat/living", "thermostat/hall"]) as world:
        sensor, panel, night = _measured(world)
        page = world.open()
        world.wait_member("thermostat/living", "target", "16.5")
        page.click_row("#stores-tree", "target:", 1)
        within = "#panel-stores .details"
        _chart(page, within)
        samples = sensor.ask(op="samples", store="thermostat/living", path="/target", cause=True)["samples"]
        authors = {"panel": 3, "night": 3}
        text = page.wait_text(f"{within} .chart-legend", "panel")
        for name, changes in authors.items():
            check(f"{user(os.getuid())} {name} {changes}" in text.replace("\n", " "), f"The legend lacks {name}: {text}")
        check("sensor" not in text, f"Who has not set the value is in the legend: {text}")
        drawn = {name.split()[1]: strokes for name, strokes in page.run(DRAWN, within)}
        equal(sorted(drawn.values()), [1, 3, 3], f"strokes by author, and the one before them, in {drawn}")
        # The newest point, by keys, and the commit behind it.
        page.run("document.querySelector(arguments[0]).focus();", f"{within} .chart-plot")
        page.press("end")
        reading = page.wait_text(f"{within} .chart-reading", "Revision")
        newest = samples[-1]
        for part in ("16.5", "night", f"Revision {newest['revision']}"):
            check(part in reading, f"The reading lacks {part}: {reading}")
        told = page.run("const one = document.querySelector(arguments[0]); return [one.getAttribute('role'), one.ariaValueText, one.ariaLabel];", f"{within} .chart-plot")
        check(told[0] == "slider" and told[1] in reading and told[2] == "History of thermostat/living/target", f"The chart says of itself: {told}")
        page.press("left")
        page.wait_text(f"{within} .chart-reading", f"Revision {samples[-2]['revision']}")
        page.press("enter")
        page.wait_text("#panel-log .details", f"Revision {samples[-2]['revision']}")
        page.run("history.back();")
        page.wait_text("#panel-stores .details", "/target")
        # What changes while it is looked at is drawn, too.
        panel.dispatch("thermostat/living", "setTarget", celsius=25)
        page.wait_text(f"{within} .chart-legend", "panel 4")
        # A text has a lane for each value, a boolean two.
        _click_member(page, "mode")
        lanes = lambda: page.run("return [...document.querySelectorAll(arguments[0] + ' .chart-plot text')].map(one => one.textContent);", within)
        page.click_row("#stores-tree", "mode:", 1)
        until(lambda: {'"auto"', '"manual"'} <= {one.replace("…", '"') if one.endswith("…") else one for one in lanes()}, f"the lanes of a text: {lanes()}")
        page.click_row("#stores-tree", "heating:", 1)
        until(lambda: {"true", "false"} <= set(lanes()), f"the lanes of a boolean: {lanes()}")
        nothing_wrong(world)


def a_chart_is_zoomed_and_shared():
    """A brush over a chart zooms, the address has the range and the second value, and Back, Forward and a reload show what was shown."""
    with World(stores=["thermostat/living", "thermostat/hall"]) as world:
        _measured(world)
        page = world.open("stores/thermostat/living?path=/measured&last=3600")
        within = "#panel-stores .details"
        _chart(page, within)
        pressed = "return document.querySelector(`${arguments[0]} .ranges [aria-pressed=true]`)?.textContent ?? null;"
        until(lambda: page.run(pressed, within) == "1 h", "the range of the address is chosen")
        page.type(f"{within} .chart input[type=search]", "thermostat/living/target")
        until(lambda: {name.split()[-1] for name, _ in page.run(DRAWN, within)} == {"value-0", "value-1"}, "both values are drawn")
        check("with=thermostat/living/target" in page.url and "last=3600" in page.url, f"The address lacks something: {page.url}")
        page.run("document.querySelector(arguments[0]).focus();", f"{within} .chart-plot")
        page.press("end")
        page.wait_text(f"{within} .chart-reading", "target 16.5")
        wide = page.url
        page.pointer([page.run(PLACE, within, 0.5), page.run(PLACE, within, 0.8), page.run(PLACE, within, 1.05)])
        until(lambda: "from=" in page.url and "until=" in page.url, "the brush zooms")
        until(lambda: page.run(pressed, within) is None, "no range up to now is chosen")
        zoomed = page.url
        reading = "return document.querySelector(`${arguments[0]} .chart-reading`).textContent;"
        page.wait("return / values? from /.test(document.querySelector(`${arguments[0]} .chart-reading`).textContent);", "the range is told", within)
        told = page.run(reading, within)
        page.run("window.isOld = true; location.reload();")
        page.wait("return !window.isOld;", "the page is loaded again")
        world.wait_live()
        _chart(page, within)
        until(lambda: page.run(reading, within) == told, f"a reload shows the same: {page.run(reading, within)!r} {told!r}")
        until(lambda: len(page.run(DRAWN, within)) >= 2, "a reload draws both values")
        page.run("history.back();")
        until(lambda: page.url == wide and page.run(pressed, within) == "1 h", "Back shows the hour")
        page.run("history.forward();")
        until(lambda: page.url == zoomed and page.run(reading, within) == told, "Forward shows the part of it")
        # The keys do the same: from one point to another, and out again.
        page.run("document.querySelector(arguments[0]).focus();", f"{within} .chart-plot")
        page.press("-")
        until(lambda: page.url not in (zoomed, wide), "- zooms out")
        page.press("home")
        page.press("end", hold="shift")
        before = page.url
        page.press("enter")
        until(lambda: page.url != before and "#stores" in page.url, "Shift with arrows and Enter zooms in")
        nothing_wrong(world)


def a_chart_spans_what_the_log_keeps():
    """Thousands of changes are drawn as steps with their least and most; a bus without a log says that it has no past."""
    with World() as world:
        world.start_daemon()
        client = world.client()
        client.ask(op="hello", client="counting")
        for value in range(3000):
            client.send(op="dispatch", store="counter/kitchen", action="increment", payload={"by": (value * 7919) % 41 - 20}, ack=False)
        client.ask(op="sync")
        page = world.open("stores/counter/kitchen?path=/count&last=0")
        within = "#panel-stores .details"
        _chart(page, within)
        page.wait_text(f"{within} .chart-reading", "values from")
        values = int(page.run("return document.querySelector(`${arguments[0]} .chart-reading`).textContent;", within).split()[0].replace(",", ""))
        told = client.ask(op="samples", store="counter/kitchen", path="/count", most=1000)["samples"]
        equal(values, sum(one["changes"] for one in told) + (told[0]["changes"] == 0), "how many values there were")
        page.run("document.querySelector(arguments[0]).focus();", f"{within} .chart-plot")
        page.press("end")
        reading = page.wait_text(f"{within} .chart-reading", "changes")
        check(" to " in reading and "counting" in reading, f"The reading of a step lacks something: {reading}")
        nothing_wrong(world)
    with World(log=False) as world:
        page = world.open("stores/counter/kitchen?path=/count")
        page.wait_text("#panel-stores .chart", "This bus keeps no history.")
        nothing_wrong(world)
