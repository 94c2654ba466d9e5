"""Which address a producer means, remembered for a few seconds."""

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
MOST = 10_000  # names that are remembered
LONGEST = 600  # characters of a name; an address and a queue have 255 each
URL = re.compile(r"amqps?://[^/]*/(?=.)", re.IGNORECASE)


Kind = Literal["queue", "topic"] | None  # as the client understands a name
KINDS: dict[object, Kind] = {0: "queue", 1: "topic", 2: "queue", 3: "topic"}
DESTINATION = "x-opt-jms-dest"  # how JMS says what ``to`` is
NO_TO = "Say in each message where it goes to: this endpoint has no address."


class RelayTarget(NamedTuple):
    """Where messages go."""

    address: str
    needs: str | None  # the name that the authority to put is about; None: none
    routing_type: RoutingType | None = None  # of the queues to reach; None: all


class Meant(NamedTuple):
    """A name, and what its client takes it for."""

    name: str
    kind: Kind = None


def bare(name: str) -> str:
    """A name without the scheme and host that some clients put before it."""
    return URL.sub("", name, count=1)


def checked(name: str) -> str:
    """A name that something can have.

    Raises:
        NoSuchAddress: nothing can.
    """
    if len(name) > LONGEST or "\0" in name:
        raise NoSuchAddress(name[:100])
    return name


def meant_by(payload: bytes) -> Meant:
    """Where a message says it goes.

    Raises:
        AmqpError: it cannot be read, or does not say.
        NoSuchAddress: nothing can have such a name.

    Source:
        "AMQP JMS Mapping": the annotation of messages without a destination's own link.
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
    """As ``place_of``; why it means nothing is its answer, too."""
    try:
        return place_of(meant)
    except BrokerError as error:
        return error


def place_of(meant: Meant) -> RelayTarget:
    """Where a producer sends whose destination has this name.

    What is sent to a topic reaches those alone who each get it, and what is sent to a
    queue those who do not, if the address feeds such a one.

    Args:
        meant: the name of an address, of a queue (also with its address,
            ``address::queue``), or an alias of either.

    Raises:
        NoSuchAddress: it is none of these.

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
    """What names meant a moment ago; for the loop's thread.

    A put to an address that is gone since is refused all the same.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self.known: dict[Meant, tuple[RelayTarget | BrokerError, float]] = {}

    def find(self, meant: Meant) -> RelayTarget | BrokerError | None:
        """What a name means, or why it means nothing; None if it must be asked."""
        found = self.known.get(meant)
        if found is None or found[1] < self.clock():
            return None
        return found[0]

    def note(self, meant: Meant, found: RelayTarget | BrokerError) -> None:
        if len(self.known) >= MOST:
            self.known.clear()
        self.known[meant] = (found, self.clock() + KNOWN_S)
