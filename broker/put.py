"""Sending. A put is part of the caller's transaction: no commit, no message."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import Any

from django.conf import settings
from django.db import DataError, transaction

from broker import arrivals, sql
from broker.capacity import guards_of, refusal
from broker.errors import InvalidMessage, MessageTooLarge, NoSuchAddress
from broker.models import Queue, RoutingType
from broker.mq.descriptor import check_put
from broker.selectors import document, parse

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
    """Send at most ``CHUNK`` messages to one address."""
    check(messages)
    receipts = store(address, messages, uow=uow, actor=actor, now=now)
    if messages and not receipts:
        with transaction.atomic():
            receipts = put_guarded(address, messages, uow=uow, actor=actor, now=now)
    arrivals.announce_on_commit({q for one in receipts for q in one.queue_ids})
    return receipts


def put_guarded(
    address: str, messages: Sequence[NewMessage], **rest: Any
) -> list[Receipt]:
    """The same where a queue of the address has to be asked.

    A queue that cannot take them refuses the put for all, unless another anycast queue
    stands in; a message that is not for it just passes it by.
    """
    guards = guards_of(address)
    if guards is None:
        raise NoSuchAddress(address)
    refusing = [
        [guard.pk for guard in guards if not wants(guard, message)]
        for message in messages
    ]
    full: list[int] = []
    for guard in guards:
        sizes = [
            message.size_bytes
            for message, refusers in zip(messages, refusing, strict=True)
            if guard.pk not in refusers
        ]
        error = refusal(guard, sizes) if sizes else None
        if error is not None:
            full.append(guard.pk)
            if not has_another(address, guard, full):
                raise error
    refusing = [[*refusers, *full] for refusers in refusing]
    receipts: list[Receipt] = []
    for refusers, part in groupby(
        zip(refusing, messages, strict=True), key=itemgetter(0)
    ):
        alike = [message for _, message in part]
        receipts += store(address, alike, looked=True, refusing_ids=refusers, **rest)
    return receipts


def has_another(address: str, guard: Queue, full: Sequence[int]) -> bool:
    """Whether an address has another anycast queue in place of this one."""
    if guard.routing_type != RoutingType.ANYCAST:
        return False
    anycast = Queue.objects.filter(
        address__name=address, routing_type=guard.routing_type
    )
    return anycast.exclude(pk__in=full).exists()


def wants(guard: Queue, message: NewMessage) -> bool:
    """Whether a message is for a queue: by its routing type, and the selector."""
    if message.routing_type not in (None, guard.routing_type):
        return False
    return (
        not guard.selector or parse(guard.selector).matches(document(message)) is True
    )


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
