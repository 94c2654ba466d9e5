"""Features of other brokers that this broker lacks, with the reason and what to do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from broker.formats.inventory import BY_HAND


class NotHere(NamedTuple):
    """An element that is not converted, and why."""

    why: str  # the reason and what to do, as a sentence
    # Values that ask for what this broker always does; they need no warning.
    same: frozenset[str] = frozenset()


def rows(why: str, names: Iterable[str], *same: str) -> Iterator[tuple[str, NotHere]]:
    return ((name, NotHere(why, frozenset(same))) for name in names)


UNKNOWN = NotHere(f"It is not known here; nothing was made of it. {BY_HAND}")
ON_DISK = (
    "All messages are on the disk here, so there is no paging. To limit a queue, give"
    " it a max_depth: a put to a full queue is refused."
)
KEEPS_ALL = "A queue keeps each message here until it is consumed, expires or dies."
GROUPS = "There are no message groups here. For order, let one consumer get."
CONSUMERS = "There is no such rule for consumers here: decide how many you start."
SLOW = "Slow consumers are not disconnected here. Make an alert on depth or age."
STORE = "PostgreSQL keeps the messages here; there is nothing to do."
PROCESS = "It concerns the processes of the other broker; there is nothing to do."
CLUSTER = (
    "All processes share one database here, and PostgreSQL is replicated: see"
    " docs/deployment.md."
)
MANAGED = "See docs/metrics.md, docs/rest.md and docs/console.md."
WHO = "Users and their rights are those of Django: see docs/rights.md."
LINK = "Make it a link of a bridge (docs/bridges.md)."
CODE = "It is Java. See docs/transformers.md, and handlers in docs/tutorial.md."
CLIENTS = "Clients connect by AMQP 1.0, or HTTP: see docs/amqp.md and docs/rest.md."
ENDPOINT = (
    "Set BROKER_AMQP_HOST and BROKER_AMQP_PORT; for TLS, BROKER_AMQP_CERTIFICATE. A"
    " client with another protocol needs an AMQP 1.0 client (docs/amqp.md)."
)
