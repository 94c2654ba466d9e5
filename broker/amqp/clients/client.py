"""One client: a socket, the protocol engine, and the ends of its endpoints.

    socket ──▶ login (SASL) ──▶ engine ──▶ events ──▶ ends
                                engine ◀── answers ◀──┘

All of it runs in the loop's thread. An error of one client ends that client only.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from django.contrib.auth.base_user import AbstractBaseUser

from broker.amqp.clients.backpressure import Hearing
from broker.amqp.clients.cbs import Visit
from broker.amqp.clients.conversation import Attaches, Conversation, as_amqp
from broker.amqp.clients.identity import CBS, Identity
from broker.amqp.clients.login import Login
from broker.amqp.clients.permission_cache import Rights
from broker.amqp.ends import End
from broker.amqp.protocol.conditions import (
    CONNECTION_FORCED,
    RESOURCE_LIMIT_EXCEEDED,
    UNAUTHORIZED_ACCESS,
    AmqpError,
)
from broker.amqp.protocol.connection import Connection
from broker.amqp.protocol.endpoints import Endpoint
from broker.amqp.protocol.performatives import Open
from broker.amqp.protocol.types.types import Symbol
from broker.amqp.transactions import finish as ending
from broker.amqp.transactions.state import Retired, Transaction
from broker.models.clients import Credential
from broker.monitoring import logs
from broker.security.authorities import Authority, GrantedAuthorities

if TYPE_CHECKING:
    from broker.amqp.listener import Listener

LINGERS_S = 2.0  # time from our close until the socket is aborted
MOST_UNSENT = 8  # reading pauses above this many times ``unsent_bytes``
WITHDRAWN = "You may not do this any more."
SOLE = "sole-connection-for-container"
OFFERED = ("ANONYMOUS-RELAY", "DELAYED_DELIVERY", "SHARED-SUBS", SOLE)


class Client(asyncio.Protocol):
    """One TCP connection.

    Attributes:
        connection: the protocol engine.
        user: the user who logged in.
        credential: the credential used; None for a user's password or certificate.
        actor: the name of the client in the journal.
        container_id: the container id that the client sent.
        id: the id of its row, once the connection is open; 0 before.
        address: host and port as text.
        ip, host: its IP address, and the key that it is counted under.
        held: its authorities at the time of the login.
        gone: the client is over; no new work starts for it.
        paused: nothing is sent, as the socket is full or the listener stops.
        in_flight_bytes: bytes of messages delivered to it and not settled.
        put_bytes: bytes of messages put by it and not answered.
    """

    is_connected = False  # whether the TLS handshake is over
    transport: asyncio.Transport
    hearing: Hearing
    identity: Identity
    held: GrantedAuthorities
    rights: Rights
    remote: Open

    def __init__(self, listener: Listener, *, is_encrypted: bool) -> None:
        self.listener = listener
        self.loop = listener.loop
        self.tasks: set[asyncio.Task[None]] = set()
        self.limits = listener.limits
        self.is_encrypted = is_encrypted
        self.connection = Connection(
            listener.container_id,
            is_server=True,
            limits=self.limits.of_protocol(),
            idle_timeout_ms=int(self.limits.idle_timeout_s * 1000) or None,
            offered=[Symbol(one) for one in OFFERED],
            properties=listener.properties,
        )
        self.attaches = Attaches(self)
        self.conversation = Conversation(self, self.attaches)
        self.login: Login | Visit | None = None
        self.early = b""  # bytes received before the TLS handshake had ended
        self.id = 0
        self.container_id = ""
        self.ip = self.host = self.address = ""
        self.transactions: dict[bytes, Transaction] = {}
        # Marked deliveries of a transaction that was rolled back, for the next
        # transaction.
        self.carried: list[Retired] = []
        self.temporaries: set[str] = set()  # queues that are deleted with the client
        self.in_flight_bytes = 0
        self.put_bytes = 0
        self.gone = self.was_lost = self.is_hung_up = False
        self.is_admitted = self.is_counted = self.is_forgotten = False
        self.is_stuffed = self.is_flushing = self.has_turn = False
        self.timer: asyncio.TimerHandle | None = None

    @property
    def user(self) -> AbstractBaseUser:
        return self.identity.user

    @property
    def credential(self) -> Credential | None:
        return self.identity.credential

    @property
    def actor(self) -> str:
        return self.identity.actor

    @property
    def mechanism(self) -> str:
        return self.identity.mechanism

    @property
    def is_azure(self) -> bool:
        """Whether it is a client of Azure Service Bus, which sent a token."""
        return self.identity.mechanism == CBS

    @property
    def stopping(self) -> bool:
        return self.listener.stopping

    @property
    def paused(self) -> bool:
        return self.is_stuffed or self.listener.stopping

    def may(self, authority: Authority, name: str) -> bool:
        """Whether the client has an authority on the queue or address of this name."""
        return self.rights.may(authority, name)

    # Calls and tasks for the client; an exception ends this client only.

    def guard(self, call: Callable[..., object], *args: Any, **kw: Any) -> None:
        """Make a call for this client."""
        try:
            call(*args, **kw)
        except Exception as error:  # noqa: BLE001 - logged, and sent to the client
            with logs.bound(client=self.address):
                self.break_off(as_amqp(error))

    def spawn(self, coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run a coroutine for this client, as a task."""
        task = self.loop.create_task(self.guarded(coroutine))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        # A task that is cancelled before it begins does not await its coroutine.
        task.add_done_callback(lambda _: coroutine.close())
        return task

    async def guarded(self, coroutine: Coroutine[Any, Any, None]) -> None:
        logs.bind(client=self.address)  # a task has a context of its own
        try:
            await coroutine
        except Exception as error:  # noqa: BLE001 - as in guard
            self.break_off(as_amqp(error))

    def break_off(self, error: AmqpError) -> None:
        try:
            self.fail(error)
        except Exception as another:  # noqa: BLE001 - only the socket can be closed
            as_amqp(another)
            self.transport.abort()

    # The socket.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if self.gone:  # the connection ended before the TLS handshake
            return
        self.is_connected = True
        self.transport = cast(asyncio.Transport, transport)
        self.hearing = Hearing(self.transport)
        self.transport.set_write_buffer_limits(high=self.limits.unsent_bytes)
        if not self.is_admitted and not self.listener.admit(self, self.transport):
            self.gone = True
            self.transport.close()
            return
        self.login = Login(self)
        self.login.take_turn()

    def data_received(self, data: bytes) -> None:
        if not self.is_connected:
            self.early += data
        else:
            self.guard(self.receive, data)

    def receive(self, data: bytes) -> None:
        if self.login is None:
            self.hear(data)
        elif not self.gone:
            self.login.receive(data)

    def hear(self, data: bytes) -> None:
        """Give received bytes to the engine, and handle its events."""
        self.conversation.take(self.connection.receive(data))
        self.flush()

    def pause_writing(self) -> None:
        self.is_stuffed = True

    def resume_writing(self) -> None:
        self.is_stuffed = False
        self.guard(self.resume)

    def resume(self) -> None:
        self.hearing.release("answers")
        if not self.paused and not self.gone:
            for endpoint in list(self.connection.endpoints()):
                if endpoint.context is not None:
                    endpoint.context.resumed()

    def connection_lost(self, exc: Exception | None) -> None:
        if self.is_connected:
            self.guard(self.finish, lost=True)
        self.gone = True
        if isinstance(self.login, Login):
            self.login.leave()
        self.stop_timer()
        self.listener.dismiss(self)

    def flush(self) -> None:
        """Write the engine's output at the end of this iteration of the loop."""
        if not self.is_flushing:
            self.is_flushing = True
            self.loop.call_soon(self.guard, self.write)

    def write(self) -> None:
        self.is_flushing = False
        if self.login is not None or self.is_hung_up or self.transport.is_closing():
            return
        if data := self.connection.outgoing():
            self.transport.write(data)
        # The engine failed to write frames: handle its events, which report the error.
        if self.connection.events:
            self.hear(b"")
        if self.is_stuffed:
            unsent = self.transport.get_write_buffer_size()
            if unsent > MOST_UNSENT * self.limits.unsent_bytes:
                self.hearing.hold("answers")
        if self.gone and self.connection.over:
            self.hang_up()

    # From the login to the open.

    def await_login(self) -> None:  # called again if the listener is still busy
        within_s = self.limits.login_timeout_s
        self.timer = self.loop.call_later(within_s, self.guard, self.login_is_late)

    def login_is_late(self) -> None:
        if isinstance(self.login, Login) and self.login.is_ours:
            self.await_login()
        else:
            self.fail(AmqpError(RESOURCE_LIMIT_EXCEEDED, "The open is late."))

    def turn_away(self) -> None:
        """Hang up on a client whose login was refused; the refusal is written."""
        self.gone = True
        self.linger()
        self.hang_up()

    def logged_in(
        self, identity: Identity, held: GrantedAuthorities, rest: bytes
    ) -> None:
        """Continue after a successful SASL login; ``rest`` was received after it."""
        self.identity, self.held = identity, held
        self.login = None
        self.hear(rest)

    async def open(self, said: Open) -> None:
        """Answer the client's open, once it is counted and registered."""
        self.remote, self.container_id = said, said.container_id
        self.rights = self.listener.welcome(self)
        is_alone = SOLE in said.desired_capabilities
        self.id = await self.listener.register.enter(self, is_alone=is_alone)
        if self.gone:
            self.listener.register.leave(self)
            return
        self.stop_timer()
        self.connection.open()
        self.tick()
        self.attaches.start()

    def tick(self) -> None:
        """Send a heartbeat if it is time; end a client that is silent."""
        if self.hearing.is_silence_ours():
            self.connection.heartbeats.heard = True
        when = self.connection.tick(self.loop.time())
        self.hear(b"")
        if not self.gone and when != float("inf"):
            self.timer = self.loop.call_at(when, self.guard, self.tick)

    def stop_timer(self) -> None:
        if self.timer is not None:
            self.timer.cancel()

    # The end of the connection.

    def fail(self, error: AmqpError) -> None:
        """Close the connection for an error; its deliveries count as lost."""
        self.close(error, lost=True)

    def force(self, description: str) -> None:
        """Close the connection on the broker's initiative; release its deliveries."""
        self.close(AmqpError(CONNECTION_FORCED, description), lost=False)

    def close(self, error: AmqpError, *, lost: bool) -> None:
        if self.gone:
            return
        if self.login is not None:
            self.turn_away()
        else:
            self.connection.close(error)
            self.finish(lost=lost)

    def finish(self, *, lost: bool) -> None:
        """End all endpoints and transactions of the client; a close may still be sent.

        Args:
            lost: whether the client vanished or failed; a message that it held may be
                the cause, so its deliveries are backed out and counted.
        """
        if self.gone:
            return
        self.gone, self.was_lost = True, lost
        self.attaches.stop()
        ending.lose(self)
        for endpoint in list(self.connection.endpoints()):
            self.take_leave(endpoint)
        self.listener.forget(self)
        self.flush()
        self.linger()

    def linger(self) -> None:
        """Wait for the client to hang up, so that it can read our last frames."""
        self.stop_timer()
        self.timer = self.loop.call_later(LINGERS_S, self.transport.abort)

    def hang_up(self) -> None:
        """Close our direction of the socket; the client closes the other."""
        self.is_hung_up = True
        if self.transport.can_write_eof():
            with suppress(OSError):  # the client has reset the connection
                self.transport.write_eof()
        else:
            self.transport.close()

    def take_leave(self, endpoint: Endpoint) -> None:
        """End an endpoint because its connection ends."""
        end: End | None = endpoint.context
        endpoint.context = None
        self.listener.register.remove(endpoint)
        if end is not None and self.was_lost:
            self.guard(end.lost)
        elif end is not None:
            self.guard(end.detached, closed=False)

    def leave_endpoint(self, endpoint: Endpoint, *, closed: bool) -> None:
        """End an endpoint that was detached; the others continue."""
        end: End | None = endpoint.context
        endpoint.context = None
        self.listener.register.remove(endpoint)
        if end is not None:
            end.detached(closed)

    def cast_off(self, endpoint: Endpoint, error: AmqpError) -> None:
        """Detach an endpoint on the broker's initiative."""
        endpoint.detach(error=error)
        self.leave_endpoint(endpoint, closed=False)
        self.flush()

    def withdraw(self, endpoint: Endpoint) -> None:
        """Detach an endpoint whose needed authority was withdrawn."""
        self.cast_off(endpoint, AmqpError(UNAUTHORIZED_ACCESS, WITHDRAWN))

    def reconsider(self) -> None:
        """Check the client's changed authorities: end what is not allowed any more."""
        if self.gone:
            return
        if self.rights.held is None:
            self.close(AmqpError(UNAUTHORIZED_ACCESS, WITHDRAWN), lost=False)
            return
        for endpoint in list(self.connection.endpoints()):
            end: End | None = endpoint.context
            if end is not None and end.needs and not self.may(*end.needs):
                self.withdraw(endpoint)
