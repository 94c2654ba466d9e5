"""How the servers that speak STOMP differ, where the standard says nothing."""

from __future__ import annotations

from dataclasses import dataclass

from broker.bridges.providers.interface import Capability

ALWAYS = Capability.TOPICS | Capability.DURABLE


@dataclass(frozen=True, slots=True)
class Dialect:
    """What one kind of server does.

    Args:
        length_means_bytes: a body with a ``content-length`` is no text there.
        maps: map messages come and go as XML (``transformation: jms-map-xml``).
        java_text: texts are kept as Java writes them, which is not quite UTF-8.
        expires: the header of the moment when a message expires; empty: it knows only
            the rest of the time to live, in the header ``expiration``.
        header_bytes: what a header may take, with its name; longer ones would end the
            connection.
        headers: how many a message may have, likewise.
        returns_early: who unsubscribes gives back what was not acknowledged; else
            only who disconnects.
        commit_tells: a SEND without a receipt that it refused makes the COMMIT fail. It
            writes to its disk for each receipt: 100 sent for one are ten times as fast.
        hides_group: JMSXGroupID is not among the headers of what it gives.
        goes_on: an ERROR that answers nothing is not the end of the connection.
        durable_by: the header that names a durable subscription; empty: ``id`` does.
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
# Its transactions are frames that wait for their COMMIT, and then go one by one.
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
