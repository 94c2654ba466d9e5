"""A port for a server that is started in a while, with nobody else on it meanwhile."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager

HOST = "127.0.0.1"


@contextmanager
def kept_port() -> Iterator[int]:
    """Bound, so that nobody is given it; not listened on, so that servers can be."""
    with socket.socket() as keeper:
        keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        keeper.bind((HOST, 0))
        yield int(keeper.getsockname()[1])
