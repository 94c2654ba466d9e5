"""A client of the tests that puts and gets; beside ``listening``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from broker.amqp.protocol import performatives as p
from broker.amqp.protocol import sections
from broker.amqp.protocol.conditions import AmqpError
from broker.amqp.protocol.delivery import Delivery
from broker.amqp.protocol.endpoints import Endpoint, Receiver, Sender
from broker.amqp.protocol.events import (
    Attached,
    Begun,
    Detached,
    Disposed,
    Flowed,
    MessageReceived,
)
from broker.amqp.protocol.sections import (
    DATA,
    VALUE,
    Properties,
    encode_header,
    encode_section,
    split,
)
from broker.amqp.protocol.session import Session
from broker.amqp.protocol.types.encoding import encode
from tests.amqp.listening import Listening, Wire


def message(
    body: bytes = b"hello", *, to: str | None = None, durable: bool = True, **said: Any
) -> bytes:
    """A message on the wire; ``said`` are its properties."""
    header = encode_header(durable=durable)
    properties = encode(Properties(to=to, **said)) if to or said else b""
    return header + properties + encode_section(DATA, body)


@contextmanager
def speaking(here: Listening, **options: Any) -> Iterator[Speaker]:
    """A client with a session; its connection closes in order if all goes well."""
    wire = here.client(**options)
    try:
        yield Speaker(wire)
    except BaseException:
        wire.drop()
        raise
    wire.close()


class Speaker:
    """A session of a client, and what is said in it; each call waits for its answer."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.session: Session = wire.connection.begin()
        wire.expect(Begun)
        self.names = 0
        self.tags = 0

    def sender(
        self,
        address: str | None = "orders",
        *,
        name: str = "",
        target: p.Target | p.Coordinator | None = None,
        **fields: Any,
    ) -> Sender:
        """Attach to put.

        Raises:
            AmqpError: it was refused.
        """
        self.names += 1
        sender = self.session.sender(
            name or f"puts-{self.names}",
            fields.pop("source", p.Source()),
            target or p.Target(address=address),
            **fields,
        )
        self.attached(sender)
        self.credit(sender)
        return sender

    def receiver(
        self,
        address: str | None = "orders",
        *,
        name: str = "",
        credit: int = 0,
        no_source: bool = False,
        properties: dict[Any, Any] | None = None,
        **source: Any,
    ) -> Receiver:
        """Attach to get; ``source`` are more fields of it.

        Raises:
            AmqpError: it was refused.
        """
        self.names += 1
        receiver = self.session.receiver(
            name or f"gets-{self.names}",
            None if no_source else p.Source(address=address, **source),
            p.Target(),
            properties=properties,
        )
        self.attached(receiver)
        if credit:
            receiver.grant(credit)
            self.wire.send()
        return receiver

    def attached(self, endpoint: Endpoint) -> None:
        self.wire.expect(Attached, endpoint=endpoint)
        ours = endpoint.target if isinstance(endpoint, Sender) else endpoint.source
        if ours is None:
            gone = self.wire.expect(Detached, endpoint=endpoint)
            assert gone.error is not None
            raise AmqpError(
                gone.error.condition, gone.error.description or "", gone.error.info
            )

    def credit(self, sender: Sender, at_least: int = 1) -> int:
        """Wait for credit."""
        while sender.credit < at_least:
            self.wire.expect(Flowed, sender=sender)
        return sender.credit

    def put(
        self,
        sender: Sender,
        *payloads: bytes,
        settled: bool = False,
        state: p.DeliveryState | None = None,
    ) -> list[Delivery]:
        """Send without waiting for answers."""
        sent = []
        for payload in payloads:
            self.credit(sender)
            self.tags += 1
            tag = self.tags.to_bytes(4, "big")
            sent.append(sender.send(payload, tag=tag, settled=settled, state=state))
        self.wire.send()
        return sent

    def outcomes(self, deliveries: Sequence[Delivery]) -> list[p.DeliveryState | None]:
        """Wait until all have been settled; in their order."""
        found: dict[int, p.DeliveryState | None] = {}
        while not all(one.id in found for one in deliveries):
            told = self.wire.expect(Disposed)
            assert told.settled
            found |= {one.id: told.state for one in told.deliveries}
        return [found[one.id] for one in deliveries]

    def ask(self, sender: Sender, *payloads: bytes, **fields: Any) -> Any:
        """Put, and wait for the answers; of one message its own."""
        answers = self.outcomes(self.put(sender, *payloads, **fields))
        return answers[0] if len(answers) == 1 else answers

    def get(self, receiver: Receiver, count: int = 1) -> list[Delivery]:
        """Wait for messages."""
        return [
            self.wire.expect(MessageReceived, receiver=receiver).delivery
            for _ in range(count)
        ]

    def detach(self, endpoint: Endpoint, *, closed: bool = True) -> None:
        endpoint.detach(closed=closed)
        self.wire.expect(Detached, endpoint=endpoint)

    # Transactions.

    def coordinator(self) -> Sender:
        return self.sender(target=p.Coordinator())

    def declare(self, coordinator: Sender) -> bytes:
        declared = self.ask(coordinator, command(p.Declare()))
        assert isinstance(declared, p.Declared)
        return declared.txn_id

    def discharge(self, coordinator: Sender, txn_id: bytes, *, fail: bool) -> Any:
        return self.ask(coordinator, command(p.Discharge(txn_id, fail)))


def in_txn(txn_id: bytes, outcome: p.Outcome | None = None) -> p.TransactionalState:
    return p.TransactionalState(txn_id, outcome)


def accept(
    client: Speaker, deliveries: list[Delivery], txn_id: bytes, *, settled: bool = True
) -> None:
    state = in_txn(txn_id, p.Accepted())
    client.session.settle(deliveries, state, settled=settled)
    client.wire.send()


def count_of(delivery: Delivery) -> int:
    """How often it was delivered in vain, as its header says."""
    header = split(delivery.payload).header
    return header.delivery_count if header else 0


def body_of(delivery: Delivery) -> bytes:
    return sections.body_of(split(delivery.payload).body).data or b""


def command(body: object) -> bytes:
    return encode_section(VALUE, body)


def condition(state: object) -> str:
    """Why a message was rejected."""
    assert isinstance(state, p.Rejected), state
    assert state.error is not None
    return state.error.condition


def refused(client: Speaker, *args: Any, **fields: Any) -> str:
    """The condition by which a receiver is refused."""
    with pytest.raises(AmqpError) as error:
        client.receiver(*args, **fields)
    return error.value.condition
