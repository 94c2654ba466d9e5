"""What ConnectionConsumers put away, as tests look at it."""

from __future__ import annotations

from typing import Any

from broker.client.dispatch.server_session import ServerSession
from broker.formats.mq.chain import chain_of
from broker.formats.mq.descriptor import Descriptor
from broker.formats.mq.mqdlh import DeadLetterHeader
from broker.queueing.get import Delivery
from broker.queueing.put import put
from broker.transactions.scope import UnitOfWork


def rounds(server: ServerSession) -> None:
    while server.serve():
        pass


def poisonous(body: bytes = b"poison", *, backouts: int = 1, **fields: Any) -> int:
    """A message on orders that was backed out."""
    message_id = put("orders", body, **fields).message_id
    for _ in range(backouts):
        work = UnitOfWork()
        for delivery in work.get("orders", 100):
            if delivery.message_id != message_id:
                work.release(delivery)
        work.back_out("ValueError: no such customer")
    return message_id


def got(queue: str) -> list[Delivery]:
    return UnitOfWork().get(queue, 100)


def header_of(delivery: Delivery) -> DeadLetterHeader:
    data = (delivery.headers or b"") + delivery.body
    first = chain_of(delivery.descriptor, delivery.content_type, data).headers[0]
    assert isinstance(first, DeadLetterHeader)
    return first


def md_of(delivery: Delivery) -> Descriptor:
    return Descriptor.of(delivery, broker_name="BACKOUT", now=delivery.put_at)
