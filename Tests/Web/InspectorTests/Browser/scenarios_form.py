"""The Dispatch view."""

import os

from bus import World, nothing_wrong
from webdriver import check, equal, until

# Every kind of schema in one action.
KINDS = """
type: kinds
initial: { last: null }
actions:
  take:
    summary: Takes everything.
    payload:
      text: { type: string, minLength: 2, maxLength: 10 }
      whole: { type: integer, minimum: 0, summary: A large number. }
      part: number?
      flag: boolean
      choice: { enum: [low, high], default: low }
      maybe: { type: string, nullable: true }
      list: { type: array, items: integer, maxItems: 3 }
      free: any?
      place: { type: object, properties: { room: string, floor: { type: integer } }, required: [room] }
    set: { last: { var: payload } }
  check:
    payload: { level: { type: integer, maximum: 9223372036854775807 } }
    require:
      - if: { "<": [{ var: payload.level }, 10] }
        else: level must be below 10
    set: { last: { var: payload.level } }
"""


def dispatch_shows_first_what_it_changes():
    """A preview shows the dry run's changes; nothing is sent before that, nor after the form was changed."""
    with World() as world:
        page = world.open("dispatch/counter/kitchen")
        page.wait("return document.querySelector('#dispatch-action').options.length === 3;", "the actions are there")
        page.choose("#dispatch-action", "increment")
        page.wait_text("#dispatch-summary", "Add to the count.")
        check(page.run("return document.querySelector('#dispatch-send').disabled;"), "It can be dispatched without a preview.")
        page.type("#payload-0", "5")
        page.click("#dispatch-preview")
        text = page.wait_text("#dispatch-result", "Preview: ")
        for part in ("1 store matches, 1 would change", "count", "− 0", "+ 5", "− true", "+ false"):
            check(part in text, f"The preview lacks {part!r}: {text}")
        equal(world.command("get", "counter/kitchen")[0]["state"]["count"], 0, "the count after a preview")
        page.screenshot("preview-light")
        page.type("#payload-0", "6")
        check(page.run("return document.querySelector('#dispatch-send').disabled;"), "What was changed after the preview can be dispatched.")
        page.click("#dispatch-preview")
        page.wait("return !document.querySelector('#dispatch-send').disabled;", "the preview is there")
        page.click("#dispatch-send")
        page.wait_text("#dispatch-result", "Dispatched")
        commit = world.command("log", "-n", "1")[0]
        equal(commit["actions"], [{"action": "increment", "payload": {"by": 6}, "store": "counter/kitchen"}], "what was dispatched")
        check(len(commit["key"]) == 32, "It was sent without a key.")
        page.type("#dispatch-target", "counter")
        page.wait_text("#dispatch-reach", "Every counter: 2 stores.")
        page.choose("#dispatch-action", "reset")
        page.wait_text(".form-fields", "This action takes no payload.")
        page.click("#dispatch-preview")
        page.wait_text("#dispatch-result", "2 stores match, 1 would change")
        page.click("#dispatch-send")
        page.wait_text("#dispatch-result", "Dispatched")
        equal(world.command("get", "counter/kitchen")[0]["state"]["count"], 0, "the count after a reset of all")
        page.type("#dispatch-target", "door/front")
        page.choose("#dispatch-action", "rang")
        page.click("#dispatch-preview")
        page.wait_text("#dispatch-result", "It would be committed and change no state.")
        nothing_wrong(world)


def a_refused_dispatch_says_why():
    """Rejections and wrong payloads show the bus's sentence at the field that they name."""
    with World() as world:
        page = world.open("dispatch/thermostat/living")
        page.choose("#dispatch-action", "setTarget")
        page.click("#dispatch-preview")
        page.wait_text("#payload-0-error", "Must be a number.")
        page.type("#payload-0", "45")
        page.click("#dispatch-preview")
        text = page.wait_text("#dispatch-result", "Refused")
        reply = world.client().try_to(op="dispatch", store="thermostat/living", action="setTarget", payload={"celsius": 45})
        check(reply["error"]["message"] in text and "rejected" in text and "thermostat/living" in text, f"The refusal is told otherwise: {text}")
        equal(page.run("return document.querySelector('#payload-0').getAttribute('aria-invalid');"), "true", "the field is marked")
        page.screenshot("refused-light")
        page.type("#payload-0", "21.0")
        page.click("#dispatch-preview")
        page.wait_text("#dispatch-result", "+ 21.0")
        page.type("#dispatch-target", "todo/home")
        page.choose("#dispatch-action", "toggle")
        page.type("#payload-0", "nothing")
        page.click("#dispatch-preview")
        page.wait_text("#dispatch-result", "items.nothing")
        nothing_wrong(world)


def forms_know_every_schema():
    """Strings, numbers of 64 bits, choices, null, lists, free values and objects are sent as they are meant."""
    with World(stores=[]) as world:
        folder = world.types = f"{world.directory}/types"
        os.mkdir(folder)
        with open(f"{folder}/kinds.yaml", "w") as file:
            file.write(KINDS)
        world.stores = ["kinds/a"]
        page = world.open("dispatch/kinds/a")
        page.choose("#dispatch-action", "take")
        at = lambda name, more="": f".form [data-path='{name}']{more}"
        page.type(at("text"), "a")
        page.choose(at("flag"), "false")
        page.type(at("whole"), "9223372036854775807")
        page.type(at("list"), "[1, 2]")
        page.type(at("free"), '{"x": [null, 1.0]}')
        page.type(at("place.room"), "attic")
        page.run("document.querySelector(\"[data-path='maybe']\").parentElement.querySelector('[type=checkbox]').click();")
        page.click("#dispatch-preview")
        text = page.wait_text("#dispatch-result", "Refused")
        check("payload.text" in text, f"The refusal names no member: {text}")
        check(page.run("return document.querySelector(\"[data-path='text']\").ariaInvalid === 'true';"), "The member that is too short is not marked.")
        page.type(at("text"), "ab")
        page.type(at("list"), "[1, ")
        page.click("#dispatch-preview")
        page.wait_text("#dispatch-result", "Fix the highlighted fields.")
        page.wait_text(".form", "This is not JSON")
        page.type(at("list"), "[1, 2]")
        page.click("#dispatch-preview")
        page.wait_text("#dispatch-result", "Preview: ")
        page.screenshot("form-light")
        page.click("#dispatch-send")
        page.wait_text("#dispatch-result", "Dispatched")
        payload = world.command("log", "-n", "1")[0]["actions"][0]["payload"]
        equal(payload, {"text": "ab", "whole": 9223372036854775807, "flag": False, "choice": "low", "maybe": None, "list": [1, 2],
                        "free": {"x": [None, 1.0]}, "place": {"room": "attic"}}, "what was dispatched")
        page.choose("#dispatch-action", "check")
        page.type("#payload-0", "12")
        page.click("#dispatch-preview")
        page.wait_text("#dispatch-result", "level must be below 10")
        check(page.run("return document.querySelector('#payload-0').ariaInvalid === 'true';"), "The member that the rejection names is not marked.")
        world.go("stores/kinds")
        definition = page.wait_text("#panel-stores .details pre", '"maximum": 9223372036854775807')
        check(definition.startswith('{\n  "actions": {\n    "check": {\n'), f"The definition is not shown line by line: {definition}")
        nothing_wrong(world)
