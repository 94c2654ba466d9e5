"""POST to addresses that people typed, without reaching into the own network (SSRF).

The name is resolved once, every address is checked, and the connection goes to a
checked address: a name that resolves to something else later changes nothing. Redirects
are not followed, proxies are not used, and time and size are limited.

Source:
    OWASP, "Server-Side Request Forgery Prevention Cheat Sheet".
"""

from __future__ import annotations

import http.client
import ipaddress
import socket
import ssl
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, urlsplit

from django.conf import settings

from broker.errors.alerts import AddressRefused, NotDelivered

LIMIT_S = 10.0  # time for connecting, sending and reading together
MOST_READ = 16 * 1024  # most bytes of an answer that are read
MOST_SHOWN = 200  # most characters of an answer that are shown
NAT64 = ipaddress.ip_network("64:ff9b::/96")
Address = ipaddress.IPv4Address | ipaddress.IPv6Address
LATE = f"no answer within {LIMIT_S:.0f} seconds"
NOT_PUBLIC = (
    "{host} is at {address}, which is not a public address. Notifications go to the"
    " public internet, and to networks in BACKOUT_ALERT_NETWORKS."
)


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """What the other side answered."""

    status: int
    text: str

    def __str__(self) -> str:
        said = f": {self.text}" if self.text else "."
        return f"It answered {self.status}{said}"


def post(url: str, body: bytes, headers: Mapping[str, str]) -> HttpAnswer:
    """POST a body, and return an answer of success.

    Raises:
        AddressRefused: the URL, or an address that its name has, is not allowed.
        NotDelivered: there was no answer in time, or one that is no success. It names
            the host, but not the URL, which may be a secret.
    """
    parts = checked(url)
    port = parts.port or ports()[parts.scheme]
    connection = PinnedConnection(parts, resolve(str(parts.hostname), port), port)
    path = parts.path or "/"
    target = f"{path}?{parts.query}" if parts.query else path
    try:
        with connection:
            connection.request("POST", target, body, dict(headers))
            with connection.getresponse() as response:
                answer = judged(response, connection.host)
            # The timer has closed the socket: an incomplete answer may look complete.
            if connection.was_cut:
                raise TimeoutError
            return answer
    except (OSError, http.client.HTTPException) as error:
        why = LATE if connection.was_cut else reason_of(error)
        raise NotDelivered(f"{connection.host} did not take it: {why}.") from None


class PinnedConnection(http.client.HTTPConnection):
    """A connection to an address that was checked, ended after ``LIMIT_S``.

    Each operation of a socket has a time limit of its own, so a side that sends single
    bytes could go on for ever. A timer therefore shuts the socket down.
    """

    def __init__(self, parts: SplitResult, address: str, port: int) -> None:
        super().__init__(str(parts.hostname), port, timeout=LIMIT_S)
        # http.client leaves the default port out of the header Host.
        self.default_port = ports()[parts.scheme]
        self.address = address
        self.is_tls = parts.scheme == "https"
        self.was_cut = False
        self.timer = threading.Timer(LIMIT_S, self.cut)
        self.timer.daemon = True

    def __enter__(self) -> PinnedConnection:
        self.timer.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self.timer.cancel()
        self.close()

    def connect(self) -> None:
        self.sock = socket.create_connection((self.address, self.port), LIMIT_S)
        if self.is_tls:
            context = ssl.create_default_context()
            self.sock = context.wrap_socket(
                self.sock, server_hostname=self.host, do_handshake_on_connect=False
            )
            self.sock.do_handshake()

    def cut(self) -> None:
        self.was_cut = True
        if self.sock is not None:
            # ``SSLSocket.shutdown`` would also drop the TLS state, which another thread
            # uses.
            with suppress(OSError):
                socket.socket.shutdown(self.sock, socket.SHUT_RDWR)


def checked(url: str) -> SplitResult:
    """The parts of a URL that may be used.

    Raises:
        AddressRefused: it may not.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise AddressRefused("This is not a valid URL.") from None
    if parts.scheme not in ports():
        raise AddressRefused(
            "Give a URL with https. http is possible only with BACKOUT_ALERT_HTTP."
        )
    if not parts.hostname or port == 0:
        raise AddressRefused("Give a URL with a host.")
    if parts.username is not None or parts.password is not None:
        raise AddressRefused("Give a URL without user and password.")
    if not url.isascii() or not url.isprintable() or " " in url:
        raise AddressRefused("Give a URL of ASCII characters without spaces.")
    return parts


def ports() -> dict[str, int]:
    """The default ports of the allowed schemes."""
    return {"https": 443, **({"http": 80} if settings.BACKOUT_ALERT_HTTP else {})}


def resolve(host: str, port: int) -> str:
    """An address of a host, all of whose addresses are allowed.

    Raises:
        AddressRefused: one of them is not.
        NotDelivered: the name is unknown.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise NotDelivered(f"The name {host} cannot be resolved.") from None
    addresses = [str(info[4][0]) for info in found]
    for one in addresses:
        if not is_allowed(one):
            raise AddressRefused(NOT_PUBLIC.format(host=host, address=one))
    return addresses[0]


def is_allowed(text: str) -> bool:
    """Whether notifications may go to an IP address: a public one, or one of a network
    in ``BACKOUT_ALERT_NETWORKS``."""
    address = plain(ipaddress.ip_address(text.partition("%")[0]))
    networks = map(ipaddress.ip_network, settings.BACKOUT_ALERT_NETWORKS)
    if any(address in one for one in networks):
        return True
    return address.is_global and not (
        address.is_multicast or address.is_reserved or address.is_unspecified
    )


def plain(address: Address) -> Address:
    """The IPv4 address within an IPv6 address, if it has one."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    teredo = address.teredo[1] if address.teredo else None
    return address.ipv4_mapped or address.sixtofour or teredo or address


def judged(response: http.client.HTTPResponse, host: str) -> HttpAnswer:
    """An answer of success.

    Raises:
        NotDelivered: it is none. A refusal of the request itself is permanent.
    """
    status = response.status
    text = response.read(MOST_READ).decode(errors="replace")
    answer = HttpAnswer(status, " ".join(text.split())[:MOST_SHOWN])
    if 200 <= status < 300:
        return answer
    if 300 <= status < 400:
        why = f"{host} answered {status}, a redirect, which is not followed."
        raise NotDelivered(why, permanent=True)
    permanent = 400 <= status < 500 and status not in (401, 403, 408, 425, 429)
    raise NotDelivered(f"{host}: {answer}", permanent=permanent)


def reason_of(error: Exception) -> str:
    """Why a connection failed, in a few words."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not valid ({error.verify_message})"
    if isinstance(error, TimeoutError):
        return LATE
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return "it closed the connection"
