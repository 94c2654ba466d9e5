"""Leases: gets whose messages are held between two requests.

A lease is a unit of work that belongs to no process: any process can settle it, and it
does not end when a process dies. So a client of the HTTP API keeps its messages when
the broker restarts. Messages that are not settled before the deadline are backed out,
and the backout is counted. The database's clock decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Max

from broker import sql
from broker.errors import LockLost
from broker.formats.selectors.parsing import parse
from broker.models import Claim, Queue, UnitOfWork
from broker.queueing.get import Delivery, fitting
from broker.queueing.put import NewMessage
from broker.queueing.selective_get import Search
from broker.settlement import settle as ends
from broker.settlement.batch import Settlement, commit
from broker.settlement.outcomes import Outcome, Release
from broker.sql import database_now
from broker.transactions.prefetch import Prefetched

NOBODY = 0  # owner id of leases; no process has this id
# Most bytes of bodies; the message that exceeds this is the last one.
MOST_BYTES = 32 * 2**20


@dataclass(frozen=True, slots=True)
class Lease:
    """Messages of one queue, held until a deadline."""

    uow: int
    queue_id: int
    until: datetime
    deliveries: Sequence[Delivery]


@transaction.atomic
def take(  # noqa: PLR0913  # each is named where it is used
    queue: Queue,
    *,
    limit: int = 1,
    lease_for: timedelta,
    selector: str = "",
    into: int | None = None,
    actor: str = "",
    user: Any = None,
    now: datetime | None = None,
) -> Lease | None:
    """Get up to ``limit`` messages; None if nothing is ready.

    As for any consumer, due entries are made ready, expired ones are ended, and poison
    messages are moved away first.

    Args:
        queue: the queue to get from.
        limit: the largest number of messages; fewer are taken if their bodies are
            large.
        lease_for: time until the deadline; messages that are held then are backed out.
        selector: a JMS selector; only matching messages are taken.
        into: id of an existing lease of the same queue, to which the messages are
            added; its deadline is extended. None: begin a new lease.
        actor: name that the journal records.
        user: the user whose authorities apply when a poison message is moved; None is
            the process itself.
        now: the current time; the database's clock when not given.

    Raises:
        InvalidSelector: the selector cannot be parsed.
        LockLost: the lease ``into`` has ended.
        NoSuchQueue: the queue was deleted.
        NotAuthorized: a message was backed out before, and the user has no authority to
            inquire the queue's backout threshold.
    """
    search = Search(queue.name, parse(selector)) if selector else None
    consumer = Prefetched(queue, search=search, actor=actor, user=user)
    if into is None:
        uow, until = sql.fetch_one("lease", lease_for=lease_for, now=now)
    else:
        uow, until = into, renew(into, lease_for, now=now)
        consumer.claims = next_claim(into)
    consumer.uow = uow
    deliveries = taken(consumer, limit, now)
    if not deliveries:
        if into is None:
            consumer.give_back(now=now)
        return None
    return Lease(uow, queue.pk, until, deliveries)


def next_claim(uow: int) -> int:
    """The next number for a claim of a lease."""
    last = Claim.objects.filter(uow=uow).aggregate(last=Max("claim_id"))["last"]
    return 0 if last is None else last + 1


def taken(consumer: Prefetched, limit: int, now: datetime | None) -> Sequence[Delivery]:
    """Get messages until ``MOST_BYTES`` is reached. With a selector the sizes are not
    known before the get; so the first get takes one message, and each further get takes
    as many as all gets before it."""
    name = consumer.queue.name
    if consumer.search is None and limit > 1:
        few = fitting(name, limit=limit, most_bytes=MOST_BYTES)
        if few:
            return consumer.get(few, now=now)
    deliveries: list[Delivery] = []
    size_bytes = 0
    while len(deliveries) < limit and size_bytes < MOST_BYTES:
        wanted = min(limit - len(deliveries), max(len(deliveries), 1))
        more = consumer.get(wanted, now=now)
        deliveries += more
        size_bytes += sum(len(one.body) for one in more)
        if len(more) < wanted:
            break
    return deliveries


@transaction.atomic
def settle(  # noqa: PLR0913  # each is named where it is used
    uow: int,
    queue_id: int,
    outcome: Outcome,
    *,
    ids: Sequence[int] | None = None,
    puts: Sequence[NewMessage] = (),
    actor: str = "",
    now: datetime | None = None,
) -> list[int]:
    """Settle messages and put others, all or nothing.

    Args:
        uow: the unit of work of the lease.
        queue_id: the queue of its messages.
        outcome: the outcome of all these messages.
        ids: ids of the messages to settle; None: all that the lease still holds.
        puts: messages to send in the same transaction.
        actor: name that the journal records.
        now: the current time; the database's clock when not given.

    Returns:
        The ids of the messages that the lease still holds. If there are none, the lease
        has ended.

    Raises:
        LockLost: the lease has ended, or does not hold one of the messages.
        BrokerError: one of the puts cannot be sent.
    """
    until(uow, now)
    entries = entries_of(uow)
    wanted = list(entries if ids is None else ids)
    asks = any(entries.get(one) for one in wanted)
    settlement = Settlement(uow, queue_id, wanted, outcome, actor, asks)
    commit([settlement], puts, actor=actor, now=now)
    settled = set(wanted)
    left = [one for one in entries if one not in settled]
    if not left:
        ends.end_if_held(uow, Release(), actor=actor, now=now)
    return left


@transaction.atomic
def renew(uow: int, lease_for: timedelta, *, now: datetime | None = None) -> datetime:
    """Extend a lease from now; return its new deadline.

    Raises:
        LockLost: the lease has ended.
    """
    until(uow, now)
    deadline = (now or database_now()) + lease_for
    UnitOfWork.objects.filter(pk=uow).update(deadline=deadline)
    return deadline


def held(uow: int) -> list[int]:
    """The messages that a lease holds."""
    return list(entries_of(uow))


def entries_of(uow: int) -> dict[int, bool]:
    """The messages that a lease holds, and whether each may ask for a report."""
    return dict(sql.run("lease_entries", {"uow": uow}))


def until(uow: int, now: datetime | None) -> datetime:
    """The deadline of a lease, which is locked until the transaction ends.

    Raises:
        LockLost: the lease is past its deadline, even if its row still exists; or it is
            prepared, so that only its coordinator can end it.
    """
    every = UnitOfWork.objects.select_for_update()
    leases = every.filter(pk=uow, owner_id=NOBODY, xid=None)
    deadline = leases.values_list("deadline", flat=True).first()
    if deadline is None or deadline <= (now or database_now()):
        raise LockLost(uow)
    return deadline
