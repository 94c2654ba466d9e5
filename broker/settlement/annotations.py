"""Annotations that outcomes add to an entry, for its next deliveries.

A message is immutable, and may be on several queues; so they are in a table beside it,
with a row only for an entry that has some. A copy of the entry has them, too. They are
deleted with the message.

Source:
    AMQP 1.0, part 3, section 3.4.5.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence

from broker import sql
from broker.queueing import mentions
from broker.queueing.transfer import TakenEntry
from broker.settlement.outcomes import Annotations

logger = logging.getLogger(__name__)

MOST_BYTES = 64 * 2**10  # largest annotations of one entry, as stored
TOO_LARGE = "Annotations of a consumer are not kept: above %d bytes for %s of %s."


def annotate(entries: Sequence[TakenEntry], annotations: Annotations) -> None:
    """Combine annotations with those of entries that this transaction has taken; for an
    entry that would have too many, they are dropped, and a warning is logged."""
    kept = sql.fetch(
        "annotate",
        int,
        ids=[entry.id for entry in entries],
        queue_ids=[entry.queue_id for entry in entries],
        annotations=json.dumps({name: value.hex() for name, value in annotations}),
        most=MOST_BYTES,
    )
    if left := [entry for entry in entries if entry.id not in kept]:
        names = mentions.messages([entry.id for entry in left])
        queues = mentions.queues({entry.queue_id for entry in left})
        logger.warning(TOO_LARGE, MOST_BYTES, names, queues)


def annotations_of(queue_id: int, message_ids: Sequence[int]) -> dict[int, Annotations]:
    """The annotations of those entries of a queue that have any, by message."""
    rows = sql.run("annotations", {"queue_id": queue_id, "ids": list(message_ids)})
    return {
        message_id: tuple((name, bytes.fromhex(value)) for name, value in said.items())
        for message_id, said in rows
    }
