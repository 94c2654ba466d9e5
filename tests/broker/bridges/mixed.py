"""Messages of all kinds, as they lie on queues: what a link has to carry unchanged."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import islice

from broker.amqp.messages import to_put
from broker.amqp.protocol.types.types import Int, Symbol, Timestamp
from broker.queueing.store import NewMessage
from tests.amqp.written import (
    VALUE,
    annotated,
    application,
    data,
    properties,
    section,
)
from tests.make import minutes

TYPES = ("text/plain; charset=utf-8", "application/json", "application/octet-stream")


def mixed(count: int, address: str, now: datetime) -> list[NewMessage]:
    """So many messages, each unlike its neighbours.

    Args:
        now: from when their times to live count.
    """
    return list(islice(one_after_another(address, now), count))


def one_after_another(address: str, now: datetime) -> Iterator[NewMessage]:
    number = 0
    while True:
        for message in some(number, address, now):
            yield message
            number += 1


def some(number: int, address: str, now: datetime) -> list[NewMessage]:
    """One of each kind."""
    return [
        NewMessage(
            address,
            f'{{"order": {number}}}'.encode(),
            TYPES[number % 3],
            properties={"n": number, "tenant": "t7", "paid": True, "share": 0.5},
            priority=number % 10,
            durable=number % 4 != 0,
            expires_at=now + minutes(60 + number),
            message_id=f"ID:{number}",
            correlation_id="ID:AMQP_UUID:00000000-0000-0000-0000-000000000001",
            reply_to="answers",
            subject="order",
            group_id=f"g{number % 7}",
        ),
        NewMessage(
            address,
            bytes(range(256)) * (number % 5),
            "text/plain; charset=latin-1",
            properties={"list": [1, {"a": None}], "large": 2**70, "größe": "ß"},
        ),
        NewMessage(
            address,
            b"MQ",
            descriptor={"msg_type": 8, "feedback": 7, "appl_identity_data": "x"},
            headers=b"RFH \0\0\0\2" + bytes(28),
            reply_to="answers",
        ),
        by_amqp(number, address, now),
        by_amqp_with_annotations(number, address, now),
    ]


def by_amqp(number: int, address: str, now: datetime) -> NewMessage:
    said = properties(
        message_id=f"a{number}",
        subject="order",
        correlation_id=b"\x01\x02",
        absolute_expiry_time=Timestamp(int(now.timestamp() * 1000) + 3_600_000),
        group_id="g",
    )
    found = application({"n": Int(number), "big": 2**40, "none": None, "real": 1.5})
    body = section(VALUE, {"map": [1, "two"], Symbol("s"): number})
    return put_by_amqp(said + found + body, address, now)


def by_amqp_with_annotations(number: int, address: str, now: datetime) -> NewMessage:
    said = annotated(x_opt_ibm_feedback=Int(9), x_opt_mine=f"{number}")
    return put_by_amqp(said + properties(to="x") + data(b"\0\xff"), address, now)


def put_by_amqp(payload: bytes, address: str, now: datetime) -> NewMessage:
    (message,) = to_put(
        payload, address=address, producer="till 7", now=now, may_set_identity=True
    )
    return message
