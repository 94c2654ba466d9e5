"""Session of a link with an AMQP 1.0 provider."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from uuid import uuid4

from broker.amqp.protocol import performatives as p
from broker.amqp.protocol.conditions import AmqpError
from broker.amqp.protocol.endpoints import Receiver
from broker.amqp.protocol.types.types import Described, Symbol, ULong
from broker.bridges.providers.amqp.messages import outbound
from broker.bridges.providers.amqp.options import options
from broker.bridges.providers.amqp.outbox import OUTCOMES, Outbox
from broker.bridges.providers.amqp.refusals import not_accepted
from broker.bridges.providers.amqp.returning import stop
from broker.bridges.providers.amqp.subscription import AmqpSubscription
from broker.bridges.providers.amqp.transactions import Transactions
from broker.bridges.providers.amqp.wire import Wire
from broker.bridges.providers.interface import Capability, Destination, Factory
from broker.errors.bridges import ProviderLost, SendRefused, WrongFactory
from broker.queueing.store import NewMessage

SELECTOR, NO_LOCAL = Symbol("jms-selector"), Symbol("no-local")
SELECTOR_CODE, NO_LOCAL_CODE = ULong(0x0000468C00000004), ULong(0x0000468C00000003)
FOR_EVER, UNSETTLED_STATE = "never", 2  # values of fields of a durable source
OTHERS = (
    Capability.TRANSACTIONS
    | Capability.SELECTORS
    | Capability.TOPICS
    | Capability.DURABLE
)
# Features that RabbitMQ grants in its answers, but does not have.
RABBITMQ = Capability.TOPICS
MOST_OUTBOXES = 50  # most outboxes kept open; each is for one destination


def connect(factory: Factory) -> AmqpSession:
    """See ``interface.Connect``."""
    return AmqpSession(Wire(options(factory)))


class AmqpSession:
    """See ``interface.Session``.

    Attributes:
        capabilities: the provider's capabilities.
        sent_ids: the JMSMessageIDs of the messages of the last ``send``.
    """

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.options = wire.options
        self.capabilities = RABBITMQ if wire.is_rabbitmq else OTHERS
        self.transactions = Transactions(wire)
        self.subscriptions: list[AmqpSubscription] = []
        self.outboxes: dict[Destination, Outbox] = {}
        self.sent_ids: Sequence[str] = ()

    @property
    def name(self) -> str:
        return self.options.factory

    # Consuming messages.

    def subscribe(
        self,
        destination: Destination,
        *,
        selector: str = "",
        durable_name: str = "",
        prefetch: int = 1,
    ) -> AmqpSubscription:
        """See ``interface.Session``. A topic does not give our own messages back."""
        self.wire.check()
        if (why := self.cannot(destination, selector, durable_name)) is not None:
            raise WrongFactory(self.name, why)
        source = self.source(destination, selector, is_durable=bool(durable_name))

        def begin() -> Receiver:
            name = durable_name or f"backout-{uuid4().hex}"
            return self.wire.session.receiver(
                name, source, p.Target(), snd_settle_mode=0
            )

        made = AmqpSubscription(
            self.wire,
            self.transactions,
            begin,
            destination,
            prefetch=prefetch,
            is_durable=bool(durable_name),
        )
        if selector and not has_filter(made.receiver.source, SELECTOR_CODE):
            made.close()
            why = (
                f"The provider ignores the selector and sends all messages of"
                f" {destination}. Remove the selector."
            )
            raise WrongFactory(self.name, why)
        self.subscriptions.append(made)
        return made

    def cannot(
        self, destination: Destination, selector: str, durable_name: str
    ) -> str | None:
        """The reason that this subscription is not possible; None if it may be
        possible."""
        if durable_name and not destination.is_topic:
            return "Only a subscription to a topic can be durable. Remove its name."
        if durable_name and not self.options.has_client_id:
            return "A durable subscription needs a client id. Set one at the factory."
        if durable_name and Capability.DURABLE not in self.capabilities:
            return (
                "RabbitMQ has no durable subscriptions. Bind a queue there to the"
                " exchange, and use the queue as the source of the link."
            )
        if selector and Capability.SELECTORS not in self.capabilities:
            return "RabbitMQ has no selectors. Remove the selector."
        return None

    def source(
        self, destination: Destination, selector: str, *, is_durable: bool
    ) -> p.Source:
        filters: dict[Symbol, Described] = {}
        if selector:
            filters[SELECTOR] = Described(SELECTOR_CODE, selector)
        if destination.is_topic:
            filters[NO_LOCAL] = Described(NO_LOCAL_CODE, [])
        return p.Source(
            address=self.wire.address(destination),
            durable=UNSETTLED_STATE if is_durable else 0,
            expiry_policy=FOR_EVER if is_durable else "link-detach",
            filter=filters or None,
            outcomes=OUTCOMES,
            capabilities=kind(destination),
        )

    # Sending messages.

    def send(
        self, messages: Sequence[NewMessage], destination: Destination
    ) -> list[SendRefused | None]:
        """See ``interface.Session``."""
        answers: list[SendRefused | None] = [None] * len(messages)
        self.sent_ids = [f"ID:{uuid4().hex}" for _ in messages]
        outbox = self.outbox(destination)

        def payloads() -> Iterator[tuple[int, bytes]]:
            for number, message in enumerate(messages):
                try:
                    yield number, self.payload(message, number, destination, outbox)
                except (AmqpError, ValueError) as error:
                    why = f"The message cannot be sent by AMQP: {error}."
                    answers[number] = SendRefused(self.name, why)

        states = outbox.send(payloads(), self.transactions.state())
        for number, state in states.items():
            if (refused := not_accepted(self.name, state)) is not None:
                answers[number] = refused
        return answers

    def outbox(self, destination: Destination) -> Outbox:
        """The outbox for a destination; if there are too many, the one unused for
        longest is closed."""
        self.wire.check()
        outbox = self.outboxes.pop(destination, None)
        if outbox is None or outbox.attachment.end is not None:
            self.check_exists(destination)
            target = p.Target(
                address=self.wire.address(destination),
                capabilities=kind(destination),
            )
            outbox = Outbox(self.wire, target, str(destination))
        self.outboxes[destination] = outbox
        if len(self.outboxes) > MOST_OUTBOXES:
            oldest = self.outboxes.pop(next(iter(self.outboxes)))
            oldest.attachment.detach(closed=True)
        return outbox

    def check_exists(self, destination: Destination) -> None:
        """Check that a queue exists at RabbitMQ, by consuming from it: RabbitMQ accepts
        and drops messages for a queue that does not exist.

        Raises:
            WrongFactory: there is no such queue.
        """
        if self.wire.is_rabbitmq and not destination.is_topic:
            self.subscribe(destination).close()

    def payload(
        self, message: NewMessage, number: int, target: Destination, outbox: Outbox
    ) -> bytes:
        """The encoded message.

        Raises:
            AmqpError, ValueError: AMQP cannot encode it, or it is too large.
        """
        payload = outbound(
            message,
            target,
            address=self.wire.address(target),
            message_id=self.sent_ids[number],
            now=datetime.now(UTC),
        )
        most = outbox.sender.largest
        if most is not None and len(payload) > most:
            raise ValueError(
                f"it has {len(payload):,} bytes; {target} accepts at most {most:,}"
            )
        return payload

    # Transactions of the provider.

    def begin(self) -> None:
        """See ``interface.Session``.

        Raises:
            WrongFactory: the provider has no transactions.
            ProviderLost: the connection broke.
        """
        self.wire.check()
        self.transactions.begin()

    def commit(self) -> None:
        """See ``interface.Session``."""
        try:
            self.transactions.commit()
        except SendRefused:
            with suppress(ProviderLost):
                self.give_back()
            raise

    def roll_back(self) -> None:
        """See ``interface.Session``. Received messages are redelivered in order."""
        if self.transactions.open is None:
            return
        try:
            for one in self.live():
                stop(one)
            self.transactions.roll_back()
            self.give_back()
        except (ProviderLost, WrongFactory):  # the provider has rolled it back
            self.transactions.open = None

    def give_back(self) -> None:
        for one in self.live():
            one.give_back()

    def live(self) -> list[AmqpSubscription]:
        self.subscriptions = [
            one for one in self.subscriptions if one.attachment.end is None
        ]
        return self.subscriptions

    def prepare(self, xid: str) -> None:
        """Not supported, like all of two-phase commit.

        Raises:
            WrongFactory: always.
        """
        raise self.no_two_phases()

    def commit_prepared(self, xid: str) -> None:
        """See ``prepare``."""
        raise self.no_two_phases()

    def roll_back_prepared(self, xid: str) -> None:
        """See ``prepare``."""
        raise self.no_two_phases()

    def in_doubt(self, prefix: str) -> list[str]:
        """See ``prepare``."""
        raise self.no_two_phases()

    def no_two_phases(self) -> WrongFactory:
        why = "Two-phase commit is not available: AMQP 1.0 does not define it."
        return WrongFactory(self.name, why)

    def close(self) -> None:
        """See ``interface.Session``."""
        self.wire.close()


def kind(destination: Destination) -> tuple[str, ...]:
    """The capability that says, in JMS, whether a destination is a queue or a topic."""
    return ("topic",) if destination.is_topic else ("queue",)


def has_filter(source: p.Source | None, code: int) -> bool:
    """Whether the provider's source confirms a filter."""
    applied = (source.filter if source is not None else None) or {}
    return any(
        isinstance(one, Described)
        and one.descriptor in (code, "apache.org:selector-filter:string")
        for one in applied.values()
    )
