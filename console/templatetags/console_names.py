"""Several names of queues or links within a sentence."""

from __future__ import annotations

from collections.abc import Sequence

from django import template
from django.utils.html import format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext

from console.templatetags.console_hostile import printable

register = template.Library()

FIRST = 3  # names that are shown
LONGEST = 60  # characters of a name


@register.filter
def first_names(names: Sequence[str]) -> SafeString:
    """The first names, with hidden characters marked, and how many others there are."""
    first = ((printable(name, LONGEST),) for name in names[:FIRST])
    shown = format_html_join(", ", "{}", first)
    if len(names) <= FIRST:
        return shown
    words = gettext("%(names)s and %(n)s more")
    return mark_safe(  # noqa: S308  # names are escaped above
        words % {"names": shown, "n": len(names) - FIRST}
    )
