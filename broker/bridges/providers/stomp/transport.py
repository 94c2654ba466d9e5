"""stomp.py's transport, with corrections.

The original hides why a connection fails; loops without end after a TLS connection is
closed; blocks for ever when the server does not read; and leaves a thread running when
another thread closes the connection.
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

CHUNK = 2**16  # most bytes to read at once
# Lines that servers send between frames, and as heartbeats.
BLANK_LINES = (b"\n", b"\r\n")
WAIT_TO_WRITE = "ll"  # struct timeval: seconds and microseconds

# stomp.py's errors are raised anyway, and logged frames would show passwords.
logging.getLogger("stomp.py").setLevel(logging.CRITICAL)


class Transport(stomp.transport.Transport):  # type: ignore[misc]  # has no types
    """A socket, and stomp.py's thread that reads it."""

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
        """Connect once; the link repeats failed attempts.

        Raises:
            OSError: the server does not answer, or its certificate is not trusted.
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
        raw.settimeout(0)  # one thread reads and writes, as OpenSSL requires
        self.blocking = False
        self.send_queue = PollableQueue()
        self.sel = selectors.DefaultSelector()
        self.sel.register(self.send_queue, selectors.EVENT_READ)
        self.sel.register(raw, selectors.EVENT_READ)

    def is_connected(self) -> bool:
        """Whether the transport is connected."""
        return bool(self.connected)

    def receive(self) -> bytes:
        """The available bytes; no bytes once the server has closed the connection."""
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
        """Close the connection, from any thread; the reading thread cleans up."""
        self.running = False
        if (ended := self.socket) is not None:
            with suppress(OSError):
                socket.socket.shutdown(ended, socket.SHUT_RDWR)
