"""One counter in as many processes as you like: each line of input is a number to add; every process prints the count
whenever any of them changes it."""

import sys
import threading

import fluxbus

with fluxbus.connect() as bus:
    bus.create("counter/example", if_missing=True)
    counters = bus.mirror("counter/example")
    changes = counters.changes()

    def show() -> None:
        for _ in changes:
            print(counters["counter/example"]["count"], flush=True)

    print(counters["counter/example"]["count"], flush=True)
    printer = threading.Thread(target=show)
    printer.start()
    for line in sys.stdin:
        if line.strip() == "reset":
            bus.dispatch("counter/example", "reset")
        else:
            bus.dispatch("counter/example", "increment", {"by": int(line)})
printer.join()
