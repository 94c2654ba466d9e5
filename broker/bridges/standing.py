"""Links that need an operator: stopped by an error, or failing repeatedly."""

from __future__ import annotations

from django.db.models import Q, QuerySet

from broker.models import LinkState, LinkStatus

AT_WORK = (LinkState.STARTING, LinkState.STARTED)


def failed() -> QuerySet[LinkStatus]:
    """The links stopped by an error, the oldest error first."""
    unsolved = Q(failures__gt=0) | ~Q(wanted=LinkState.STOPPED)
    found = LinkStatus.objects.filter(
        unsolved, link__enabled=True, state=LinkState.STOPPED
    ).exclude(error="")
    return found.order_by("error_at", "pk")


def has_failed(status: LinkStatus) -> bool:
    """Whether a link was stopped by an error: it has an unsolved error, and no operator
    has stopped it."""
    is_unsolved = status.failures > 0 or status.wanted != LinkState.STOPPED
    is_stopped = status.state == LinkState.STOPPED and bool(status.error)
    return status.link.enabled and is_stopped and is_unsolved


def troubled() -> QuerySet[LinkStatus]:
    """The links that retry after failures, the oldest error first."""
    found = LinkStatus.objects.filter(state__in=AT_WORK, failures__gt=0)
    return found.exclude(error="").order_by("error_at", "pk")


def is_troubled(status: LinkStatus) -> bool:
    """Whether a link retries after a failure."""
    return status.state in AT_WORK and status.failures > 0 and bool(status.error)
