"""How problems of links of bridges are found."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from django.db.models import Count, Min
from django.utils.translation import gettext_noop

from broker.bridges import secrets, standing
from broker.bridges.configured import ENDS, WITH_ENDS, ends_here
from broker.formats.sentences import say
from broker.models import Branch, Link, LinkStatus
from broker.problems.problem import Bound, Problem
from broker.problems.readings import MOST, Readings

PATIENCE = timedelta(minutes=1)  # grace time for errors that usually pass
RETRIES = "link-retries"  # code of links that transfer nothing


def failed(seen: Readings, bound: Bound) -> Iterator[Problem]:
    """Links that stopped by themselves, then those that have transferred nothing since
    their errors began, some time ago."""
    yield from stopped()
    for one in standing.troubled().prefetch_related(*WITH_ENDS)[:MOST]:
        if not is_recent(one, seen.now - PATIENCE):
            hold = standing.held_by(one)
            text = gettext_noop("%(link)s transfers nothing: %(error)s")
            if hold:
                text = gettext_noop("%(link)s waits: its target is %(hold)s: %(error)s")
            yield of_link(one, text, RETRIES, str(hold or ""))


def stopped() -> Iterator[Problem]:
    for one in standing.failed().prefetch_related(*WITH_ENDS)[:MOST]:
        yield of_link(one, gettext_noop("%(link)s stopped by itself: %(error)s"))


def is_recent(one: LinkStatus, since: datetime) -> bool:
    """Whether a link was started, or transferred something, since a time."""
    known = (one.last_transfer_at, one.started_at)
    return any(at is not None and at > since for at in known)


def of_link(one: LinkStatus, text: str, code: str = "", hold: str = "") -> Problem:
    link = one.link
    text = say(text, link=str(link), error=one.error[:200], hold=hold)
    key, ends = (link.bridge.name, link.name), tuple(sorted(ends_here(link)))
    return Problem(str(link), text, queues=ends, since=one.error_at, key=key, code=code)


def in_doubt(seen: Readings, bound: Bound) -> Iterator[Problem]:
    """Links with transactions in doubt for some time. Two queries."""
    rows = Branch.objects.filter(began_at__lte=seen.now - PATIENCE).values("link")
    counted = rows.annotate(branches=Count("pk"), since=Min("began_at"))
    counts = {row["link"]: row for row in counted.order_by("since")[:MOST]}
    links = Link.objects.select_related(*ENDS).in_bulk(list(counts))
    for pk, row in counts.items():
        link, many = links[pk], row["branches"]
        text = gettext_noop("%(link)s: %(n)s transactions wait for the other broker.")
        if many == 1:
            text = gettext_noop(
                "%(link)s: %(n)s transaction waits for the other broker."
            )
        text = say(text, link=str(link), n=many)
        key, ends = (link.bridge.name, link.name), tuple(sorted(ends_here(link)))
        yield Problem(str(link), text, many, ends, since=row["since"], key=key)


def lost_passwords(seen: Readings, bound: Bound) -> Iterator[Problem]:
    for one in secrets.lost():
        text = say(
            gettext_noop(
                "The password of the connection factory %(factory)s cannot be"
                " decrypted: BACKOUT_SECRET_KEYS no longer has its key. No link can use"
                " it."
            ),
            factory=str(one),
        )
        yield Problem(str(one), text, is_urgent=False, code="password-lost")
