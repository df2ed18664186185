"""What somebody may not read is not on the page."""

from bus import World, nothing_wrong
from webdriver import Failed, check, equal, until

TOKENS = {"reader": "reads-only-the-counters-here", "admin": "may-do-everything-on-this-bus"}
RULES = """
access:
  roles:
    admin: [{ token: admin }]
    reader: [{ token: reader }]
  rules:
    - { role: admin, may: all }
    - { role: reader, may: [read], match: counter/* }
"""


def a_role_sees_only_what_it_may():
    """A reader of the counters sees them alone; every view that it can't use says so in a sentence."""
    with World(token=TOKENS, config=RULES) as world:
        page = world.open()
        page.wait_text("#stores-counts", "2 stores of 1 type")
        equal({row["name"] for row in world.rows() if row["kind"] == "type"}, {"counter"}, "types that are shown")
        admin = world.client("may-do-everything-on-this-bus")
        admin.dispatch("thermostat/living", "note", text="secret of the house")
        admin.dispatch("counter/hall", "increment", by=2)
        world.wait_member("counter/hall", "count", "2")
        # The bus goes on, also where this user sees nothing of it.
        hidden = admin.dispatch("thermostat/living", "note", text="secret of the house")
        page.wait_text("#revision", str(hidden))
        page.screenshot("access-light")
        world.go("log")
        page.wait_text("#panel-log .empty", "There are no commits, or none that you may read.")
        # The past is for those who may read it.
        world.go("time/3")
        page.wait_text("#panel-time .empty", "There are no stores, or none that you may read.")
        world.go("dispatch/counter/hall")
        page.choose("#dispatch-action", "increment")
        page.click("#dispatch-preview")
        text = page.wait_text("#dispatch-result", "Refused")
        check("forbidden" in text and "The access rules do not let you dispatch increment" in text, f"The refusal is told otherwise: {text}")
        world.go("health")
        page.wait_text("#panel-health", "those who may manage it")
        world.go("clients")
        page.wait_text("#clients-table", "this page")
        check("admin" not in page.shown("#clients-table"), "Other users' clients are shown.")
        whole = page.run("return document.documentElement.textContent;")
        check("secret" not in whole and "thermostat" not in whole, "The page holds what may not be read.")
        nothing_wrong(world)
