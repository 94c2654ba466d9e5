"""Routing of the protocol engine's events to the ends of endpoints."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import groupby
from typing import Any

from broker.amqp.clients.attach_queue import Attaches
from broker.amqp.clients.interfaces import ConnectedClient
from broker.amqp.interfaces import End
from broker.amqp.protocol import events
from broker.amqp.protocol.delivery import Delivery, EndpointRef
from broker.amqp.protocol.endpoints import Receiver, Sender


class Conversation:
    """Passes each event to the end of its endpoint.

    An endpoint whose attach is not answered has no end yet.
    """

    def __init__(self, client: ConnectedClient, attaches: Attaches) -> None:
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

    def end_of(self, endpoint: EndpointRef) -> End | None:
        end: End | None = endpoint.context
        return end


def receiver_of(event: events.Event) -> Receiver | None:
    """The link of a received message; None for other events."""
    return event.receiver if isinstance(event, events.MessageReceived) else None
