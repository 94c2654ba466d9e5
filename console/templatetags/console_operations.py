"""Countdowns and texts for pages of operations."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from django import template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_noop

from broker.acts.operations.siblings import Sibling, reached
from broker.formats.quantities import write_duration
from broker.models import Operation
from console.messages.timeline import TimelineStep
from console.operations.results import in_place
from console.operations.wording import DEEDS

register = template.Library()


@register.simple_tag
def countdown(until: datetime, now: datetime | None = None) -> SafeString:
    """The time until a moment in whole seconds; a script updates it."""
    left = until - (now or timezone.now())
    seconds = max(int(left.total_seconds()), 0)
    at = until.astimezone(UTC)
    return format_html(
        '<time data-countdown datetime="{}" title="{}">{}</time>',
        at.isoformat(timespec="seconds"),
        gettext("until %(time)s UTC") % {"time": f"{at:%Y-%m-%d %H:%M:%S}"},
        write_duration(timedelta(seconds=seconds)),
    )


@register.filter
def argument(operation: Operation) -> str:
    """The target of an operation, or what its messages get."""
    return in_place(operation) or operation.argument


@register.filter
def reached_with(queues: str | Iterable[str], siblings: Iterable[Sibling]) -> int:
    """How many queues may get what is sent back to one queue or to several; zero if no
    other queue does."""
    return reached([queues] if isinstance(queues, str) else queues, siblings)


@register.filter
def ordered(step: TimelineStep) -> str:
    """What an operation did to a message in one step of its life."""
    text = gettext(DEEDS.get(step.kind, gettext_noop("{what} on {on}")))
    if step.is_repaired and step.copy:
        deed = f"{text[0].lower()}{text[1:]}"
        text = gettext("Repaired, and %(deed)s") % {"deed": deed}
    what = str(step.kind.label).capitalize()
    return text.format(to=step.to, on=step.road.label, what=what)
