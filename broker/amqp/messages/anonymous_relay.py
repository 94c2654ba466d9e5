"""Resolution of the target that a producer or message names, cached briefly."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal, NamedTuple

from broker.amqp.protocol import conditions as c
from broker.amqp.protocol.conditions import AmqpError
from broker.amqp.protocol.sections import map_of, properties_of, split
from broker.config.names import WITHIN, address_of, local_queue
from broker.errors import BrokerError, NoSuchAddress, NoSuchQueue
from broker.models import Queue, RoutingType

KNOWN_S = 2.0
MOST = 10_000  # most cached names
# Most characters of a name. The longest is ``address::queue``, with 255 for each part.
LONGEST = 600
URL = re.compile(r"amqps?://[^/]*/(?=.)", re.IGNORECASE)


Kind = Literal["queue", "topic"] | None  # the kind of destination that the client means
KINDS: dict[object, Kind] = {0: "queue", 1: "topic", 2: "queue", 3: "topic"}
# Annotation of JMS clients: the kind of the destination in ``to``.
DESTINATION = "x-opt-jms-dest"
NO_TO = "Each message must say its address in “to”: this link has no target address."


class RelayTarget(NamedTuple):
    """The target of messages."""

    address: str
    # Name on which the client needs the authority to put; None: no authority is needed.
    needs: str | None
    # Type of the queues to reach; None: all queues.
    routing_type: RoutingType | None = None


class Meant(NamedTuple):
    """A name, and the kind of destination that the client means by it."""

    name: str
    kind: Kind = None


def bare(name: str) -> str:
    """A name without the scheme and host that some clients prefix."""
    return URL.sub("", name, count=1)


def checked(name: str) -> str:
    """A name, checked for its length and NUL characters.

    Raises:
        NoSuchAddress: no address or queue can have this name.
    """
    if len(name) > LONGEST or "\0" in name:
        raise NoSuchAddress(name[:100])
    return name


def meant_by(payload: bytes) -> Meant:
    """The destination that a message names in its ``to`` property.

    Raises:
        AmqpError: the message cannot be decoded, or has no ``to``.
        NoSuchAddress: no address or queue can have this name.

    Source:
        "AMQP JMS Mapping": the annotation of messages sent on an anonymous link.
    """
    sections = split(payload)
    named = properties_of(sections.properties).to if sections.properties else None
    if not named:
        raise AmqpError(c.PRECONDITION_FAILED, NO_TO)
    annotations = map_of(sections.annotations) if sections.annotations else {}
    kind = annotations.get(DESTINATION)
    return Meant(
        checked(bare(str(named))), KINDS.get(kind) if isinstance(kind, int) else None
    )


def look_up(meant: Meant) -> RelayTarget | BrokerError:
    """Like ``place_of``, but return the error instead of raising it, for the cache."""
    try:
        return place_of(meant)
    except BrokerError as error:
        return error


def place_of(meant: Meant) -> RelayTarget:
    """The target of a producer's destination.

    A message to a topic reaches multicast queues only. A message to a queue reaches
    anycast queues only, if the address has one.

    Args:
        meant: the name of an address or queue (also ``address::queue``), or an alias
            of either.

    Raises:
        NoSuchAddress: the name is none of these.

    Source:
        JMS 2.0: a queue and a topic of the same name have nothing in common.
    """
    name = meant.name
    try:
        queue: Queue | None = local_queue(name)
    except NoSuchQueue:
        queue = None
    if queue is not None and WITHIN in name:
        address = queue.address.name
    else:
        address = address_of(name)
    needs = address if queue is None else queue.name
    return RelayTarget(address, needs, routing_type_of(address, meant.kind))


def routing_type_of(address: str, kind: Kind) -> RoutingType | None:
    if kind == "topic":
        return RoutingType.MULTICAST
    queues = Queue.objects.filter(address__name=address)
    if kind == "queue" and queues.filter(routing_type=RoutingType.ANYCAST).exists():
        return RoutingType.ANYCAST
    return None


class Places:
    """Cache of resolved names; for the loop's thread.

    A put to an address deleted meanwhile is still refused.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self.known: dict[Meant, tuple[RelayTarget | BrokerError, float]] = {}

    def find(self, meant: Meant) -> RelayTarget | BrokerError | None:
        """The cached target or error of a name; None if it must be looked up."""
        found = self.known.get(meant)
        if found is None or found[1] < self.clock():
            return None
        return found[0]

    def note(self, meant: Meant, found: RelayTarget | BrokerError) -> None:
        if len(self.known) >= MOST:
            self.known.clear()
        self.known[meant] = (found, self.clock() + KNOWN_S)
