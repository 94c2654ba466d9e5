"""Attaches of one client: a few at a time, in the order in which they came.

To say what an attach is for takes the database. Until it is said, nothing of what the
client does with the endpoint is heard; what matters of it is looked up then.
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
MOST_WAITING = 64  # more are not read from the socket


class Attaches:
    """The attaches of a client that are not answered yet; for the loop's thread."""

    def __init__(self, client: ConnectedClient) -> None:
        self.client = client
        self.waiting: deque[tuple[Endpoint, Attach]] = deque()
        self.running = 0
        self.detached: dict[Endpoint, bool] = {}  # meanwhile; whether for good
        self.may_start = False

    def add(self, endpoint: Endpoint, attach: Attach) -> None:
        self.waiting.append((endpoint, attach))
        if len(self.waiting) > MOST_WAITING:
            self.client.hearing.hold("attaches")
        self.go_on()

    def start(self) -> None:
        """The connection is open: begin to answer."""
        self.may_start = True
        self.go_on()

    def stop(self) -> None:
        """The connection is over: what waits is forgotten."""
        self.may_start = False
        self.waiting.clear()

    def detach(self, endpoint: Endpoint, *, closed: bool) -> None:
        """The endpoint went before its attach was answered, or never had an end."""
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
        except Exception as error:  # noqa: BLE001 - the attach is refused, and told why
            endpoint.refuse(as_amqp(error))
        finally:
            self.running -= 1
            if endpoint.context is None:
                self.client.listener.register.remove(endpoint)
            self.detached.pop(endpoint, None)
            self.go_on()
            self.client.flush()

    def answered(self, endpoint: Endpoint) -> None:
        """Begin with what was accepted, unless it is over already."""
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
