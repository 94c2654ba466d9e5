"""Numbered, foldable lines of a body."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from console.bodies.viewers import Shown
from console.templatetags.console_hostile import shown

register = template.Library()

DEPTH = 3  # depth from which elements are folded
INDENT = 2  # blanks of indentation per depth
FEWEST = 3  # lines; a shorter element stays open
NAMES = {
    "form": "Form",
    "hex": "Bytes",
    "hl7": "HL7 v2",
    "json": "JSON",
    "text": "Text",
    "xml": "XML",
}


@register.filter
def viewer_name(choice: str) -> str:
    """The name of a viewer on pages."""
    return NAMES.get(choice, choice)


@register.simple_tag
def lines(body: Shown) -> SafeString:
    """The lines of a body; foldable ones in ``<details>``."""
    every = body.lines
    if not body.folds:
        return joined(
            format_html('<span class="line">{}</span>', shown(one)) for one in every
        )
    return joined(folded(every))


def folded(every: Sequence[str]) -> Iterator[SafeString]:
    """Each line with its number, which does not change when others are folded."""
    number, last = 0, len(every)
    while number < last:
        end = end_of(every, number)
        if end - number <= FEWEST:
            yield numbered(number, every[number])
            number += 1
            continue
        yield format_html(
            "<details><summary>{}<small>{} lines</small></summary>{}</details>",
            numbered(number, every[number]),
            end - number - 1,
            joined(numbered(n, every[n]) for n in range(number + 1, end)),
        )
        number = end


def end_of(every: Sequence[str], number: int) -> int:
    """The line that closes the element opened here; this line if there is none."""
    line = every[number]
    depth = len(line) - len(line.lstrip(" "))
    if depth != DEPTH * INDENT or not line.endswith(("{", "[")):
        return number
    closing = (" " * depth + "}", " " * depth + "]")
    rest = range(number + 1, len(every))
    return next((n for n in rest if every[n].startswith(closing)), len(every))


def numbered(number: int, line: str) -> SafeString:
    return format_html(
        '<span class="line" data-number="{}">{}</span>', number + 1, shown(line)
    )


def joined(parts: Iterator[SafeString]) -> SafeString:
    return mark_safe("".join(parts))  # noqa: S308  # each is escaped
