"""A connection during its TLS handshake: counted, but not a client yet."""

from __future__ import annotations

import asyncio
import ssl
from functools import partial
from typing import cast

from broker.amqp.clients.client import Client
from broker.amqp.clients.interfaces import ClientListener


class Doorstep(asyncio.Protocol):
    """Waits for the TLS handshake, with the login's timeout; then starts the client."""

    def __init__(
        self, listener: ClientListener[Client], context: ssl.SSLContext
    ) -> None:
        self.listener = listener
        self.context = context
        self.client = Client(listener, is_encrypted=True)
        self.task: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        raw = cast(asyncio.Transport, transport)
        if not self.listener.admit(self.client, raw):
            raw.close()
            return
        raw.pause_reading()  # the next bytes belong to the handshake
        begin = partial(self.begin, raw)
        if self.listener.line.join(self.client, raw, begin):
            begin()

    def connection_lost(self, exc: Exception | None) -> None:
        if self.task is None:
            self.listener.dismiss(self.client)

    def begin(self, raw: asyncio.Transport) -> None:
        if not raw.is_closing():
            self.task = self.listener.loop.create_task(self.shake_hands(raw))

    async def shake_hands(self, raw: asyncio.Transport) -> None:
        try:
            encrypted = await self.listener.loop.start_tls(
                raw,
                self.client,
                self.context,
                server_side=True,
                ssl_handshake_timeout=self.listener.limits.login_timeout_s,
            )
        except (OSError, EOFError):  # no TLS, a bad certificate, time-out, or gone
            raw.abort()
            self.listener.dismiss(self.client)
            return
        assert encrypted is not None, "the client is here"
        self.client.connection_made(encrypted)
