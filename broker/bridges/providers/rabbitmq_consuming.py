"""Consuming from RabbitMQ: one channel, one consumer, and unacknowledged messages."""

from __future__ import annotations

import sys
import time
from collections import Counter, deque
from collections.abc import Sequence, Set
from contextlib import suppress
from datetime import UTC, datetime
from struct import Struct
from typing import Any

import amqp
from amqp.serialization import decode_properties_basic

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

# Offset of the arguments of a delivery: the length of the consumer tag, then the tag,
# the delivery tag, and the redelivered flag.
TAG_AT = 4
NUMBERS = Struct(">QB")
# Errors that py-amqp's decoder and this broker's can raise for untrusted bytes.
UNDECODABLE = (
    *(ValueError, TypeError, LookupError, ArithmeticError, OSError, RecursionError),
    amqp.AMQPError,
)


class RabbitMQSubscription:
    """The consuming end at one queue; see ``interface.Subscription``."""

    def __init__(
        self, wire: Wire, queue: str, destination: Destination, *, prefetch: int
    ) -> None:
        self.wire = wire
        self.queue = queue
        self.destination = destination
        self.prefetch = prefetch
        self.is_ours = False  # the queue is deleted with the subscription
        # Messages not yet received by the caller, in order.
        self.came: deque[Content] = deque()
        # Messages received and not acknowledged, by number.
        self.open: dict[int, Content] = {}
        # How often each message was released, by number.
        self.released: Counter[int] = Counter()
        with self.wire.used(self.where) as connection:
            self.channel: Any = connection.channel()
            connection.takers[self.channel.channel_id] = self.came.append
            self.ask()
            self.channel.basic_consume(self.queue)

    @property
    def where(self) -> str:
        return str(self.destination)

    def ask(self) -> None:
        """Wait until RabbitMQ has processed all earlier frames of this channel."""
        self.channel.basic_qos(0, self.prefetch, a_global=False)

    def receive(self, limit: int, wait_s: float) -> list[Received]:
        """See ``interface.Subscription``."""
        with self.wire.used(self.where):
            self.fill(limit, wait_s)
        now = datetime.now(UTC)
        few = min(limit, len(self.came))
        return [self.received(self.came.popleft(), now) for _ in range(few)]

    def fill(self, limit: int, wait_s: float) -> None:
        """Wait for one message, and take all messages that came with it."""
        until = time.monotonic() + wait_s
        while len(self.came) < limit:
            left_s = 0.0 if self.came else until - time.monotonic()
            if not self.wire.wait(left_s) and (self.came or left_s <= 0):
                return

    def received(self, content: Content, now: datetime) -> Received:
        number, bits = numbers(content)
        self.open[number] = content
        properties: dict[str, Any] = {}
        address = self.destination.name
        try:
            properties, _ = decode_properties_basic(content.header, CONTENT.size)
            message = message_of(properties, content.body, address=address, now=now)
        except UNDECODABLE:
            message = unreadable(content.raw, content.body, address=address)
        again = self.released[number] if self.released else 0
        return Received(
            message,
            number,
            self.destination,
            message.message_id or "",
            sent_at(properties.get("timestamp")),
            bool(bits & 1 or again),
            attempts(properties.get(HEADERS), again),
        )

    def acknowledge(self, received: Sequence[Received]) -> None:
        """See ``interface.Subscription``.

        RabbitMQ does not confirm an acknowledgement, which may be lost with the
        connection. So a request with an answer follows it; the answer comes after the
        acknowledgement was processed. This costs one round trip for each batch, in
        which the next messages are read. The node may still redeliver acknowledged
        messages if it crashes before the acknowledgements are on its disk.
        """
        ended = {one.handle for one in received}
        if not ended:
            return
        with self.wire.used(self.where):
            oldest = self.oldest(ended)
            if oldest:
                self.channel.basic_ack(oldest, multiple=True)
            for number in sorted(ended):
                del self.open[number]
                self.released.pop(number, None)
                if number > oldest:
                    self.channel.basic_ack(number)
            self.ask()

    def oldest(self, ended: Set[int]) -> int:
        """The highest number up to which all unacknowledged messages are among these
        numbers; 0: there is none."""
        first = numbers(self.came[0])[0] if self.came else sys.maxsize
        oldest = 0
        for number in sorted(self.open):
            if number not in ended or number > first:
                break
            oldest = number
        return oldest

    def release(self, received: Sequence[Received], *, failed: bool = False) -> None:
        """See ``interface.Subscription``.

        The messages are kept here and delivered again. If RabbitMQ took them back,
        prefetched messages would overtake them, and on quorum queues even others. It
        gets them back in their places when the subscription is closed. So it counts no
        attempt, and a queue's delivery limit does not drop messages that a link holds.
        """
        for one in received:
            self.released[one.handle] += 1
        again = [self.open.pop(one.handle) for one in received]
        with self.wire.lock:  # another thread may append a frame
            ordered = sorted((*again, *self.came), key=numbers)
            self.came.clear()
            self.came.extend(ordered)

    def lag(self) -> Lag:
        """The messages that wait, including those sent ahead and not acknowledged."""
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
    """The delivery tag, and the byte with the redelivered flag."""
    method = content.method
    number, bits = NUMBERS.unpack_from(method, TAG_AT + 1 + method[TAG_AT])
    return number, bits


def sent_at(seconds: int | None) -> datetime | None:
    """The time of a timestamp; None if there is none, or it is out of range."""
    if seconds is None:
        return None
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return None


def attempts(headers: Any, again: int) -> int | None:
    """The number of delivery attempts; None if the queue does not count them.

    Args:
        again: how often this link has released the message.
    """
    before = headers.get(DELIVERY_COUNT) if headers else None
    return before + again + 1 if isinstance(before, int) else None
