"""Text that anybody may have written: shown whole, and shown for what it is.

A character that cannot be seen, or that would turn what stands around it, is replaced
by a mark that says its name: a message must not pass itself off as part of the page.
"""

from __future__ import annotations

from itertools import groupby

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

register = template.Library()

CONTROLS = [
    *("NUL", "SOH", "STX", "ETX", "EOT", "ENQ", "ACK", "BEL"),
    *("BS", "TAB", "LF", "VT", "FF", "CR", "SO", "SI"),
    *("DLE", "DC1", "DC2", "DC3", "DC4", "NAK", "SYN", "ETB"),
    *("CAN", "EM", "SUB", "ESC", "FS", "GS", "RS", "US"),
]


@register.filter
def shown(value: object, longest: int | None = None) -> SafeString:
    """Text with its hidden characters marked, cut after ``longest`` characters."""
    text = str(value)
    rest = len(text) - longest if longest else 0
    return format_html(
        "<bdi>{}</bdi>{}",
        marked(text[:longest]),
        format_html(" <small>… and {} characters more</small>", f"{rest:,}")
        if rest > 0
        else "",
    )


def marked(text: str) -> str:
    """Markup of a text, if it needs any; runs of hidden characters in one mark."""
    if text.isprintable():
        return text
    return format_html_join(
        "",
        "{}",
        (
            (format_html("<mark>{}</mark>", "".join(map(glyph, part))),)
            if is_hidden
            else ("".join(part),)
            for is_hidden, part in groupby(text, hidden)
        ),
    )


def hidden(character: str) -> bool:
    """Whether one would not see a character, or be misled by it."""
    return not character.isprintable() and character not in "\n\t"


def glyph(character: str) -> str:
    """The name of a control character; the number of any other."""
    code = ord(character)
    return f"[{CONTROLS[code]}]" if code < len(CONTROLS) else f"[U+{code:04X}]"
