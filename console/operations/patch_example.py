"""The message beside the patch form: its body and headers, and what the typed patch
would change in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from django.utils.translation import gettext
from jsonpointer import EndOfList, JsonPointer, JsonPointerException

from broker.acts.operations.patches import ValueChange
from broker.formats import lossless_json, patches
from broker.formats.patches import FIELDS, Repair, Subject
from broker.formats.patches.differences import escaped
from broker.models import Operation, OperationItem
from broker.monitoring.numbers import public_number
from broker.operations.patching import results, subjects_of
from broker.security.redaction import Sight
from console.bodies.text_diff import DiffLine

Status = OperationItem.Status
MOST_LINES = 400  # of a body; what follows is left out
LONGEST = 500  # characters of one value
INDENT = 2  # blanks


@dataclass(frozen=True, slots=True)
class BodyLine:
    """One line of a JSON body. A patch can begin at the key of a line."""

    blanks: str
    key: str  # as JSON; empty: the line has none
    pointer: str  # JSON Pointer of the value
    text: str  # what follows the key


@dataclass(frozen=True, slots=True)
class Place:
    """A value in a JSON body."""

    parts: list[str]  # of its JSON Pointer
    value: Any
    in_array: bool  # whether one of the parts is an index


@dataclass(frozen=True, slots=True)
class PatchExample:
    """The newest message of a plan."""

    message_id: int
    subject: Subject
    document: Any  # the parsed body
    fault: str  # why the body cannot be parsed; the end of a sentence

    @property
    def number(self) -> int:
        return public_number(self.message_id)

    @property
    def lines(self) -> list[BodyLine]:
        """The beginning of the body."""
        return [] if self.fault else list(islice(lines_of(self.document), MOST_LINES))

    @property
    def headers(self) -> list[tuple[str, str]]:
        """The headers and properties that a patch can change, as the form takes
        them."""
        subject = self.subject
        return [
            (name, cut(write_header(name, value)))
            for name, value in subject.headers.items()
            if not (patches.is_own(name) or subject.is_locked or name in subject.locked)
        ]

    def place(self, pointer: str) -> Place | None:
        """The value at a JSON Pointer; None if there is none."""
        value, in_array = self.document, False
        try:
            read = JsonPointer(pointer)
            for part in read.parts:
                if not isinstance(value, dict | list):
                    return None
                in_array = in_array or isinstance(value, list)
                value = read.walk(value, part)
        except JsonPointerException:
            return None
        if isinstance(value, EndOfList):
            return None
        return Place(read.parts, value, in_array)

    def tried(self, document: str) -> list[DiffLine] | str:
        """What a patch changes in this message, or why it does not apply.

        Raises:
            InvalidPatch: it cannot be parsed.
        """
        ((_, _, result),) = results(patches.parse(document), [self.message_id])
        if isinstance(result, Repair):
            return list(diff_lines(patches.changes(self.subject, result)))
        return result.sentence


def example_for(found: Operation, sight: Sight) -> PatchExample | None:
    """The newest message of a plan, if it is stored and not masked: one that can be
    sent, if there is one."""
    for status in (Status.PLANNED, Status.SKIPPED):
        if item := found.items.filter(status=status).order_by("-pk").first():
            break
    else:
        return None
    newest = item.message_id
    subject = subjects_of([newest]).get(newest)
    if subject is None or sight.veil(newest):
        return None
    return PatchExample(newest, subject, *read_json(subject))


def read_json(subject: Subject) -> tuple[Any, str]:
    """The parsed body, and why it cannot be parsed."""
    if subject.body is None:
        return None, gettext("it is longer than 1 MiB")
    try:
        return lossless_json.loads(subject.text_of(subject.body).text), ""
    except ValueError as error:
        return None, str(error)


def lines_of(
    value: Any, pointer: str = "", blanks: str = "", key: str = "", end: str = ""
) -> Iterator[BodyLine]:
    """A JSON value, a line for each value in it."""
    if not isinstance(value, dict | list) or not value:
        yield BodyLine(blanks, key, pointer, cut(lossless_json.dumps(value)) + end)
        return
    opens, closes = "{}" if isinstance(value, dict) else "[]"
    yield BodyLine(blanks, key, pointer, opens)
    names = list(value) if isinstance(value, dict) else list(range(len(value)))
    for number, name in enumerate(names, 1):
        yield from lines_of(
            value[name],
            f"{pointer}/{escaped(str(name))}",
            blanks + " " * INDENT,
            lossless_json.dumps(name) if isinstance(name, str) else "",
            "," if number < len(names) else "",
        )
    yield BodyLine(blanks, "", "", closes + end)


def write_header(name: str, value: Any) -> str:
    """A value as the form takes it: in quotes only if it is a text that looks like
    another type."""
    if name in FIELDS:
        return str(value)
    if not isinstance(value, str):
        return lossless_json.dumps(value)
    try:
        looks_like = lossless_json.loads(value)
    except ValueError:
        return value
    is_plain = isinstance(looks_like, dict | list)
    return value if is_plain else lossless_json.dumps(value)


def diff_lines(
    changes: Iterable[ValueChange | patches.ValueChange],
) -> Iterator[DiffLine]:
    for change in changes:
        for kind, value in (("gone", change.before), ("new", change.after)):
            if value is not None:
                yield DiffLine(kind, f"{change.where}: {value}")


def cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
