"""Session of a link with a STOMP server."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import NoReturn

from stomp.utils import Frame

from broker.bridges.providers.interface import Capability, Destination, Factory
from broker.bridges.providers.stomp import refusals, sending
from broker.bridges.providers.stomp.connection import StompConnection
from broker.bridges.providers.stomp.options import Options, options_of
from broker.bridges.providers.stomp.subscription import StompSubscription
from broker.bridges.providers.stomp.transactions import Transaction
from broker.errors.bridges import ProviderLost, SendRefused, WrongFactory
from broker.queueing.store import NewMessage


def connect(factory: Factory) -> StompSession:
    """Connect and log in; see ``interface.Connect``."""
    return StompSession(options_of(factory))


class StompSession:
    """See ``interface.Session``."""

    def __init__(self, options: Options) -> None:
        """Connect and log in.

        Raises:
            ProviderLost, AccessRefused, WrongFactory: see ``interface.Connect``.
        """
        self.options = options
        self.connection = StompConnection(options)
        dialect = self.connection.dialect
        self.dialect = dialect if options.maps else replace(dialect, maps=False)
        self.connection.dialect = self.dialect
        self.capabilities = dialect.capabilities
        # Always empty: the server sets the ids, and they are unknown here.
        self.sent_ids: Sequence[str] = ()
        self.transaction: Transaction | None = None
        # Subscriptions that have their own connections.
        self.alone: list[StompSubscription] = []

    def subscribe(
        self,
        destination: Destination,
        *,
        selector: str = "",
        durable_name: str = "",
        prefetch: int = 1,
    ) -> StompSubscription:
        """Begin to consume.

        If a server gives unacknowledged messages back only when the connection ends,
        each subscription gets a connection of its own.

        Raises:
            ProviderLost, WrongFactory: see ``interface.Session``.
        """
        headers = self.subscribe_headers(destination, selector, durable_name, prefetch)
        connection = self.connection
        is_alone = not self.dialect.returns_early
        if is_alone:
            connection = StompConnection(self.options)
        subscription = StompSubscription(
            connection,
            headers["id"],
            destination,
            lambda: self.transaction,
            is_alone=is_alone,
        )
        if is_alone:
            self.alone.append(subscription)
        (answer,) = self.answers_to_subscribe(connection, headers)
        if answer.cmd != "RECEIPT":
            subscription.close()
            raise refusals.at_subscription(self.options, answer, str(destination))
        return subscription

    def subscribe_headers(
        self, destination: Destination, selector: str, durable_name: str, prefetch: int
    ) -> dict[str, str]:
        """The headers of SUBSCRIBE.

        Raises:
            WrongFactory: this server does not support the subscription.
        """
        dialect = self.dialect
        headers = {
            "destination": self.options.named(destination),
            "id": f"s{next(self.connection.numbers)}",
            "ack": "client-individual",
            "activemq.prefetchSize": str(prefetch),
            "prefetch-count": str(prefetch),
        }
        if dialect.maps:
            headers["transformation"] = "jms-xml"
        if selector:
            if Capability.SELECTORS not in dialect.capabilities:
                raise self.wrong(
                    f"{dialect.name} does not support selectors over STOMP"
                )
            headers["selector"] = selector
        if destination.is_topic:
            headers |= {"activemq.noLocal": "true", "no-local": "true"}
        if durable_name:
            headers |= self.durable(destination, durable_name)
        return headers

    def durable(self, destination: Destination, name: str) -> dict[str, str]:
        """The headers of a durable subscription.

        Raises:
            WrongFactory: the subscription cannot be durable.
        """
        if not destination.is_topic:
            raise self.wrong("Only a subscription to a topic can be durable")
        if not self.dialect.durable_by:
            return {"id": name, "durable": "true", "auto-delete": "false"}
        if not self.options.factory.client_id:
            raise self.wrong("A durable subscription needs a client id. Set one")
        return {self.dialect.durable_by: name}

    def answers_to_subscribe(
        self, connection: StompConnection, headers: dict[str, str]
    ) -> list[Frame]:
        """Wait for the server's answer to SUBSCRIBE.

        Raises:
            ProviderLost: the connection broke.
            WrongFactory: the server sent an error, and ended the connection.
        """
        try:
            return connection.wait([connection.ask("SUBSCRIBE", headers)])
        except ProviderLost as lost:
            if connection.error is not None:
                raise refusals.at_subscription(
                    self.options, connection.error, headers["destination"]
                ) from lost
            if not self.dialect.maps:
                raise
            hint = (
                " If this happens repeatedly, this ActiveMQ lacks XStream, which it"
                " needs for map messages. Set the property maps=no of the connection"
                " factory; map messages then arrive without their content."
            )
            raise ProviderLost(self.options.name, lost.why + hint) from lost

    def send(
        self, messages: Sequence[NewMessage], destination: Destination
    ) -> list[SendRefused | None]:
        """Send messages, and wait for their receipts together.

        Raises:
            ProviderLost, WrongFactory: see ``interface.Session``.
        """
        named = self.options.named(destination)
        return sending.send(self.connection, messages, named, self.transaction)

    def begin(self) -> None:
        """Begin a transaction.

        Raises:
            ProviderLost: the connection broke.
            WrongFactory: this server has none.
        """
        if Capability.TRANSACTIONS not in self.capabilities:
            raise self.wrong(
                f"{self.dialect.name} has no transactions over STOMP that survive a"
                " failure. Use a link that is not transacted"
            )
        assert self.transaction is None, "a transaction is open"
        self.transaction = Transaction(self.connection)

    def commit(self) -> None:
        """Commit the transaction.

        Raises:
            ProviderLost: the connection was lost before; it is rolled back.
            SendRefused, CommitInDoubt: see ``interface.Session``.
        """
        transaction, self.transaction = self.transaction, None
        assert transaction is not None, "no transaction is open"
        transaction.commit()

    def roll_back(self) -> None:
        """Roll back; messages acknowledged in the transaction are received again, in
        order."""
        transaction, self.transaction = self.transaction, None
        if transaction is not None and not self.connection.lost:
            with suppress(ProviderLost):
                transaction.roll_back()

    def prepare(self, xid: str) -> None:
        self.no_two_phases()

    def commit_prepared(self, xid: str) -> None:
        self.no_two_phases()

    def roll_back_prepared(self, xid: str) -> None:
        self.no_two_phases()

    def in_doubt(self, prefix: str) -> list[str]:
        self.no_two_phases()

    def no_two_phases(self) -> NoReturn:
        raise self.wrong("STOMP has no transactions that can be prepared")

    def wrong(self, why: str) -> WrongFactory:
        return WrongFactory(self.options.name, f"{why}.")

    def close(self) -> None:
        for subscription in self.alone:
            subscription.close()
        self.connection.close()
