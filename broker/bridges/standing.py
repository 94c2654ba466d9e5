"""Links that need an operator: stopped by an error, or failing repeatedly."""

from __future__ import annotations

from django.db.models import Q, QuerySet

from broker.errors.bridges import Hold, SendRefused
from broker.models import Link, LinkState, LinkStatus

WAITS = "The link waits, because its target is {}: "
AT_WORK = (LinkState.STARTING, LinkState.STARTED)


def status_of(link: Link) -> LinkStatus:
    """The status of a link, or that of a link never started."""
    stored: LinkStatus | None = getattr(link, "status", None)
    return stored or LinkStatus(link=link, state=LinkState.UNINITIALIZED)


def failed() -> QuerySet[LinkStatus]:
    """The links stopped by an error, the oldest error first."""
    unsolved = Q(failures__gt=0) | ~Q(wanted=LinkState.STOPPED)
    found = LinkStatus.objects.filter(
        unsolved, link__enabled=True, state=LinkState.STOPPED
    ).exclude(error="")
    return found.order_by("error_at", "pk")


def error_of(refusal: SendRefused) -> str:
    """The error of a link whose target refuses its first message."""
    if refusal.hold is None:
        return str(refusal)
    return f"{WAITS.format(refusal.hold)}{refusal} It goes on by itself."


def held_by(status: LinkStatus) -> Hold | None:
    """What a link waits for at its target, if it does."""
    if not is_troubled(status):
        return None
    found = (one for one in Hold if status.error.startswith(WAITS.format(one)))
    return next(found, None)


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
