"""A listener: the sockets that clients connect to, and state shared by all clients.

It runs in one event loop. Database calls run in threads. Puts and settlements of all
clients are batched together.
"""

from __future__ import annotations

import asyncio
import logging
import platform
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import Any, ParamSpec, TypeVar

from django.conf import settings

from broker import __version__
from broker.amqp.batches import Batches
from broker.amqp.clients import registry_rows
from broker.amqp.clients.addresses import place
from broker.amqp.clients.client import Client
from broker.amqp.clients.identity import Identities
from broker.amqp.clients.login import Access
from broker.amqp.clients.login_line import LoginLine
from broker.amqp.clients.periodic import Rounds
from broker.amqp.clients.permission_cache import Key, Principals, Rights
from broker.amqp.clients.registry import Register
from broker.amqp.clients.tls import Certificates, Doorstep
from broker.amqp.limits import Counts, ListenerLimits, too_many
from broker.amqp.messages.anonymous_relay import Places
from broker.amqp.nodes.consumers import Consumers
from broker.amqp.protocol.conditions import CONNECTION_FORCED, AmqpError
from broker.amqp.protocol.types.types import Symbol
from broker.amqp.senders.wakeups import Waking
from broker.amqp.transactions import commit
from broker.amqp.transactions.commit import Ending
from broker.queueing import processes
from broker.queueing.store import Receipt
from broker.sql.threads import Pool
from broker.transactions.merged_puts import Put, store

Asked = ParamSpec("Asked")
Result = TypeVar("Result")

logger = logging.getLogger(__name__)

PRODUCT = "Backout"
MIB = 2**20
THREADS = 4  # threads for attaches, gets and logins
PASSWORD_THREADS = 2
MOST_ITEMS = 1000  # most items in a batch
BATCH_BYTES = 16 * MIB
PATIENCE_S = 10.0  # how long puts wait while the database is away
BACKLOG = 1024
LEAVE_WITHIN_S = 3.0  # time for clients to close after our close
BATCHES_END_WITHIN_S = 8.0
GONE = "The client is gone."
STOPS = "The listener stops. Connect again."


class Listener:
    """All clients of one process.

    Attributes:
        puts: batches of messages on their way to the database.
        large_puts: the same of large messages, so that no small one waits for them.
        settlements: batches of settled deliveries and committed transactions.
        endings: futures of deliveries that are still being given back.
        stopping: no credit is granted and nothing is sent any more.
    """

    def __init__(
        self,
        limits: ListenerLimits | None = None,
        access: Access | None = None,
        certificates: Certificates | None = None,
    ) -> None:
        """Create the listener, in a running loop; it does not listen yet.

        Args:
            limits: by default those of the settings.
            access: mechanisms for logging in; by default those of the settings.
            certificates: certificates for TLS; None: no TLS.

        Raises:
            OSError: a certificate cannot be used.
        """
        self.loop = loop = asyncio.get_running_loop()
        self.limits = limits or ListenerLimits.from_settings()
        self.access = access or Access.from_settings()
        self.tls = certificates.context() if certificates else None
        self.container_id = f"{settings.BROKER_NAME}@{socket.gethostname()}"
        self.properties = {
            Symbol("product"): PRODUCT,
            Symbol("version"): __version__,
            Symbol("platform"): f"Python {platform.python_version()}",
        }
        self.servers: list[asyncio.Server] = []
        self.clients: dict[Client, asyncio.Transport] = {}  # sockets by client
        self.counts = Counts(self.limits)
        self.line = LoginLine(loop, self.counts)
        self.pool = Pool("amqp", threads=THREADS)
        self.passwords = Pool("passwords", threads=PASSWORD_THREADS)
        self.identities = Identities(
            loop, self.limits, database=self.pool, passwords=self.passwords
        )
        self.principals = Principals()
        # A thread for the listener's own statements, which clients cannot keep busy.
        self.own = Pool("rounds", threads=1)
        self.register = Register(self.database, self.own.run)
        self.puts = self.batches_of_puts("puts")
        self.large_puts = self.batches_of_puts("large puts")
        self.settlements: Batches[Ending, None] = Batches(
            loop,
            "settlements",
            commit.end,
            most_items=MOST_ITEMS,
            most_bytes=BATCH_BYTES,
            patience_s=None,
        )
        self.waking = Waking(loop, self.database)
        self.places = Places(loop.time)
        self.consumers = Consumers()
        self.rounds = Rounds(self)
        self.endings: set[asyncio.Future[Any]] = set()
        self.stopping = False

    def batches_of_puts(self, name: str) -> Batches[Put, list[Receipt]]:
        return Batches(
            self.loop,
            name,
            store,
            most_items=MOST_ITEMS,
            most_bytes=BATCH_BYTES,
            patience_s=PATIENCE_S,
        )

    def database(
        self, call: Callable[Asked, Result], *args: Asked.args, **kw: Asked.kwargs
    ) -> asyncio.Future[Result]:
        """Run a call in a thread that has a database connection."""
        return self.pool.run(call, *args, **kw)

    def now(self) -> datetime:
        return datetime.now(UTC)

    async def start(
        self,
        host: str,
        port: int,
        tls_port: int | None = None,
        *,
        reuse_port: bool = False,
    ) -> None:
        """Listen.

        Args:
            host: an address of this machine.
            port: the port without TLS; 0 is any free one.
            tls_port: the port with TLS; used only with certificates.
            reuse_port: share the ports with other processes (SO_REUSEPORT).

        Raises:
            OSError: a port cannot be bound.
        """
        await self.database(registry_rows.begin)
        create = partial(
            self.loop.create_server, backlog=BACKLOG, reuse_port=reuse_port or None
        )
        plain = partial(Client, self, is_encrypted=False)
        self.servers.append(await create(plain, host, port))
        if self.tls is not None and tls_port is not None:
            encrypted = partial(Doorstep, self, self.tls)
            self.servers.append(await create(encrypted, host, tls_port))
        self.waking.start()
        self.rounds.start()

    @property
    def ports(self) -> list[int]:
        """The ports the listener listens on: the port without TLS first, then the port
        with TLS, if any."""
        return [server.sockets[0].getsockname()[1] for server in self.servers]

    # Clients connect and disconnect.

    def admit(self, client: Client, transport: asyncio.Transport) -> bool:
        """Count a new connection; False if there are too many connections."""
        peer = transport.get_extra_info("peername")
        client.ip, client.host, client.address = place(peer)
        try:
            if self.stopping:
                raise AmqpError("", STOPS)
            most = max(self.limits.connections // 2, 1)
            if self.line.length >= most:
                raise too_many(most, "that wait to log in")
            self.counts.enter(client.host)
        except AmqpError as error:
            self.rounds.refused(client.address, error.description)
            return False
        client.is_admitted = True
        self.clients[client] = transport
        return True

    def welcome(self, client: Client) -> Rights:
        """Count a client that has logged in for its user.

        Raises:
            AmqpError: the user has too many connections; or the client is gone, and
                would never be uncounted.
        """
        if client.gone:
            raise AmqpError(CONNECTION_FORCED, GONE)
        self.counts.log_in(client.host, client.user.pk)
        client.is_counted = True
        self.line.go_on()
        return self.principals.enter(Key.of(client.identity), client.held)

    def forget(self, client: Client) -> None:
        """Remove a client that has ended; its socket may still be open."""
        self.register.leave(client)
        if client.is_counted and not client.is_forgotten:
            client.is_forgotten = True
            self.principals.leave(Key.of(client.identity))

    def dismiss(self, client: Client) -> None:
        """Uncount a client whose socket is closed."""
        if client in self.clients:
            del self.clients[client]
            user_id = client.user.pk if client.is_counted else None
            self.line.leave(client)
            self.counts.leave(client.host, user_id, had_turn=client.has_turn)
            self.line.go_on()

    # The end of the listener.

    async def stop(self) -> None:
        """Stop in order: read nothing more, commit and confirm the waiting batches, and
        give other deliveries back."""
        self.stopping = True
        for server in self.servers:
            server.close()
        connected = [client for client in self.clients if client.is_connected]
        for client in connected:
            # What the client sends now would not be confirmed.
            client.hearing.hold("stop")
        for client in self.clients.keys() - connected:
            self.clients[client].abort()  # its TLS handshake has not ended
        with suppress(TimeoutError):
            async with asyncio.timeout(BATCHES_END_WITHIN_S):
                await self.puts.drain()
                await self.large_puts.drain()
                await self.settlements.drain()
        self.line.close()
        for client in connected:
            client.guard(client.force, STOPS)
            client.hearing.release("stop")
        await self.clients_leave()
        with suppress(TimeoutError):
            async with asyncio.timeout(LEAVE_WITHIN_S):
                await self.settlements.drain()
                while self.endings:
                    await asyncio.wait(set(self.endings))
        self.waking.stop()
        await self.rounds.stop()
        await self.threads_end()

    async def clients_leave(self) -> None:
        until = self.loop.time() + LEAVE_WITHIN_S
        while self.clients and self.loop.time() < until:
            await asyncio.sleep(0.01)
        for transport in list(self.clients.values()):
            transport.abort()
        await asyncio.sleep(0)

    async def threads_end(self) -> None:
        """Wait for the threads, but not endlessly for a statement that hangs."""
        thread = threading.Thread(target=self.close, daemon=True)
        thread.start()
        until = self.loop.time() + LEAVE_WITHIN_S
        while thread.is_alive() and self.loop.time() < until:
            await asyncio.sleep(0.005)

    def close(self) -> None:
        """End the threads; other processes back out the deliveries this listener still
        holds."""
        for batches in (self.puts, self.large_puts, self.settlements):
            batches.close()
        for pool in (self.passwords, self.pool, self.own):
            pool.close()
        processes.resign()
