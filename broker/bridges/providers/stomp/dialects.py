"""Dialects: differences of STOMP servers that the standard leaves open."""

from __future__ import annotations

from dataclasses import dataclass

from broker.bridges.providers.interface import Capability

ALWAYS = Capability.TOPICS | Capability.DURABLE


@dataclass(frozen=True, slots=True)
class Dialect:
    """The behaviour of one kind of server.

    Args:
        length_means_bytes: a body with a ``content-length`` is a bytes message.
        maps: map messages are XML (``transformation: jms-map-xml``).
        java_text: texts are stored in Java's modified UTF-8.
        expires: the header of the expiry time; empty: it only has the remaining time
            to live, in the header ``expiration``.
        header_bytes: limit of a header with its name; a longer one would end the
            connection.
        headers: limit of the number of headers; more would end the connection.
        returns_early: UNSUBSCRIBE gives unacknowledged messages back; else only
            DISCONNECT does.
        commit_tells: a refused SEND without a receipt makes the COMMIT fail. The server
            writes to disk for each receipt: 100 sends with one are ten times as fast.
        hides_group: it does not send JMSXGroupID to consumers.
        goes_on: an ERROR without a receipt id does not end the connection.
        durable_by: the header that names a durable subscription; empty: ``id``.
    """

    name: str
    capabilities: Capability
    length_means_bytes: bool = True
    maps: bool = False
    java_text: bool = False
    expires: str = "expires"
    header_bytes: int = 2**16
    headers: int = 1000
    returns_early: bool = True
    commit_tells: bool = False
    hides_group: bool = False
    goes_on: bool = False
    durable_by: str = "durable-subscription-name"


OTHER = Dialect(
    "another server", ALWAYS | Capability.TRANSACTIONS | Capability.SELECTORS
)
ARTEMIS = Dialect("Artemis", OTHER.capabilities)
ACTIVEMQ = Dialect(
    "ActiveMQ",
    OTHER.capabilities,
    maps=True,
    java_text=True,
    header_bytes=10_240,
    commit_tells=True,
    hides_group=True,
    goes_on=True,
    durable_by="activemq.subscriptionName",
)
# RabbitMQ has no real transactions: it buffers frames until COMMIT, then handles them
# one after the other.
RABBITMQ = Dialect(
    "RabbitMQ",
    ALWAYS,
    length_means_bytes=False,
    expires="",
    returns_early=False,
    durable_by="",
)
KNOWN = (
    ("ActiveMQ-Artemis", ARTEMIS),
    ("ActiveMQ", ACTIVEMQ),
    ("RabbitMQ", RABBITMQ),
)


def dialect_of(server: str) -> Dialect:
    """The dialect of a server.

    Args:
        server: the header of its CONNECTED frame, as ``ActiveMQ/5.17.2``.
    """
    return next((one for name, one in KNOWN if server.startswith(name)), OTHER)
