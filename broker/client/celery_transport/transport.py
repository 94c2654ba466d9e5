"""The transport: a connection of kombu is this process's use of the broker."""

from __future__ import annotations

import os
import socket
import sys
from contextlib import suppress
from typing import Any

from django.db import InterfaceError, OperationalError, connection
from kombu.exceptions import ChannelError
from kombu.transport.base import Transport as KombuTransport

import broker
from broker.client.celery_transport import ends, queues
from broker.client.celery_transport.channel import Channel
from broker.client.celery_transport.fetching import Fetcher
from broker.client.celery_transport.settling import Settler
from broker.models import Queue

NAME = ends.TRANSPORT
# Steps of a worker that Celery takes only with the transports that it knows.
STEPS = {
    "celery.worker.consumer.mingle": "Mingle",
    "celery.worker.consumer.gossip": "Gossip",
}


class Transport(KombuTransport):  # type: ignore[misc]  # kombu has no types
    """The broker in the database of this Django project. It is its own connection.

    Channels that only publish use the caller's database connection, and so its
    transaction. A connection that consumes has two threads, with connections of their
    own.
    """

    driver_type = NAME
    driver_name = NAME
    connection_errors = (OperationalError, InterfaceError)
    channel_errors = (ChannelError,)
    implements = KombuTransport.implements.extend(
        asynchronous=True,
        exchange_type=frozenset(["direct", "topic", "fanout"]),
        heartbeats=False,
    )

    def __init__(self, client: Any, **kwargs: Any) -> None:
        super().__init__(client, **kwargs)
        for module, step in STEPS.items():
            if module in sys.modules:
                getattr(sys.modules[module], step).compatible_transports |= {NAME}
        self.pid = os.getpid()
        self.channels: list[Channel] = []
        self.kinds: dict[str, str] = {}  # types of exchanges, by name
        self.declared: set[str] = set()  # names of queues that clients declared here
        self.exclusive: set[str] = set()  # queues that are deleted with the connection
        # Bindings by name of the temporary queue, to create the queue again with them.
        self.bindings: dict[str, set[tuple[str, str, str]]] = {}
        # A pair of sockets: a byte written to ``bell`` wakes the event loop, if there
        # is one.
        self.alarm: socket.socket | None = None
        self.bell: socket.socket | None = None
        self.settling = Settler()
        self.fetching = Fetcher(self.settling, self.wake)

    def driver_version(self) -> str:
        return broker.__version__

    def as_uri(
        self,
        uri: str,
        include_password: bool = False,  # noqa: FBT001, FBT002
        mask: str = "**",
    ) -> str:
        return uri

    def establish_connection(self) -> Transport:
        """Check that the database can be reached.

        Raises:
            OperationalError: it cannot.
        """
        if not connection.in_atomic_block:
            connection.close_if_unusable_or_obsolete()
        connection.ensure_connection()
        return self

    @property
    def is_inherited(self) -> bool:
        """Whether this is a child process of the one that connected."""
        return self.pid != os.getpid()

    def verify_connection(self, connection: Transport) -> bool:
        return not self.is_inherited

    def create_channel(self, connection: Transport) -> Channel:
        channel = Channel(connection)
        self.channels.append(channel)
        return channel

    def close_channel(self, channel: Channel) -> None:
        with suppress(ValueError):
            self.channels.remove(channel)

    def close_connection(self, connection: Transport) -> None:
        """Close all channels, settle what they ended, and delete exclusive queues. A
        child process leaves all that to its parent."""
        if not self.is_inherited:
            for channel in list(self.channels):
                channel.close()
            self.settling.flush()
            self.fetching.stop()
            for queue in Queue.objects.filter(name__in=self.exclusive):
                queues.delete(queue)
            self.exclusive.clear()
        for end in (self.alarm, self.bell):
            if end is not None:
                end.close()

    # Deliveries.

    def wake(self) -> None:
        """Wake the event loop; called in the thread that fetches."""
        if self.bell is not None:
            with suppress(OSError):  # the socket is full, or closed
                self.bell.send(b"\0")

    def drain_events(self, connection: Transport, timeout: float | None = None) -> None:
        """Wait for a message; deliver it, and what else has come.

        Raises:
            TimeoutError: none came in time.
        """
        found = self.fetching.take(timeout)
        if found is None:
            raise TimeoutError
        while found is not None:
            consumer, delivery = found
            consumer.deliver(consumer, delivery)
            found = self.fetching.take(0)

    def register_with_event_loop(self, connection: Transport, loop: Any) -> None:
        self.alarm, self.bell = socket.socketpair()
        self.alarm.settimeout(0)
        self.bell.settimeout(0)
        loop.add_reader(self.alarm, self.on_readable, connection, loop)

    def unregister_from_event_loop(self, connection: Transport, loop: Any) -> None:
        loop.remove_reader(self.alarm)

    def on_readable(self, connection: Transport, loop: Any) -> None:
        """Deliver what has come; called by the event loop."""
        assert self.alarm is not None, "it was registered"
        with suppress(BlockingIOError):
            self.alarm.recv(4096)
        with suppress(TimeoutError):
            self.drain_events(connection, timeout=0)
