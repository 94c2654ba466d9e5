"""Other transports of kombu, as Redis, SQS or a folder; at least once, best effort.

kombu has one interface for many transports, whose guarantees differ. None confirms more
than that a message was handed over. A transport without acknowledgements, such as a
folder, loses the messages that a killed process held. There are queues only: no topics,
no selectors, no transactions.

Messages have the format of the provider for RabbitMQ, except that the priority is a
header: transports differ in which priority goes first.

Properties of a connection factory are the transport's options: ``visibility_timeout``,
``queue_name_prefix``, ``region``, ``data_folder_in``.

Source:
    kombu's manual, "Transports".
"""

from __future__ import annotations

import secrets
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import amqp
import kombu
import redis
from kombu.exceptions import KombuError

from broker.bridges.messages import in_unicode
from broker.bridges.providers.interface import (
    NOTHING,
    Destination,
    Factory,
    Lag,
    Received,
)
from broker.bridges.providers.no_transactions import NoTransactions
from broker.bridges.providers.rabbitmq_messages import (
    HEADERS,
    OURS,
    USUAL,
    message_of,
    properties_of,
)
from broker.errors.bridges import (
    AccessRefused,
    ProviderError,
    ProviderLost,
    SendRefused,
    WrongFactory,
)
from broker.formats.exceptions import cause_of, context_of, text_of
from broker.queueing.store import NewMessage

PRIORITY = f"{OURS}priority"  # name of a header
# Content encodings that kombu sets itself; another one may mean a compressed body.
MARKS = frozenset({"binary", "utf-8"})
NEXT_S = 0.01  # wait for each message after the first; each wait may be a round trip
NO_SELECTORS = "kombu has no message selectors. Leave the selector of the source empty."
NO_TOPICS = "kombu is used for queues only. Write the destination as queue:NAME."
DENIED = (amqp.AccessRefused, redis.AuthenticationError)
UNSENDABLE = (ValueError, TypeError)


class KombuSession(NoTransactions):
    """See ``interface.Session``."""

    capabilities = NOTHING
    no_transactions = "kombu has no transactions that a link could use."

    def __init__(self, factory: Factory, connection: kombu.Connection) -> None:
        self.factory = factory
        self.connection = connection
        self.troubles = troubles_of(connection)
        self.ids = f"ID:{secrets.token_hex(8)}"
        self.sent_ids: list[str] = []
        self.sent = 0
        self.producer: kombu.Producer | None = None
        self.declared: set[str] = set()

    @contextmanager
    def used(self) -> Iterator[None]:
        try:
            yield
        except self.troubles as error:
            raise provider_error(self.factory, error) from error

    def subscribe(
        self,
        destination: Destination,
        *,
        selector: str = "",
        durable_name: str = "",
        prefetch: int = 1,
    ) -> KombuSubscription:
        """See ``interface.Session``."""
        if selector:
            raise WrongFactory(self.factory.name, NO_SELECTORS)
        self.check(destination)
        return KombuSubscription(self, destination, prefetch=prefetch)

    def check(self, destination: Destination) -> None:
        if destination.is_topic:
            raise WrongFactory(self.factory.name, NO_TOPICS)

    def send(
        self, messages: Sequence[NewMessage], destination: Destination
    ) -> list[SendRefused | None]:
        """See ``interface.Session``."""
        self.check(destination)
        now = datetime.now(UTC)
        with self.used():
            producer = self.producing(destination.name)
            self.sent_ids = []
            return [
                self.sent_one(producer, in_unicode(one), destination, now)
                for one in messages
            ]

    def producing(self, name: str) -> kombu.Producer:
        if self.producer is None:
            options = {"auto_declare": False}
            self.producer = kombu.Producer(self.connection.channel(), **options)
        if name not in self.declared:
            queue_named(name)(self.producer.channel).declare()
            self.declared.add(name)
        return self.producer

    def sent_one(
        self,
        producer: kombu.Producer,
        message: NewMessage,
        destination: Destination,
        now: datetime,
    ) -> SendRefused | None:
        self.sent += 1
        message_id = f"{self.ids}{self.sent:016x}"
        self.sent_ids.append(message_id)
        try:
            properties = properties_of(message, message_id=message_id, now=now)
            headers = properties.pop(HEADERS, {})
            headers[PRIORITY] = properties.pop("priority")
            if "expiration" in properties:
                properties["expiration"] = int(properties["expiration"]) / 1000
            encoding = properties.pop("content_encoding", "binary")
            producer.publish(
                message.body,
                routing_key=destination.name,
                exchange="",
                headers=headers,
                content_encoding=encoding,
                retry=False,
                **properties,
            )
        except UNSENDABLE as wrong:
            return SendRefused(self.factory.name, str(wrong))
        return None

    def close(self) -> None:
        """See ``interface.Session``."""
        with suppress(*self.troubles):
            self.connection.release()


class KombuSubscription:
    """See ``interface.Subscription``.

    Released messages are kept here and redelivered from here, in order: many transports
    would put them at the end.
    """

    def __init__(
        self, session: KombuSession, destination: Destination, *, prefetch: int
    ) -> None:
        self.session = session
        self.destination = destination
        self.number = 0  # number of the last received message
        self.came: deque[tuple[int, Any]] = deque()
        self.open: dict[int, Any] = {}
        self.released: set[int] = set()
        with session.used():
            self.consumer = kombu.Consumer(
                session.connection.channel(),
                [queue_named(destination.name)],
                on_message=self.take,
                prefetch_count=prefetch,
            )
            self.consumer.consume()

    def take(self, message: Any) -> None:
        self.number += 1
        self.came.append((self.number, message))

    def receive(self, limit: int, wait_s: float) -> list[Received]:
        """See ``interface.Subscription``."""
        until = time.monotonic() + wait_s
        with self.session.used():
            while len(self.came) < limit:
                left_s = NEXT_S if self.came else max(until - time.monotonic(), 0)
                try:
                    self.session.connection.drain_events(timeout=left_s)
                except TimeoutError:
                    break
        few = min(limit, len(self.came))
        now = datetime.now(UTC)
        return [self.received(*self.came.popleft(), now) for _ in range(few)]

    def received(self, number: int, came: Any, now: datetime) -> Received:
        self.open[number] = came
        message = message_of(
            properties_in(came),
            bytes_of(came.body),
            address=self.destination.name,
            now=now,
        )
        return Received(
            message,
            number,
            self.destination,
            message.message_id or "",
            redelivered=number in self.released or is_redelivered(came),
        )

    def acknowledge(self, received: Sequence[Received]) -> None:
        """See ``interface.Subscription``."""
        with self.session.used():
            for one in received:
                self.open.pop(one.handle).ack()
                self.released.discard(one.handle)

    def release(self, received: Sequence[Received], *, failed: bool = False) -> None:
        """See ``interface.Subscription``."""
        again = [(one.handle, self.open.pop(one.handle)) for one in received]
        self.released.update(number for number, _ in again)
        self.came = deque(sorted((*again, *self.came), key=lambda pair: pair[0]))

    def lag(self) -> Lag | None:
        """None: kombu does not report the lag for all transports."""
        return None

    def close(self) -> None:
        """See ``interface.Subscription``."""
        with suppress(ProviderError), self.session.used():
            self.consumer.cancel()
            self.consumer.channel.close()


def connect(factory: Factory) -> KombuSession:
    """See ``interface.Connect``."""
    options: dict[str, Any] = {"confirm_publish": True}
    if factory.url.startswith("redis"):
        options["socket_connect_timeout"] = factory.connect_timeout_s
    options |= {name: plain(value) for name, value in factory.properties.items()}
    try:
        connection = kombu.Connection(
            address_of(factory),
            transport_options=options,
            connect_timeout=factory.connect_timeout_s,
        )
        troubles = troubles_of(connection)
    except (ImportError, KeyError, ValueError) as wrong:
        why = (
            f"kombu cannot use {factory.url!r}: {text_of(wrong)}. Correct the URL, or"
            " install the package."
        )
        raise WrongFactory(factory.name, why) from wrong
    try:
        connection.ensure_connection(max_retries=1, interval_start=0)
    except (KombuError, *troubles) as error:
        connection.release()
        raise provider_error(factory, error) from error
    return KombuSession(factory, connection)


def address_of(factory: Factory) -> str:
    """The URL with name and password, in the form that all transports understand."""
    if not factory.username and not factory.password:
        return factory.url
    scheme, _, rest = factory.url.partition("://")
    who = f"{quote(factory.username, safe='')}:{quote(factory.password, safe='')}"
    return f"{scheme}://{who}@{rest.rpartition('@')[2]}"


def troubles_of(connection: kombu.Connection) -> tuple[type[Exception], ...]:
    """The exceptions of a connection's transport that mean the connection is lost."""
    return (*connection.connection_errors, *connection.channel_errors, OSError)


def provider_error(factory: Factory, error: Exception) -> ProviderError:
    """The link's provider error for an error of a transport."""
    causes = (error, cause_of(error), context_of(error))
    if any(isinstance(cause, DENIED) for cause in causes):
        why = f"The transport refuses this name and password: {text_of(error)}."
        return AccessRefused(factory.name, f"{why} Correct them.")
    return ProviderLost(
        factory.name, f"The connection of the transport is lost: {text_of(error)}."
    )


def queue_named(name: str) -> kombu.Queue:
    return kombu.Queue(name, kombu.Exchange(""), routing_key=name, durable=True)


def plain(value: str) -> int | str:
    """The value of an option of a transport; digits become a number."""
    return int(value) if value.isdecimal() else value


def properties_in(came: Any) -> dict[str, Any]:
    """The properties of kombu's message, with AMQP's names."""
    headers = dict(came.headers or {})
    found: dict[str, Any] = dict(came.properties or {})
    found["priority"] = headers.pop(PRIORITY, USUAL)
    found[HEADERS] = headers
    if came.content_type:
        found["content_type"] = came.content_type
    if came.content_encoding and came.content_encoding not in MARKS:
        found["content_encoding"] = came.content_encoding
    return found


def bytes_of(body: Any) -> bytes:
    return body.encode() if isinstance(body, str) else bytes(body or b"")


def is_redelivered(came: Any) -> bool:
    return bool((came.delivery_info or {}).get("redelivered"))
