"""The values of names in selectors: a message's headers and properties."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Selectable(Protocol):
    """The fields that a new message and a delivery have in common."""

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
    """The values of a selector's names for a message, new or delivered.

    A header takes precedence over a property of its name. ``JMSXDeliveryCount``
    includes this delivery. Times are milliseconds since 1970.
    ``sql/queueing/choose.sql`` builds the same document.
    """
    # In a delivery, ``message_id`` is the broker's number, not the sender's id.
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
