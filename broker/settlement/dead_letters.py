"""Putting messages aside as dead letters, as ActiveMQ Artemis does."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

from broker.models import DeadLetter, Kind
from broker.queueing.transfer import Copy, Record, TakenEntry, copy
from broker.settlement.discards import discard

logger = logging.getLogger(__name__)

Cause = DeadLetter.Cause

UNSET = "no dead letter address is set"


def dead_letter(
    entries: Sequence[TakenEntry],
    to: str,
    record: Record,
    *,
    cause: Cause = Cause.MAX_DELIVERY_ATTEMPTS,
) -> list[Copy]:
    """Copy messages to their dead letter address, or drop those that it cannot take:
    where it is unset, feeds no queue, or has no queue whose selector matches.

    Args:
        entries: what was taken.
        to: the address; empty where none is set.
        record: for the journal, where both ends of a message say ``cause``.
        cause: why they are dead letters.

    Returns:
        What each became, in the order of the entries, but for the dropped ones.

    Source:
        ActiveMQ Artemis, QueueImpl.sendToDeadLetterAddress: it drops too, and warns.
    """
    record = replace(record, detail=record.detail | {"cause": cause.value})

    def drop(left: Sequence[TakenEntry], why: str) -> None:
        logger.warning("%d poison messages are discarded: %s.", len(left), why)
        detail = record.detail | {"to": to}
        discard(left, replace(record, detail=detail), why=why)

    if not to:
        drop(entries, UNSET)
        return []
    letters = replace(record, kind=Kind.DEAD_LETTER)
    return copy(entries, to, letters, cause=cause, untaken=drop)
