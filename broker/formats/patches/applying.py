"""Apply a patch to one message. The result is a repair, or the reason why the patch
cannot be applied."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from jsonpatch import JsonPatch, JsonPatchException, JsonPatchTestFailed
from jsonpointer import JsonPointerException

from broker.formats import lossless_json
from broker.formats.lossless_json import depth_of
from broker.formats.mq.coding import Coding
from broker.formats.patches.documents import JsonOperations, Merge, Patch, Whole
from broker.formats.patches.headers import (
    FIELDS,
    PROPERTY,
    GuardError,
    Headers,
    NotThereError,
    changed,
    same,
)
from broker.formats.text import Text, text_of

LARGEST = 2**20  # largest body in bytes, before and after the change
MOST_VALUES = 2_000_000  # most values copied for one message


class Misfit(StrEnum):
    """The reason why a patch cannot be applied to a message."""

    UNCHANGED = "unchanged"
    GUARD_FAILED = "guard_failed"
    NO_SUCH_PATH = "no_such_path"
    NOT_JSON = "not_json"
    TOO_LARGE = "too_large"
    LOCKED = "locked"


class Unfit(Exception):
    """A patch cannot be applied to a message.

    Args:
        path: where the message has no value, if the patch says; a JSON Pointer.
    """

    def __init__(self, misfit: Misfit, path: str = "") -> None:
        super().__init__(misfit)
        self.misfit = misfit
        self.path = path


@dataclass(frozen=True, slots=True)
class Subject:
    """A message as a patch sees it."""

    headers: Headers  # values by name, as ``broker.formats.lossless_json`` reads them
    body: bytes | None  # None: the body is longer than ``LARGEST``
    locked: frozenset[str] = frozenset()  # names of headers that cannot be changed
    is_locked: bool = False  # whether no header may be changed
    # Character set and format of the body by IBM MQ's headers.
    coding: Coding | None = None

    @property
    def content_type(self) -> str:
        return str(self.headers["content-type"])

    def text_of(self, body: bytes) -> Text:
        """The text of its body, or of one that replaces it.

        Raises:
            ValueError: it is no text; the reason is the end of a sentence.
        """
        return text_of(body, self.content_type, self.coding)

    def written(self, text: str) -> bytes:
        """A new text as a body in the encoding of the present one, even if this is no
        text.

        Raises:
            ValueError: the character set is unknown, or lacks a character; the reason
                is the end of a sentence.
        """
        body = self.body or b""
        try:
            found = self.text_of(body)
        except ValueError:
            found = self.text_of(body[: self.coding.offset if self.coding else 0])
        return found.written(text)


@dataclass(frozen=True, slots=True)
class Repair:
    """The changes of a patch to one message."""

    body: bytes | None = None  # the new body; None: unchanged
    headers: Mapping[str, Any] = field(default_factory=dict)  # new or changed values
    without: frozenset[str] = frozenset()  # names of removed headers

    @property
    def columns(self) -> dict[str, str | None]:
        """The changed headers that are columns; None: removed."""
        gone: dict[str, str | None] = {
            FIELDS[name]: None for name in self.without if name in FIELDS
        }
        return gone | {
            FIELDS[name]: value
            for name, value in self.headers.items()
            if name in FIELDS
        }

    @property
    def properties(self) -> dict[str, Any]:
        return {
            name.removeprefix(PROPERTY): value
            for name, value in self.headers.items()
            if name not in FIELDS
        }

    @property
    def properties_gone(self) -> list[str]:
        return [
            name.removeprefix(PROPERTY) for name in self.without if name not in FIELDS
        ]


def apply(patch: Patch, subject: Subject) -> Repair:
    """Apply a patch to a message.

    Raises:
        Unfit: the patch cannot be applied; with the reason.
    """
    try:
        after = changed(subject.headers, patch.headers)
    except GuardError:
        raise Unfit(Misfit.GUARD_FAILED) from None
    except NotThereError:
        raise Unfit(Misfit.NO_SUCH_PATH) from None
    body = body_after(patch, subject)
    before = subject.headers
    repair = Repair(
        None if body == subject.body else body,
        {
            name: value
            for name, value in after.items()
            if name not in before or not same(before[name], value)
        },
        frozenset(before.keys() - after.keys()),
    )
    names = repair.headers.keys() | repair.without
    if names and (subject.is_locked or not subject.locked.isdisjoint(names)):
        raise Unfit(Misfit.LOCKED)
    if repair.body is None and not names:
        raise Unfit(Misfit.UNCHANGED)
    return repair


def body_after(patch: Patch, subject: Subject) -> bytes | None:
    match patch.body:
        case None:
            return None
        case Whole(body):
            return body
        case change:
            return json_after(change, subject)


def json_after(change: JsonOperations | Merge, subject: Subject) -> bytes:
    if subject.body is None:
        raise Unfit(Misfit.TOO_LARGE)
    try:
        found = subject.text_of(subject.body)
        value = lossless_json.loads(found.text)
        manner = lossless_json.manner_of(found.text)
        before = lossless_json.dumps(value, manner)
    except (ValueError, RecursionError):
        raise Unfit(Misfit.NOT_JSON) from None
    try:
        if isinstance(change, Merge):
            value = merged(value, change.value)
        else:
            value = patched(value, change.patch)
        after = lossless_json.dumps(value, manner)
        body = subject.body if after == before else in_json(value, manner, found)
    except (RecursionError, MemoryError):
        raise Unfit(Misfit.TOO_LARGE) from None
    if len(body) > LARGEST:
        raise Unfit(Misfit.TOO_LARGE)
    return body


def in_json(value: Any, manner: lossless_json.Manner, before: Text) -> bytes:
    """A value as JSON in the encoding of the body before; with escapes if its character
    set lacks a character."""
    try:
        return before.written(lossless_json.dumps(value, manner))
    except ValueError:
        plain = replace(manner, is_ascii=True)
        return before.written(lossless_json.dumps(value, plain))


def patched(value: Any, patch: JsonPatch) -> Any:
    """Apply JSON Patch operations; the value is changed in place.

    Repeated copies grow exponentially, so the number of copied values is limited.
    """
    copied = 0
    for one in patch:
        try:
            value = patch.operations[one["op"]](one).apply(value)
        except JsonPatchTestFailed:
            raise Unfit(Misfit.GUARD_FAILED) from None
        except (JsonPatchException, JsonPointerException):
            raise Unfit(Misfit.NO_SUCH_PATH, str(one["path"])) from None
        if one["op"] == "copy":
            copied += count_of(value, MOST_VALUES)
            if copied > MOST_VALUES or depth_of(value) > lossless_json.DEEPEST:
                raise Unfit(Misfit.TOO_LARGE)
    return value


def count_of(value: Any, most: int) -> int:
    """The number of nested values, counted to ``most`` + 1."""
    waiting, count = [value], 0
    while waiting and count <= most:
        one = waiting.pop()
        count += 1
        if isinstance(one, dict):
            waiting.extend(one.values())
        elif isinstance(one, list):
            waiting.extend(one)
    return count


def merged(target: Any, patch: Any) -> Any:
    """JSON merged with a patch.

    Source:
        RFC 7386, section 2.
    """
    if not isinstance(patch, dict):
        return patch
    found = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            found.pop(name, None)
        else:
            found[name] = merged(found.get(name), value)
    return found
