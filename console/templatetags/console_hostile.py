"""Shows untrusted text completely, with invisible characters made visible.

Invisible characters and bidirectional controls are replaced by a mark with their name,
so that a message cannot imitate the page.
"""

from __future__ import annotations

import re
from itertools import groupby

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from broker.formats.quantities import write_count
from broker.security.redaction import Veil
from console.edges.glyphs import glyph, hidden

register = template.Library()
BREAK = SafeString("<wbr>")
# After a sign that joins the words of a name, and before the next of them.
JOINTS = re.compile(r"(?<=[./_:-])(?=\w)")


@register.filter
def printable(value: object, longest: int | None = None) -> SafeString:
    """Text with hidden characters marked, cut after ``longest`` characters."""
    text = str(value)
    rest = len(text) - longest if longest else 0
    return format_html(
        "<bdi>{}</bdi>{}",
        marked(text[:longest]),
        format_html(
            " <small>{}</small>",
            gettext("… and %(n)s characters more") % {"n": write_count(rest)},
        )
        if rest > 0
        else "",
    )


@register.filter
def name(value: object) -> SafeString:
    """The name of a queue, task or the like. A narrow column breaks it between its
    words, and not inside one."""
    parts = ((marked(part),) for part in JOINTS.split(str(value)))
    return format_html("<bdi>{}</bdi>", format_html_join(BREAK, "{}", parts))


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
