"""The JSON document of a patch: an object with ``body``, ``headers`` or both.

    {"body": {"patch": [{"op": "replace", "path": "/currency", "value": "EUR"}]},
     "headers": [{"op": "test", "name": "h.tenant", "value": "t7"},
                 {"op": "set", "name": "subject", "value": "order.corrected"}]}

``body`` has a ``patch`` or a ``merge``. Operations are applied in order, those of the
headers first.

Source:
    RFC 6902, "JavaScript Object Notation (JSON) Patch"; RFC 7386, "JSON Merge Patch".
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jsonpatch import InvalidJsonPatch, JsonPatch
from jsonpointer import JsonPointer, JsonPointerException

from broker.errors.patches import InvalidPatch
from broker.formats import lossless_json
from broker.formats.patches.headers import HeaderOperation, read

LONGEST = 64 * 2**10  # most characters of a patch
MOST_OPERATIONS = 100
NEEDS = {
    "add": "value",
    "replace": "value",
    "test": "value",
    "move": "from",
    "copy": "from",
}
NO_OPERATIONS = "it would change nothing: write at least one operation that does"


@dataclass(frozen=True, slots=True)
class JsonOperations:
    """JSON Patch operations on a body."""

    patch: JsonPatch


@dataclass(frozen=True, slots=True)
class Merge:
    """A JSON Merge Patch of a body."""

    value: Any


@dataclass(frozen=True, slots=True)
class Whole:
    """A complete new body that a user has written."""

    body: bytes


@dataclass(frozen=True, slots=True)
class Patch:
    """Operations on headers, and a change of the body."""

    headers: tuple[HeaderOperation, ...] = ()
    body: JsonOperations | Merge | Whole | None = None


def parse(text: str) -> Patch:
    """Parse a patch.

    Raises:
        InvalidPatch: the patch is invalid; with the reason and the place.
    """
    if len(text) > LONGEST:
        raise InvalidPatch(f"it is longer than {LONGEST:,} characters")
    try:
        said = lossless_json.loads(text)
    except json.JSONDecodeError as error:
        at = f"line {error.lineno}, column {error.colno}"
        raise InvalidPatch(f"it is not JSON: {error.msg}", at) from None
    except ValueError as error:
        raise InvalidPatch(str(error)) from None
    return read_patch(said)


def read_patch(said: Any) -> Patch:
    """A patch from parsed JSON (see ``lossless_json``)."""
    if not isinstance(said, dict):
        raise InvalidPatch("a patch is an object with “body”, “headers” or both")
    for name in said.keys() - {"body", "headers"}:
        raise InvalidPatch(f"there is no part “{name[:50]}”; write “body” or “headers”")
    headers = said.get("headers", [])
    if not isinstance(headers, list) or len(headers) > MOST_OPERATIONS:
        raise InvalidPatch(
            f"it is a list of at most {MOST_OPERATIONS} operations", "headers"
        )
    patch = Patch(
        tuple(
            read(one, f"headers, operation {number}")
            for number, one in enumerate(headers, 1)
        ),
        read_body(said["body"]) if "body" in said else None,
    )
    if not changes_anything(patch):
        raise InvalidPatch(NO_OPERATIONS)
    return patch


def read_body(said: Any) -> JsonOperations | Merge:
    if not isinstance(said, dict) or said.keys() not in ({"patch"}, {"merge"}):
        raise InvalidPatch("it has either “patch” or “merge”, and no more", "body")
    if "merge" in said:
        return Merge(said["merge"])
    operations = said["patch"]
    if not isinstance(operations, list) or len(operations) > MOST_OPERATIONS:
        raise InvalidPatch(
            f"it is a list of at most {MOST_OPERATIONS} operations", "body"
        )
    for number, one in enumerate(operations, 1):
        check_operation(one, f"body, operation {number}")
    return JsonOperations(JsonPatch(operations))


def check_operation(said: Any, where: str) -> None:
    """Refuse an operation that the JSON Patch library would refuse only when it is
    applied."""
    try:
        JsonPatch([said])
        need = NEEDS.get(said["op"])
        if need and need not in said:
            raise InvalidPatch(f"“{need}” is missing", where)
        if need == "from":
            JsonPointer(said["from"])
    except InvalidJsonPatch as error:
        raise InvalidPatch(sentence(error), where) from None
    except JsonPointerException as error:
        raise InvalidPatch(f"a path is wrong: {sentence(error)}", where) from None
    except TypeError:
        raise InvalidPatch("“from” is a path, such as /order/id", where) from None


def sentence(error: Exception) -> str:
    text = str(error)[:200].rstrip(".")
    return text[:1].lower() + text[1:]


def changes_anything(patch: Patch) -> bool:
    if any(one.op != "test" for one in patch.headers):
        return True
    match patch.body:
        case JsonOperations(operations):
            return any(one["op"] != "test" for one in operations)
        case Merge(value):
            return bool(value != {})
    return False


def written(patch: Patch) -> str:
    """The JSON text of a patch, for ``parse``; a complete new body is left out."""
    said: Mapping[str, Any] = {}
    match patch.body:
        case JsonOperations(operations):
            said = {"body": {"patch": list(operations)}}
        case Merge(value):
            said = {"body": {"merge": value}}
    headers = [one.document for one in patch.headers]
    return lossless_json.dumps({**said, **({"headers": headers} if headers else {})})
