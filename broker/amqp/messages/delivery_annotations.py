"""Annotations of an incoming message for the broker: a delay, IBM MQ's descriptor."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from broker.amqp.messages.compose import EPOCH, LAST_MS, MILLISECOND
from broker.amqp.messages.mq_descriptor import HEADERS, PREFIX, refused
from broker.amqp.protocol.conditions import (
    INVALID_FIELD,
    UNAUTHORIZED_ACCESS,
    AmqpError,
)
from broker.errors import BrokerError
from broker.errors.mq_codes import EXPIRY_UNLIMITED, Persistence
from broker.formats.mq.descriptor import STORED, TENTH, TEXTS, check_put
from broker.formats.trace_context import TRACEPARENT
from broker.queueing.store import NewMessage

# Annotations with the time of delivery: the broker's own, and Azure's.
AT = ("x-opt-delivery-time", "x-opt-scheduled-enqueue-time")
AFTER = "x-opt-delivery-delay"


def is_wish(annotation: str) -> bool:
    """Whether the broker itself acts on an annotation. All others are only for
    consumers."""
    return annotation.startswith(PREFIX) or annotation in (*AT, AFTER, TRACEPARENT)


def moment(since_1970_ms: int) -> datetime | None:
    """A timestamp as a datetime; None for 0 and for times outside the calendar."""
    if 0 < since_1970_ms <= LAST_MS:
        return EPOCH + since_1970_ms * MILLISECOND
    return None


def delayed_until(annotations: Mapping[Any, Any], now: datetime) -> datetime | None:
    """The time before which a message must not be delivered; None if there is none.

    Raises:
        AmqpError: an annotation is not an integer, or its time is after the year 9999.
    """
    for name in AT:
        if annotations.get(name) is not None:
            at_ms = whole(name, annotations[name])
            if at_ms > LAST_MS:
                raise refused(name, "is beyond the year 9999")
            at = moment(at_ms)
            return at if at is not None and at > now else None
    if annotations.get(AFTER) is None:
        return None
    delay_ms = whole(AFTER, annotations[AFTER])
    if delay_ms <= 0:
        return None
    try:
        return now + timedelta(milliseconds=delay_ms)
    except OverflowError:
        raise refused(AFTER, "ends beyond the year 9999") from None


def whole(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise refused(name, "must be a number of milliseconds")
    return int(value)


def describe(message: NewMessage, fields: Mapping[str, Any], now: datetime) -> None:
    """Apply IBM MQ's fields to a message.

    A field with a column of its own is used if AMQP's own field is missing. Priority
    and persistence always override AMQP's, which are never missing. Fields that only a
    queue manager may set, as the backout count and the put time, are ignored, as in
    IBM MQ.

    Raises:
        AmqpError: a field has an invalid value.
    """
    message.headers = fields.get(HEADERS)
    descriptor = {name: fields[name] for name in STORED if name in fields}
    if message.reply_to is None:
        message.reply_to = fields.get("reply_to_q") or None
    expiry = fields.get("expiry", EXPIRY_UNLIMITED)
    try:
        check_put(descriptor, message.reply_to, expiry)
    except BrokerError as error:
        raise AmqpError(INVALID_FIELD, str(error)) from error
    if expiry != EXPIRY_UNLIMITED and message.expires_at is None:
        message.expires_at = now + expiry * TENTH
    message.priority = among("priority", range(10), fields, message.priority)
    durable = among("persistence", Persistence, fields, int(message.durable))
    message.durable = durable != Persistence.NOT_PERSISTENT
    message.descriptor = descriptor or None


def among(name: str, possible: Any, fields: Mapping[str, Any], usual: int) -> int:
    value: int = fields.get(name, usual)
    if value not in set(possible):
        raise AmqpError(INVALID_FIELD, f"A message cannot have a {name} of {value}.")
    return value


def check_identity(message: NewMessage, user_id: bytes | None, user: str) -> None:
    """Refuse a message that carries another user's identity.

    Args:
        message: the message, with its descriptor.
        user_id: the user id in the properties section.
        user: the user who has logged in.

    Raises:
        AmqpError: it names another user; ``amqp:unauthorized-access``.
    """
    own = user.encode()
    if user_id and user_id != own:
        raise somebody_else("user-id")
    named = (message.descriptor or {}).get("user_identifier", "")
    if named and named.encode() != own[: TEXTS["user_identifier"]]:
        raise somebody_else("x-opt-ibm-user-identifier")


def somebody_else(field: str) -> AmqpError:
    why = f"{field} must be empty or name the user who has logged in."
    return AmqpError(UNAUTHORIZED_ACCESS, why)
