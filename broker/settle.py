"""How units of work end: well, badly, or because their holder died."""

from __future__ import annotations

import logging
import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from django.db import transaction

from broker import owner, sql
from broker.addresses import merge
from broker.errors import LockLost
from broker.expiry import end_expired
from broker.fingerprints import readable
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


def accept(
    uow: int, *, expected: int, actor: str = "", now: datetime | None = None
) -> None:
    """End a unit of work well; its entries leave their queues.

    Args:
        uow: the unit of work.
        expected: how many entries its holder believes it has; with any other number
            nothing is accepted.
        actor: for the journal.
        now: when; the database's clock when not given.

    Raises:
        LockLost: it has ended already, or lost a claim in a crash.
    """
    (ended,) = sql.fetch_one("accept", uow=uow, expected=expected, actor=actor, now=now)
    if not ended:
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
def back_out(
    uow: int,
    error: str,
    *,
    actor: str = "",
    spread: float | None = None,
    now: datetime | None = None,
) -> list[Disposition]:
    """End a unit of work badly: each of its entries is counted and disposed of.

    Args:
        uow: the unit of work.
        error: what went wrong, for the operator.
        actor: for the journal.
        spread: as in ``redelivery_delay``; drawn for each entry when not given.
        now: when; the database's clock when not given.

    Returns:
        What became of each entry, by queue and message.

    Raises:
        LockLost: it has ended already.
    """
    outcomes = end_badly(uow, error, actor=actor, spread=spread, now=now)
    if outcomes is None:
        raise LockLost(uow)
    return outcomes


def end_badly(
    uow: int,
    error: str,
    *,
    actor: str = "",
    spread: float | None = None,
    now: datetime | None = None,
) -> list[Disposition] | None:
    """As ``back_out``; None where the unit of work holds nothing (any more)."""
    held = sql.fetch("take_unit", Held, uow=uow, now=now)
    if not held:
        return None
    detail = {"error": readable(error)}
    record = Record(Kind.BACK_OUT, Place.CLAIMED, uow, actor, detail, now)
    return dispose_of(held, record, spread)


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
    held: Sequence[Held], record: Record, spread: float | None
) -> list[Disposition]:
    """Count each entry's backout and put it where its address's settings say."""
    expired = [entry for entry in held if entry.expired]
    end_expired(expired, record.came_from, uow=record.uow, now=record.now)
    counted = [
        replace(entry, backout_count=entry.backout_count + 1)
        for entry in held
        if not entry.expired
    ]
    addresses = addresses_of({entry.queue_id for entry in counted})
    settings = list(AddressSetting.objects.all())
    merged = {address: merge(address, settings) for address in addresses.values()}
    outcomes = [
        dispose(
            merged[addresses[entry.queue_id]],
            entry.backout_count,
            random.uniform(-1, 1) if spread is None else spread,  # noqa: S311
            address=addresses[entry.queue_id],
        )
        if entry.queue_id in addresses
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
    detail |= {"to": to, "why": why}
    end(entries, replace(record, kind=Kind.DISCARD, detail=detail))


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


def addresses_of(queue_ids: set[int]) -> dict[int, str]:
    return dict(
        Queue.objects.filter(pk__in=queue_ids).values_list("pk", "address__name")
    )
