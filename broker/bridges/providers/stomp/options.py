"""A connection factory of STOMP, read and checked.

===================  =========  ======================================================
property             usual      what it is
===================  =========  ======================================================
``queue-prefix``     /queue/    before the name of a queue
``topic-prefix``     /topic/    before the name of a topic
``heartbeat``        10         seconds between signs of life, both ways; 0: none
``reply-timeout``    60         seconds to wait for a receipt before the connection is
                                taken for lost
``ca-file``          system's   whom to trust for ``stomps://``: certificates in PEM
``maps``             yes        ``no``: an ActiveMQ without XStream, which breaks the
                                connection when asked for maps
===================  =========  ======================================================

The path of the URL is the virtual host, ``/`` without one: ``stomp://host:61613/orders``.
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
SLOWEST = 3600.0  # seconds


@dataclass(frozen=True, slots=True)
class Options:
    """What a connection needs to know."""

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
        """Of the factory, for errors."""
        return self.factory.name

    @property
    def place(self) -> str:
        """Where the server is, for people."""
        return f"{self.host}:{self.port}"

    def named(self, destination: Destination) -> str:
        """A destination as the server names it.

        Raises:
            WrongFactory: no server could have one with this name.
        """
        name = destination.name
        if not name or not {"\0", "\r", "\n"}.isdisjoint(name):
            why = f"{name!r} is no name of a destination. Correct it."
            raise WrongFactory(self.name, why)
        prefix = self.topic_prefix if destination.is_topic else self.queue_prefix
        return prefix + name

    def destination_of(self, said: str, usual: Destination) -> Destination:
        """The destination that a server names; the usual, where that says nothing."""
        prefixes = {self.queue_prefix: False, self.topic_prefix: True}
        for prefix, is_topic in prefixes.items():
            if prefix and said.startswith(prefix) and len(said) > len(prefix):
                return Destination(said.removeprefix(prefix), is_topic)
        return usual


def options_of(factory: Factory) -> Options:
    """
    Raises:
        WrongFactory: something in it cannot be used.
    """
    url = urlsplit(factory.url)
    if url.scheme not in PORTS or not url.hostname:
        raise wrong(factory, f"{factory.url!r} is no URL like stomp://host:61613")
    if url.username or url.password:
        why = "Its URL has a name or a password; they have fields of their own"
        raise wrong(factory, why)
    if url.query or url.fragment:
        raise wrong(factory, "Its URL has more than a host, a port and a virtual host")
    check_texts(factory)
    said = {**USUAL, **factory.properties}
    if unknown := said.keys() - USUAL:
        known = ", ".join(USUAL)
        why = f"There is no property {min(unknown)!r}; these exist: {known}"
        raise wrong(factory, why)
    if said["maps"] not in ("yes", "no"):
        raise wrong(factory, f"maps is yes or no, and not {said['maps']!r}")
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
    """Nothing in the frame that logs in is escaped: a line end would begin a header."""
    fields = {
        "user name": factory.username,
        "password": factory.password,
        "client id": factory.client_id,
        "URL": unquote(factory.url),
    }
    for name, value in fields.items():
        if not {"\0", "\r", "\n"}.isdisjoint(value):
            raise wrong(factory, f"Its {name} has a line end or a NUL, as none can")


def seconds(
    factory: Factory, name: str, said: Mapping[str, str], *, least: float
) -> float:
    try:
        value = float(said[name])
    except ValueError:
        value = -1.0
    if not least <= value <= SLOWEST:
        why = (
            f"{name} is a number of seconds from {least:g} to {SLOWEST:g}, and not"
            f" {said[name]!r}"
        )
        raise wrong(factory, why)
    return value


def context(factory: Factory, ca_file: str) -> ssl.SSLContext:
    """What checks the server's certificate, and that it is of this host."""
    try:
        return ssl.create_default_context(cafile=ca_file or None)
    except (OSError, ssl.SSLError) as error:
        why = f"The certificates of ca-file cannot be read: {error}"
        raise wrong(factory, why) from error


def wrong(factory: Factory, why: str) -> WrongFactory:
    return WrongFactory(factory.name, f"{why}.")
