"""What stands on the wire, without a connection: addresses, errors, requests, merge patches."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any, Dict, Generic, Mapping, NamedTuple, Sequence, Tuple, TypeVar, Union

JSON = Dict[str, Any]
S = TypeVar("S")


class Target(Generic[S]):
    """The address of a store, or the name of a type, whose states are `S`: printed code makes these."""

    def __init__(self, address: str) -> None:
        self.address = address

    def __str__(self) -> str:
        return self.address

    def __repr__(self) -> str:
        return f"Target({self.address!r})"


#: A store or a type.
Place = Union[str, Target[Any]]


class Step(NamedTuple):
    """An action with its target and payload, as functions of printed code make it."""

    target: Place
    action: str
    payload: Mapping[str, Any] = {}


#: One action of a batch or a will: target, action, and perhaps a payload.
ActionOf = Union[Tuple[Place, str], Tuple[Place, str, Mapping[str, Any]]]
StepOf = Union[ActionOf, Mapping[str, Any]]
# An expression: text, or an object of JsonLogic.
Condition = Union[str, Mapping[str, Any]]


class BusError(Exception):
    """A refusal of the bus, or a failure on the way to it.

    `code` is for programs, `message` one sentence for people; `details` has the further members of the bus's error.
    Codes of the client itself are `invalid_address`, `unreachable`, `untrusted`, `timed_out`, `closed`,
    `outcome_unknown` and `unexpected_reply`. Those of a failed or lost connection make it a `BusConnectionError`, and
    `timed_out` makes it a `BusTimeoutError`.
    """

    def __new__(cls, code: str, message: str, details: JSON | None = None) -> BusError:
        # Without arguments: what is an OSError, too, would take them for a number, a text and a file.
        kind = _KINDS.get(code, cls) if cls is BusError else cls
        return super(BusError, kind).__new__(kind)

    def __init__(self, code: str, message: str, details: JSON | None = None) -> None:
        self.args = (code, message, details)
        self.code, self.message, self.details = code, message, details or {}

    def __str__(self) -> str:
        return f"{self.message} ({self.code})"


class BusConnectionError(BusError, ConnectionError):
    """There is no connection, or it was lost: `unreachable`, `untrusted`, `closed`, `outcome_unknown`."""


class BusTimeoutError(BusError, TimeoutError):
    """`timed_out`."""


_KINDS: dict[str, type[BusError]] = {
    **dict.fromkeys(["unreachable", "untrusted", "closed", "outcome_unknown"], BusConnectionError),
    "timed_out": BusTimeoutError,
}


def error_of(reply: JSON) -> BusError:
    details = dict(reply.get("error") or {})
    code = str(details.pop("code", "unexpected_reply"))
    return BusError(code, str(details.pop("message", "The bus refused the request without saying why.")), details)


def outcome_unknown(original: BusError) -> BusError:
    sentence = "The connection was lost, and whether this was committed is unknown: look, then decide."
    return BusError("outcome_unknown", sentence, {"original": original})


def late() -> BusError:
    sentence = "The bus did not answer in the time allowed; whether this was committed is unknown: look, then decide."
    return BusError("timed_out", sentence)


_ADDRESS = re.compile(r"unix:(/.*)|(tcp|tls):(?:\[(.+)\]|([^:\[\]]+)):([0-9]{1,5})", re.DOTALL)


#: One address, several between commas or spaces, or a list of them.
Addresses = Union[str, Sequence[str], None]
#: Scheme, path or host, and port.
Resolved = Tuple[str, str, int]


def resolve(addresses: Addresses) -> list[Resolved]:
    """The addresses in their order; without any those of the environment."""
    own = os.environ.get("XDG_RUNTIME_DIR", "") + "/fluxbus/bus.sock"
    usual = own if own != "/fluxbus/bus.sock" and Path(own).is_socket() else "/run/fluxbus/bus.sock"
    given = addresses if isinstance(addresses, str) else ",".join(addresses or ())
    named = _names(given) or _names(os.environ.get("FLUXBUS_ADDRESS", "")) or ["unix:" + usual]
    return [_resolve(name) for name in named]


def _names(text: str) -> list[str]:
    return text.replace(",", " ").split()


def _resolve(text: str) -> Resolved:
    found = _ADDRESS.fullmatch(text)
    if not found or not 0 < int(found[5] or 1) < 65536:
        sentence = f"`{text}` is not an address of a bus: write unix:/path/to/socket, tcp:HOST:PORT or tls:HOST:PORT."
        raise BusError("invalid_address", sentence)
    return found[2] or "unix", found[1] or found[3] or found[4], int(found[5] or 0)


# Names stay as they are, and what JSON has no word for is an error.
encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
decode = json.JSONDecoder().decode

def written(body: JSON) -> bytes:
    """The request as JSON, or the refusal of one that can't be."""
    try:
        # Half a surrogate pair is no text that can be sent.
        return encode(body).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise BusError("invalid_request", f"This can't be written as JSON: {error}.") from None


def parts_of(body: JSON) -> list[JSON]:
    """A request, and the elements of a batch."""
    actions = body.get("actions")
    return [body, *(part for part in actions if isinstance(part, dict))] if isinstance(actions, list) else [body]


_NAMES = {
    "if_revision": "ifRevision", "dry_run": "dryRun", "if_missing": "ifMissing", "delay": "in", "condition": "if",
    "returning": "return",
}


def request_of(op: str, target: JSON, members: Mapping[str, Any]) -> JSON:
    """A request, with the names of the wire and without the members that say nothing."""
    given = {_NAMES.get(name, name): value for name, value in members.items() if value is not None}
    return {"op": op, **target, **given}


def target_of(target: Place) -> JSON:
    """One store where a name stands behind the type, else every store of the type."""
    text = str(target)
    return {"store" if "/" in text else "type": text}


def pattern_of(target: Place) -> JSON:
    text = str(target)
    return {"match": text} if "*" in text or "?" in text else target_of(text)


def action_of(target: Place, action: str, payload: Mapping[str, Any] | None = None) -> JSON:
    return {**target_of(target), "action": action, **({} if payload is None else {"payload": payload})}


def dispatch_of(target: Place | ActionOf, action: str | None, payload: Mapping[str, Any] | None) -> JSON:
    """An action, as one value or in parts."""
    if isinstance(target, tuple):
        return action_of(*target)
    if action is None:
        raise TypeError("Name the action that is to be dispatched.")
    return action_of(target, action, payload)


def step_of(part: StepOf) -> JSON:
    """An element of a batch: an action as a tuple, or anything as a mapping, as the wire has it."""
    return dict(part) if isinstance(part, Mapping) else action_of(*part)


def merged(state: Any, patch: JSON) -> JSON:
    """RFC 7396. Makes a new state: whoever holds the one before keeps it as it was."""
    result = dict(state) if isinstance(state, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value) if isinstance(value, dict) else value
    return result
