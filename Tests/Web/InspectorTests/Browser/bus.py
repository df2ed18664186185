"""A real daemon, a real fluxbus-web in front of it, and clients: what the page is tested against."""

import json
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

from webdriver import Browser, Failed, check, free_port, until

STORES = ["counter/kitchen", "counter/hall", "thermostat/living", "todo/home", "door/front", "presence/office", "light/hall", "value/volume"]


def user(uid):
    """A user as people read it: by name, where there is one."""
    try:
        return f"{pwd.getpwuid(uid).pw_name} ({uid})"
    except KeyError:
        return f"uid {uid}"


class Program:
    """A process whose output is read as it comes."""

    def __init__(self, arguments, sign, **environment):
        self.lines = []
        self.process = subprocess.Popen(
            arguments, env=dict(os.environ, **environment), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        self.match = until(lambda: self._find(sign), f"{os.path.basename(arguments[0])} says {sign!r}")

    def _read(self):
        for line in self.process.stdout:
            self.lines.append(line)

    def _find(self, sign):
        for line in list(self.lines):
            if match := re.search(sign, line):
                return match
        if self.process.poll() is not None:
            raise Failed(f"{self.process.args[0]} ended with {self.process.returncode}: {''.join(self.lines)}")
        return None

    def stop(self, signal_number=signal.SIGTERM):
        self.process.send_signal(signal_number)
        self.process.wait(20)


class Client:
    """A client over the bus's Unix socket, or over TCP with a token."""

    def __init__(self, address, token=None):
        if address.startswith("unix:"):
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.connect(address[5:])
        else:
            _, host, port = address.split(":")
            self.socket = socket.create_connection((host, int(port)))
        self.socket.settimeout(60)
        self.file = self.socket.makefile("rwb")
        if token:
            self.ask(op="hello", token=token)

    def send(self, **request):
        self.file.write(json.dumps(request).encode() + b"\n")

    def ask(self, **request):
        """The reply; what the bus refuses fails the scenario."""
        reply = self.try_to(**request)
        check(reply["ok"], f"{request} was refused: {reply}")
        return reply

    def try_to(self, **request):
        self.send(**request)
        self.file.flush()
        while True:
            line = self.file.readline()
            check(line, f"The bus ended the connection at {request}.")
            message = json.loads(line)
            if "event" not in message:
                return message

    def event(self):
        """The next event, such as a goodbye; None at the end."""
        line = self.file.readline()
        return json.loads(line) if line else None

    def dispatch(self, store, action, **payload):
        return self.ask(op="dispatch", store=store, action=action, payload=payload)["revision"]

    def close(self):
        self.file.close()
        self.socket.close()


def _directory():
    """A new directory in which the browser has room: the path of a socket of its own there is 46 bytes longer, and holds 107."""
    parent = tempfile.gettempdir()
    return tempfile.mkdtemp(prefix="", dir=parent if len(parent) + 1 + 8 + 46 <= 107 else "/tmp")


class World:
    """The daemon, the web server, and a browser at its page, in a directory that goes with them."""

    def __init__(self, stores=STORES, log=True, config=None, types=None, token=None, listen_tcp=False):
        self.directory = _directory()
        self.stores, self.log, self.config, self.token = stores, log, config, token
        self.types = types or os.environ["FLUXBUS_TYPES"]
        self.address = f"unix:{self.directory}/s"
        self.tcp = f"tcp:127.0.0.1:{free_port()}" if token else None
        self.daemon = self.web = self.browser = None
        self.clients = []
        self.web_port = free_port()
        if token:
            with open(f"{self.directory}/tokens", "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
                file.write("".join(f"{name} {text}\n" for name, text in token.items()))

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if kind and self.browser:
            self.tell()
        for client in self.clients:
            client.close()
        for one in (self.browser,):
            if one:
                one.close()
        for program in (self.web, self.daemon):
            if program and program.process.poll() is None:
                program.stop(signal.SIGKILL)
        shutil.rmtree(self.directory, ignore_errors=True)

    def tell(self):
        """What helps to understand a failure."""
        try:
            self.browser.screenshot("failure")
            for entry in self.browser.console():
                print("console:", entry["level"], entry["message"][:500])
        except (Failed, OSError) as error:
            print("The browser does not answer any more:", error)

    # MARK: Programs

    def start_daemon(self):
        arguments = [os.environ["FLUXBUSD"], "--listen", self.address, "--types", self.types]
        if self.config:
            path = f"{self.directory}/fluxbusd.yaml"
            with open(path, "w") as file:
                file.write(self.config)
            arguments += ["--config", path]
        if self.tcp:
            arguments += ["--listen", self.tcp, "--tokens", f"{self.directory}/tokens"]
        if self.log:
            arguments += ["--log", f"{self.directory}/log.sqlite", "--sync", "never"]
        for store in self.stores:
            arguments += ["--store", store]
        self.daemon = Program(arguments, "listening on")

    def start_web(self):
        bus = self.tcp or self.address
        command = [part.format(bus=bus, port=self.web_port, state=self.directory) for part in json.loads(os.environ["FLUXBUS_WEB"])]
        # What it keeps and makes stands beside the daemon's files.
        self.web = Program(
            command, r"(https?://\S+)", STATE_DIRECTORY=self.directory, XDG_RUNTIME_DIR=self.directory, TMPDIR=self.directory)
        self.link = self.web.match.group(1)
        self.base = f"http://127.0.0.1:{self.web_port}/"

    def open(self, view="stores", dark=False, width=1280, height=800, reduced_motion=False):
        """Starts what is not running and signs in by the link."""
        if not self.daemon:
            self.start_daemon()
        if not self.web:
            self.start_web()
        page = self.browser = Browser(self.directory, dark=dark, width=width, height=height, reduced_motion=reduced_motion)
        page.devtools("Page.addScriptToEvaluateOnNewDocument", source=WATCH)
        page.open(self.link)
        if self.token:
            page.type("#sign-in", next(iter(self.token.values())))
            page.click(".sign-in button")
        self.wait_live()
        if view != "stores":
            self.go(view)
        return page

    def wait_live(self):
        self.browser.wait("return document.querySelector('#status')?.classList.contains('live') ?? false;", "the page is connected")

    def go(self, view):
        self.browser.run("location.hash = arguments[0];", view)
        name = re.split("[/?]", view)[0]
        name = {"store": "stores", "table": "stores"}.get(name, name)
        self.browser.wait("return !document.querySelector(`#panel-${arguments[0]}`).hidden;", f"the view {name} is shown", name)

    def client(self, token=None):
        client = Client(self.tcp if token else self.address, token)
        self.clients.append(client)
        return client

    def command(self, *arguments, codes=(0,)):
        """What the command line says, as the objects of its lines."""
        done = subprocess.run(
            [os.environ["FLUXBUS"], *arguments, "--address", self.address], capture_output=True, text=True, timeout=60,
            stdin=subprocess.DEVNULL)
        check(done.returncode in codes, f"fluxbus {' '.join(arguments)} ended with {done.returncode}: {done.stderr}")
        return [json.loads(line) for line in done.stdout.splitlines() if line]

    # MARK: The tree

    def rows(self, prefix="stores"):
        """The rows of the tree that are drawn: name, value and level."""
        return self.browser.run(
            """return [...document.querySelectorAll(`#${arguments[0]}-tree .row`)].map(row => ({name: row.querySelector(".name").textContent,
                value: row.querySelector(".value").textContent, level: Number(row.ariaLevel), kind: row.className.split(" ")[1],
                computed: !row.querySelector(".badge").hidden, flash: row.classList.contains("flash")}));""", prefix)

    def member(self, store, name, prefix="stores"):
        """The text of a top-level member as the tree shows it; None while it does not."""
        kind, label, within = store.split("/")[0], store.split("/")[1], None
        for row in self.rows(prefix):
            if row["level"] == 1:
                within = row["name"]
            if row["level"] == 2:
                at = row["name"]
            if row["level"] == 3 and within == kind and at == label and row["name"] == f"{name}:":
                return row["value"]
        return None

    def wait_member(self, store, name, value, prefix="stores"):
        until(lambda: self.member(store, name, prefix) == value,
              f"{store} shows {name} as {value}, not {self.member(store, name, prefix)}")


# Notes what must not happen: a broken content policy, an error that nobody caught.
WATCH = """
window.wrongs = [];
document.addEventListener("securitypolicyviolation", event => wrongs.push("policy: " + event.violatedDirective + " " + event.blockedURI));
addEventListener("error", event => wrongs.push("error: " + event.message));
addEventListener("unhandledrejection", event => wrongs.push("rejection: " + (event.reason?.stack ?? event.reason)));
"""


def nothing_wrong(world):
    """No script failed and no policy was broken, whatever the page was shown."""
    wrongs = world.browser.run("return window.wrongs ?? ['the watch did not run'];")
    check(wrongs == [], f"The page did what it must not: {wrongs}")


def now():
    return time.monotonic()
