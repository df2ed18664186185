"""What stands on the wire, without a connection: addresses, errors, the bodies of requests, merge patches."""

import json
import os
import stat
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

JSONObject = Dict[str, Any]
#: One action of a batch or a will: target, action, and perhaps a payload.
ActionOf = Union[Tuple[str, str], Tuple[str, str, Mapping[str, Any]]]


class BusError(Exception):
    """A refusal of the bus, or a failure on the way to it.

    `code` is for programs, `message` one sentence for people; `details` has the further members of the bus's error.
    Codes of the client itself are `invalid_address`, `unreachable`, `untrusted`, `timed_out`, `closed`,
    `outcome_unknown` and `unexpected_reply`.
    """

    def __init__(self, code: str, message: str, details: Optional[JSONObject] = None) -> None:
        super().__init__(code, message, details)
        self.code, self.message, self.details = code, message, details or {}

    def __str__(self) -> str:
        return f"{self.message} ({self.code})"


def error_of(reply: JSONObject) -> BusError:
    error = reply.get("error")
    details = dict(error) if isinstance(error, dict) else {}
    code = str(details.pop("code", "unexpected_reply"))
    return BusError(code, str(details.pop("message", "The bus refused the request without saying why.")), details)


def resolve(address: Optional[str]) -> Tuple[str, str, int]:
    """Scheme, path or host, and port; without an address that of the environment."""
    text = address or os.environ.get("FLUXBUS_ADDRESS")
    if not text:
        runtime = os.environ.get("XDG_RUNTIME_DIR", "") + "/fluxbus/bus.sock"
        own = runtime.startswith("/") and os.path.exists(runtime) and stat.S_ISSOCK(os.stat(runtime).st_mode)
        text = "unix:" + (runtime if own else "/run/fluxbus/bus.sock")
    scheme, _, rest = text.partition(":")
    if scheme == "unix" and rest.startswith("/"):
        return scheme, rest, 0
    host, _, port = rest.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    if scheme in ("tcp", "tls") and host and port.isascii() and port.isdigit() and 0 < int(port) < 65536:
        if bracketed or ":" not in host:
            return scheme, host[1:-1] if bracketed else host, int(port)
    raise BusError(
        "invalid_address",
        f"“{text}” is no address of a bus: write unix:/path/to/socket, tcp:HOST:PORT or tls:HOST:PORT.",
    )


# Names stay as they are, and what JSON has no word for is an error here already.
_encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def encode(body: JSONObject) -> bytes:
    """The line of a request up to where more members can follow."""
    return _encoder.encode(body)[:-1].encode()


_scan = json.JSONDecoder().raw_decode


def decode(line: bytes) -> JSONObject:
    text = line.decode().strip()
    value, end = _scan(text)
    if end != len(text) or not isinstance(value, dict):
        raise ValueError("a line is no JSON object")
    return value


def target_of(target: str) -> JSONObject:
    """One store where a name stands behind the type, else every store of the type."""
    return {"store" if "/" in target else "type": target}


def pattern_of(target: str) -> JSONObject:
    return {"match": target} if "*" in target or "?" in target else target_of(target)


def actions_of(actions: Iterable[ActionOf]) -> List[JSONObject]:
    # A tuple of two or of three.
    parts: List[Sequence[Any]] = list(actions)
    return [
        {**target_of(part[0]), "action": part[1], **({"payload": part[2]} if len(part) > 2 else {})} for part in parts
    ]


_NAMES = {"if_revision": "ifRevision", "dry_run": "dryRun", "if_missing": "ifMissing", "delay": "in"}


def renamed(given: Mapping[str, Any]) -> JSONObject:
    """The members of a request, under their names on the wire."""
    return {_NAMES.get(name, name): value for name, value in given.items()}


def dispatch_of(
    target: str, action: str, payload: Optional[Mapping[str, Any]], options: Mapping[str, Any]
) -> JSONObject:
    given = {name: value for name, value in options.items() if value is not None and value is not False}
    if payload is not None:
        given["payload"] = payload
    return {"op": "dispatch", **target_of(target), "action": action, **renamed(given)}


def batch_of(actions: Iterable[ActionOf], key: Optional[str], dry_run: bool) -> JSONObject:
    body: JSONObject = {"op": "dispatch", "actions": actions_of(actions)}
    return {**body, **({"key": key} if key else {}), **({"dryRun": True} if dry_run else {})}


def create_of(
    address: str, state: Optional[Mapping[str, Any]], ephemeral: bool, if_missing: bool, ttl: Union[None, float, str]
) -> JSONObject:
    given = {"state": state, "ephemeral": ephemeral or None, "ifMissing": if_missing or None, "ttl": ttl}
    return {"op": "create", "store": address, **{name: value for name, value in given.items() if value is not None}}


def get_of(target: JSONObject, select: Optional[Sequence[str]], after: Optional[str]) -> JSONObject:
    given = {"select": list(select) if select else None, "after": after}
    return {"op": "get", **target, **{name: value for name, value in given.items() if value is not None}}


def subscribe_to(target: str, select: Optional[Sequence[str]]) -> JSONObject:
    return {"op": "subscribe", **pattern_of(target), **({"select": list(select)} if select else {})}


def merged(state: Any, patch: Any) -> Any:
    """RFC 7396. Makes a new state: whoever holds the one before keeps it as it was."""
    if not isinstance(patch, dict):
        return patch
    result = dict(state) if isinstance(state, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value) if isinstance(value, dict) else value
    return result
