"""A shop and a warehouse that exchange messages over AMQP 1.0.

The shop puts orders. The warehouse gets and settles them: it accepts most, rejects
articles that are not in the catalogue, so that they become dead letters at once, and
modifies orders that are out of stock, so that they are redelivered and become dead
letters after three attempts.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from broker.amqp.protocol import sections
from broker.amqp.protocol.conditions import Error
from broker.amqp.protocol.delivery import Delivery
from broker.amqp.protocol.endpoints import Receiver, Sender
from broker.amqp.protocol.events import Disposed, Event, MessageReceived
from broker.amqp.protocol.performatives import (
    Accepted,
    DeliveryState,
    Modified,
    Rejected,
    Source,
    Target,
)
from broker.amqp.protocol.session import Session
from broker.models import Address, AddressSetting, Queue

ORDERS = "shop.orders"
ATTEMPTS = 3
SETTING: dict[str, Any] = {  # short delays, so that users can watch each redelivery
    "max_delivery_attempts": ATTEMPTS,
    "dead_letter_address": "DLQ",
    "redelivery_delay_ms": 3_000,
}
REGIONS = ("eu", "us", "asia")
CATALOGUE = 40  # articles in the catalogue
WORK_S = 0.5  # the longest time to process one order
TAKEN_AHEAD = 10  # link credit: orders that the warehouse gets in advance


def make_places() -> None:
    """Create missing addresses and queues; leave existing ones unchanged."""
    for name in (ORDERS, SETTING["dead_letter_address"]):
        address, _ = Address.objects.get_or_create(name=name)
        Queue.objects.get_or_create(name=name, defaults={"address": address})
    AddressSetting.objects.get_or_create(match=ORDERS, defaults=SETTING)


def order(number: int) -> dict[str, Any]:
    """One order. Of twenty, one is for an unknown article, and two exceed the stock."""
    article = number * 7 % CATALOGUE
    if number % 20 == 13:
        article += CATALOGUE
    quantity = {5: 120, 17: 9_000}.get(number % 20, 1 + number % 4)
    return {"order": number, "article": f"A-{article:04}", "quantity": quantity}


def payload(number: int) -> bytes:
    """An order as an AMQP message."""
    properties = sections.Properties(
        message_id=f"order-{number}", subject="order", content_type="application/json"
    )
    told = {"region": REGIONS[number % len(REGIONS)], "express": number % 5 == 0}
    return b"".join(
        (
            sections.encode_header(durable=True, priority=6 if told["express"] else 4),
            sections.encode_section(sections.PROPERTIES, properties),
            sections.encode_section(sections.APPLICATION_PROPERTIES, told),
            sections.encode_section(
                sections.DATA, json.dumps(order(number), indent=1).encode()
            ),
        )
    )


def decision(delivery: bytes) -> DeliveryState:
    """The warehouse's outcome for an order; stock is replenished meanwhile."""
    cut = sections.split(delivery)
    tries = cut.header.delivery_count if cut.header else 0
    wanted = json.loads(sections.body_of(cut.body).data or b"{}")
    number = int(wanted["article"].removeprefix("A-"))
    if number >= CATALOGUE:
        words = f"There is no article {wanted['article']}."
        return Rejected(Error("shop:no-such-article", words))
    if wanted["quantity"] > 100 * (1 + tries):
        waits_for = {"x-opt-waits-for": wanted["article"]}
        return Modified(delivery_failed=True, message_annotations=waits_for)
    return Accepted()


def do_nothing() -> None:
    """Called when no client is connected."""


class Shop:
    """Puts orders at intervals."""

    def __init__(self, numbers: Iterator[int], said: Counter[str]) -> None:
        self.numbers = numbers
        self.said = said
        self.sender: Sender | None = None
        self.flush: Callable[[], None] = do_nothing

    def begin(self, session: Session) -> None:
        self.sender = session.sender("orders", Source("shop"), Target(ORDERS))

    def put(self) -> None:
        """Put the next order, if the sender has credit."""
        if self.sender is None or not self.sender.credit:
            return
        if self.sender.session.can_send:
            number = next(self.numbers)
            tag = number.to_bytes(8, "big")
            self.sender.send(payload(number), tag=tag)
            self.flush()

    def handle_event(self, event: Event) -> None:
        if isinstance(event, Disposed):
            self.said["put"] += len(event.deliveries)
            if not event.settled and self.sender is not None:
                self.sender.session.settle(event.deliveries, event.state)


class Warehouse:
    """Gets orders, processes each for a while, and settles it."""

    def __init__(self, said: Counter[str]) -> None:
        self.said = said
        self.flush: Callable[[], None] = do_nothing

    def begin(self, session: Session) -> None:
        receiver = session.receiver("orders", Source(ORDERS), Target("warehouse"))
        receiver.grant(TAKEN_AHEAD)

    def handle_event(self, event: Event) -> None:
        if isinstance(event, MessageReceived):
            wait = random.uniform(0, WORK_S)  # noqa: S311  # work, no secret
            loop = asyncio.get_running_loop()
            loop.call_later(wait, self.settle, event.receiver, event.delivery)

    def settle(self, receiver: Receiver, delivery: Delivery) -> None:
        state = decision(delivery.payload)
        self.said[type(state).__name__.lower()] += 1
        receiver.session.settle([delivery], state)
        receiver.grant(max(TAKEN_AHEAD - len(receiver.unsettled), 0))
        self.flush()
