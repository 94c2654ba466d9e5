"""What RabbitMQ gives: one channel, one consumer, and what is not acknowledged yet."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from struct import Struct
from typing import Any

import amqp
from amqp.serialization import decode_properties_basic
from amqp.spec import Basic

from broker.bridges.providers.interface import Destination, Lag, Received
from broker.bridges.providers.rabbitmq_frames import CONTENT, Content
from broker.bridges.providers.rabbitmq_messages import (
    DELIVERY_COUNT,
    HEADERS,
    message_of,
    unreadable,
)
from broker.bridges.providers.rabbitmq_wire import Wire
from broker.errors.bridges import ProviderError

# Where the arguments of a delivery begin: the length of the consumer's tag, and, behind
# that, the number of the delivery and whether it was redelivered.
TAG_AT = 4
NUMBERS = Struct(">QB")
UNDECODABLE = (  # what strangers' bytes can make of py-amqp's decoder, and of ours
    *(ValueError, TypeError, LookupError, ArithmeticError, OSError, RecursionError),
    amqp.AMQPError,
)


class Subscription:
    """The consuming end at one queue; see ``interface.Subscription``.

    RabbitMQ counts attempts for quorum queues only, and there each return counts,
    whatever the reason.
    """

    def __init__(
        self, wire: Wire, queue: str, destination: Destination, *, prefetch: int
    ) -> None:
        self.wire = wire
        self.queue = queue
        self.destination = destination
        self.prefetch = prefetch
        self.is_ours = False  # the queue: it ends with the subscription
        self.came: deque[Content] = deque()  # not given to the caller yet
        self.open: dict[int, None] = {}  # numbers of what was given, in order
        with self.wire.used(self.where) as connection:
            self.channel: Any = connection.channel()
            connection.takers[self.channel.channel_id] = self.came.append
            self.consume()

    @property
    def where(self) -> str:
        return str(self.destination)

    def consume(self) -> None:
        self.channel.basic_qos(0, self.prefetch, a_global=False)
        self.tag = self.channel.basic_consume(self.queue)

    def receive(self, limit: int, wait_s: float) -> list[Received]:
        """See ``interface.Subscription``."""
        with self.wire.used(self.where):
            self.fill(limit, wait_s)
        now = datetime.now(UTC)
        few = min(limit, len(self.came))
        return [self.received(self.came.popleft(), now) for _ in range(few)]

    def fill(self, limit: int, wait_s: float) -> None:
        """Wait for one, and take with it whatever has come."""
        until = time.monotonic() + wait_s
        while len(self.came) < limit:
            left_s = 0.0 if self.came else until - time.monotonic()
            if not self.wire.wait(left_s) and (self.came or left_s <= 0):
                return

    def received(self, content: Content, now: datetime) -> Received:
        number, redelivered = numbers(content)
        self.open[number] = None
        properties: dict[str, Any] = {}
        address = self.destination.name
        try:
            properties, _ = decode_properties_basic(content.header, CONTENT.size)
            message = message_of(properties, content.body, address=address, now=now)
        except UNDECODABLE:
            message = unreadable(content.raw, content.body, address=address)
        return Received(
            message,
            number,
            self.destination,
            message.message_id or "",
            sent_at(properties.get("timestamp")),
            bool(redelivered & 1),
            attempts(properties.get(HEADERS)),
        )

    def acknowledge(self, received: Sequence[Received]) -> None:
        """See ``interface.Subscription``.

        RabbitMQ does not answer an acknowledgement. What was written may be lost with
        the connection, and the caller would not know; so it is followed by a question,
        whose answer comes after all before it was done. It costs what a round trip
        does, for a batch, during which what comes next is read.
        """
        numbers = {one.handle for one in received}
        if not numbers:
            return
        with self.wire.used(self.where):
            oldest = 0  # up to which all were given and are acknowledged here
            for number in self.open:
                if number not in numbers:
                    break
                oldest = number
            if oldest:
                self.channel.basic_ack(oldest, multiple=True)
            for number in sorted(numbers):
                del self.open[number]
                if number > oldest:
                    self.channel.basic_ack(number)
            self.channel.basic_qos(0, self.prefetch, a_global=False)

    def release(self, received: Sequence[Received], *, failed: bool = False) -> None:
        """See ``interface.Subscription``.

        What RabbitMQ had sent ahead would overtake what goes back. So it sends no more,
        takes all of it back, in order, and begins anew.
        """
        if not received:
            return
        with self.wire.used(self.where):
            self.channel.basic_cancel(self.tag)
            ahead = [numbers(content)[0] for content in self.came]
            self.came.clear()
            for one in received:
                del self.open[one.handle]
            self.give_back(sorted(one.handle for one in received) + ahead)
            self.consume()

    def give_back(self, numbers: Sequence[int]) -> None:
        """With one word where nothing else is open."""
        several = not self.open
        for number in numbers[-1:] if several else numbers:
            self.channel.send_method(Basic.Nack, "Lbb", (number, several, True))

    def lag(self) -> Lag:
        """What waits, and what RabbitMQ has sent that is not acknowledged."""
        with self.wire.used(self.where) as connection:
            channel = connection.channel()
            waiting = channel.queue_declare(self.queue, passive=True).message_count
            channel.close()
        return Lag(waiting + len(self.open) + len(self.came), None)

    def close(self) -> None:
        """See ``interface.Subscription``."""
        with suppress(ProviderError), self.wire.used(self.where) as connection:
            if self.channel.connection is None:
                return
            number = self.channel.channel_id
            if self.is_ours:
                self.channel.queue_delete(self.queue)
            self.channel.close()
            connection.takers.pop(number, None)


def numbers(content: Content) -> tuple[int, int]:
    """The number of a delivery, and the bit that says whether it was redelivered."""
    method = content.method
    number, bits = NUMBERS.unpack_from(method, TAG_AT + 1 + method[TAG_AT])
    return number, bits


def sent_at(seconds: int | None) -> datetime | None:
    """None, too, where no moment can be that."""
    if seconds is None:
        return None
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return None


def attempts(headers: Any) -> int | None:
    """Of which this is the last; None, where the queue does not count them."""
    before = headers.get(DELIVERY_COUNT) if headers else None
    return before + 1 if isinstance(before, int) else None
