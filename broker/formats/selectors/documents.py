"""What the names in a selector stand for: a message's headers, and its properties."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Selectable(Protocol):
    """What a message that is sent and one that is delivered have in common."""

    @property
    def properties(self) -> Mapping[str, Any]: ...
    @property
    def correlation_id(self) -> str | None: ...
    @property
    def subject(self) -> str | None: ...
    @property
    def group_id(self) -> str | None: ...
    @property
    def priority(self) -> int: ...
    @property
    def durable(self) -> bool: ...
    @property
    def expires_at(self) -> datetime | None: ...


def document(message: Selectable) -> dict[str, object]:
    """The values that a selector's names have for a message, sent or delivered.

    A header hides a property of its name; ``JMSXDeliveryCount`` counts this delivery;
    times are milliseconds since 1970. ``sql/queueing/choose.sql`` makes the same.
    """
    # A delivery has the broker's number there, and the sender's under another name.
    sent_as = getattr(message, "message_id", None)
    backouts = getattr(message, "backout_count", 0)
    return dict(message.properties) | {
        "JMSMessageID": getattr(message, "client_message_id", sent_as),
        "JMSCorrelationID": message.correlation_id,
        "JMSType": message.subject,
        "JMSXGroupID": message.group_id,
        "JMSPriority": message.priority,
        "JMSDeliveryMode": "PERSISTENT" if message.durable else "NON_PERSISTENT",
        "JMSTimestamp": milliseconds(getattr(message, "put_at", None)),
        "JMSExpiration": milliseconds(message.expires_at) or 0,
        "JMSXDeliveryCount": backouts + 1,
        "JMSRedelivered": backouts > 0,
    }


def milliseconds(moment: datetime | None) -> int | None:
    return None if moment is None else (moment - EPOCH) // timedelta(milliseconds=1)
