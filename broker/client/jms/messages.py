"""Received messages, with the names of JMS and IBM MQ."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from email.message import EmailMessage
from typing import TYPE_CHECKING, Any, TypeVar

from django.conf import settings

from broker.errors.mq_codes import Persistence
from broker.formats import text
from broker.formats.mq.chain import Chain, chain_of
from broker.formats.mq.coding import coding_in
from broker.formats.mq.descriptor import Descriptor
from broker.queueing.get import Delivery

if TYPE_CHECKING:
    from broker.client.jms.sessions import Session

Body = TypeVar("Body")

REJECTED = "The application rejected it."


@dataclass(frozen=True, slots=True)
class Message:
    """One delivered or browsed message.

    Its contents come from the sender and are untrusted.
    """

    delivery: Delivery
    # Time of the receive; only set for messages that expire.
    received_at: datetime | None = None
    session: Session | None = None  # the session that received it; None: browsed

    def acknowledge(self) -> None:
        """Accept all messages that the session has delivered, as
        ``Session.acknowledge``.

        Source:
            JMS 2.0, section 6.2.10: it is ignored unless the mode is CLIENT.

        Raises:
            LockLost: the system had backed out some of them before; reason 2003.
            ValueError: the message was only browsed.
        """
        self.received_by().acknowledge()

    def reject(self, reason: str = REJECTED) -> None:
        """Reject this message: it becomes a dead letter without another attempt. In a
        transacted session this takes effect at the commit.

        Args:
            reason: what is wrong with it, for the operator.

        Source:
            AMQP 1.0, part 3, section 3.4.2, "Rejected".

        Raises:
            LockLost: the session no longer holds it; reason 2003.
            ValueError: it was accepted when an AUTO session received it, or was only
                browsed.
        """
        self.received_by().reject(self.delivery, reason)

    def received_by(self) -> Session:
        if self.session is None:
            raise ValueError("The message was browsed. Receive it by a consumer.")
        return self.session

    @property
    def message_id(self) -> str:
        """JMSMessageID: the sender's own, or one made from the broker's number."""
        return self.delivery.client_message_id or self.descriptor.jms_message_id

    @property
    def correlation_id(self) -> str | None:
        return self.delivery.correlation_id

    @property
    def reply_to(self) -> str | None:
        return self.delivery.reply_to

    @property
    def subject(self) -> str | None:
        """JMSType."""
        return self.delivery.subject

    @property
    def group_id(self) -> str | None:
        return self.delivery.group_id

    @property
    def priority(self) -> int:
        """0 to 9; messages with 9 are delivered first."""
        return self.delivery.priority

    @property
    def delivery_mode(self) -> Persistence:
        return Persistence(int(self.delivery.durable))

    @property
    def timestamp(self) -> datetime:
        """The time when the message was put."""
        return self.delivery.put_at

    @property
    def expiration(self) -> datetime | None:
        """The time when the message expires; None means never."""
        return self.delivery.expires_at

    @property
    def destination(self) -> str:
        """The address that the message was sent to."""
        return self.delivery.address

    @property
    def backout_count(self) -> int:
        return self.delivery.backout_count

    @property
    def delivery_count(self) -> int:
        """JMSXDeliveryCount: 1, and the number of earlier deliveries that were backed
        out."""
        return self.delivery.backout_count + 1

    @property
    def redelivered(self) -> bool:
        return self.delivery.backout_count > 0

    @property
    def properties(self) -> Mapping[str, Any]:
        return self.delivery.properties

    @property
    def content_type(self) -> str:
        return self.delivery.content_type

    @property
    def descriptor(self) -> Descriptor:
        """All fields of IBM MQ's MQMD; the expiry is the time that remained at the
        receive."""
        at = self.received_at or self.delivery.put_at
        return Descriptor.of(self.delivery, broker_name=settings.BROKER_NAME, now=at)

    @property
    def header_bytes(self) -> bytes:
        """IBM MQ's headers that stand apart from the body, encoded."""
        return self.delivery.headers or b""

    @property
    def chain(self) -> Chain:
        """The headers, apart or at the beginning of the body, decoded as far as
        possible."""
        one = self.delivery
        return chain_of(one.descriptor, one.content_type, one.headers, one.body)

    @property
    def body(self) -> bytes:
        return self.delivery.body

    @property
    def text(self) -> str:
        """The text of the body, behind the headers of IBM MQ at its beginning.

        Its character set is that of the content type; or that of the last header of IBM
        MQ, or of the descriptor; or UTF-8.

        Raises:
            ValueError: it is no text in that character set.
        """
        if (coding := coding_in(self.delivery)) is not None:
            try:
                return text.read(self.body, self.content_type, coding)
            except ValueError as error:
                raise ValueError(f"The body is no text: {error}.") from error
        try:
            return self.body.decode(charset_of(self.content_type))
        except LookupError:
            try:
                return text.read(self.body, self.content_type, None)
            except ValueError as error:
                raise ValueError(f"The character set is unknown: {error}.") from error

    def body_as(self, kind: type[Body]) -> Body:
        """The body as ``bytes``, as ``str``, or as a type of its JSON value.

        Raises:
            ValueError: the body is not of this type.
        """
        found: Any
        if kind is bytes:
            found = self.body
        elif kind is str:
            found = self.text
        else:
            found = self.json()
        if not isinstance(found, kind):
            raise ValueError(
                f"The body is a {type(found).__name__}, not a {kind.__name__}."
            )
        return found

    def json(self) -> Any:
        """The JSON value of the body.

        Raises:
            ValueError: the body is not JSON, or is nested too deep.
        """
        try:
            return json.loads(self.text)
        except RecursionError as error:
            raise ValueError("The body's JSON is too deep.") from error


def charset_of(content_type: str) -> str:
    parsed = EmailMessage()
    try:
        parsed["Content-Type"] = content_type
        return parsed.get_content_charset("utf-8")
    except (ValueError, TypeError, AttributeError, IndexError):
        return "utf-8"  # the content type is invalid
