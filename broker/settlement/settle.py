"""End units of work: accept, back out or release them; and end those whose process
died."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import DataError, connection, transaction

from broker import sql
from broker.errors import LockLost
from broker.formats.error_fingerprint import readable
from broker.models import CountsWhenLost, Kind, Place, Queue
from broker.queueing import processes
from broker.queueing.get import Delivery, Next, ending, get, statement_of
from broker.queueing.transfer import Record, TakenEntry
from broker.settlement import dead_owners
from broker.settlement.backout import settle_as
from broker.settlement.confirmations import confirm
from broker.settlement.failed_unit import Ended, end_failed
from broker.settlement.outcomes import BackOut, Failure, Outcome, Reject, Release
from broker.settlement.redelivery_policy import Disposition
from broker.sql.fencing import short_transaction

DIED = "The consumer's process ended before its unit of work did."
OVERDUE = "The consumer did not end its unit of work in time."


def accept(
    uow: int,
    *,
    expected: int,
    then: Next | None = None,
    returned: str | None = None,
    actor: str = "",
    now: datetime | None = None,
) -> list[Delivery]:
    """Accept a unit of work; its entries leave their queues. One statement.

    Args:
        uow: the unit of work.
        expected: the number of entries that its holder counts. If the database holds
            another number, nothing is accepted; the caller must roll back.
        then: what to get in the same statement; it begins another unit of work.
        returned: what the task of its one message returned, as JSON; None: nothing.
        actor: name that the journal records.
        now: the current time; the database's clock when not given.

    Returns:
        The deliveries that ``then`` got.

    Raises:
        LockLost: the unit of work has ended already, or lost a claim in a crash.
    """
    ends = ending({uow: returned}, expected)
    try:
        if then is not None:
            return get(
                then.queue,
                owner=processes.current(),
                limit=then.limit,
                pooled=then.pooled,
                ends=ends,
                actor=actor,
                now=now,
            )
        sql.fetch_one(statement_of(ends), **ends, actor=actor, now=now)
    except DataError as error:
        if not sql.is_refusal(error):
            raise
        raise LockLost(uow) from error
    return []


@transaction.atomic
def settle_some(  # noqa: PLR0913  # each is named where it is used
    uow: int,
    queue_id: int,
    ids: Sequence[int],
    outcome: Outcome,
    *,
    confirms: bool = False,
    actor: str = "",
    now: datetime | None = None,
) -> None:
    """Settle some deliveries of a unit of work, which stays open.

    ``confirms`` says whether one of them may ask for a confirmation.

    Raises:
        LockLost: the unit of work no longer holds one of them; then none is settled.
    """
    held = take_some(uow, queue_id, ids, now)
    settle_as(outcome, held, Record(Kind.ACCEPT, Place.CLAIMED, uow, actor, now=now))
    if confirms:
        confirm({(queue_id, one) for one in ids}, uow=uow, actor=actor, now=now)


def reject_some(uow: int, errors: Mapping[tuple[int, int], str], **about: Any) -> None:
    """Reject some deliveries of a unit of work.

    Args:
        uow: the unit of work.
        errors: the error of each delivery, by queue and message.
        about: as of ``settle_some``.

    Raises:
        LockLost: the unit of work no longer holds one of them.
    """
    for (queue_id, message_id), error in errors.items():
        settle_some(uow, queue_id, [message_id], Reject(error), **about)


def take_some(
    uow: int, queue_id: int, ids: Sequence[int], now: datetime | None
) -> list[TakenEntry]:
    held = sql.fetch(
        "take_some", TakenEntry, uow=uow, queue_id=queue_id, ids=list(ids), now=now
    )
    if len(held) != len(set(ids)):
        raise LockLost(uow)
    return held


@transaction.atomic
def carry_over(
    delivery: Delivery, error: str, *, actor: str = "", now: datetime | None = None
) -> int:
    """Move one delivery of a unit of work into a new unit of work.

    Args:
        delivery: the delivery to move.
        error: the reason, for the operator.
        actor: name that the journal records.
        now: the current time; the database's clock when not given.

    Returns:
        The id of the new unit of work; its deadline is a full timeout from now.

    Raises:
        LockLost: the old unit of work no longer holds the entry.
    """
    before = delivery.uow
    (held,) = take_some(before, delivery.queue_id, [delivery.message_id], now)
    (after,) = sql.fetch_one(
        "reclaim",
        owner=processes.current(),
        timeout=timedelta(seconds=settings.BROKER_TRANSACTION_TIMEOUT_S),
        queue_id=held.queue_id,
        id=held.id,
        priority=held.priority,
        backout_count=held.backout_count,
        delivery_count=held.delivery_count,
        expires_at=held.expires_at,
        uow=before,
        error=readable(error),
        actor=actor,
        now=now,
    )
    assert isinstance(after, int)
    return after


def end(uow: int, outcome: Outcome, **about: Any) -> list[Disposition]:
    """As ``end_if_held``; raises ``LockLost`` if the unit of work has ended already."""
    dispositions = end_if_held(uow, outcome, **about)
    if dispositions is None:
        raise LockLost(uow)
    return dispositions


def end_if_held(
    uow: int, outcome: Outcome, *, actor: str = "", now: datetime | None = None
) -> list[Disposition] | None:
    """End a unit of work with one outcome for all its entries; see ``settle_as``. None
    if it holds nothing, or has ended already."""
    if not connection.in_atomic_block:
        ended = end_failed(uow, outcome, actor=actor, now=now)
        if ended is not None:
            return ended.dispositions
    return end_by_entry(uow, outcome, actor=actor, now=now)


def end_and_get(
    uow: int,
    outcome: Failure,
    known: Sequence[TakenEntry],
    then: Next | None,
    **about: Any,
) -> Ended:
    """As ``end``, and get what ``then`` says if one statement does both; ``known`` is
    what its holder knows of its entries, which saves to read them."""
    alone = not connection.in_atomic_block
    if alone and (ended := end_failed(uow, outcome, known, then, **about)):
        return ended
    dispositions = end_by_entry(uow, outcome, **about)
    if dispositions is None:
        raise LockLost(uow)
    return Ended(dispositions, [])


@transaction.atomic(savepoint=False)
def end_by_entry(
    uow: int, outcome: Outcome, *, actor: str, now: datetime | None
) -> list[Disposition] | None:
    held = sql.fetch("take_unit", TakenEntry, uow=uow, now=now)
    if not held:
        return None
    record = Record(Kind.BACK_OUT, Place.CLAIMED, uow, actor, now=now)
    return settle_as(outcome, held, record)


@transaction.atomic
def end_lost(
    uow: int,
    error: str,
    *,
    first: int | None = None,
    at_once: bool = False,
    actor: str = "",
    now: datetime | None = None,
) -> None:
    """End a unit of work whose process or client was lost.

    It is unknown which entries the consumer had seen. So each queue defines for which
    entries a backout is counted (``Queue.counts_when_lost``); the others are released.
    The call has no effect if the unit of work has ended already.

    Args:
        uow: the unit of work.
        error: the error text, for the operator.
        first: the message delivered first, for queues that count the oldest; by
            default the lowest id.
        at_once: without a redelivery delay.
        actor: name that the journal records.
        now: the current time; the database's clock when not given.
    """
    held = sql.fetch("take_unit", TakenEntry, uow=uow, now=now)
    counted, spared = parted(held, first)
    record = Record(Kind.BACK_OUT, Place.CLAIMED, uow, actor, now=now)
    if counted:
        settle_as(BackOut(error, at_once=at_once), counted, record)
    settle_as(Release(why=error), spared, record)


def parted(
    held: Sequence[TakenEntry], first: int | None
) -> tuple[list[TakenEntry], list[TakenEntry]]:
    """Two lists: entries for which a backout is counted, and the other entries."""
    queues = Queue.objects.filter(pk__in={entry.queue_id for entry in held})
    rules = dict(queues.values_list("pk", "counts_when_lost"))
    ids = {entry.id for entry in held}
    oldest = first if first in ids else min(ids, default=None)
    counted: list[TakenEntry] = []
    spared: list[TakenEntry] = []
    for entry in held:
        rule = rules.get(entry.queue_id, CountsWhenLost.ALL)
        counts = rule == CountsWhenLost.ALL or (
            rule == CountsWhenLost.OLDEST and entry.id == oldest
        )
        (counted if counts else spared).append(entry)
    return counted, spared


@transaction.atomic
def end_ready(
    queue_id: int,
    ids: Sequence[int],
    outcome: Failure,
    *,
    actor: str = "",
    now: datetime | None = None,
) -> list[Disposition]:
    """Back out deliveries whose transaction was rolled back; so their entries are ready
    again, and no backout was counted yet.

    An entry that another consumer has claimed meanwhile keeps its count.
    """
    taken = sql.fetch(
        "take_ready",
        held_from,
        queue_id=queue_id,
        ids=list(ids),
        expired_too=True,
        now=now,
    )
    held = [replace(one, delivery_count=one.delivery_count + 1) for one in taken]
    record = Record(Kind.BACK_OUT, Place.READY, None, actor, now=now)
    return settle_as(outcome, held, record)


def held_from(*columns: Any) -> TakenEntry:
    """The entries that were taken, without their due times."""
    return TakenEntry(*columns[:-1])


def back_out_overdue(*, limit: int, now: datetime | None = None) -> int:
    """Back out units of work of dead processes, and those past their deadlines.

    A consumer that is killed by a message cannot back it out. The backout is counted
    here, so that the message becomes a dead letter after its last attempt.

    Returns:
        The number of units of work, at most ``limit``.
    """
    with short_transaction():
        dead = dead_owners.ids()
        asked = {"dead_owners": dead, "limit": limit, "now": now}
        overdue = sql.run("overdue", asked)
        # Links keep the order of messages, so their entries are redelivered at once.
        ordered = dead_owners.units_of(dead, "bridge")
        for uow, is_late in overdue:
            if is_late:
                end_if_held(uow, BackOut(OVERDUE), now=now)
            else:
                end_lost(uow, DIED, at_once=uow in ordered, now=now)
        if len(overdue) < limit:
            dead_owners.forget(dead)
    return len(overdue)


def is_any_overdue() -> bool:
    """Whether ``back_out_overdue`` has something to do."""
    if dead_owners.ids():
        return True
    return bool(sql.run("overdue", {"dead_owners": [], "limit": 1, "now": None}))
