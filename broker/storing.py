"""The one statement by which messages that are sent come to be on queues."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from operator import attrgetter
from typing import Any

from django.conf import settings
from django.db import DataError

from broker import sql
from broker.errors import InvalidMessage, MessageTooLarge
from broker.models import RoutingType
from broker.mq.descriptor import check_put


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
    descriptor: Mapping[str, Any] | None = None  # IBM's MQMD, where it differs
    headers: bytes | None = None  # IBM's, chained, before the body

    @property
    def size_bytes(self) -> int:
        return len(self.body) + len(self.headers or b"")


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of one put."""

    message_id: int  # the broker's number for it
    queue_ids: list[int]  # of the queues that took it; empty when none did


def store(
    address: str,
    messages: Sequence[NewMessage],
    *,
    uow: int | None,
    actor: str,
    now: datetime | None,
    looked: bool = False,
    refusing_ids: Sequence[int] = (),
) -> list[Receipt]:
    """One statement; no receipts where somebody has to look first."""

    def column(name: str) -> list[Any] | None:
        values = list(map(attrgetter(name), messages))
        return None if values.count(None) == len(values) else values

    descriptors = column("descriptor")
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
        descriptors=descriptors and [one and json.dumps(one) for one in descriptors],
        headers=column("headers"),
        looked=looked,
        refusing_ids=list(refusing_ids),
        uow=uow,
        actor=actor,
        now=now,
    )
    try:
        return sql.fetch("put", Receipt, **parameters)
    except (DataError, UnicodeEncodeError) as error:
        raise InvalidMessage(str(error).splitlines()[0]) from error


def check(messages: Sequence[NewMessage]) -> None:
    """Refuse what no queue can take."""
    limit = settings.BROKER_MAX_MESSAGE_BYTES
    for message in messages:
        if (size := message.size_bytes) > limit:
            raise MessageTooLarge(size, limit)
        if message.descriptor:
            check_put(message.descriptor, message.reply_to)
