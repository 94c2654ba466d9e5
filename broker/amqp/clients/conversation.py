"""Routing of the protocol engine's events to the ends of endpoints.

Attaches are answered a few at a time, first come first, as an answer needs the
database. Until it is answered, events of the endpoint are ignored; a detach and the
credit are applied after the answer.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable
from itertools import groupby
from typing import TYPE_CHECKING, Any

from django.db import Error as DatabaseError

from broker.amqp.ends import End
from broker.amqp.nodes import attach as nodes
from broker.amqp.protocol import conditions as c
from broker.amqp.protocol import events
from broker.amqp.protocol.conditions import AmqpError
from broker.amqp.protocol.delivery import Delivery
from broker.amqp.protocol.endpoints import Endpoint, Receiver, Sender
from broker.amqp.protocol.performatives import Attach
from broker.sql.threads import DatabaseAway

if TYPE_CHECKING:
    from broker.amqp.clients.client import Client

logger = logging.getLogger(__name__)

# Most attaches of one client that are handled at the same time.
AT_ONCE = 8
# Most attaches that wait to be handled; above this, reading from the socket pauses.
MOST_WAITING = 64


class Conversation:
    """Passes each event to the end of its endpoint.

    An endpoint whose attach is not answered has no end yet.
    """

    def __init__(self, client: Client, attaches: Attaches) -> None:
        self.client = client
        self.attaches = attaches
        self.actions: dict[type, Callable[[Any], None]] = {
            events.Disposed: self.disposed,
            events.Flowed: self.flowed,
            events.Resumed: self.resumed,
            events.Attached: self.attached,
            events.Detached: self.detached,
            events.Ended: self.ended,
            events.Opened: self.opened,
            events.Closed: self.closed,
        }

    def take(self, told: Iterable[events.Event]) -> None:
        """Handle events in order; consecutive messages of a link are one call."""
        for receiver, run in groupby(told, receiver_of):
            if receiver is not None:
                came = [one for one in run if isinstance(one, events.MessageReceived)]
                self.received(receiver, [one.delivery for one in came])
                continue
            for event in run:
                action = self.actions.get(type(event))
                if action is not None and not self.client.gone:
                    action(event)

    def received(self, receiver: Receiver, deliveries: list[Delivery]) -> None:
        if not self.client.gone and (end := self.end_of(receiver)) is not None:
            end.received(deliveries)

    def disposed(self, event: events.Disposed) -> None:
        if (end := self.end_of(event.endpoint)) is not None:
            end.disposed(event.deliveries, event.state, event.settled)

    def flowed(self, event: events.Flowed) -> None:
        if (end := self.end_of(event.sender)) is not None:
            end.flowed()

    def resumed(self, event: events.Resumed) -> None:
        for endpoint in event.session.endpoints():
            end = self.end_of(endpoint)
            if end is not None and isinstance(endpoint, Sender):
                end.resumed()

    def attached(self, event: events.Attached) -> None:
        self.attaches.add(event.endpoint, event.attach)

    def detached(self, event: events.Detached) -> None:
        """Handle a detach. A detach with an error never counts as closed: a fault must
        not delete a durable subscription."""
        closed = event.closed and event.error is None
        if self.end_of(event.endpoint) is None:
            self.attaches.detach(event.endpoint, closed=closed)
        else:
            self.client.leave_endpoint(event.endpoint, closed=closed)

    def ended(self, event: events.Ended) -> None:
        for endpoint in event.session.endpoints():
            self.client.leave_endpoint(endpoint, closed=False)

    def opened(self, event: events.Opened) -> None:
        self.client.spawn(self.client.open(event.open))

    def closed(self, event: events.Closed) -> None:
        self.client.finish(lost=not event.by_peer)

    def end_of(self, endpoint: Endpoint) -> End | None:
        end: End | None = endpoint.context
        return end


def receiver_of(event: events.Event) -> Receiver | None:
    """The link of a received message; None for other events."""
    return event.receiver if isinstance(event, events.MessageReceived) else None


class Attaches:
    """The unanswered attaches of a client; for the loop's thread."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.waiting: deque[tuple[Endpoint, Attach]] = deque()
        self.running = 0
        # Detaches received before the answer to their attach; the value: whether the
        # endpoint was closed.
        self.detached: dict[Endpoint, bool] = {}
        self.may_start = False

    def add(self, endpoint: Endpoint, attach: Attach) -> None:
        self.waiting.append((endpoint, attach))
        if len(self.waiting) > MOST_WAITING:
            self.client.hearing.hold("attaches")
        self.go_on()

    def start(self) -> None:
        """Begin to answer attaches, as the connection is open."""
        self.may_start = True
        self.go_on()

    def stop(self) -> None:
        """Discard the waiting attaches, as the connection is over."""
        self.may_start = False
        self.waiting.clear()

    def detach(self, endpoint: Endpoint, *, closed: bool) -> None:
        """Note a detach that came before the attach was answered."""
        if self.running:
            self.detached[endpoint] = closed

    def go_on(self) -> None:
        while self.may_start and self.waiting and self.running < AT_ONCE:
            self.running += 1
            self.client.spawn(self.answer(*self.waiting.popleft()))
        if len(self.waiting) <= MOST_WAITING // 2:
            self.client.hearing.release("attaches")

    async def answer(self, endpoint: Endpoint, attach: Attach) -> None:
        try:
            if not endpoint.gone:
                await nodes.attach(self.client, endpoint, attach)
                self.client.guard(self.answered, endpoint)
        except Exception as error:  # noqa: BLE001 - the attach is refused with it
            endpoint.refuse(as_amqp(error))
        finally:
            self.running -= 1
            if endpoint.context is None:
                self.client.listener.register.remove(endpoint)
            self.detached.pop(endpoint, None)
            self.go_on()
            self.client.flush()

    def answered(self, endpoint: Endpoint) -> None:
        """Start an accepted endpoint, unless it or its client is gone already."""
        end: End | None = endpoint.context
        client = self.client
        if end is None:
            return
        if client.gone:
            client.take_leave(endpoint)
        elif endpoint.gone:
            client.leave_endpoint(endpoint, closed=self.detached.get(endpoint, False))
        elif end.needs is not None and not client.may(*end.needs):
            client.withdraw(endpoint)
        else:
            client.listener.register.add(client, endpoint)
            if isinstance(endpoint, Sender) and endpoint.credit:
                end.flowed()


def as_amqp(error: BaseException) -> AmqpError:
    """The error to send to the client; an unexpected one is logged with its trace."""
    if isinstance(error, AmqpError):
        return error
    if isinstance(error, DatabaseAway | DatabaseError):
        logger.warning("A client is refused, as the database is away: %s", error)
        return AmqpError(c.INTERNAL_ERROR, "The database is away. Try again later.")
    logger.error("Unexpected error while serving a client.", exc_info=error)
    return AmqpError(
        c.INTERNAL_ERROR, "The broker had an unexpected error; see its log."
    )
