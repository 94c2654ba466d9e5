"""Numbered, foldable lines of a body, with colours."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext, gettext_noop, ngettext

from console.bodies.own_values import OwnColumns
from console.bodies.viewers import BodyView, Syntax
from console.templatetags.console_hostile import marked, printable

register = template.Library()

DEPTH = 3  # the depth of the elements that can be folded
INDENT = 2  # blanks of indentation per depth
FEWEST = 3  # an element with no more lines cannot be folded
# lines; a longer body has no colours, so that its page is not too large
COLOURED = 1000
LONGEST = 2000  # a longer line has no colours
JSON = re.compile(
    r'(?P<key>"(?:[^"\\]|\\.)*"(?=:))|(?P<text>"(?:[^"\\]|\\.)*")'
    r"|(?P<number>-?\d[\d.eE+-]*|\b(?:true|false|null)\b)"
)
XML = re.compile(r"""<(?:"[^"]*"|'[^']*'|[^<>"'])*>""")
IN_TAGS = re.compile(r"(?P<key></?[^\s<>/!?\"'=]+|[/?]?>)|(?P<text>\"[^\"]*\"|'[^']*')")
NAMES = {
    "form": gettext_noop("Form"),
    "hex": gettext_noop("Bytes"),
    "hl7": "HL7 v2",
    "json": "JSON",
    "text": gettext_noop("Text"),
    "xml": "XML",
}


@register.filter
def viewer_name(choice: str) -> str:
    """The name of a viewer on pages."""
    return gettext(NAMES[choice]) if choice in NAMES else choice


@register.simple_tag
def lines(body: BodyView) -> SafeString:
    """The lines of a body; foldable ones in ``<details>``."""
    every = body.lines
    if not body.syntax:
        return joined(
            format_html('<span class="line">{}</span>', printable(one)) for one in every
        )
    return joined(folded(every, body.syntax if len(every) <= COLOURED else ""))


def folded(every: Sequence[str], syntax: Syntax) -> Iterator[SafeString]:
    """Each line with its number, which does not change when others are folded."""
    number, last = 0, len(every)
    while number < last:
        end = end_of(every, number)
        if end - number <= FEWEST:
            yield numbered(number, every[number], syntax)
            number += 1
            continue
        inner = end - number - 1
        yield format_html(
            "<details><summary>{}<small>{}</small></summary>{}</details>",
            numbered(number, every[number], syntax),
            ngettext("%(n)s line", "%(n)s lines", inner) % {"n": inner},
            joined(numbered(n, every[n], syntax) for n in range(number + 1, end)),
        )
        number = end


def end_of(every: Sequence[str], number: int) -> int:
    """The line that closes the element opened here; this line if there is none."""
    line = every[number]
    depth = len(line) - len(line.lstrip(" "))
    if depth != DEPTH * INDENT or not (line.endswith(("{", "[")) or opens(line)):
        return number
    closing = tuple(" " * depth + one for one in ("}", "]", "</"))
    rest = range(number + 1, len(every))
    return next((n for n in rest if every[n].startswith(closing)), len(every))


def opens(line: str) -> bool:
    """Whether a line of XML is the start tag of an element that does not end on it."""
    return re.fullmatch(r" *<[^<>/!?][^<>]*(?<!/)>", line) is not None


def numbered(number: int, line: str, syntax: Syntax) -> SafeString:
    return format_html(
        '<span class="line" data-number="{}"><bdi>{}</bdi></span>',
        number + 1,
        coloured(line, syntax),
    )


def coloured(line: str, syntax: Syntax) -> SafeString:
    """The marked text of a line, with a class for each key, text and number."""
    if len(line) > LONGEST:
        return format_html("{}", marked(line))
    if syntax == "json":
        return joined(tokens(line, JSON))
    if syntax == "xml":
        return joined(parts_of_xml(line))
    return format_html("{}", marked(line))


@register.filter
def cells_of(own: OwnColumns | None, message_id: int) -> Sequence[tuple[str, str]]:
    """The labels and values of a message's own columns."""
    return () if own is None else own.cells.get(message_id, ())


def parts_of_xml(line: str) -> Iterator[SafeString]:
    end = 0
    for tag in XML.finditer(line):
        yield format_html("{}", marked(line[end : tag.start()]))
        yield from tokens(tag[0], IN_TAGS)
        end = tag.end()
    yield format_html("{}", marked(line[end:]))


def tokens(text: str, pattern: re.Pattern[str]) -> Iterator[SafeString]:
    end = 0
    for found in pattern.finditer(text):
        yield format_html("{}", marked(text[end : found.start()]))
        kind = found.lastgroup
        yield format_html('<span class="syntax-{}">{}</span>', kind, marked(found[0]))
        end = found.end()
    yield format_html("{}", marked(text[end:]))


def joined(parts: Iterator[SafeString]) -> SafeString:
    return mark_safe("".join(parts))  # noqa: S308  # each is escaped
