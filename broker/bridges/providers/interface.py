"""The interface of providers, as links use them.

All calls block the calling thread. A session is used by one thread.

Messages are always this broker's ``NewMessage``. As one end of each link is this
broker, each provider converts between that and its own format.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Flag, auto
from typing import Any, NamedTuple, Protocol

from broker.errors.bridges import SendRefused
from broker.queueing.store import NewMessage


class Capability(Flag):
    """A feature that a provider may have."""

    LOCAL = auto()  # the provider is this broker: its work joins a database transaction
    TRANSACTIONS = auto()  # acknowledgements and sends in one transaction
    # A transaction can be prepared, and then outlives its connection.
    TWO_PHASE = auto()
    SELECTORS = auto()  # JMS selectors
    TOPICS = auto()
    # Subscriptions that keep messages while the subscriber is not connected.
    DURABLE = auto()
    LAG = auto()  # the provider reports how many messages wait at a destination


NOTHING = Capability(0)


class Destination(NamedTuple):
    """A queue or a topic at a provider."""

    name: str
    is_topic: bool = False

    def __str__(self) -> str:
        """The destination as Open MQ writes it: ``queue:orders``."""
        return f"{'topic' if self.is_topic else 'queue'}:{self.name}"


@dataclass(frozen=True, slots=True)
class Factory:
    """A connection factory, with its password in clear."""

    name: str
    provider: str  # kind of provider: a key of the registry
    url: str = ""  # such as amqp://host:5672
    username: str = ""
    password: str = field(default="", repr=False)
    client_id: str = ""
    properties: Mapping[str, str] = field(default_factory=dict)
    connect_timeout_s: float = 10.0


@dataclass(slots=True)
class Received:
    """One message received from the source; not acknowledged yet."""

    message: NewMessage  # its ``address`` is the name of the destination at the source
    handle: Any  # the session's reference to it
    destination: Destination  # JMSDestination of the message
    message_id: str = ""  # JMSMessageID at the source
    sent_at: datetime | None = None  # JMSTimestamp
    redelivered: bool = False
    # Number of deliveries, including this one; None: unknown.
    delivery_count: int | None = None
    # This broker's message number, if the source is at this broker.
    local_id: int | None = None


class Lag(NamedTuple):
    """The messages that wait at a source."""

    messages: int
    # Put time of the oldest; None: unknown, or no message waits.
    oldest_at: datetime | None


class ProviderSubscription(Protocol):
    """The consuming end at one destination."""

    def receive(self, limit: int, wait_s: float) -> list[Received]:
        """The next messages, in the order in which the provider gives them.

        Args:
            limit: messages at most.
            wait_s: how long to wait for the first one; there is no wait for others.

        Returns:
            Unacknowledged messages; an empty list if none came in time.

        Raises:
            ProviderLost: the connection broke; the provider will redeliver what was not
                acknowledged.
        """

    def acknowledge(self, received: Sequence[Received]) -> None:
        """Acknowledge messages. It returns once the provider has confirmed it.

        Within ``begin`` and ``commit`` it is part of the transaction.

        Raises:
            ProviderLost: the connection broke; some of them may be redelivered.
        """

    def release(self, received: Sequence[Received], *, failed: bool = False) -> None:
        """Give messages back to their places, for redelivery.

        Args:
            received: the messages, in order.
            failed: whether this counts as a failed attempt, if the provider counts.
        """

    def lag(self) -> Lag | None:
        """The messages that wait at the destination; None if this is unknown."""

    def close(self) -> None:
        """Stop consuming; unacknowledged messages return to the provider."""


class ProviderSession(Protocol):
    """A link's session with one provider.

    Attributes:
        capabilities: the provider's capabilities.
        sent_ids: the JMSMessageIDs of the messages of the last ``send``; empty if
            unknown.
    """

    capabilities: Capability
    sent_ids: Sequence[str]

    def subscribe(
        self,
        destination: Destination,
        *,
        selector: str = "",
        durable_name: str = "",
        prefetch: int = 1,
    ) -> ProviderSubscription:
        """Begin to consume.

        Args:
            durable_name: the name of a durable subscription to a topic; empty: not
                durable.
            prefetch: how many messages the provider may send ahead.

        Raises:
            WrongFactory: there is no such destination, or the provider cannot do it.
            ProviderLost: the connection broke.
        """

    def send(
        self, messages: Sequence[NewMessage], destination: Destination
    ) -> list[SendRefused | None]:
        """Send messages in order. It returns once the provider has stored all of them.

        Within ``begin`` and ``commit`` it is part of the transaction, and a refusal may
        come with the commit only.

        Returns:
            For each message None, or the provider's refusal of it.

        Raises:
            WrongFactory: there is no such destination, or sending is not allowed.
            ProviderLost: the connection broke; some may have been sent.
        """

    def begin(self) -> None:
        """Begin a transaction; only for providers with ``TRANSACTIONS``."""

    def commit(self) -> None:
        """Commit the transaction.

        Raises:
            SendRefused: the provider did not commit; it is rolled back.
            CommitInDoubt: the connection broke after the commit was sent.
        """

    def roll_back(self) -> None:
        """Roll back the open transaction. No effect if none is open, or the connection
        broke."""

    def prepare(self, xid: str) -> None:
        """Prepare the transaction under a name; only with ``TWO_PHASE``.

        Raises:
            SendRefused: the provider cannot commit it; it is rolled back.
            ProviderLost: the connection broke; it is unknown whether it is prepared.
        """

    def commit_prepared(self, xid: str) -> None:
        """Commit a prepared transaction. No effect if there is none of this name."""

    def roll_back_prepared(self, xid: str) -> None:
        """Roll back a prepared transaction. No effect if there is none of this name."""

    def in_doubt(self, prefix: str) -> list[str]:
        """The names of prepared transactions with this prefix."""

    def close(self) -> None:
        """Close the connection. May be called twice, and after it was lost."""


class TwoPhaseSession(ProviderSession, Protocol):
    """A session with a provider that has ``TWO_PHASE``.

    Attributes:
        to_commit: the name of a prepared transaction. The next ``prepare`` or
            ``receive`` commits it first, and clears the name when that is confirmed, as
            does ``commit_prepared``. Empty: none.
    """

    to_commit: str


class Connect(Protocol):
    """Opens a session for a connection factory."""

    def __call__(self, factory: Factory) -> ProviderSession:
        """Connect and log in.

        Raises:
            ProviderLost: the provider does not answer.
            AccessRefused: the name or the password is wrong.
            WrongFactory: the URL or a property is invalid.
        """
