"""Headers of a copy that name its origin, and the reason for the copy.

``sql/queueing/copy.sql`` writes these headers. This module computes them beforehand:
for selectors, and for messages that are sent on before they are stored.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from broker.formats.selectors.documents import milliseconds
from broker.models import DeadLetter, Message
from broker.queueing.store import NewMessage

STALE = (  # properties about an earlier hop, which a copy does not take over
    *("_AMQ_ORIG_QUEUE", "_AMQ_ORIG_ROUTING_TYPE", "_AMQ_ACTUAL_EXPIRY"),
    *("_BRK_DEATH_REASON", "_BRK_DEATH_COUNT", "_BRK_DEATH_TIME", "_BRK_DEATH_ERROR"),
)
RESUBMITS = "_BRK_RESUBMIT_COUNT"
COUNT = re.compile("[0-9]{1,6}")


@dataclass(frozen=True, slots=True)
class Hop:
    """The way of a copy from one address to another."""

    address: str  # address of the original message
    # Queue that the original was taken from; None: it was on no queue.
    queue: str | None
    message_id: int  # the broker's number of the original
    routing_type: int | None  # routing type of the original
    at: datetime
    # Why the copy is a dead letter; None: it is not a dead letter.
    cause: DeadLetter.Cause | None = None
    backout_count: int = 0
    error: str = ""  # the error; only a rejected message gets it as a property

    def properties_after(self, properties: Mapping[str, Any]) -> dict[str, Any]:
        """The properties of a message after this hop; only the last hop is described.

        Source:
            ActiveMQ Artemis manual, "Properties of Copied Messages".
        """
        at_ms = milliseconds(self.at)
        told = {
            "_AMQ_ORIG_ADDRESS": self.address,
            "_AMQ_ORIG_QUEUE": self.queue,
            "_AMQ_ORIG_MESSAGE_ID": str(self.message_id),
            "_AMQ_ORIG_ROUTING_TYPE": self.routing_type,
        }
        if self.cause is not None:
            told |= {
                "_BRK_DEATH_REASON": self.cause.value,
                "_BRK_DEATH_COUNT": self.backout_count,
                "_BRK_DEATH_TIME": at_ms,
            }
        if self.cause is DeadLetter.Cause.REJECTED:
            told["_BRK_DEATH_ERROR"] = self.error or None
        if self.cause is DeadLetter.Cause.EXPIRED:
            told["_AMQ_ACTUAL_EXPIRY"] = at_ms
        kept = {name: value for name, value in properties.items() if name not in STALE}
        return kept | {k: v for k, v in told.items() if v is not None}


def resubmits(properties: Mapping[str, Any], *, more: int = 0) -> dict[str, int]:
    """The property that counts resubmissions. The sender may have set this property to
    any value."""
    text = str(properties.get(RESUBMITS, ""))
    count = more + (int(text) if COUNT.fullmatch(text) else 0)
    return {RESUBMITS: count} if count else {}


def without_body(
    row: Message, properties: Mapping[str, Any], **fields: Any
) -> NewMessage:
    """A stored message with other properties and without its body, for selectors."""
    return NewMessage(
        row.address,
        properties=properties,
        durable=row.durable,
        message_id=row.message_id,
        correlation_id=row.correlation_id,
        subject=row.subject,
        group_id=row.group_id,
        **fields,
    )
