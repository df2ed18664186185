"""Runs one scenario by its name, or lists them all; with `--browser`, starts the browser that scenarios share.

The environment says what is tested: FLUXBUSD, FLUXBUS and FLUXBUS_WEB (a JSON list: the program and its arguments, where {bus},
{port} and {state} are filled in), FLUXBUS_TYPES; FLUXBUS_SCREENSHOTS is a folder for pictures, if they are wanted. FLUXBUS_BROWSER is what `--browser` has printed.
"""

import sys
import tempfile
import traceback

import scenarios_access
import scenarios_connection
import scenarios_find
import scenarios_form
import scenarios_go
import scenarios_health
import scenarios_history
import scenarios_log
import scenarios_look
import scenarios_pages
import scenarios_stores
import scenarios_time
import scenarios_weight
from webdriver import Driver, Failed

MODULES = [
    scenarios_stores, scenarios_history, scenarios_pages, scenarios_log, scenarios_find, scenarios_time, scenarios_form,
    scenarios_connection, scenarios_health, scenarios_go, scenarios_access, scenarios_look,
    scenarios_weight,
]


def scenarios():
    """All functions of the modules whose names say that they are scenarios."""
    return {
        name: function for module in MODULES for name, function in vars(module).items()
        if callable(function) and getattr(function, "__module__", "") == module.__name__ and function.__doc__ and not name.startswith("_")
    }


def browse():
    """A browser until the end of the input."""
    with tempfile.TemporaryDirectory(prefix="", ignore_cleanup_errors=True) as directory:
        driver = Driver(directory)
        print(driver.session, flush=True)
        sys.stdin.read()
        driver.close()


def main():
    if sys.argv[1:] == ["--browser"]:
        browse()
        return 0
    if len(sys.argv) != 2:
        print("\n".join(scenarios()))
        return 0
    try:
        scenarios()[sys.argv[1]]()
    except Failed as failure:
        where = traceback.extract_tb(failure.__traceback__)[1]
        print(f"{where.filename.rsplit('/', 1)[-1]}:{where.lineno}: {failure}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
