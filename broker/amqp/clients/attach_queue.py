"""Queue of the attaches of one client: answered a few at a time, first come first.

Answering an attach needs the database. Until it is answered, events of the endpoint
are ignored; a detach and the credit are applied after the answer.
"""

from __future__ import annotations

from collections import deque

from broker.amqp.clients.error_mapping import as_amqp
from broker.amqp.clients.interfaces import ConnectedClient
from broker.amqp.interfaces import End
from broker.amqp.nodes import attach as nodes
from broker.amqp.protocol.endpoints import Endpoint, Sender
from broker.amqp.protocol.performatives import Attach

AT_ONCE = 8
MOST_WAITING = 64  # above this, reading from the socket pauses


class Attaches:
    """The unanswered attaches of a client; for the loop's thread."""

    def __init__(self, client: ConnectedClient) -> None:
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
