"""A line diff of two messages with context lines.

JSON bodies in one long line are indented first, because the diff compares lines.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest
from typing import Any

from django.utils.translation import gettext, ngettext

from broker.formats import lossless_json
from broker.formats.patches import FIELDS, Subject, is_own
from broker.formats.quantities import write_count
from broker.formats.text import lines_of, opcodes

AROUND = 3  # context lines around a difference
MOST = 400  # lines that are shown
LONG = 300  # characters; of a longer line only the difference is shown
KEPT = 60  # characters shown around the difference


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line of a difference."""

    kind: str  # same, gone, new, or gap
    text: str = ""  # the line; for a gap, the number of lines left out

    @property
    def sign(self) -> str:
        return {"gone": "−", "new": "+"}.get(self.kind, "")

    @property
    def label(self) -> str:
        """The label before a line, for screen readers."""
        if self.kind == "gone":
            return gettext("taken out:")
        return gettext("put in:") if self.kind == "new" else ""


@dataclass(frozen=True, slots=True)
class MessageDifference:
    """The difference of two messages."""

    headers: list[DiffLine]
    body: list[DiffLine]
    notice: str = ""  # how the bodies were prepared, or why they are not compared

    def __bool__(self) -> bool:
        return bool(self.headers or self.body or self.notice)


def difference(before: Subject, after: Subject) -> MessageDifference:
    """The difference shown before a message is sent, and later."""
    headers = list(header_lines(before, after))
    if before.body is None or after.body is None:
        why = gettext("The bodies are too long to be compared here.")
        return MessageDifference(headers, [], why)
    if before.body == after.body:
        return MessageDifference(headers, [])
    try:
        one = before.text_of(before.body).text
        other = after.text_of(after.body).text
    except ValueError as error:
        why = gettext("The bodies cannot be compared: %(error)s.") % {"error": error}
        return MessageDifference(headers, [], why)
    return MessageDifference(headers, *compared(one, other))


def compared(one: str, other: str) -> tuple[list[DiffLine], str]:
    """The differing lines, and how the bodies were prepared."""
    if is_long(one) or is_long(other):
        before, after = laid(one), laid(other)
        if before and after and before != after:
            return body_lines(before, after), gettext(
                "Formatted only for the comparison; it is sent as it is written."
            )
    lines = body_lines(one, other) if one != other else []
    return lines, "" if lines else gettext("Only the bytes differ, not the text.")


def header_lines(before: Subject, after: Subject) -> Iterator[DiffLine]:
    """Differing headers, without those that the broker writes into every copy."""
    names = dict.fromkeys((*before.headers, *after.headers))
    for name in (one for one in names if not is_own(one)):
        one, other = header_text(before, name), header_text(after, name)
        if one == other:
            continue
        if one is not None:
            yield DiffLine("gone", f"{name}: {one}")
        if other is not None:
            yield DiffLine("new", f"{name}: {other}")


def header_text(subject: Subject, name: str) -> str | None:
    """A header as text; a property as JSON, which distinguishes 1 from "1"."""
    if name not in subject.headers:
        return None
    value: Any = subject.headers[name]
    return str(value) if name in FIELDS else lossless_json.dumps(value)


def is_long(text: str) -> bool:
    return any(len(line) > LONG for line, _ in lines_of(text))


def laid(text: str) -> str | None:
    """Indented JSON; None if it is not JSON."""
    try:
        value = lossless_json.loads(text)
        return lossless_json.dumps(value, lossless_json.INDENTED)
    except (ValueError, RecursionError, json.JSONDecodeError):
        return None


def body_lines(before: str, after: str) -> list[DiffLine]:
    """Differing lines with context, cut if very long."""
    one, other = (
        [line + end for line, end in lines_of(text)] for text in (before, after)
    )
    lines = list(islice(grouped(one, other), MOST + 1))
    if len(lines) > MOST:
        return [*lines[:MOST], DiffLine("gap", gettext("more lines differ"))]
    return lines


def grouped(before: Sequence[str], after: Sequence[str]) -> Iterator[DiffLine]:
    codes = opcodes(before, after)
    for place, (tag, i1, i2, j1, j2) in enumerate(codes):
        if tag == "equal":
            head = 0 if place == 0 else AROUND
            tail = 0 if place == len(codes) - 1 else AROUND
            yield from around(before[i1:i2], head, tail)
        else:
            yield from replaced(before[i1:i2], after[j1:j2])


def around(lines: Sequence[str], head: int, tail: int) -> Iterator[DiffLine]:
    """The first and last lines of an unchanged run."""
    if len(lines) <= head + tail + 1:
        yield from (DiffLine("same", shorten_line(line)) for line in lines)
        return
    yield from (DiffLine("same", shorten_line(line)) for line in lines[:head])
    count = len(lines) - head - tail
    words = ngettext("%(n)s line the same", "%(n)s lines the same", count)
    yield DiffLine("gap", words % {"n": write_count(count)})
    yield from (
        DiffLine("same", shorten_line(line)) for line in lines[len(lines) - tail :]
    )


def replaced(before: Sequence[str], after: Sequence[str]) -> Iterator[DiffLine]:
    pairs = [trimmed(one, other) for one, other in zip_longest(before, after)]
    yield from (DiffLine("gone", one) for one, _ in pairs if one is not None)
    yield from (DiffLine("new", other) for _, other in pairs if other is not None)


def trimmed(one: str | None, other: str | None) -> tuple[str | None, str | None]:
    """Two lines; long ones without their common beginning and end."""
    if one is None or other is None or max(len(one), len(other)) <= LONG:
        return one and marked(one), other and marked(other)
    least = min(len(one), len(other))
    head = next((i for i in range(least) if one[i] != other[i]), least)
    room = least - head
    tail = next((i for i in range(room) if one[-1 - i] != other[-1 - i]), room)
    start, cut = max(head - KEPT, 0), max(tail - KEPT, 0)
    return within(one, start, cut), within(other, start, cut)


def within(line: str, start: int, cut: int) -> str:
    before, after = "", ""
    if start:
        before = gettext("[%(n)s characters] …") % {"n": write_count(start)}
    if cut:
        after = gettext("… [%(n)s characters]") % {"n": write_count(cut)}
    return before + marked(line[start : len(line) - cut]) + after


def marked(line: str) -> str:
    """A differing line; an unusual line end is shown."""
    return line.removesuffix("\n")


def shorten_line(line: str) -> str:
    """An unchanged line without its line end; a long one is cut."""
    line = line.rstrip("\r\n")
    return line if len(line) <= LONG else f"{line[:LONG]} …"
