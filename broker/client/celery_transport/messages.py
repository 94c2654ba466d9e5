"""kombu's messages as messages of the broker, and back.

The body is stored as Celery serialized it. Headers with simple values are properties:
``task``, ``id``, ``retries``, ``origin``, ``argsrepr``. Everything else that kombu
needs is one property, ``kombu``.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from kombu.message import Message
from kombu.utils.json import dumps, loads

from broker.client.celery_transport import bodies
from broker.formats import moments
from broker.queueing.get import Delivery
from broker.queueing.store import NewMessage
from broker.settlement.outcomes import Reject
from broker.sql import database_now

# Property with those parts of Celery's message that no other property or field has.
REST = "kombu"
HIGHEST = 9  # highest priority
TRANSIENT = 1  # delivery mode of messages that need not survive a crash
TEXT, OCTETS = "utf-8", "binary"  # content encodings
# Prefixes of properties that the broker adds to copies; they are no headers of the
# task.
OURS = ("_AMQ", "JMS", "traceparent", "tracestate")
OWN_FIELDS = (
    *("correlation_id", "reply_to", "message_id", "priority", "expiration"),
    *("delivery_info", "delivery_tag", "body_encoding"),
)
LONG = 2**63
KINDS = {"headers": dict, "properties": dict}  # types of values in ``REST``


class TaskMessage(Message):  # type: ignore[misc]  # kombu has no types
    """A message as kombu's consumers get it."""

    delivery: Delivery  # the broker's delivery of the message
    failure: Reject | None = None  # outcome if its task failed; None: it did not
    has_failed = False  # whether a failure is noted; a pool may report it twice


def new_message(
    message: Mapping[str, Any],
    *,
    address: str,
    exchange: str,
    routing_key: str,
    zero_first: bool,
) -> NewMessage:
    """The message to put.

    Args:
        message: as ``Channel.prepare_message`` made it.
        address: where it is put.
        exchange: the exchange it was sent to; empty: the default exchange.
        routing_key: its routing key.
        zero_first: whether priority 0 is the highest, as with Redis.

    A header ``eta`` is the time before which it is not delivered; an expiration is by
    the database's clock. A task that has expired is delivered: its worker revokes it,
    so that whoever waits for its result is told. A property that JSON does not have is
    left out, as RabbitMQ leaves out what AMQP does not have.

    Raises:
        ArgumentsNotJson: it is a task, and its body has NaN or Infinity.
    """
    headers, body = message["headers"], message["body"]
    body = body.encode() if isinstance(body, str) else bytes(body)
    bodies.check(body, message)
    properties = message["properties"]
    simple = {k: v for k, v in headers.items() if is_simple(v) and k != REST}
    rest = {
        "headers": {k: v for k, v in headers.items() if k not in simple},
        "properties": {k: v for k, v in properties.items() if k not in OWN_FIELDS},
        "encoding": message["content-encoding"],
        "exchange": exchange,
        "routing_key": routing_key,
    }
    ends = None if headers.get("expires") else properties.get("expiration")
    return NewMessage(
        address,
        body,
        content_type=message["content-type"] or "application/octet-stream",
        properties=simple | {REST: as_json(rest)},
        priority=turned(properties.get("priority"), zero_first=zero_first),
        durable=properties.get("delivery_mode") != TRANSIENT,
        expires_at=None if not ends else database_now() + milliseconds(ends),
        deliver_at=moment(headers.get("eta")),
        message_id=properties.get("message_id") or headers.get("id"),
        correlation_id=properties.get("correlation_id"),
        reply_to=properties.get("reply_to") or None,
    )


def received(
    delivery: Delivery, *, channel: Any, consumer_tag: str, tag: str, zero_first: bool
) -> TaskMessage:
    """The message of a delivery, for kombu's consumers."""
    rest = json_of(delivery.properties.get(REST))
    headers = dict(rest.get("headers", {}))
    for name, value in delivery.properties.items():
        if name != REST and not name.startswith(OURS):
            headers[name] = value
    info = {
        "consumer_tag": consumer_tag,
        "exchange": rest.get("exchange", ""),
        "routing_key": rest.get("routing_key", ""),
        "redelivered": delivery.delivery_count > 1,
    }
    properties = {
        **rest.get("properties", {}),
        "correlation_id": delivery.correlation_id,
        "reply_to": delivery.reply_to,
        "message_id": delivery.client_message_id,
        "priority": turned(delivery.priority, zero_first=zero_first),
        "delivery_tag": tag,
        "delivery_info": info,
    }
    is_text = delivery.content_type.startswith("text/") or "json" in (
        delivery.content_type
    )
    message = TaskMessage(
        body=delivery.body,
        delivery_tag=tag,
        content_type=delivery.content_type,
        content_encoding=rest.get("encoding") or (TEXT if is_text else OCTETS),
        headers=headers,
        properties=properties,
        delivery_info=info,
        channel=channel,
    )
    message.delivery = delivery
    return message


def json_of(text: Any) -> dict[str, Any]:
    """The value of the property ``REST``; empty if kombu did not send the message."""
    try:
        rest = loads(text or "{}")
    except (TypeError, ValueError):
        return {}
    if not isinstance(rest, dict):
        return {}
    return {k: v for k, v in rest.items() if isinstance(v, KINDS.get(k, object))}


def as_json(rest: dict[str, Any]) -> str:
    """The text for the property ``REST``, without properties that cannot be stored."""
    try:
        return str(dumps(rest))
    except TypeError:
        rest["properties"] = {k: v for k, v in rest["properties"].items() if is_json(v)}
        return str(dumps(rest))


def is_json(value: object) -> bool:
    try:
        dumps(value)
    except TypeError:
        return False
    return True


def is_simple(value: object) -> bool:
    """Whether a header can be a property as it is."""
    if isinstance(value, bool | str):
        return True
    return isinstance(value, int) and -LONG <= value < LONG


def turned(priority: Any, *, zero_first: bool) -> int:
    """The broker's priority for Celery's, or the reverse; no priority is 0, as in
    AMQP."""
    try:
        level = min(max(int(priority or 0), 0), HIGHEST)
    except (TypeError, ValueError):
        level = 0
    return HIGHEST - level if zero_first else level


def milliseconds(text: Any) -> timedelta:
    return timedelta(milliseconds=int(text))


def moment(eta: Any) -> datetime | None:
    """The time of a header ``eta``; None if it has none that can be read: then a worker
    gets the task at once, and waits, or rejects it, as with other brokers.

    Source:
        ``celery.worker.request.Request``: a time without an offset is UTC, whatever
        ``timezone`` and ``enable_utc`` are.
    """
    try:
        return moments.written(eta, UTC) if isinstance(eta, str) else None
    except ValueError:
        return None
