"""Shows untrusted text completely, with invisible characters made visible.

Invisible characters and bidirectional controls are replaced by a mark with their name,
so that a message cannot imitate the page.
"""

from __future__ import annotations

from itertools import groupby

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from broker.security.redaction import Veil

register = template.Library()

CONTROLS = [
    *("NUL", "SOH", "STX", "ETX", "EOT", "ENQ", "ACK", "BEL"),
    *("BS", "TAB", "LF", "VT", "FF", "CR", "SO", "SI"),
    *("DLE", "DC1", "DC2", "DC3", "DC4", "NAK", "SYN", "ETB"),
    *("CAN", "EM", "SUB", "ESC", "FS", "GS", "RS", "US"),
]


@register.filter
def printable(value: object, longest: int | None = None) -> SafeString:
    """Text with hidden characters marked, cut after ``longest`` characters."""
    text = str(value)
    rest = len(text) - longest if longest else 0
    return format_html(
        "<bdi>{}</bdi>{}",
        marked(text[:longest]),
        format_html(" <small>… and {} characters more</small>", f"{rest:,}")
        if rest > 0
        else "",
    )


@register.filter
def masked(text: str, veil: Veil) -> str:
    """Text about a message, without what redaction rules with a pattern hide."""
    return veil.text(text)


def marked(text: str) -> str:
    """The marked text; a run of hidden characters has one mark."""
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
    """Whether a character is invisible or misleading."""
    return not character.isprintable() and character not in "\n\t"


def glyph(character: str) -> str:
    """The name of a control character; the number of any other."""
    code = ord(character)
    return f"[{CONTROLS[code]}]" if code < len(CONTROLS) else f"[U+{code:04X}]"
