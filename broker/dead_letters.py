"""Putting messages aside as dead letters, as ActiveMQ Artemis does."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

from broker.discards import discard
from broker.models import DeadLetter, Kind
from broker.moves import Held, Record, copy, takes

logger = logging.getLogger(__name__)


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
