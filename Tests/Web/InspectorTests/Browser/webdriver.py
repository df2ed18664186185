"""Drives a headless Chromium by the WebDriver protocol, with the standard library alone."""

import base64
import json
import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request

PATIENCE = 30.0
KEYS = {
    "enter": "\ue007", "escape": "\ue00c", "tab": "\ue004", "up": "\ue013", "down": "\ue015", "left": "\ue012",
    "right": "\ue014", "home": "\ue011", "end": "\ue010", "space": " ", "backspace": "\ue003", "shift": "\ue008", "control": "\ue009",
}


class Failed(Exception):
    """What a scenario found wrong; the message says it."""


def check(condition, message):
    if not condition:
        raise Failed(message)


def equal(found, wanted, what):
    check(found == wanted, f"{what}: {found!r} instead of {wanted!r}")


def until(condition, what, patience=PATIENCE):
    """Asks again and again until the condition gives something true, and returns that."""
    end = time.monotonic() + patience
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > end:
            raise Failed(f"It did not come about within {patience:.0f} s: {what}")
        time.sleep(0.02)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Driver:
    """A browser and the program that drives it, for as long as this lives. `session` is where its windows are asked for."""

    def __init__(self, directory):
        port = free_port()
        driver = os.environ.get("CHROMEDRIVER") or shutil.which("chromedriver")
        # The browser writes into this directory, and not into anybody's home.
        environment = dict(os.environ, HOME=directory, TMPDIR=directory)
        with open(f"{directory}/driver.log", "ab") as log:
            self.process = subprocess.Popen(
                [driver, f"--port={port}"], env=environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                start_new_session=True)
        base = f"http://127.0.0.1:{port}"
        until(lambda: self._is_ready(base), "chromedriver listens")
        arguments = [
            "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
            "--hide-scrollbars", f"--user-data-dir={directory}/profile",
        ]
        capabilities = {
            "browserName": "chrome", "goog:loggingPrefs": {"browser": "ALL"},
            "goog:chromeOptions": {"args": arguments, "binary": os.environ.get("CHROMIUM") or shutil.which("chromium")},
        }
        self.session = f"{base}/session/" + ask("POST", f"{base}/session", {"capabilities": {"alwaysMatch": capabilities}})["sessionId"]

    @staticmethod
    def _is_ready(base):
        try:
            return ask("GET", f"{base}/status")["ready"]
        except (urllib.error.URLError, ConnectionError):
            return False

    def close(self):
        try:
            ask("DELETE", self.session)
        except (Failed, OSError):
            pass
        self.process.terminate()
        self.process.wait(20)
        # Whatever of the browser is left belongs to the session that began with the driver.
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def ask(method, url, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data=data, method=method, headers={"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=120) as reply:
            return json.load(reply)["value"]
    except urllib.error.HTTPError as error:
        value = json.load(error)["value"]
        raise Failed(f"{value['error']}: {value['message'].splitlines()[0]}") from None


class Browser:
    """A window of its own in the browser that FLUXBUS_BROWSER names, or in one that is started for it: a start takes longer
    than most scenarios. `dark` is the user's preference; `width` that of the page."""

    def __init__(self, directory, dark=False, width=1280, height=800, reduced_motion=False):
        shared = os.environ.get("FLUXBUS_BROWSER")
        self.driver = None if shared else Driver(directory)
        self.session = shared or self.driver.session
        # The first window is nobody's: from there each scenario opens its own, though the one before was killed in its window.
        self.first = self._ask("GET", "/window/handles")[0]
        self._ask("POST", "/window", {"handle": self.first})
        self.handle = self._ask("POST", "/window/new", {"type": "window"})["handle"]
        self._ask("POST", "/window", {"handle": self.handle})
        self._ask("POST", "/window/rect", {"width": max(width, 500), "height": height})
        self.devtools("Emulation.setFocusEmulationEnabled", enabled=True)
        self.devtools("Network.clearBrowserCookies")
        self.console()
        self.devtools("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce" if reduced_motion else "no-preference"},
        ])
        self.resize(width, height)

    def resize(self, width, height):
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)

    def _ask(self, method, path, body=None):
        return ask(method, self.session + path, body)

    def close(self):
        if self.driver:
            self.driver.close()
            return
        try:
            self._ask("DELETE", "/window")
            self._ask("POST", "/window", {"handle": self.first})
        except (Failed, OSError):
            pass

    # MARK: The page

    def open(self, url):
        self._ask("POST", "/url", {"url": url})

    @property
    def url(self):
        return self._ask("GET", "/url")

    def run(self, script, *values):
        """Runs the body of a function in the page; `arguments` are the values."""
        return self._ask("POST", "/execute/sync", {"script": script, "args": list(values)})

    def run_async(self, script, *values):
        return self._ask("POST", "/execute/async", {"script": script, "args": list(values)})

    def devtools(self, command, **parameters):
        return self._ask("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def busy(self):
        """The seconds of processor that the page's thread has used, after `Performance.enable` for `threadTicks`."""
        metrics = self.devtools("Performance.getMetrics")["metrics"]
        return next(one["value"] for one in metrics if one["name"] == "TaskDuration")

    def console(self):
        """What the page and the browser have said since the last call: warnings, errors, broken policies."""
        return self._ask("POST", "/se/log", {"type": "browser"})

    def find(self, selector, patience=PATIENCE):
        """The first element that is displayed, waited for."""
        script = """const found = [...document.querySelectorAll(arguments[0])].find(one => one.checkVisibility({visibilityProperty: true}));
            return found ?? null;"""
        return until(lambda: self.run(script, selector), f"{selector} is displayed", patience)

    def click(self, selector):
        element = self.find(selector)
        self._ask("POST", f"/element/{self._id(element)}/click", {})

    def click_text(self, selector, text):
        """Clicks the first displayed element of the selector that has this text."""
        script = """return [...document.querySelectorAll(arguments[0])]
            .find(one => one.checkVisibility() && one.textContent.trim().startsWith(arguments[1])) ?? null;"""
        element = until(lambda: self.run(script, selector, text), f"{selector} says {text!r}")
        self._ask("POST", f"/element/{self._id(element)}/click", {})

    def click_row(self, tree, name, place=0):
        """Clicks the row of a tree that has this name, once it is there; of several the one at a place."""
        script = """const rows = [...document.querySelectorAll(arguments[0] + " .row")].filter(row => row.querySelector(".name").textContent === arguments[1]);
            rows[arguments[2]]?.click();
            return rows.length > arguments[2];"""
        self.wait(script, f"a row {name} is in {tree}", tree, name, place)

    def type(self, selector, text, clear=True):
        element = self._id(self.find(selector))
        if clear:
            self._ask("POST", f"/element/{element}/clear", {})
        self._ask("POST", f"/element/{element}/value", {"text": text})

    def choose(self, selector, value):
        """Chooses an option as a user would, with the events that come of it."""
        self.find(selector)
        self.run("""const one = document.querySelector(arguments[0]); one.value = arguments[1];
            one.dispatchEvent(new Event("input", {bubbles: true})); one.dispatchEvent(new Event("change", {bubbles: true}));""",
            selector, value)

    def press(self, *names, hold=None):
        """Presses keys where the focus is."""
        actions = [{"type": "keyDown", "value": KEYS[hold]}] if hold else []
        for name in names:
            key = KEYS.get(name, name)
            actions += [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]
        if hold:
            actions.append({"type": "keyUp", "value": KEYS[hold]})
        self._ask("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def pointer(self, places):
        """Presses at the first place, moves to the others, and lets go."""
        move = lambda place: {"type": "pointerMove", "x": round(place[0]), "y": round(place[1]), "duration": 50}
        actions = [move(places[0]), {"type": "pointerDown", "button": 0}, *map(move, places[1:]), {"type": "pointerUp", "button": 0}]
        self._ask("POST", "/actions", {"actions": [{"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": actions}]})

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0])?.textContent ?? null;", selector)

    def shown(self, selector):
        return self.run("return document.querySelector(arguments[0])?.innerText ?? '';", selector)

    def wait_text(self, selector, part, patience=PATIENCE):
        """Waits until the element's text has this part, and returns the text."""
        def holds():
            text = self.shown(selector)
            return text if part in text else None
        try:
            return until(holds, "", patience)
        except Failed:
            raise Failed(f"{selector} does not say {part!r} but {self.shown(selector)[:400]!r}") from None

    def wait(self, script, what, *values, patience=PATIENCE):
        return until(lambda: self.run(script, *values), what, patience)

    def screenshot(self, name):
        folder = os.environ.get("FLUXBUS_SCREENSHOTS")
        if not folder:
            return
        os.makedirs(folder, exist_ok=True)
        with open(f"{folder}/{name}.png", "wb") as file:
            file.write(base64.b64decode(self._ask("GET", "/screenshot")))

    @staticmethod
    def _id(element):
        return next(iter(element.values()))
