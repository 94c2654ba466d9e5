"""Publishing to RabbitMQ: one channel with publisher confirms."""

from __future__ import annotations

import secrets
import struct
import time
from collections import deque
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any, NamedTuple

from amqp.exceptions import ContentTooLarge, PreconditionFailed
from amqp.serialization import decode_properties_basic, loads

from broker.bridges.messages import in_unicode
from broker.bridges.providers.rabbitmq_frames import (
    AROUND,
    CONTENT,
    Content,
    content,
    encoded,
    encoded_around,
    publishing,
)
from broker.bridges.providers.rabbitmq_messages import properties_of
from broker.bridges.providers.rabbitmq_wire import PATIENCE_S, TICK_S, Wire
from broker.queueing.store import NewMessage

WINDOW = 500  # most unconfirmed messages
WINDOW_BYTES = 8 * 2**20  # most unconfirmed bytes, not counting the last message
GROUP = 25  # messages in one write; RabbitMQ works on them while the next are encoded
GROUP_BYTES = 256 * 1024  # most bytes in one write, not counting the last message
BLOCKED = "It blocks all publishers, because its memory or disk space is low."
NOT_KEPT = "RabbitMQ could not store it: the queue is full, or its node has a problem."

# Fields of a message that its properties depend on, in addition to its id.
ALIKE = attrgetter(
    *("content_type", "reply_to", "subject", "producer", "group_id"),
    *("durable", "priority"),
)
# Fields that differ in most messages. The encoded properties of a message with one of
# them are not reused for other messages.
ALONE = attrgetter("correlation_id", "expires_at", "envelope")
NONE_ALONE = None, None, None
Refusals = dict[int, str]  # reasons of refusals, by position of the message


class Route(NamedTuple):
    """The exchange and routing key for messages."""

    exchange: str  # empty: the default exchange
    routing_key: str


class Publisher:
    """Publishes messages. The caller must hold the wire.

    RabbitMQ numbers the messages of a channel, from 1, and confirms by number. A
    message that no queue takes is returned before its confirm; its id tells which one
    it is.
    """

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.connection = wire.connection
        self.ids = f"ID:{secrets.token_hex(8)}"
        self.sent = 0  # messages sent on all channels; used for message ids
        self.known: set[Route] = set()
        self.refused: Refusals = {}
        self.left: deque[int] = deque()  # positions of messages not written yet
        # Encoded properties of this ``publish``, before and after the message id, by
        # the values that they depend on.
        self.like: dict[tuple[Any, ...], tuple[bytes, bytes]] = {}
        self.open_channel()

    def open_channel(self) -> None:
        self.channel: Any = self.connection.channel()
        self.channel.confirm_select()
        self.channel.events["basic_ack"].add(self.confirmed)
        self.channel.events["basic_nack"].add(self.on_nack)
        self.connection.takers[self.channel.channel_id] = self.returned
        self.before = self.sent  # messages sent on earlier channels
        # Position and size in bytes of unconfirmed messages, by number.
        self.open: dict[int, tuple[int, int]] = {}
        self.open_bytes = 0

    def check(self, route: Route) -> None:
        """Check once that the queue or exchange exists.

        Raises:
            amqp.ChannelError: there is no such queue or exchange.
        """
        if route in self.known:
            return
        channel: Any = self.connection.channel()
        if route.exchange:
            channel.exchange_declare(route.exchange, "", passive=True)
        else:
            channel.queue_declare(route.routing_key, passive=True)
        channel.close()
        self.known.add(route)

    def send(self, messages: Sequence[NewMessage], route: Route) -> Refusals:
        """Publish in order. It returns once each message is confirmed or refused.

        If a message makes RabbitMQ close the channel, all unconfirmed ones are sent
        again, one by one; only the faulty one is refused.

        Raises:
            OSError, amqp.AMQPError: the connection or the channel broke.
        """
        self.refused = {}
        self.sent_ids = [""] * len(messages)
        messages = list(map(in_unicode, messages))
        for place in self.attempt(messages, range(len(messages)), route):
            if self.attempt(messages, [place], route):
                self.refused[place] = self.why
        if self.refused:
            self.known.discard(route)  # the queue may have been deleted
        return self.refused

    def attempt(
        self, messages: Sequence[NewMessage], places: Iterable[int], route: Route
    ) -> list[int]:
        """Publish; return the positions of messages whose result is unknown."""
        try:
            self.publish(messages, places, route)
        except (PreconditionFailed, ContentTooLarge) as error:
            self.why = str(error.reply_text)
            unknown = [place for place, _ in self.open.values()] + list(self.left)
            self.connection.takers.pop(self.channel.channel_id, None)
            self.channel.close()
            self.open_channel()
            return unknown
        return []

    def publish(
        self, messages: Sequence[NewMessage], places: Iterable[int], route: Route
    ) -> None:
        first = publishing(self.channel.channel_id, *route)
        now = datetime.now(UTC)
        self.left = deque(places)
        self.like = {}
        while self.left:
            frames: list[bytes] = []
            most_bytes = self.open_bytes + GROUP_BYTES
            for _ in range(min(GROUP, len(self.left))):
                place = self.left.popleft()
                self.add(frames, first, messages[place], place, now)
                if self.open_bytes > most_bytes:
                    break
            if frames:
                self.connection.write(frames)
            self.wait_for_confirms(WINDOW - GROUP, WINDOW_BYTES)
        self.wait_for_confirms(0, 0)

    def add(
        self,
        frames: list[bytes],
        first: bytes,
        message: NewMessage,
        place: int,
        now: datetime,
    ) -> None:
        """Append the frames of a message, or note its refusal."""
        number = self.sent + 1
        message_id = f"{self.ids}{number:016x}"
        try:
            properties = self.encoded(message, message_id, now)
        except (ValueError, struct.error) as wrong:
            self.refused[place] = str(wrong)
            return
        frame_max = self.connection.frame_max
        if AROUND + CONTENT.size + len(properties) > frame_max:
            self.refused[place] = (
                f"Its properties have {len(properties):,} bytes. AMQP 0-9-1 sends them"
                f" in one frame, which has at most {frame_max:,} bytes here."
            )
            return
        self.sent_ids[place] = message_id
        frames.append(first)
        channel = self.channel.channel_id
        frames += content(channel, properties, message.body, frame_max)
        self.sent = number
        size = len(message.body) + len(properties)
        self.open[number - self.before] = place, size
        self.open_bytes += size

    def encoded(self, message: NewMessage, message_id: str, now: datetime) -> bytes:
        """The encoded properties; those of like messages are encoded once."""
        if ALONE(message) != NONE_ALONE:
            return encoded(properties_of(message, message_id=message_id, now=now))
        shared = id(message.properties) if message.properties else 0
        key = shared, *ALIKE(message)
        around = self.like.get(key)
        if around is None:
            properties = properties_of(message, message_id=message_id, now=now)
            around = self.like[key] = encoded_around(properties)
        before, after = around
        return b"".join((before, message_id.encode(), after))

    def wait_for_confirms(self, messages: int, size_bytes: int) -> None:
        """Wait until at most this many messages are unconfirmed.

        Raises:
            TimeoutError: RabbitMQ has stopped confirming.
        """
        until = time.monotonic() + PATIENCE_S
        while self.open and (len(self.open) > messages or self.open_bytes > size_bytes):
            before = len(self.open)
            self.wire.wait(TICK_S)
            now = time.monotonic()
            if len(self.open) < before:
                until = now + PATIENCE_S
            elif now > until:
                raise TimeoutError(
                    BLOCKED if self.connection.is_blocked else "It sent no confirm."
                )

    def confirmed(self, number: int, multiple: bool) -> None:  # noqa: FBT001  # py-amqp
        self.settled(number, multiple=multiple)

    def on_nack(self, number: int, multiple: bool) -> None:  # noqa: FBT001  # py-amqp
        for place in self.settled(number, multiple=multiple):
            self.refused[place] = NOT_KEPT

    def settled(self, number: int, *, multiple: bool) -> list[int]:
        """Remove confirmed messages; return their positions."""
        numbers = [number]
        if multiple:
            numbers = []
            for one in self.open:
                if one > number:
                    break
                numbers.append(one)
        places = []
        for one in numbers:
            place, size = self.open.pop(one)
            self.open_bytes -= size
            places.append(place)
        return places

    def returned(self, came: Content) -> None:
        """Note an unroutable message as refused; RabbitMQ returns it first, and
        confirms it afterwards."""
        (_, why, exchange, routing_key), _ = loads("Bsss", came.method, 4)
        properties, _ = decode_properties_basic(came.header, CONTENT.size)
        number = int(properties["message_id"][-16:], 16) - self.before
        place, _ = self.open[number]
        self.refused[place] = (
            f"No queue is bound to the exchange {exchange!r} with the routing key"
            f" {routing_key!r} ({why}). Bind one, or correct the destination."
            if exchange
            else f"There is no queue {routing_key!r} any more ({why}). Create it again."
        )
