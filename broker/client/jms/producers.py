"""Producers: send to one destination."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Self, TypedDict, Unpack

from django.conf import settings

from broker.config.names import address_of, local_queue
from broker.errors import InvalidMessage, NoSuchQueue
from broker.errors.messages import WrongPersistence, WrongTimeToLive
from broker.errors.mq_codes import MsgType, Persistence, Report
from broker.formats import strict_json
from broker.formats.mq.descriptor import is_expiry
from broker.formats.mq.fixed import padded
from broker.queueing.put import NewMessage, put_many
from broker.queueing.store import check
from broker.security import authorities

if TYPE_CHECKING:
    from broker.client.jms.sessions import Session

TENTH = timedelta(milliseconds=100)
BYTES, TEXT, JSON = (
    "application/octet-stream",
    "text/plain; charset=utf-8",
    "application/json",
)

Content = bytes | str | Mapping[str, Any] | Sequence[Any]


class SendOptions(TypedDict, total=False):
    """Options of a send, for a producer or for one message."""

    priority: int  # 0 to 9; messages with 9 are delivered first; default 4
    # Time until the message expires, counted from the put, even in a unit of work; 0:
    # never.
    time_to_live: timedelta | None
    delivery_delay: timedelta  # time before which the message is not delivered
    delivery_mode: Persistence  # persistent or not; "as the queue" means persistent
    correlation_id: str
    reply_to: str
    subject: str  # JMSType
    group_id: str
    properties: Mapping[str, Any]  # names and JSON values
    # Content type of a body of type bytes; it is known for other types.
    content_type: str
    report: Report
    msg_type: MsgType
    descriptor: Mapping[str, Any]  # other fields of the MQMD; see ``broker.formats.mq``
    headers: bytes  # chain of IBM MQ headers before the body


class Producer:
    """Sends to one address: at once, or in a transacted session at its commit."""

    def __init__(
        self, session: Session, destination: str, options: SendOptions
    ) -> None:
        self.session = session
        self.address = address_of(destination)
        authorities.require(
            session.user, "put", guarded_name(destination, self.address)
        )
        self.options = options

    def send(self, body: Content = b"", **options: Unpack[SendOptions]) -> str:
        """Send one message.

        Args:
            body: bytes, text, or a JSON value.
            options: options that override the producer's.

        Returns:
            The message's id, as ``ID:`` and 48 hexadecimal digits.

        Raises:
            QueueFull: and whatever else ``broker.queueing.put.put`` refuses; in a
                transacted session its commit does.
            WrongTimeToLive: the time to live is negative, or longer than three years;
                reason 2013.
            WrongPersistence: there is no such delivery mode; reason 2047.
            WrongReportOptions: 2061; MissingReplyTo: 2027; at once in every session.
        """
        with self.session.using():
            message = self.message(body, {**self.options, **options})
            check([message])
            if self.session.is_transacted:
                self.session.holding.send(message)
            else:
                put_many(
                    [message], actor=message.producer, now=self.session.connection.now
                )
        assert message.message_id is not None, "it was made here"
        return message.message_id

    def message(self, body: Content, options: SendOptions) -> NewMessage:
        # In JMS, a time to live of 0 means that the message never expires.
        lives = options.get("time_to_live") or None
        delay = options.get("delivery_delay")
        now = self.session.moment() if lives or delay else None
        content, content_type = encoded(body)
        mode = persistence(options.get("delivery_mode", Persistence.AS_Q_DEF))
        reply_to = options.get("reply_to")
        descriptor = described(options)
        if lives:
            check_lifetime(lives)
        return NewMessage(
            self.address,
            content,
            content_type=content_type or options.get("content_type", BYTES),
            properties=options.get("properties", {}),
            priority=options.get("priority", 4),
            durable=mode is not Persistence.NOT_PERSISTENT,
            expires_at=later(now, lives),
            deliver_at=later(now, delay),
            message_id=new_id(),
            correlation_id=options.get("correlation_id"),
            reply_to=reply_to,
            subject=options.get("subject"),
            group_id=options.get("group_id"),
            producer=self.session.connection.actor,
            descriptor=descriptor or None,
            headers=options.get("headers"),
        )

    def close(self) -> None:
        """Do nothing: a producer holds no resources."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def guarded_name(destination: str, address: str) -> str:
    """The name that authorities apply to: the queue's, or else the address's."""
    try:
        return local_queue(destination).name
    except NoSuchQueue:
        return address


def encoded(body: Content) -> tuple[bytes, str]:
    """The bytes of a body, and its content type if known."""
    if isinstance(body, bytes):
        return body, ""
    if isinstance(body, str):
        return body.encode(), TEXT
    try:
        return strict_json.dumps(body, ascii_only=False).encode(), JSON
    except ValueError as error:
        raise InvalidMessage(f"its body is no JSON, {error}") from None


def described(options: SendOptions) -> dict[str, Any]:
    """The fields of the MQMD that differ from the defaults."""
    descriptor = dict(options.get("descriptor", {}))
    if report := options.get("report"):
        descriptor["report"] = int(report)
    if msg_type := options.get("msg_type"):
        descriptor["msg_type"] = int(msg_type)
    return descriptor


def persistence(mode: object) -> Persistence:
    """The delivery mode for an option, which may be its number.

    Raises:
        WrongPersistence: there is no such mode.
    """
    try:
        return Persistence(mode)  # type: ignore[arg-type]
    except ValueError:
        raise WrongPersistence(mode) from None


def check_lifetime(span: timedelta) -> None:
    """Refuse a time to live that an MQMD cannot express.

    Raises:
        WrongTimeToLive: it is negative or too long.
    """
    if span < timedelta(0):
        raise WrongTimeToLive(span // TENTH)
    tenths = -(-span // TENTH)
    if not is_expiry(tenths):
        raise WrongTimeToLive(tenths)


def later(now: datetime | None, span: timedelta | None) -> datetime | None:
    return now + span if now is not None and span else None


def new_id() -> str:
    """A new MsgId like a queue manager's: its name, and a unique part."""
    raw = b"AMQ " + padded(settings.BROKER_NAME, 12) + secrets.token_bytes(8)
    return f"ID:{raw.hex()}"
