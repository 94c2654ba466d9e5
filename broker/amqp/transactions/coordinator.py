"""The coordinator: a link by which a client declares and discharges transactions.

Source:
    AMQP 1.0, part 4, section 4.3.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import count
from typing import TYPE_CHECKING

from broker.amqp.ends import End, Snapshot
from broker.amqp.protocol import conditions as c
from broker.amqp.protocol import performatives as p
from broker.amqp.protocol.conditions import DECODE_ERROR, AmqpError
from broker.amqp.protocol.delivery import Delivery
from broker.amqp.protocol.endpoints import Receiver
from broker.amqp.protocol.sections import split
from broker.amqp.protocol.types.composites import composite_of
from broker.amqp.protocol.types.decoding import decode
from broker.amqp.protocol.types.types import Described
from broker.amqp.transactions import finish
from broker.amqp.transactions.state import UNKNOWN, Transaction
from broker.models import ClientEndpoint

if TYPE_CHECKING:
    from broker.amqp.clients.client import Client

WINDOW = 100  # most commands that a client may send ahead
CAPABILITIES = ("amqp:local-transactions", "amqp:multi-txns-per-ssn")
SETTLED = "A command to the coordinator needs an answer: send it unsettled."
DISTRIBUTED = "Only local transactions are supported."

Command = p.Declare | p.Discharge
_numbers = count(1)


class Coordinates(End):
    """The ``End`` of a link to the coordinator. It carries out the commands one by one,
    in order."""

    kind = ClientEndpoint.Kind.TRANSACTIONS.value
    node = ""
    queue_id = None
    needs = None

    def __init__(self, client: Client, endpoint: Receiver) -> None:
        self.client = client
        self.endpoint = endpoint
        self.came: deque[tuple[Delivery, Command]] = deque()
        self.is_busy = False  # a discharge is running
        self.messages = 0
        self.settled = 0

    def next_id(self) -> bytes:
        """A transaction id that is unique in this process."""
        return next(_numbers).to_bytes(8, "big")

    # Calls from the client's events.

    def received(self, deliveries: Sequence[Delivery]) -> None:
        for delivery in deliveries:
            if self.endpoint.context is self:  # the endpoint was not detached meanwhile
                self.take(delivery)

    def take(self, delivery: Delivery) -> None:
        """Add a command to the queue; commands are carried out in order."""
        self.messages += 1
        if delivery.settled:
            error = AmqpError(c.NOT_ALLOWED, SETTLED)
            self.client.cast_off(self.endpoint, error)
            return
        try:
            command = command_of(delivery.payload)
        except AmqpError as error:
            self.refuse(delivery, error)
            return
        delivery.payload = b""
        if isinstance(command, p.Discharge):
            found = self.client.transactions.get(command.txn_id)
            if found is not None and not found.is_asked:
                found.is_asked = True
            else:
                self.refuse(delivery, AmqpError(c.UNKNOWN_TRANSACTION, UNKNOWN))
                return
        self.came.append((delivery, command))
        self.advance()

    def flowed(self) -> None:
        """Give the first credit."""
        self.give_credit()

    def detached(self, closed: bool) -> None:  # noqa: FBT001 - as of every End
        """Roll back transactions that were declared here and not discharged."""
        finish.leave(self.client, self)

    def lost(self) -> None:
        finish.leave(self.client, self)

    def snapshot(self) -> Snapshot:
        unsettled = self.messages - self.settled
        mine = (t for t in self.client.transactions.values() if t.coordinates is self)
        return Snapshot(
            *(self.endpoint.credit, unsettled, self.messages, self.settled),
            uncommitted=sum(len(one.puts) for one in mine),
        )

    # Carrying out commands.

    def advance(self) -> None:
        """Carry out commands until one has to wait."""
        while self.came and not self.is_busy:
            delivery, command = self.came[0]
            if isinstance(command, p.Declare):
                self.came.popleft()
                self.declare(delivery, command)
                continue
            found = self.client.transactions[command.txn_id]
            if found.expected:
                return
            self.came.popleft()
            self.discharge(delivery, found, fail=bool(command.fail))

    def declare(self, delivery: Delivery, command: p.Declare) -> None:
        if command.global_id is not None:
            self.refuse(delivery, AmqpError(c.NOT_IMPLEMENTED, DISTRIBUTED))
            return
        try:
            begun = finish.declare(self.client, self)
        except AmqpError as error:
            self.refuse(delivery, error)
        else:
            self.settle(delivery, p.Declared(begun.id))

    def discharge(
        self, delivery: Delivery, transaction: Transaction, *, fail: bool
    ) -> None:
        self.is_busy = True

        def end_discharge(error: AmqpError | None) -> None:
            self.is_busy = False
            if error is None:
                self.settle(delivery, p.Accepted())
            else:
                self.refuse(delivery, error)
            self.advance()

        finish.discharge(self.client, transaction, fail=fail, told=end_discharge)

    def refuse(self, delivery: Delivery, error: AmqpError) -> None:
        self.settle(delivery, p.Rejected(error.as_error()))

    def settle(self, delivery: Delivery, state: p.DeliveryState) -> None:
        self.settled += 1
        self.endpoint.session.settle([delivery], state)
        self.give_credit()
        self.client.flush()

    def give_credit(self) -> None:
        room = WINDOW - (self.messages - self.settled)
        if room - self.endpoint.credit >= WINDOW // 2 and not self.client.stopping:
            self.endpoint.grant(room)


def command_of(payload: bytes) -> Command:
    """Decode a message to the coordinator.

    Raises:
        AmqpError: the message is not a command.
    """
    body = split(payload).body
    value, _ = decode(body, 0, len(body))
    if not isinstance(value, Described):
        raise AmqpError(DECODE_ERROR, "A command is an amqp-value.")
    command: Command = composite_of(value.value, p.Declare, p.Discharge)
    return command
