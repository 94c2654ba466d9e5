"""Ports to listen on, and their URLs."""

from __future__ import annotations

import socket
from contextlib import suppress

TRIES = 20  # ports to try, beginning with the wanted port


class PortTaken(OSError):
    """The port is in use by another process, or needs more rights."""

    def __init__(self, host: str, port: int) -> None:
        super().__init__(host, port)
        self.host, self.port = host, port

    def __str__(self) -> str:
        return f"Port {self.port} of {self.host} is in use, or needs more rights."


def free(host: str, port: int, *, is_fixed: bool) -> int:
    """A free port.

    Args:
        host: an address of this machine.
        port: the wanted port; 0 is any.
        is_fixed: whether only the wanted port will do.

    Raises:
        PortTaken: there is none.
        OSError: the host is no address of this machine.
    """
    for one in range(port, port + 1 if is_fixed else port + TRIES):
        with suppress(PortTaken), bound(host, one) as probe:
            return int(probe.getsockname()[1])
    raise PortTaken(host, port)


def bound(host: str, port: int, *, is_shared: bool = False) -> socket.socket:
    """A socket bound to a port; it does not listen.

    Args:
        host: an address of this machine.
        port: the port; 0 is any.
        is_shared: whether other sockets may bind it too (SO_REUSEPORT).

    Raises:
        PortTaken: another process has it.
        OSError: the host is no address of this machine.
    """
    kind, place = address(host, port)
    made = socket.socket(kind, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if is_shared:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        made.bind(place)
    except OSError as error:
        made.close()
        raise PortTaken(host, port) from error
    return made


def address(host: str, port: int) -> tuple[socket.AddressFamily, tuple[object, ...]]:
    flags = socket.AI_PASSIVE
    found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=flags)
    kind, _, _, _, place = found[0]
    return kind, place


def reachable(host: str) -> str:
    """The host for clients on this machine; a wildcard address becomes loopback."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(host, host)  # noqa: S104


def url(scheme: str, host: str, port: int | str) -> str:
    """The URL for clients on this machine."""
    host = reachable(host)
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"
