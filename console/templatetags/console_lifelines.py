"""Times and links in a message's timeline."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from django import template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from broker.formats.quantities import write_duration
from console.edges.times import in_zone
from console.layout.navigation import url_of
from console.messages.detail import Story
from console.templatetags.console import in_every_zone

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
    """The time since the previous step; empty if immediate."""
    if span is None or span < timedelta(milliseconds=1):
        return ""
    return f"+{write_duration(span)}"


@register.filter
def called(message_id: int, story: Story) -> str:
    """What a copy of a message is called on the page of the message."""
    name = story.names.get(message_id)
    return name or gettext("message %(number)s") % {"number": message_id}


@register.filter
def link_url(name: str) -> str:
    """The URL of a link's page.

    Args:
        name: ``bridge/link``.
    """
    bridge, _, link = name.partition("/")
    return url_of("console:link", bridge, link)
