"""The problems that need a person, the most urgent first, with the page for each.

The table of conditions finds them (``broker.problems``); here they get their URLs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from zlib import crc32

from django.urls import reverse

from broker.alerts import sight
from broker.alerts.evaluation import LONGEST
from broker.models import Alert, Operation
from broker.monitoring import connections as clients
from broker.monitoring import wait_times
from broker.problems.conditions import table
from broker.problems.of_links import RETRIES
from broker.problems.problem import Problem
from broker.problems.readings import Readings
from broker.security.authorities import GrantedAuthorities, Principal
from console.alerts.places import PAGES, STATES, of_alert
from dashboards.live import problems
from dashboards.live.depths import QueueDepth

MOST = 5  # problems shown of one condition; more are only counted
# The problems of the first so many alerts are shown even if there are more than MOST.
MOST_RINGING = 10
# The oldest message is read of so many queues: those with the most entries.
LOOKED_AT = 200


@dataclass(frozen=True, slots=True)
class Need:
    """A problem as the page shows it with the alerts that fire for it, or the rest of
    those of one condition."""

    problem: Problem
    state: str  # the state of the chip
    chip: str
    url: str
    # the sentence: before the name, the name as a link, after it
    parts: tuple[str, str, str]
    since: datetime | None = None
    alerts: Sequence[Alert] = ()

    @property
    def is_urgent(self) -> bool:
        """Whether it cannot wait; if an alert fires, somebody has been called."""
        return self.problem.is_urgent or bool(self.alerts)

    @property
    def key(self) -> str:
        """An identifier that stays the same when the sentence changes."""
        one = f"{self.problem.condition} {self.problem.subject}"
        return f"{crc32(one.encode()):08x}"


@dataclass(frozen=True, slots=True)
class Overview:
    """The data of the page."""

    needs: Sequence[Need]
    # the queue with the oldest ready message, and the time of its put
    oldest: tuple[QueueDepth, datetime] | None
    running: int  # running operations
    connections: int

    @property
    def urgent(self) -> list[Need]:
        return [one for one in self.needs if one.is_urgent]

    @property
    def calm(self) -> list[Need]:
        return [one for one in self.needs if not one.is_urgent]


def overview(
    queues: Sequence[QueueDepth],
    held: GrantedAuthorities,
    user: Principal,
    *,
    seen: Readings,
) -> Overview:
    """The problems that the user may see.

    Args:
        queues: those that the user may inquire, with their depths.
        held: the user's authorities.
        user: the reader.
        seen: what was read of the queues, and when.
    """
    busiest = sorted(queues, key=lambda one: -one.total)[:LOOKED_AT]
    waits = wait_times.waiting([one.queue_id for one in busiest], now=seen.now)
    found = problems.visible(user, held, seen)
    alerts = sight.visible(sight.firing(), user, held)
    return Overview(
        needs=rows(found, alerts),
        oldest=oldest_of(busiest, waits),
        running=Operation.objects.filter(state=Operation.State.RUNNING).count(),
        connections=clients.count(user),
    )


def rows(found: Iterable[Problem], alerts: Sequence[Alert]) -> list[Need]:
    """The first problems of each condition, and one row for all others. Of one thing
    that has several, the most urgent; its alerts are in its row. An alert whose problem
    is not found, as it has just gone, or by the bound of its rule alone, has a row too.
    """
    first: dict[tuple[str, str], Problem] = {}
    for one in found:
        first.setdefault(thing(one.condition, one.subject), one)
    ringing: dict[tuple[str, str], list[Alert]] = {}
    for number, alert in enumerate(alerts):
        subject = thing(alert.condition, alert.subject)
        if number < MOST_RINGING or subject in ringing:
            ringing.setdefault(subject, []).append(alert)
    every = list[Need]()
    for name, group in groupby(first.items(), key=lambda one: one[1].condition):
        pairs = [(one, ringing.pop(subject, ())) for subject, one in group]
        pairs.sort(key=lambda pair: not pair[1])
        shown = max(MOST, sum(bool(those) for _, those in pairs))
        every += [need(one, those) for one, those in pairs[:shown]]
        if more := pairs[shown:]:
            every.append(rest(name, [one for one, _ in more]))
    every += map(gone, ringing.values())
    order = {name: number for number, name in enumerate(table())}
    return sorted(every, key=lambda one: order.get(one.problem.condition, len(order)))


def thing(condition: str, subject: str) -> tuple[str, str]:
    """What has a problem: the page where one acts on it, and its subject."""
    # None: the application of the condition is not installed
    row = table().get(condition)
    return row.page if row else "", subject[:LONGEST]


def need(one: Problem, alerts: Sequence[Alert]) -> Need:
    row = table()[one.condition]
    state, chip = STATES.get(row.name, "untaken"), row.title
    if one.code == RETRIES:
        state, chip = "redelivery", "link tries again"
    before, name, after = one.parts
    if one.since and row.since:
        after = f"{after} {row.since}"
    url = PAGES[row.page].url(one.key)
    return Need(one, state, chip, url, (before, name, after), one.since, alerts)


def gone(alerts: Sequence[Alert]) -> Need:
    """A row for alerts of which no problem is found now."""
    alert = alerts[0]
    row = table().get(alert.condition)
    one = Problem(alert.subject, alert.text, alert.value, condition=alert.condition)
    state = STATES.get(row.name, "untaken") if row else "untaken"
    title, (url, _) = row.title if row else "alert", of_alert(alert)
    return Need(one, state, title, url, one.parts, alerts=alerts)


def rest(name: str, more: Sequence[Problem]) -> Need:
    row = table()[name]
    words = row.others.format(s="" if len(more) == 1 else "s")
    is_urgent = any(one.is_urgent for one in more)
    return Need(
        Problem("", "", is_urgent=is_urgent, condition=name),
        STATES.get(row.name, "untaken"),
        row.title,
        reverse(PAGES[row.page].every),
        ("", f"{len(more)} more {words} like these.", ""),
    )


def oldest_of(
    queues: Iterable[QueueDepth], waits: Mapping[int, wait_times.QueueWait]
) -> tuple[QueueDepth, datetime] | None:
    """The oldest message on a queue that consumers should empty."""
    found = [
        (one, wait.oldest_at)
        for one in queues
        if not one.takes_dead_letters
        and (wait := waits.get(one.queue_id))
        and wait.oldest_at is not None
    ]
    return min(found, key=lambda pair: pair[1], default=None)
