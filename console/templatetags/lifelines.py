"""How a life-line tells time: each moment as a log has it, and the time in between; and
where the links are that it names."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from django import template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from console.layout.durations import duration
from console.layout.navigation import url_of
from console.templatetags.console import in_every_zone, in_zone

register = template.Library()


@register.simple_tag
def clock(at: datetime | None) -> SafeString | str:
    """A moment to the millisecond, with its date unless that is today's."""
    if at is None:
        return "–"
    whole = in_zone(at)
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        at.astimezone(UTC).isoformat(timespec="milliseconds"),
        in_every_zone(at),
        whole[11:] if timezone.localdate(at) == timezone.localdate() else whole,
    )


@register.filter
def later(span: timedelta | None) -> str:
    """How long after the step before it; nothing where it was at once."""
    at_once = span is None or span < timedelta(milliseconds=1)
    return "" if at_once else f"+{duration(span)}"


@register.filter
def link_url(name: str) -> str:
    """Where the page of a link is.

    Args:
        name: of its bridge and of itself, as ``bridge/link``.
    """
    bridge, _, link = name.partition("/")
    return url_of("console:link", bridge, link)
