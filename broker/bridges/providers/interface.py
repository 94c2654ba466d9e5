"""What a link asks of a provider of messages, whoever that is.

Everything waits in the thread that calls it. A session is used by one thread.

A message is always what this broker stores, ``NewMessage``. Since one end of each link
is this broker, a provider translates between that and its own form; nothing else does.
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
    """What a provider can do."""

    LOCAL = auto()  # it is this broker: its work joins a database transaction
    TRANSACTIONS = auto()  # what is acknowledged and sent can be one transaction
    TWO_PHASE = auto()  # a transaction can be prepared, and outlives its connection
    SELECTORS = auto()  # it gives only what a JMS selector matches
    TOPICS = auto()
    DURABLE = auto()  # subscriptions that keep messages while nobody is connected
    LAG = auto()  # it tells how many messages wait at a destination


NOTHING = Capability(0)


class Destination(NamedTuple):
    """A queue or a topic at a provider."""

    name: str
    is_topic: bool = False

    def __str__(self) -> str:
        """As Open MQ writes it: ``queue:orders``."""
        return f"{'topic' if self.is_topic else 'queue'}:{self.name}"


@dataclass(frozen=True, slots=True)
class Factory:
    """How a provider is reached; a connection factory, its password in clear."""

    name: str
    provider: str  # a key of the registry
    url: str = ""  # such as amqp://host:5672
    username: str = ""
    password: str = field(default="", repr=False)
    client_id: str = ""
    properties: Mapping[str, str] = field(default_factory=dict)
    connect_timeout_s: float = 10.0


@dataclass(slots=True)
class Received:
    """One message as its source gave it; not acknowledged yet."""

    message: NewMessage  # its ``address`` is the name of the destination at the source
    handle: Any  # by which the session knows it
    destination: Destination  # JMSDestination
    message_id: str = ""  # JMSMessageID at the source
    sent_at: datetime | None = None  # JMSTimestamp
    redelivered: bool = False
    delivery_count: int | None = None  # of attempts, this one included; None: not told
    local_id: int | None = None  # the number that this broker has for it, if it is here


class Lag(NamedTuple):
    """What waits at a source."""

    messages: int
    oldest_at: datetime | None  # None: not known, or nothing waits


class ProviderSubscription(Protocol):
    """The consuming end at one destination."""

    def receive(self, limit: int, wait_s: float) -> list[Received]:
        """The next messages, in the order in which the provider gives them.

        Args:
            limit: messages at most.
            wait_s: how long to wait for the first; those after it are not waited for.

        Returns:
            None of them acknowledged; an empty list where nothing came in time.

        Raises:
            ProviderLost: the connection broke; the provider gives again what it had
                given and nobody acknowledged.
        """

    def acknowledge(self, received: Sequence[Received]) -> None:
        """Tell the provider that these need not be given again. Returns once it knows.

        Within ``begin`` and ``commit`` it is part of the transaction.

        Raises:
            ProviderLost: the connection broke; some of them may be given again.
        """

    def release(self, received: Sequence[Received], *, failed: bool = False) -> None:
        """Give messages back to where they stood, to be given again.

        Args:
            received: in the order in which they came.
            failed: whether this counts as a failed attempt, where the provider counts.
        """

    def lag(self) -> Lag | None:
        """What waits at the destination; None where the provider does not tell."""

    def close(self) -> None:
        """Consume no more; what was not acknowledged is the provider's again."""


class ProviderSession(Protocol):
    """A connection to one provider, and all that a link does through it.

    Attributes:
        capabilities: of this provider.
        sent_ids: JMSMessageID that each message of the last ``send`` was given; empty
            where the session does not know.
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
            durable_name: of a durable subscription to a topic; empty: not durable.
            prefetch: how many messages the provider may have under way.

        Raises:
            WrongFactory: there is no such destination, or the provider cannot do it.
            ProviderLost: the connection broke.
        """

    def send(
        self, messages: Sequence[NewMessage], destination: Destination
    ) -> list[SendRefused | None]:
        """Send messages in this order. Returns once the provider has them all, safely.

        Within ``begin`` and ``commit`` it is part of the transaction, and a refusal may
        come with the commit only.

        Returns:
            For each message None, or why the provider did not take this one.

        Raises:
            WrongFactory: there is no such destination, or one may not send there.
            ProviderLost: the connection broke; some may have been sent.
        """

    def begin(self) -> None:
        """Begin a transaction; of those with ``TRANSACTIONS`` only."""

    def commit(self) -> None:
        """End the transaction well.

        Raises:
            SendRefused: the provider did not commit; it is rolled back.
            CommitInDoubt: the connection broke after the provider was asked.
        """

    def roll_back(self) -> None:
        """Undo the transaction. Harmless where none is open or the connection broke."""

    def prepare(self, xid: str) -> None:
        """Make the transaction durable, to be ended by its name; ``TWO_PHASE`` only.

        Raises:
            SendRefused: the provider cannot commit it; it is rolled back.
            ProviderLost: the connection broke; it may or may not be prepared.
        """

    def commit_prepared(self, xid: str) -> None:
        """End a prepared transaction well. Harmless where none has the name."""

    def roll_back_prepared(self, xid: str) -> None:
        """Undo a prepared transaction. Harmless where none has the name."""

    def in_doubt(self, prefix: str) -> list[str]:
        """The names of prepared transactions that begin so."""

    def close(self) -> None:
        """End the connection. Harmless twice, and where it is lost already."""


class Connect(Protocol):
    """What makes a session of a connection factory."""

    def __call__(self, factory: Factory) -> ProviderSession:
        """Connect and log in.

        Raises:
            ProviderLost: nobody answers.
            AccessRefused: the name or the password is wrong.
            WrongFactory: the URL or a property cannot be used.
        """
