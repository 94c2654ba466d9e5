"""The problems that need a person, the most urgent first, with the page for each.

Its few queries cost the same however many messages are on the queues.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import starmap
from urllib.parse import urlencode
from zlib import crc32

from django.urls import reverse

from broker.client.dispatch import stoppages
from broker.formats.quantities import write_count
from broker.models import Link, LinkStatus, Operation, Queue
from broker.monitoring import connections as clients
from broker.monitoring import dead_letters, wait_times
from broker.security.authorities import GrantedAuthorities, Principal
from broker.security.users import User
from broker.transactions import administration
from broker.transactions.prepared import prepared
from console.bridge_pages import needing, sight
from console.layout import settings_problems
from dashboards.live.depths import QueueDepth

MOST = 5  # problems shown of one kind; more are only counted
# queues (those with the most entries), and units of work, that are examined
LOOKED_AT = 200
NOW, LATER = "now", "later"


@dataclass(frozen=True, slots=True)
class Need:
    """One problem, or another fact that needs a person."""

    when: str  # NOW, or LATER: it can wait until the morning
    state: str  # the state of the chip
    chip: str
    what: str  # the problem, in a sentence; may contain untrusted names
    url: str
    link: str  # label of the link
    since: datetime | None = None

    @property
    def key(self) -> str:
        """An identifier that stays the same when the sentence changes."""
        return f"{crc32(f'{self.chip} {self.url}'.encode()):08x}"


@dataclass(frozen=True, slots=True)
class Overview:
    """The data of the page."""

    needs: Sequence[Need]
    # the queue with the oldest ready message, and the time of its put
    oldest: tuple[QueueDepth, datetime] | None
    running: int  # running operations
    connections: int
    findings: int

    @property
    def urgent(self) -> list[Need]:
        return [one for one in self.needs if one.when == NOW]

    @property
    def calm(self) -> list[Need]:
        return [one for one in self.needs if one.when == LATER]


def overview(
    queues: Sequence[QueueDepth],
    held: GrantedAuthorities,
    user: Principal,
    *,
    now: datetime,
) -> Overview:
    """The problems that the user may see.

    Args:
        queues: those that the user may inquire, with their depths.
        held: the user's authorities.
        user: the reader.
        now: the present time.
    """
    busiest = sorted(queues, key=lambda one: -one.total)[:LOOKED_AT]
    waits = wait_times.waiting([one.queue_id for one in busiest], now=now)
    found = settings_problems.count(user, held)
    running = Operation.objects.filter(state=Operation.State.RUNNING).count()
    needs = [
        *cut(stopped(held), "console:consumers", "stopped queue{s}"),
        *of_links(user, held, now),
        *cut(growing(queues), "console:dead_letters", "group{s}"),
        *cut(untaken(queues, waits), "console:queues", "such queue{s}"),
        *cut(late(busiest, waits), "console:scheduled", "such queue{s}"),
        *cut(stuck(queues), "console:units", "unit{s} of work"),
        *cut(paused(queues), "console:queues", "paused queue{s}"),
        *undecided(held),
        *lying(queues),
        *to_put_right(found),
    ]
    return Overview(
        needs=sorted(needs, key=lambda one: one.when != NOW),
        oldest=oldest_of(busiest, waits),
        running=running,
        connections=clients.count(user),
        findings=found,
    )


def cut(needs: Iterable[Need], view: str, what: str) -> Iterator[Need]:
    """The first few problems, and one entry for all others."""
    every = list(needs)
    yield from every[:MOST]
    if more := every[MOST:]:
        when = NOW if any(one.when == NOW for one in more) else LATER
        first = more[0]
        words = what.format(s="" if len(more) == 1 else "s")
        said = f"{len(more)} more {words} like these."
        yield Need(when, first.state, first.chip, said, reverse(view), "See them all")


def stopped(held: GrantedAuthorities) -> Iterator[Need]:
    for one in stoppages.standing():
        if held.on("inquire", one.queue.name):
            yield Need(
                NOW,
                "stopped",
                "delivery stopped",
                f"{one.queue.name}: no queue accepts one message, so delivery stopped.",
                reverse("console:consumers"),
                "See why, and start it again",
                one.stopped_at,
            )


def of_links(
    user: Principal, held: GrantedAuthorities, now: datetime
) -> Iterator[Need]:
    """Links that failed or transfer nothing, and transactions in doubt."""
    if not isinstance(user, User) or not user.has_perm(sight.VIEW):
        return
    found = needing.failed(held)
    yield from cut(map(failed, found), "console:bridges", "failed link{s}")
    found = needing.troubled(held, now)
    yield from cut(map(troubled, found), "console:bridges", "such link{s}")
    doubts = needing.in_doubt(held, now)
    yield from cut(starmap(in_doubt, doubts), "console:bridges", "such link{s}")


def failed(one: LinkStatus) -> Need:
    return Need(
        NOW,
        "stopped",
        "link failed",
        f"{one.link} stopped by itself: {one.error[:200]}",
        link_url(one.link),
        "See the link",
        one.error_at,
    )


def troubled(one: LinkStatus) -> Need:
    return Need(
        NOW,
        "redelivery",
        "link tries again",
        f"{one.link} transfers nothing: {one.error[:200]}",
        link_url(one.link),
        "See the link",
        one.error_at,
    )


def in_doubt(link: Link, branches: int, since: datetime) -> Need:
    words = "transaction waits" if branches == 1 else "transactions wait"
    return Need(
        NOW,
        "held",
        "in doubt",
        f"{link}: {branches:,} {words} for the other broker. The first began",
        link_url(link),
        "See the link",
        since,
    )


def link_url(link: Link) -> str:
    return reverse("console:link", args=[link.bridge.name, link.name])


def growing(queues: Iterable[QueueDepth]) -> Iterator[Need]:
    names = {one.queue_id: one.name for one in queues if one.takes_dead_letters}
    for group in dead_letters.growing(names, limit=MOST + 1):
        said = {"queue": group.origin_queue, "on": group.queue_id}
        url = reverse("console:dead_letter_group", args=[group.fingerprint])
        new = write_count(group.messages, "new dead letter")
        yield Need(
            NOW,
            "dead",
            "more dead letters",
            f"{new} of {group.origin_queue} in the last hour:"
            f" {group.pattern[:200] or 'no error was given'}",
            f"{url}?{urlencode(said)}",
            "See the group",
            group.last_died_at,
        )


def untaken(
    queues: Iterable[QueueDepth], waits: Mapping[int, wait_times.QueueWait]
) -> Iterator[Need]:
    found = [one for one in queues if one.is_untaken]
    for one in sorted(found, key=lambda queue: -queue.ready):
        wait = waits.get(one.queue_id)
        yield Need(
            NOW,
            "untaken",
            "not consumed",
            f"{one.name}: {one.ready:,} ready, and no consumer takes any. The oldest"
            " waits since",
            reverse("console:queue", args=[one.name]),
            "See the queue",
            wait.oldest_at if wait else None,
        )


def late(
    queues: Iterable[QueueDepth], waits: Mapping[int, wait_times.QueueWait]
) -> Iterator[Need]:
    for one in queues:
        wait = waits.get(one.queue_id)
        if wait and wait.late:
            count = f"{wait.late:,}{'+' * (wait.late >= wait_times.COUNTED)}"
            yield Need(
                NOW,
                "redelivery",
                "late",
                f"{one.name}: {count} should be ready by now. Does a"
                " worker run? The first was due",
                f"{reverse('console:scheduled')}?{urlencode({'queue': one.name})}",
                "See what is late",
                wait.late_since,
            )


def stuck(queues: Iterable[QueueDepth]) -> Iterator[Need]:
    """Units of work that the system should have ended by now."""
    within = [one.queue_id for one in queues]
    for unit in administration.open_units(within=within, limit=LOOKED_AT):
        if unit.xid is None and (unit.is_late or not unit.is_alive):
            late = "is past its deadline"
            why = late if unit.is_alive else "has no process any more"
            yield Need(
                NOW,
                "stopped",
                "held",
                f"Unit of work {unit.id} {why}, and keeps {unit.entries:,} messages."
                " Does a worker run? It holds them since",
                reverse("console:unit", args=[unit.id]),
                "See what it holds",
                unit.since,
            )


def paused(queues: Iterable[QueueDepth]) -> Iterator[Need]:
    found = [one for one in queues if one.paused]
    ids = [one.queue_id for one in found]
    ends = dict(Queue.objects.filter(pk__in=ids).values_list("pk", "paused_until"))
    for one in sorted(found, key=lambda queue: -queue.ready):
        waits = f"{one.ready:,} wait" if one.ready else "nothing waits"
        end = ends.get(one.queue_id)
        till = "it resumes by itself," if end else "somebody resumes it."
        yield Need(
            LATER if end or not one.ready else NOW,
            "held",
            "paused",
            f"{one.name}: {waits} until {till}",
            reverse("console:queue", args=[one.name]),
            "See the queue",
            end,
        )


def undecided(held: GrantedAuthorities) -> Iterator[Need]:
    works = prepared() if held.everywhere("inquire") else []
    if works:
        yield Need(
            LATER,
            "held",
            "prepared",
            f"{write_count(len(works), 'unit')} of work"
            f" wait{'s'[len(works) != 1 :]} for a coordinator. The first began",
            reverse("console:health"),
            "See them",
            works[0].started_at,
        )


def lying(queues: Iterable[QueueDepth]) -> Iterator[Need]:
    dead = sum(one.total for one in queues if one.takes_dead_letters)
    if dead:
        yield Need(
            LATER,
            "dead",
            "dead letters",
            f"{write_count(dead, 'dead letter')}.",
            reverse("console:dead_letters"),
            "See their causes",
        )


def to_put_right(count: int) -> Iterator[Need]:
    if count:
        yield Need(
            LATER,
            "untaken",
            "settings",
            f"{write_count(count, 'setting')} should be fixed.",
            reverse("console:health"),
            "See which",
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
