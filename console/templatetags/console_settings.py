"""Exact durations for pages of settings."""

from __future__ import annotations

from django import template

from broker.settlement.redelivery_schedule import Span
from console.queues import effective_settings

register = template.Library()
register.filter("exact", effective_settings.exact)
register.filter("ordinal", effective_settings.ordinal)


@register.filter
def range(span: Span) -> str:  # noqa: A001  the word that templates use
    """From the shortest to the longest; empty if they are equal."""
    if not span.is_spread:
        return ""
    shortest, longest = map(effective_settings.exact, (span.shortest, span.longest))
    return f"{shortest} to {longest}"
