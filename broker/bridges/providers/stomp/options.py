"""Options of a STOMP connection factory, parsed and checked.

===================  =========  ======================================================
property             default    meaning
===================  =========  ======================================================
``queue-prefix``     /queue/    prefix of queue names
``topic-prefix``     /topic/    prefix of topic names
``heartbeat``        10         seconds between heartbeats, both ways; 0: none
``reply-timeout``    60         seconds to wait for a receipt before the connection is
                                taken for lost
``ca-file``          system's   CA certificates for ``stomps://``, in PEM
``maps``             yes        ``no``: for an ActiveMQ without XStream, which breaks
                                the connection when asked for maps
===================  =========  ======================================================

The path of the URL is the virtual host, by default ``/``:
``stomp://host:61613/orders``.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from broker.bridges.providers.interface import Destination, Factory
from broker.errors.bridges import WrongFactory

USUAL: Mapping[str, str] = {
    "queue-prefix": "/queue/",
    "topic-prefix": "/topic/",
    "heartbeat": "10",
    "reply-timeout": "60",
    "ca-file": "",
    "maps": "yes",
}
PORTS = {"stomp": 61613, "stomps": 61614}
SLOWEST = 3600.0  # longest time-out, in seconds


@dataclass(frozen=True, slots=True)
class Options:
    """The parsed options of a connection."""

    factory: Factory
    host: str
    port: int
    virtual_host: str
    queue_prefix: str
    topic_prefix: str
    heartbeat_ms: int
    reply_s: float
    tls: ssl.SSLContext | None
    maps: bool

    @property
    def name(self) -> str:
        """The name of the factory, for errors."""
        return self.factory.name

    @property
    def place(self) -> str:
        """Host and port of the server, for people."""
        return f"{self.host}:{self.port}"

    def named(self, destination: Destination) -> str:
        """The server's name of a destination.

        Raises:
            WrongFactory: the name is invalid for every server.
        """
        name = destination.name
        if not name or not {"\0", "\r", "\n"}.isdisjoint(name):
            why = f"{name!r} is not a name of a destination. Correct it."
            raise WrongFactory(self.name, why)
        prefix = self.topic_prefix if destination.is_topic else self.queue_prefix
        return prefix + name

    def destination_of(self, said: str, usual: Destination) -> Destination:
        """The destination for a server's name; ``usual`` if the name has no known
        prefix."""
        prefixes = {self.queue_prefix: False, self.topic_prefix: True}
        for prefix, is_topic in prefixes.items():
            if prefix and said.startswith(prefix) and len(said) > len(prefix):
                return Destination(said.removeprefix(prefix), is_topic)
        return usual


def options_of(factory: Factory) -> Options:
    """Parse the options of a factory.

    Raises:
        WrongFactory: the factory has an invalid value.
    """
    url = urlsplit(factory.url)
    if url.scheme not in PORTS or not url.hostname:
        raise wrong(factory, f"{factory.url!r} is not a URL like stomp://host:61613")
    if url.username or url.password:
        why = "Its URL has a name or a password. Use the fields for them"
        raise wrong(factory, why)
    if url.query or url.fragment:
        why = "Its URL may have a host, a port and a virtual host only"
        raise wrong(factory, why)
    check_texts(factory)
    said = {**USUAL, **factory.properties}
    if unknown := said.keys() - USUAL:
        known = ", ".join(USUAL)
        why = f"There is no property {min(unknown)!r}. These exist: {known}"
        raise wrong(factory, why)
    if said["maps"] not in ("yes", "no"):
        raise wrong(factory, f"maps must be yes or no, not {said['maps']!r}")
    return Options(
        factory,
        url.hostname,
        url.port or PORTS[url.scheme],
        unquote(url.path[1:]) or "/",
        said["queue-prefix"],
        said["topic-prefix"],
        int(seconds(factory, "heartbeat", said, least=0) * 1000),
        seconds(factory, "reply-timeout", said, least=0.1),
        context(factory, said["ca-file"]) if url.scheme == "stomps" else None,
        said["maps"] == "yes",
    )


def check_texts(factory: Factory) -> None:
    """Refuse line ends: CONNECT has no escapes, so a line end would begin a new
    header."""
    fields = {
        "user name": factory.username,
        "password": factory.password,
        "client id": factory.client_id,
        "URL": unquote(factory.url),
    }
    for name, value in fields.items():
        if not {"\0", "\r", "\n"}.isdisjoint(value):
            raise wrong(factory, f"Its {name} has a line end or a NUL. Remove it")


def seconds(
    factory: Factory, name: str, said: Mapping[str, str], *, least: float
) -> float:
    try:
        value = float(said[name])
    except ValueError:
        value = -1.0
    if not least <= value <= SLOWEST:
        why = (
            f"{name} must be a number of seconds from {least:g} to {SLOWEST:g}, not"
            f" {said[name]!r}"
        )
        raise wrong(factory, why)
    return value


def context(factory: Factory, ca_file: str) -> ssl.SSLContext:
    """The TLS context that verifies the server's certificate and host name."""
    try:
        return ssl.create_default_context(cafile=ca_file or None)
    except (OSError, ssl.SSLError) as error:
        why = f"The certificates of ca-file cannot be read: {error}"
        raise wrong(factory, why) from error


def wrong(factory: Factory, why: str) -> WrongFactory:
    return WrongFactory(factory.name, f"{why}.")
