"""Links that need attention, of those the user may see."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db.models import Count, Min, QuerySet

from broker.bridges import standing
from broker.models import Branch, Link, LinkStatus
from broker.security.authorities import GrantedAuthorities
from dashboards.live.link_status import ENDS, WITH_ENDS, ends_here, sees

LOOKED_AT = 200  # links
PATIENCE = timedelta(minutes=1)  # grace time for errors that usually pass


def failed(held: GrantedAuthorities) -> list[LinkStatus]:
    """Links that stopped after an error."""
    return seen(standing.failed(), held)


def troubled(held: GrantedAuthorities, now: datetime) -> list[LinkStatus]:
    """Links that have transferred nothing since their errors began, some time ago."""
    every = seen(standing.troubled(), held)
    return [one for one in every if not is_recent(one, now - PATIENCE)]


def is_recent(one: LinkStatus, since: datetime) -> bool:
    """Whether a link was started, or transferred something, since a time."""
    known = (one.last_transfer_at, one.started_at)
    return any(at is not None and at > since for at in known)


def in_doubt(
    held: GrantedAuthorities, now: datetime
) -> list[tuple[Link, int, datetime]]:
    """Links with transactions in doubt for some time: how many, since when."""
    rows = Branch.objects.filter(began_at__lte=now - PATIENCE).values("link")
    told = rows.annotate(branches=Count("pk"), since=Min("began_at")).order_by("since")
    counts = {row["link"]: row for row in told[:LOOKED_AT]}
    if not counts:
        return []
    links = Link.objects.select_related(*ENDS).in_bulk(list(counts))
    return [
        (links[pk], row["branches"], row["since"])
        for pk, row in counts.items()
        if sees(held, ends_here(links[pk]))
    ]


def seen(found: QuerySet[LinkStatus], held: GrantedAuthorities) -> list[LinkStatus]:
    every = found.prefetch_related(*WITH_ENDS)[:LOOKED_AT]
    return [one for one in every if sees(held, ends_here(one.link))]
