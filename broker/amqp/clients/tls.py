"""TLS: the server's certificate, and connections during their handshake."""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from django.conf import settings

from broker.amqp.clients.client import Client

if TYPE_CHECKING:
    from broker.amqp.listener import Listener


@dataclass(frozen=True, slots=True)
class Certificates:
    """Paths of PEM files. Without a certificate there is no TLS."""

    certificate: Path
    key: Path
    # CA of client certificates; None: client certificates are not accepted.
    client_ca: Path | None = None

    @classmethod
    def from_settings(cls) -> Certificates | None:
        """The files that the settings name; None if they name no certificate."""
        if not settings.BROKER_AMQP_CERTIFICATE:
            return None
        certificate = Path(settings.BROKER_AMQP_CERTIFICATE)
        client_ca = settings.BROKER_AMQP_CLIENT_CA
        return cls(
            certificate,
            Path(settings.BROKER_AMQP_KEY or certificate),
            Path(client_ca) if client_ca else None,
        )

    def context(self) -> ssl.SSLContext:
        """The TLS context of a server: TLS 1.2 and later.

        Raises:
            OSError: a file cannot be read, or has wrong contents.
        """
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(self.certificate, self.key)
        if self.client_ca is not None:
            context.load_verify_locations(self.client_ca)
            context.verify_mode = ssl.CERT_OPTIONAL
        return context


class Doorstep(asyncio.Protocol):
    """A connection that is counted, but not a client yet.

    It waits for the TLS handshake, with the login's timeout; then it starts the client.
    """

    def __init__(self, listener: Listener, context: ssl.SSLContext) -> None:
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
        # No TLS, a bad certificate, a time-out, or a client that has disconnected.
        except (OSError, EOFError):
            raw.abort()
            self.listener.dismiss(self.client)
            return
        assert encrypted is not None, "the client is here"
        self.client.connection_made(encrypted)
