"""Which links need a person: that stopped by themselves, or that get no further."""

from __future__ import annotations

from django.db.models import Q, QuerySet

from broker.models import LinkState, LinkStatus

AT_WORK = (LinkState.STARTING, LinkState.STARTED)


def failed() -> QuerySet[LinkStatus]:
    """The links that stopped by themselves, the longest first."""
    unsolved = Q(failures__gt=0) | ~Q(wanted=LinkState.STOPPED)
    found = LinkStatus.objects.filter(
        unsolved, link__enabled=True, state=LinkState.STOPPED
    ).exclude(error="")
    return found.order_by("error_at", "pk")


def has_failed(status: LinkStatus) -> bool:
    """Whether a link stopped by itself: an error stands, and nobody ordered it to stop
    with all well."""
    is_unsolved = status.failures > 0 or status.wanted != LinkState.STOPPED
    is_stopped = status.state == LinkState.STOPPED and bool(status.error)
    return status.link.enabled and is_stopped and is_unsolved


def troubled() -> QuerySet[LinkStatus]:
    """The links that try the same again and again, the longest first."""
    found = LinkStatus.objects.filter(state__in=AT_WORK, failures__gt=0)
    return found.exclude(error="").order_by("error_at", "pk")


def is_troubled(status: LinkStatus) -> bool:
    """Whether a link tries again what failed."""
    return status.state in AT_WORK and status.failures > 0 and bool(status.error)
