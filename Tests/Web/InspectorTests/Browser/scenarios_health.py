"""The Health view: what it remembers, what it says is wrong, members and effects."""

import os
import shutil

from bus import Program, World, nothing_wrong
from webdriver import check, equal, free_port, until

RATES = "return Number(document.querySelector('#health-moment').max) - Number(document.querySelector('#health-moment').min);"


def health_shows_what_the_bus_counts():
    """Rates, latencies and sizes as plots and as figures, once a second while they are looked at."""
    with World() as world:
        page = world.open("health")
        client = world.client()
        for _ in range(300):
            client.send(op="dispatch", store="counter/kitchen", action="increment", ack=False)
        client.ask(op="sync")
        client.try_to(op="get", store="counter/nowhere")
        page.wait_text("#health-facts", "Revision\n308")
        text = page.wait_text(".tables", "unknown_store")
        check("counter increment" in text and "300" in text, f"The busiest action is not told: {text}")
        stats = client.ask(op="stats")["stats"]
        for part in (stats["version"], f"Stores\n{stats['stores']}", "Clients\n"):
            check(part in page.shown("#health-facts"), f"The figures lack {part!r}: {page.shown('#health-facts')}")
        titles = page.run("return [...document.querySelectorAll('.plot')].filter(one => one.checkVisibility()).map(one => one.querySelector('h3').textContent);")
        equal(titles, ["Commits", "Traffic", "Bytes", "Turn time", "Commit time", "Log write", "Log sync (fsync)", "Reply time", "Clients", "Memory", "Action log"], "plots")
        page.wait_text(".plots", "Grows by")
        check("measured" in page.shown(".plots"), "No latency is told.")
        page.wait("""return [...document.querySelectorAll(".plot-canvas")].slice(0, 3).every(one =>
            one.getContext("2d").getImageData(0, 0, one.width, one.height).data.some(byte => byte > 0));""", "the plots are drawn")
        nothing_wrong(world)


def health_remembers_what_was_before():
    """Counters from before the page was open are there, over restarts of the daemon; restarts and reloads are marked, and each moment has its figures."""
    with World() as world:
        world.types = shutil.copytree(os.environ["FLUXBUS_TYPES"], f"{world.directory}/types")
        page = world.open("health")
        # fluxbus-web looks when it begins; the page that shows what it saw comes after the commits.
        first = """const done = arguments[0]; fetch('/health').then(reply => reply.json())
            .then(({samples}) => done(samples.length > 0 ? [samples[0].time, samples[0].totals.commits] : null));"""
        began = until(lambda: page.run_async(first), "fluxbus-web has looked")
        page.open("about:blank")
        client = world.client()
        for _ in range(50):
            client.dispatch("counter/kitchen", "increment")
        page.open(world.base + "#health")
        world.wait_live()
        equal(page.run_async(first), [began[0], 8], "the first that it remembers")
        page.wait("return Number(document.querySelector('#health-moment').min) <= arguments[0] && document.querySelector('#health-verdict').textContent !== '';", "the plots begin before the page", began[0])
        with open(f"{world.types}/counter.yaml", "a") as file:
            file.write("  double: { increment: { count: state.count } }\n")
        client.ask(op="reload")
        page.run("location.reload();")
        world.wait_live()
        page.wait_text("#health-said", "0 restarts, 1 reload")
        # The daemon starts anew while the page is away.
        page.open("about:blank")
        world.daemon.stop()
        world.daemon = None
        world.start_daemon()
        page.open(world.base + "#health")
        world.wait_live()
        page.wait_text("#health-said", "1 restart, 1 reload")
        page.screenshot("health-marks-light")
        # The first moment that is remembered: the slider goes there with the keyboard, and all plots show its figures.
        figures = lambda: page.run("return [...document.querySelectorAll('.plot')].find(one => one.querySelector('h3').textContent === 'Clients').querySelector('b').textContent;")
        page.run("document.querySelector('#health-moment').focus();")
        page.press("home")
        page.press("right")
        until(lambda: page.text("#health-said") and not page.text("#health-said").startswith("Now"), "a moment is shown")
        page.run("const one = document.querySelector('#health-moment'); one.value = arguments[0]; one.dispatchEvent(new Event('input'));", began[0])
        until(lambda: figures() == "1", f"the figures of then are shown, not {figures()}")
        page.press("end")
        page.wait_text("#health-said", "Now")
        # Pointing at a plot does the same.
        box = page.run("const box = document.querySelector('.plot-canvas').getBoundingClientRect(); return [box.left, box.top, box.width, box.height];")
        page.pointer([(box[0] + box[2] * 0.3, box[1] + 40)])
        until(lambda: not page.text("#health-said").startswith("Now"), "the moment below the pointer is shown")
        page.choose("#health-span", "5m")
        check(page.url.endswith("#health?last=5m"), f"The address lacks the time: {page.url}")
        nothing_wrong(world)


def health_says_what_is_wrong():
    """One plain line: nothing, or what and where; effects have a table of their own."""
    with World(stores=["counter/kitchen", "effect/bell", "effect/night"]) as world:
        page = world.open("health")
        page.wait_text("#health-verdict", "No service handles effect bell")
        client = world.client()
        epoch = client.ask(op="hello")["epoch"]
        for name in ("bell", "night"):
            client.dispatch(f"effect/{name}", "begin", epoch=epoch, done=0, owner="here:1:1")
        page.wait_text("#health-verdict", "Nothing is wrong.")
        check(not page.run("return document.querySelector('#health-verdict').classList.contains('bad');"), "Nothing looks wrong.")
        page.screenshot("health-well-light")
        aside = {"event": "7:0", "store": "door/front", "action": "rang", "reason": "The unit is missing.", "tries": 3}
        client.ask(op="dispatch", store="effect/bell", action="setAside", payload=aside)
        page.wait_text("#health-verdict", "Effect bell has set 1 event aside.")
        row = page.run("return [...document.querySelectorAll('.tables tr')].map(one => [...one.cells].map(cell => cell.textContent)).find(one => one[0] === 'bell');")
        equal(row, ["bell", "0", "0", "1", "0", "ready"], "the row of the effect")
        for _ in range(3):
            client.try_to(op="get", store="counter/nowhere")
        page.wait_text("#health-verdict", "3 requests were refused in the last ")
        check("s: unknown_store." in page.shown("#health-verdict"), "The code is not told.")
        page.screenshot("health-wrong-light")
        page.click_text("#health-verdict a", "Show")
        page.wait_text("#panel-stores .details", "effect/bell")
        nothing_wrong(world)


def health_shows_the_members():
    """A shared bus has its members in a table; what one of them does not reach is said."""
    etcd = shutil.which("etcd")
    check(etcd, "There is no etcd; deploy/prepare etcd-server installs it.")
    client, peer = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
    with World(stores=["counter/kitchen"]) as world:
        keeper = Program(
            [etcd, "--data-dir", f"{world.directory}/etcd", "--listen-client-urls", client, "--advertise-client-urls", client, "--listen-peer-urls", peer,
             "--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}", "--log-level", "info", "--logger", "zap"], "serving client traffic")
        config = "cluster: {{ bus: home, member: {0}, etcd: [\"{1}\"], lease: 2s, advertise: \"unix:{2}\" }}\n"
        world.config = config.format("kitchen", client, f"{world.directory}/s")
        hall = None
        try:
            world.start_daemon()
            with open(f"{world.directory}/hall.yaml", "w") as file:
                file.write(config.format("hall", client, f"{world.directory}/h"))
            hall = Program([os.environ["FLUXBUSD"], "--listen", f"unix:{world.directory}/h", "--types", os.environ["FLUXBUS_TYPES"], "--config", f"{world.directory}/hall.yaml", "--log", f"{world.directory}/hall.sqlite", "--sync", "never", "--store", "counter/kitchen"], "listening on")
            page = world.open("health")
            page.wait_text(".tables", "Members of home")
            rows = lambda: page.run("return [...document.querySelectorAll('.tables section')].find(one => one.querySelector('h3').textContent === 'Members of home') ? [...document.querySelectorAll('.tables section:first-child tbody tr')].map(one => [...one.cells].map(cell => cell.textContent)) : [];")
            until(lambda: [[row[0], row[4]] for row in rows()] == [["hall", "agrees"], ["kitchen (this one)", "agrees"]], "both members are shown")
            page.screenshot("health-members-light")
            keeper.stop()
            page.wait_text("#health-verdict", "This member has not reached the log of the bus for")
            page.screenshot("health-detached-light")
            nothing_wrong(world)
        finally:
            for program in (hall, keeper):
                if program and program.process.poll() is None:
                    program.process.kill()
                    program.process.wait(20)
