"""Sending. A put is part of the caller's transaction: no commit, no message."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from operator import attrgetter
from typing import Any

from django.conf import settings
from django.db import DataError, transaction

from broker import arrivals, sql
from broker.errors import InvalidMessage, MessageTooLarge, NoSuchAddress
from broker.models import RoutingType

CHUNK = 1000  # messages a statement: arrays of ids stay short


@dataclass(frozen=True, slots=True)
class NewMessage:
    """A message to be sent."""

    address: str
    body: bytes = b""
    content_type: str = "application/octet-stream"
    properties: Mapping[str, Any] = field(default_factory=dict)  # JSON values
    priority: int = 4  # 0 to 9; 9 goes first
    durable: bool = True
    expires_at: datetime | None = None
    deliver_at: datetime | None = None  # not before
    message_id: str | None = None  # the client's own, as JMSMessageID
    correlation_id: str | None = None
    reply_to: str | None = None
    subject: str | None = None  # as JMSType
    group_id: str | None = None
    producer: str = ""
    routing_type: RoutingType | None = None  # of the queues to reach; none: all


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of one put."""

    message_id: int  # the broker's number for it
    queue_ids: list[int]  # of the queues that took it; empty when none did


def put(
    address: str, body: bytes = b"", *, now: datetime | None = None, **fields: Any
) -> Receipt:
    """Send one message; ``fields`` are those of ``NewMessage``.

    Inside ``transaction.atomic()`` the message appears with the caller's own rows, or
    not at all. A message that no queue takes is dropped, as its receipt says.

    Raises:
        NoSuchAddress: nobody has created the address.
        MessageTooLarge: the body is above ``BROKER_MAX_MESSAGE_BYTES``.
        InvalidMessage: a header holds NUL, or a property is not JSON.
    """
    (receipt,) = put_to(address, [NewMessage(address, body, **fields)], now=now)
    return receipt


def put_many(
    messages: Sequence[NewMessage],
    *,
    uow: int | None = None,
    actor: str = "",
    now: datetime | None = None,
) -> list[Receipt]:
    """Send messages, all or none; one round trip for each address and thousand.

    Returns:
        Receipts in the order of the messages. Their ids run in that order for each
        address.
    """
    by_address: dict[str, list[int]] = defaultdict(list)
    for place, message in enumerate(messages):
        by_address[message.address].append(place)
    receipts: dict[int, Receipt] = {}
    with transaction.atomic():
        for address, places in by_address.items():
            for start in range(0, len(places), CHUNK):
                chunk = places[start : start + CHUNK]
                stored = put_to(
                    address, [messages[i] for i in chunk], uow=uow, actor=actor, now=now
                )
                receipts.update(zip(chunk, stored, strict=True))
    return [receipts[place] for place in range(len(messages))]


def put_to(
    address: str,
    messages: Sequence[NewMessage],
    *,
    uow: int | None = None,
    actor: str = "",
    now: datetime | None = None,
) -> list[Receipt]:
    """Send at most ``CHUNK`` messages to one address, in one statement."""
    check_size(messages)

    def column(name: str) -> list[Any] | None:
        values = list(map(attrgetter(name), messages))
        return None if values.count(None) == len(values) else values

    parameters: dict[str, Any] = dict(  # noqa: C408
        address=address,
        priorities=column("priority"),
        routing_types=column("routing_type"),
        durables=column("durable"),
        expiries=column("expires_at"),
        dues=column("deliver_at"),
        content_types=column("content_type"),
        producers=column("producer"),
        message_ids=column("message_id"),
        correlation_ids=column("correlation_id"),
        reply_tos=column("reply_to"),
        subjects=column("subject"),
        group_ids=column("group_id"),
        properties=[json.dumps(message.properties) for message in messages],
        bodies=column("body"),
        uow=uow,
        actor=actor,
        now=now,
    )
    try:
        receipts = sql.fetch("put", Receipt, **parameters)
    except (DataError, UnicodeEncodeError) as error:
        raise InvalidMessage(str(error).splitlines()[0]) from error
    if messages and not receipts:
        raise NoSuchAddress(address)
    arrivals.announce_on_commit({q for one in receipts for q in one.queue_ids})
    return receipts


def check_size(messages: Sequence[NewMessage]) -> None:
    limit = settings.BROKER_MAX_MESSAGE_BYTES
    for message in messages:
        if len(message.body) > limit:
            raise MessageTooLarge(len(message.body), limit)
