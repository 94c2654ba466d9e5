"""stomp.py's transport, where it would not tell what a link has to know.

As it is, it hides why nobody answers, takes the end of a TLS connection for a pause and
spins, waits without end to write to a server that no longer reads, and leaves a thread
behind when another ends its connection.
"""

from __future__ import annotations

import logging
import selectors
import socket
import ssl
from contextlib import suppress
from struct import pack

import stomp
from stomp.utils import PollableQueue

from broker.bridges.providers.stomp.options import Options

CHUNK = 2**16  # bytes to read at once
BLANK_LINES = (b"\n", b"\r\n")  # between frames, and as a sign of life
WAIT_TO_WRITE = "ll"  # seconds and microseconds, as the system has them

# What it would log is raised; and where it logs frames, it logs passwords.
logging.getLogger("stomp.py").setLevel(logging.CRITICAL)


class Transport(stomp.transport.Transport):  # type: ignore[misc]  # has no types
    """A connection of bytes, and the thread of stomp.py that reads it."""

    def __init__(self, options: Options) -> None:
        super().__init__(
            [(options.host, options.port)],
            prefer_localhost=False,
            try_loopback_connect=False,
            auto_decode=False,
            vhost=options.virtual_host,
            is_eol_fc=BLANK_LINES.__contains__,
        )
        self.options = options

    def attempt_connection(self) -> None:
        """Connect once; the factory says how often.

        Raises:
            OSError: nobody answers there, or its certificate is not trusted.
        """
        options = self.options
        timeout_s = options.factory.connect_timeout_s
        at = options.host, options.port
        self.running = True
        self.current_host_and_port = at
        raw = socket.create_connection(at, timeout_s)
        try:
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            if options.tls is not None:
                raw = options.tls.wrap_socket(raw, server_hostname=options.host)
        except BaseException:
            raw.close()
            raise
        self.socket = raw
        if options.tls is None:
            raw.settimeout(None)
            wait = pack(WAIT_TO_WRITE, int(options.reply_s) + 1, 0)
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, wait)
            return
        raw.settimeout(0)  # its thread reads and writes: OpenSSL allows no other
        self.blocking = False
        self.send_queue = PollableQueue()
        self.sel = selectors.DefaultSelector()
        self.sel.register(self.send_queue, selectors.EVENT_READ)
        self.sel.register(raw, selectors.EVENT_READ)

    def is_connected(self) -> bool:
        """Whether it has logged in and is not lost."""
        return bool(self.connected)

    def receive(self) -> bytes:
        """What has come; nothing, and no more of it, once the other end is gone."""
        try:
            data: bytes = self.socket.recv(CHUNK)
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise
        except (AttributeError, OSError):
            data = b""
        if not data:
            self.running = False
        return data

    def disconnect_socket(self) -> None:
        """End the connection, from any thread; the one that reads tidies up."""
        self.running = False
        if (ended := self.socket) is not None:
            with suppress(OSError):
                socket.socket.shutdown(ended, socket.SHUT_RDWR)
