"""Connections that wait for their turn to log in, as enough others are logging in.

They are not read meanwhile. The hosts take turns, each with its oldest connection.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from broker.amqp.limits import Counts

if TYPE_CHECKING:
    from broker.amqp.clients.client import Client


class Waiting(NamedTuple):
    """How to end a connection that waits, and how to begin its login."""

    transport: asyncio.Transport
    begin: Callable[[], None]


class LoginLine:
    """The line of one listener; for the loop's thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop, counts: Counts) -> None:
        self.loop = loop
        self.counts = counts
        self.hosts: OrderedDict[str, dict[Client, Waiting]] = OrderedDict()
        self.length = 0

    def join(
        self,
        client: Client,
        transport: asyncio.Transport,
        begin: Callable[[], None],
    ) -> bool:
        """Whether a client may log in now; otherwise ``begin`` is called later."""
        if self.counts.may_log_in(client.host):
            self.call_up(client)
            return True
        self.hosts.setdefault(client.host, {})[client] = Waiting(transport, begin)
        self.length += 1
        return False

    def call_up(self, client: Client) -> None:
        self.counts.begin_login(client.host)
        client.has_turn = True

    def leave(self, client: Client) -> Waiting | None:
        """Remove a client, if it waits."""
        line = self.hosts.get(client.host, {})
        found = line.pop(client, None)
        if found is not None:
            self.length -= 1
            if not line:
                del self.hosts[client.host]
        return found

    def go_on(self) -> None:
        """Begin the logins of those who may, as others have logged in or left."""
        for host in list(self.hosts):
            if self.counts.may_log_in(host):
                self.hosts.move_to_end(host)
                client = next(iter(self.hosts[host]))
                waiting = self.leave(client)
                assert waiting is not None, "it is the first of its host"
                self.call_up(client)
                self.loop.call_soon(client.guard, waiting.begin)

    def close(self) -> None:
        """Hang up on all that wait."""
        for line in list(self.hosts.values()):
            for client in list(line):
                waiting = self.leave(client)
                assert waiting is not None, "it waits"
                waiting.transport.abort()
