"""The values of names in selectors: a message's headers and properties."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any

from django.conf import settings

from broker.formats.messages import AnyMessage
from broker.formats.mq import jms_properties
from broker.formats.mq.descriptor import legible, made_id

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Size of the message number at the end of an id that this broker made.
NUMBER_BYTES = 8
# Names whose values are in the descriptor or the envelope, which PostgreSQL cannot read
# by a path. If a message has no such field, its property of that name counts.
ONLY_IN_PYTHON = frozenset(
    (
        *("JMSTimestamp", "JMSXGroupSeq", "JMSXUserID", "JMSXAppID"),
        *("JMS_AMQP_REPLY_TO_GROUP_ID", *jms_properties.NAMES),
    )
)


@dataclass(slots=True)
class EnvelopeReaders:
    """Functions that read the headers in an envelope, by name; AMQP, which alone knows
    the form of envelopes, adds its own."""

    every: list[Callable[[bytes], Mapping[str, object]]] = field(default_factory=list)

    def read(self, envelope: bytes) -> dict[str, object]:
        found: dict[str, object] = {}
        for one in self.every:
            found |= one(envelope)
        return found


ENVELOPES = EnvelopeReaders()


@dataclass(frozen=True)
class SelectableValues(Mapping[str, object]):
    """The values of names. Descriptor and envelope are read only for a selector that
    names something in them."""

    columns: Mapping[str, object]  # properties, and headers with a column
    descriptor: Mapping[str, Any] | None = None
    envelope: bytes | memoryview | None = None

    def __getitem__(self, name: str) -> object:
        if name in ONLY_IN_PYTHON and (own := self.own.get(name)) is not None:
            return own
        return self.columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**self.columns, **self.own})

    def __len__(self) -> int:
        return len({**self.columns, **self.own})

    @cached_property
    def own(self) -> Mapping[str, object]:
        """The values in the descriptor and the envelope; the envelope's count first."""
        found = described_values(self.descriptor or {})
        if self.envelope is None:
            return found
        return found | ENVELOPES.read(bytes(self.envelope))


def described_values(descriptor: Mapping[str, Any]) -> dict[str, object]:
    fields = legible(descriptor)
    found = {
        "JMSXGroupSeq": fields.get("msg_seq_number"),
        "JMSXUserID": fields.get("user_identifier"),
        "JMSXAppID": fields.get("put_appl_name"),
    }
    return found | jms_properties.values_of(fields)


def document(
    message: AnyMessage, entry: Mapping[str, object] | None = None
) -> SelectableValues:
    """The values of a selector's names for a message, new or delivered.

    A header takes precedence over a property of its name. ``JMSXDeliveryCount``
    includes this delivery. Times are milliseconds since 1970; a message that is being
    put has the time of now. ``sql/queueing/choose.sql`` builds the same document.

    Args:
        message: the message.
        entry: headers that are known of its entry, which override the message's.
    """
    backouts = getattr(message, "backout_count", 0)
    put_at = getattr(message, "put_at", None) or datetime.now(UTC)
    columns = dict(message.properties) | {
        "AMQAddress": message.address,
        "AMQDurable": "DURABLE" if message.durable else "NON_DURABLE",
        "JMSMessageID": jms_message_id(message),
        "JMSCorrelationID": message.correlation_id,
        "JMSType": message.subject,
        "JMSXGroupID": message.group_id,
        "JMSPriority": message.priority,
        "JMSDeliveryMode": "PERSISTENT" if message.durable else "NON_PERSISTENT",
        "JMSTimestamp": milliseconds(put_at),
        "JMSExpiration": milliseconds(message.expires_at) or 0,
        "JMSXDeliveryCount": backouts + 1,
        "JMSRedelivered": backouts > 0,
        **(entry or {}),
    }
    return SelectableValues(columns, message.descriptor, message.envelope)


def jms_message_id(message: Any) -> str | None:
    """The sender's own id, or that of the descriptor, or one made from the number; None
    for a new message without an id, which has no number yet."""
    is_delivery = hasattr(message, "client_message_id")
    own: str | None
    if is_delivery:
        own, number = message.client_message_id, message.message_id
    else:
        own, number = message.message_id, getattr(message, "pk", None)
    if own is not None:
        return own
    if msg_id := (message.descriptor or {}).get("msg_id"):
        return f"ID:{msg_id}"
    return None if number is None else f"{made_prefix()}{number:016x}"


def made_prefix() -> str:
    """The beginning of the ids that this broker makes."""
    return f"ID:{made_id(0, settings.BROKER_NAME)[:-NUMBER_BYTES].hex()}"


def milliseconds(moment: datetime | None) -> int | None:
    return None if moment is None else (moment - EPOCH) // timedelta(milliseconds=1)
