"""Duplicate detection: recognise redelivered messages of a source by their ids.

An id is stored in the transaction that puts its message here. The settings limit the
number of ids for each link, and their age.
"""

from __future__ import annotations

import logging
from datetime import timedelta

from django.conf import settings

from broker import sql
from broker.bridges.batch import Batch
from broker.bridges.books import Outcome
from broker.models import Link

logger = logging.getLogger(__name__)


def leave_out(link: Link, batch: Batch) -> None:
    """Remove messages from a batch that this link has put here before; in the open
    transaction.

    A message without an id cannot be recognised, and is transferred.
    """
    sends = {one.received.message_id: one for one in batch.sends}
    sends.pop("", None)
    new = {
        message_id
        for (message_id,) in sql.run(
            "remember_messages",
            {"link_id": link.pk, "ids": list(sends), "now": batch.now},
        )
    }
    kept: set[str] = set()
    for one in list(batch.sends):
        known_as = one.received.message_id
        if not known_as or (known_as in new and known_as not in kept):
            kept.add(known_as)
            continue
        batch.sends.remove(one)
        batch.outcomes[batch.received.index(one.received)] = Outcome.DUPLICATE
        logger.info("%s: %s came again and was not put again", link, known_as)


def forget(link_id: int) -> int:
    """Delete ids beyond the limits of age and number; return how many."""
    (count,) = sql.fetch_one(
        "forget_messages",
        link_id=link_id,
        keep_for=timedelta(seconds=settings.BRIDGE_DUPLICATES_KEPT_S),
        keep=settings.BRIDGE_DUPLICATES_KEPT,
    )
    assert isinstance(count, int)
    return count
