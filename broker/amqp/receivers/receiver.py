"""A link by which a client puts messages; each is settled after its commit.

Messages are handled in order. A refused message affects neither the others nor the
link.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from django.db import Error as DatabaseError

from broker.amqp.ends import End, Snapshot
from broker.amqp.messages import convert
from broker.amqp.messages.anonymous_relay import Meant, RelayTarget, look_up, meant_by
from broker.amqp.protocol import conditions as c
from broker.amqp.protocol import performatives as p
from broker.amqp.protocol.conditions import AmqpError
from broker.amqp.protocol.delivery import Delivery
from broker.amqp.protocol.endpoints import Receiver
from broker.amqp.receivers.credit import Credit
from broker.amqp.refusals import lacking, refusal
from broker.amqp.transactions import state as transactions
from broker.amqp.transactions.state import Transaction
from broker.errors import BrokerError, NoSuchAddress
from broker.models import ClientEndpoint
from broker.security.authorities import Authority
from broker.sql.threads import DatabaseAway
from broker.transactions.merged_puts import OVERHEAD, Answer, Put

if TYPE_CHECKING:
    from broker.amqp.clients.client import Client

LARGE_BYTES = 256 * 2**10  # a larger message is stored apart from the others
AWAY = "The broker's database is away; nothing was stored."
IN_DOUBT = "The broker lost its database; it is unknown whether this was stored."
NAMES: dict[type[p.Outcome], str] = {
    p.Accepted: "amqp:accepted:list",
    p.Rejected: "amqp:rejected:list",
    p.Released: "amqp:released:list",
    p.Modified: "amqp:modified:list",
}


class Came(NamedTuple):
    """Received messages for one target, not handled yet."""

    deliveries: Sequence[Delivery]
    # Transaction that must end first: its discharge came before these messages.
    behind: Transaction | None


class Puts(End):
    """The ``End`` of a link by which a client puts."""

    kind = ClientEndpoint.Kind.PUTS.value
    queue_id = None

    def __init__(
        self,
        client: Client,
        endpoint: Receiver,
        place: RelayTarget | None,
        node: str = "",
    ) -> None:
        """Create the end.

        Args:
            client: the client.
            endpoint: the protocol's endpoint.
            place: the target; None for an anonymous relay.
            node: the name of the target, as the client wrote it.
        """
        self.client = client
        self.endpoint = endpoint
        self.place = place
        self.node = node
        needed = None if place is None else place.needs
        self.needs = None if needed is None else ("put", needed)
        self.credit = Credit(client, endpoint)
        self.came: deque[Came] = deque()
        self.is_waiting = False  # the first item of ``came`` is not ready to be handled
        self.batches = client.listener.puts  # these store the latest messages
        self.unstored = 0  # number of messages in ``batches`` without a result
        self.is_changing = False  # waits until ``unstored`` is 0, for other batches
        # Deliveries that are stored but not settled yet.
        self.stored: list[Delivery] = []
        self.messages = 0
        self.settled = 0

    # Messages from the client.

    def received(self, deliveries: Sequence[Delivery]) -> None:
        self.messages += len(deliveries)
        self.credit.use(deliveries)
        transactions.expect(self.client, states_of(deliveries))
        behind = transactions.in_way(self.client, self.endpoint.session)
        runs = groupby(deliveries, is_large if self.place else id)
        self.came.extend(Came(list(run), behind) for _, run in runs)
        self.advance()

    def flowed(self) -> None:
        """Give the first credit."""
        self.credit.give()

    def detached(self, closed: bool) -> None:  # noqa: FBT001 - as of every End
        """Stop answering; messages already received are still stored."""
        self.credit.is_over = True

    def lost(self) -> None:
        self.credit.is_over = True

    def snapshot(self) -> Snapshot:
        return Snapshot(
            self.endpoint.credit, self.credit.used, self.messages, self.settled
        )

    # Messages from the client to the database.

    def advance(self) -> None:
        """Handle received messages until one has to wait."""
        while self.came and not self.is_waiting:
            behind = self.came[0].behind
            if behind is not None and not behind.is_over:
                self.is_waiting = True
                behind.then.append(self.go_on)
                return
            if not self.may_store(self.came[0].deliveries[0]):
                self.is_waiting = self.is_changing = True
                return
            try:
                found = self.place or self.place_for(self.came[0].deliveries[0])
            except (AmqpError, BrokerError) as error:
                self.take(error)
            else:
                if found is not None:
                    self.take(found)

    def may_store(self, delivery: Delivery) -> bool:
        """Whether a message would be stored after those before it.

        Large messages have batches of their own. A link uses one kind at a time, so
        that its messages stay in order.
        """
        listener = self.client.listener
        batches = listener.large_puts if is_large(delivery) else listener.puts
        if batches is not self.batches and self.unstored:
            return False
        self.batches = batches
        return True

    def go_on(self) -> None:
        self.is_waiting = self.is_changing = False
        self.advance()

    def place_for(self, delivery: Delivery) -> RelayTarget | BrokerError | None:
        """The target of a message, or its error; None if it must be looked up first."""
        meant = meant_by(delivery.payload)
        listener = self.client.listener
        found = listener.places.find(meant)
        if found is None:
            self.is_waiting = True
            future = listener.database(look_up, meant)
            told = partial(self.client.guard, self.looked_up, meant)
            future.add_done_callback(told)
        return found

    def looked_up(
        self, meant: Meant, future: asyncio.Future[RelayTarget | BrokerError]
    ) -> None:
        if future.cancelled():
            return
        self.is_waiting = False
        error = future.exception()
        if error is None:
            self.client.listener.places.note(meant, future.result())
        else:  # the look-up of the target failed
            assert isinstance(error, Exception), "nothing else ends a look"
            self.take(error)
        self.advance()

    def take(self, found: RelayTarget | Exception) -> None:
        """Handle the first of the received messages."""
        deliveries = self.came.popleft().deliveries
        if isinstance(found, RelayTarget):
            self.handle(deliveries, found)
        else:
            self.fail(deliveries, found)
        transactions.come(self.client, states_of(deliveries))

    def handle(self, deliveries: Sequence[Delivery], place: RelayTarget) -> None:
        """Decode and check messages; give those that pass to the next batch."""
        needed = place.needs or place.address
        if not self.may("put", needed):
            missing = NoSuchAddress(self.name_of(deliveries[0], place))
            self.fail(deliveries, lacking(self.client, "put", needed, missing))
            return
        read = self.reader(place, needed)
        puts: list[Put] = []
        was_over = self.credit.is_over
        for delivery in deliveries:
            if self.credit.is_over and not was_over:  # the refusal has ended the link
                self.credit.free([delivery])
                continue
            try:
                put = read(delivery)
                if isinstance(delivery.state, p.TransactionalState):
                    transactions.put(self.client, delivery.state, put.messages)
                    self.tell_enlisted(delivery, delivery.state)
                else:
                    puts.append(put)
            except (AmqpError, BrokerError) as error:
                self.refuse(delivery, error)
        if puts:
            size = sum(put.context.context + OVERHEAD for put in puts)
            done = partial(self.client.guard, self.answer)
            self.unstored += len(puts)
            self.batches.add(puts, done, size)

    def name_of(self, delivery: Delivery, place: RelayTarget) -> str:
        """The name that the client gave for a target."""
        return place.address if self.place else meant_by(delivery.payload).name

    def reader(self, place: RelayTarget, needed: str) -> Callable[[Delivery], Put]:
        """A function that decodes a message for a target."""
        actor, user = self.client.actor, self.client.user.get_username()
        producer, now = self.client.container_id, self.client.listener.now()
        may_set_identity = self.client.may("passall", needed)

        def read(delivery: Delivery) -> Put:
            new = convert.to_put(
                delivery.payload,
                address=place.address,
                producer=producer,
                now=now,
                message_format=delivery.message_format,
                user=user,
                may_set_identity=may_set_identity,
            )
            if place.routing_type is not None:
                for one in new:
                    one.routing_type = place.routing_type
            delivery.payload = b""
            return Put(new, actor, delivery)

        return read

    def may(self, authority: Authority, name: str) -> bool:
        """Whether the client has an authority on a name; it has all on its temporary
        queues."""
        return name in self.client.temporaries or self.client.may(authority, name)

    # Answers to the client.

    def answer(self, results: list[tuple[Put, Answer]]) -> None:
        """Answer messages: not stored if the result is an error."""
        self.unstored -= len(results)
        stored = [put.context for put, result in results if isinstance(result, list)]
        if stored:
            self.credit.free(stored)
            if not self.stored:
                self.client.listener.loop.call_soon(self.tell_stored)
            self.stored += stored
        if len(stored) < len(results):
            for put, result in results:
                if isinstance(result, Exception):
                    self.fail([put.context], result)
        if self.is_changing and not self.unstored:
            self.go_on()

    def fail(self, deliveries: Sequence[Delivery], error: Exception) -> None:
        """Answer messages that are not stored, because of an error."""
        for delivery in deliveries:
            if isinstance(error, DatabaseAway):
                self.say(delivery, p.Released(), AmqpError(c.INTERNAL_ERROR, AWAY))
            elif isinstance(error, DatabaseError):
                doubt = p.Modified(delivery_failed=True)
                self.say(delivery, doubt, AmqpError(c.INTERNAL_ERROR, IN_DOUBT))
            else:
                self.refuse(delivery, error)

    def tell_stored(self) -> None:
        """Accept stored messages, in one range if their ids are consecutive."""
        stored, self.stored = self.stored, []
        self.settled += len(stored)
        self.credit.widen()
        self.endpoint.session.settle(stored, p.Accepted())
        self.credit.give()
        self.client.flush()

    def tell_enlisted(self, delivery: Delivery, state: p.TransactionalState) -> None:
        self.credit.free([delivery])
        self.settled += 1
        enlisted = p.TransactionalState(state.txn_id, p.Accepted())
        self.endpoint.session.settle([delivery], enlisted)
        self.credit.give()
        self.client.flush()

    def refuse(self, delivery: Delivery, error: Exception) -> None:
        refused = refusal(error)
        if refused.condition == c.RESOURCE_LIMIT_EXCEEDED:
            self.credit.narrow()
        self.say(delivery, p.Rejected(refused.as_error()), refused)

    def say(self, delivery: Delivery, outcome: p.Outcome, error: AmqpError) -> None:
        """Answer a message that is not stored: by an outcome or, if it was sent
        settled, by a detach with the error."""
        self.credit.free([delivery])
        state = delivery.state
        if delivery.settled:
            if isinstance(state, p.TransactionalState):
                transactions.spoil(self.client, state, error)
            self.end(error)
            return
        told = self.understood(outcome, error)
        if isinstance(state, p.TransactionalState):
            enlisted = p.TransactionalState(state.txn_id, told)
            self.endpoint.session.settle([delivery], enlisted)
        else:
            self.endpoint.session.settle([delivery], told)
        self.credit.give()
        self.client.flush()

    def understood(self, outcome: p.Outcome, error: AmqpError) -> p.Outcome:
        """The outcome if the client's source supports it, else rejected."""
        attach = self.endpoint.attach
        source = attach.source if attach is not None else None
        known = source.outcomes if source is not None else ()
        if not known or NAMES[type(outcome)] in known:
            return outcome
        return p.Rejected(error.as_error())

    def end(self, error: AmqpError) -> None:
        if not self.credit.is_over:
            self.client.cast_off(self.endpoint, error)


def is_large(delivery: Delivery) -> bool:
    return len(delivery.payload) > LARGE_BYTES


def states_of(deliveries: Sequence[Delivery]) -> list[p.TransactionalState]:
    """The states of those deliveries that are part of transactions."""
    states = [one.state for one in deliveries if one.state is not None]
    return [one for one in states if isinstance(one, p.TransactionalState)]
