"""How units of work end: well, badly, or because their holder died."""

from __future__ import annotations

import logging
import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction

from broker import owner, sql
from broker.addresses import Policy, merge, policy_of
from broker.discards import discard
from broker.errors import LockLost
from broker.expiry import end_expired
from broker.fingerprints import readable
from broker.get import Delivery
from broker.models import AddressSetting, DeadLetter, Kind, Place, Queue
from broker.moves import Held, Record, copy, end, put_back, takes
from broker.redelivery import (
    DeadLetter as ToDeadLetters,
)
from broker.redelivery import (
    Discard,
    Disposition,
    Park,
    Redeliver,
    dispose,
)

logger = logging.getLogger(__name__)

DIED = "The consumer's process ended before its unit of work did."
OVERDUE = "The consumer did not end its unit of work in time."
PARKED = (
    "Message %d used up its attempts on queue %d, which is where dead letters go: it"
    " stays there. Stop its consumer, or raise max delivery attempts to -1."
)
MILLISECOND = timedelta(milliseconds=1)


@transaction.atomic(savepoint=False)
def accept(
    uow: int, *, expected: int, actor: str = "", now: datetime | None = None
) -> None:
    """End a unit of work well; its entries leave their queues.

    Args:
        uow: the unit of work.
        expected: how many entries its holder believes it has; with any other number
            nothing is accepted, and the transaction is to be rolled back.
        actor: for the journal.
        now: when; the database's clock when not given.

    Raises:
        LockLost: it has ended already, or lost a claim in a crash.
    """
    ended, left = sql.fetch_one("accept", uow=uow, actor=actor, now=now)
    if (ended, left) != (1, expected):
        raise LockLost(uow)


@transaction.atomic
def accept_some(
    uow: int,
    queue_id: int,
    ids: Sequence[int],
    *,
    actor: str = "",
    now: datetime | None = None,
) -> None:
    """End some deliveries of a unit of work well; the rest goes on.

    Raises:
        LockLost: it no longer holds one of them; then none is accepted.
    """
    held = take_some(uow, queue_id, ids, now)
    end(held, Record(Kind.ACCEPT, Place.CLAIMED, uow, actor, now=now))


@transaction.atomic
def release_some(
    uow: int,
    queue_id: int,
    ids: Sequence[int],
    *,
    actor: str = "",
    now: datetime | None = None,
) -> None:
    """Give entries back uncounted: nobody has seen them. Never delayed.

    Raises:
        LockLost: it no longer holds one of them; then none is released.
    """
    held = take_some(uow, queue_id, ids, now)
    record = Record(Kind.RELEASE, Place.CLAIMED, uow, actor, now=now)
    put_back(held, [0] * len(held), record)


def take_some(
    uow: int, queue_id: int, ids: Sequence[int], now: datetime | None
) -> list[Held]:
    held = sql.fetch(
        "take_some", Held, uow=uow, queue_id=queue_id, ids=list(ids), now=now
    )
    if len(held) != len(set(ids)):
        raise LockLost(uow)
    return held


@transaction.atomic
def carry_over(
    delivery: Delivery, error: str, *, actor: str = "", now: datetime | None = None
) -> int:
    """Move one delivery of a unit of work into another, which begins with it.

    Args:
        delivery: which.
        error: why, for the operator.
        actor: for the journal.
        now: when; the database's clock when not given.

    Returns:
        The other unit of work, with the usual time until its deadline.

    Raises:
        LockLost: the first no longer holds the entry.
    """
    before = delivery.uow
    (held,) = take_some(before, delivery.queue_id, [delivery.message_id], now)
    (after,) = sql.fetch_one(
        "reclaim",
        owner=owner.current(),
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


@transaction.atomic
def back_out(
    uow: int,
    error: str,
    *,
    actor: str = "",
    spread: float | None = None,
    at_once: bool = False,
    now: datetime | None = None,
) -> list[Disposition]:
    """End a unit of work badly: each of its entries is counted and disposed of.

    Args:
        uow: the unit of work.
        error: what went wrong, for the operator.
        actor: for the journal.
        spread: as in ``redelivery_delay``; drawn for each entry when not given.
        at_once: what comes back waits for no delay.
        now: when; the database's clock when not given.

    Returns:
        What became of each entry, by queue and message.

    Raises:
        LockLost: it has ended already.
    """
    outcomes = end_badly(
        uow, error, actor=actor, spread=spread, at_once=at_once, now=now
    )
    if outcomes is None:
        raise LockLost(uow)
    return outcomes


def end_badly(
    uow: int,
    error: str,
    *,
    actor: str = "",
    spread: float | None = None,
    at_once: bool = False,
    now: datetime | None = None,
) -> list[Disposition] | None:
    """As ``back_out``; None where the unit of work holds nothing (any more)."""
    held = sql.fetch("take_unit", Held, uow=uow, now=now)
    if not held:
        return None
    detail = {"error": readable(error)}
    record = Record(Kind.BACK_OUT, Place.CLAIMED, uow, actor, detail, now)
    return dispose_of(held, record, spread, at_once=at_once)


@transaction.atomic
def back_out_ready(
    queue_id: int,
    ids: Sequence[int],
    error: str,
    *,
    actor: str = "",
    now: datetime | None = None,
) -> list[Disposition]:
    """Count a delivery whose transaction is gone, so that its entries are ready again.

    An entry that somebody else has taken meanwhile keeps its count: nobody can tell
    that delivery from the lost one.
    """
    taken = sql.fetch("take_ready", Held, queue_id=queue_id, ids=list(ids), now=now)
    held = [replace(one, delivery_count=one.delivery_count + 1) for one in taken]
    detail = {"error": readable(error)}
    record = Record(Kind.BACK_OUT, Place.READY, None, actor, detail, now)
    return dispose_of(held, record, None)


def dispose_of(
    held: Sequence[Held],
    record: Record,
    spread: float | None,
    *,
    at_once: bool = False,
) -> list[Disposition]:
    """Count each entry's backout and put it where its address's settings say."""
    expired = [entry for entry in held if entry.expired]
    end_expired(expired, record.came_from, uow=record.uow, now=record.now)
    counted = [
        replace(entry, backout_count=entry.backout_count + 1)
        for entry in held
        if not entry.expired
    ]
    rules = rules_of({entry.queue_id for entry in counted})
    if at_once:
        for rule in rules.values():
            rule.redelivery_delay_ms = 0
    outcomes = [
        dispose(
            rules[entry.queue_id],
            entry.backout_count,
            random.uniform(-1, 1) if spread is None else spread,  # noqa: S311
            address=rules[entry.queue_id].match,
        )
        if entry.queue_id in rules
        else Discard()  # its queue was deleted
        for entry in counted
    ]
    carry_out(counted, outcomes, record)
    return outcomes


def carry_out(
    entries: Sequence[Held], outcomes: Sequence[Disposition], record: Record
) -> None:
    """Put each entry where its disposition says; the one place that knows how."""
    back: list[Held] = []
    delays_ms: list[int] = []
    dead: dict[str, list[Held]] = {}
    for entry, outcome in zip(entries, outcomes, strict=True):
        match outcome:
            case Redeliver(after) | Park(after):
                back.append(entry)
                delays_ms.append(after // MILLISECOND)
                if isinstance(outcome, Park):
                    logger.warning(PARKED, entry.id, entry.queue_id)
            case ToDeadLetters(to):
                dead.setdefault(to, []).append(entry)
            case Discard():
                dead.setdefault("", []).append(entry)
    put_back(back, delays_ms, record)
    for to, poisoned in dead.items():
        dead_letter(poisoned, to, record)


def dead_letter(entries: Sequence[Held], to: str, record: Record) -> None:
    """Copy poison messages to their dead letter address, or drop them where it is unset
    or feeds no queue.

    Source:
        ActiveMQ Artemis, QueueImpl.sendToDeadLetterAddress: it drops too, and warns.
    """
    cause = DeadLetter.Cause.MAX_DELIVERY_ATTEMPTS
    detail = record.detail | {"cause": cause.value}
    if to and takes(to):
        kind = Kind.DEAD_LETTER
        copy(entries, to, replace(record, kind=kind, detail=detail), cause=cause)
        return
    why = f"{to!r} feeds no queue" if to else "no dead letter address is set"
    logger.warning("%d poison messages are discarded: %s.", len(entries), why)
    discard(entries, replace(record, detail=detail | {"to": to}), why=why)


def back_out_overdue(*, limit: int, now: datetime | None = None) -> int:
    """Back out units of work whose process died or whose deadline passed.

    A message that kills its consumer never gets as far as a backout of its own. This
    counts it all the same, so that it too ends as a dead letter.

    Returns:
        How many were looked at, at most ``limit``.
    """
    with transaction.atomic():
        dead = sql.fetch("dead_owners", int, lock_class=owner.LOCK_CLASS)
        overdue = sql.fetch(
            "overdue", id_and_reason, dead_owners=dead, limit=limit, now=now
        )
        for uow, is_late in overdue:
            end_badly(uow, OVERDUE if is_late else DIED, now=now)
        if len(overdue) < limit:
            owner.forget(dead)
    return len(overdue)


def id_and_reason(uow: int, is_late: bool) -> tuple[int, bool]:  # noqa: FBT001
    return uow, is_late


def rules_of(queue_ids: set[int]) -> dict[int, AddressSetting]:
    """The merged settings of each queue; those without the broker's own limit where its
    consumers look for poison messages, or nobody does."""
    every = list(AddressSetting.objects.all())
    rules: dict[int, AddressSetting] = {}
    queues = Queue.objects.filter(pk__in=queue_ids)
    for queue_id, address, threshold in queues.values_list(
        "pk", "address__name", "backout_threshold"
    ):
        rule = rules[queue_id] = merge(address, every)
        if policy_of(rule, threshold) not in (Policy.ARTEMIS, Policy.BOTH):
            rule.max_delivery_attempts = -1
    return rules
