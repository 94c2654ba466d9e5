"""Queues of RabbitMQ: their addresses, their limits, and arguments without an equal."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from broker.declarations.converters.converted import Converted
from broker.declarations.converters.rabbitmq.definitions import (
    QUORUM,
    STREAM,
    Argument,
    DefinitionRow,
    RabbitDefinitions,
)
from broker.declarations.kinds import QUEUE

MOST = 2**31 - 1  # largest limit of a number of messages
BY_CLIENTS = "amq.gen-"  # prefix of the names of queues that clients make
PREDEFINED = "amq."
SPREADING = {  # types of exchanges that send a message to one of their queues
    *("x-consistent-hash", "x-modulus-hash", "x-random", "x-local-random"),
}
ITS_ADDRESS = "Give the queue an address of its own, which producers send to as well."
CLUSTER = (
    "All processes here share one database, which replicates (docs/deployment.md):"
    " nothing is set for a queue."
)
SAME = {"queue-type", "queue-mode", "queue-version", "dead-letter-strategy"}
NO_EQUAL = {
    "expires": "The queue is deleted there when nobody uses it for this time; here it"
    " stays. Delete it when it is no longer needed.",
    "single-active-consumer": "Several consumers of a queue share its messages here."
    " Run one, or give each a selector.",
    "max-priority": "Each queue has the priorities 0 to 9 here; the highest first."
    " Let producers use these.",
    "max-length-bytes": "A queue has no limit of bytes here. Set max_depth, a number of"
    " messages.",
    "consumer-timeout": "BROKER_TRANSACTION_TIMEOUT_S says how long a unit of work may"
    " take, for all queues.",
    "max-age": "What is read of a stream stays there; here a message ends when it is"
    " accepted. Set message_retention of the address to look at it later.",
    "federation-upstream": "Make it a link of a bridge (docs/bridges.md).",
    "federation-upstream-set": "Make it a link of a bridge (docs/bridges.md).",
}
OF_CLUSTERS = (
    *("ha-", "quorum-", "queue-leader", "queue-master", "max-in-memory", "initial-"),
    *("target-group-size", "stream-initial", "leader-"),
)
OF_STREAMS = "stream-"


@dataclass(slots=True)
class RabbitQueue:
    """A queue of the file."""

    row: DefinitionRow
    name: str
    kind: str  # classic, quorum or stream
    arguments: Mapping[str, Argument]
    bindings: Sequence[DefinitionRow]  # bindings to the exchange that is its address
    other_bindings: Sequence[DefinitionRow]
    exchange: str  # name of that exchange; empty: it has no binding
    address: str = ""

    @property
    def is_left_out(self) -> bool:
        is_exclusive = bool(self.row.values.get("exclusive"))
        return self.row.text("name").startswith(BY_CLIENTS) or is_exclusive


@dataclass(slots=True)
class RabbitQueues:
    """All queues, by name and by address."""

    given: RabbitDefinitions
    found: Converted
    by_name: dict[str, RabbitQueue] = field(default_factory=dict)
    of_address: dict[str, list[RabbitQueue]] = field(
        default_factory=lambda: defaultdict(list)
    )
    # Exchanges that are not predefined, and their types, by name.
    exchanges: dict[str, DefinitionRow] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for one in self.given.exchanges:
            name = one.text("name")
            if name and not name.startswith(PREDEFINED):
                self.exchanges.setdefault(self.given.own_name(one), one)
        for row in self.given.queues:
            queue = self.queue_of(row)
            if queue.name in self.by_name:
                why = "There is another one of this name. Remove one, or rename it."
                self.found.parts.name(why, row.path)
                continue
            self.by_name[queue.name] = queue
            self.of_address[queue.address].append(queue)

    def queue_of(self, row: DefinitionRow) -> RabbitQueue:
        name = self.given.own_name(row)
        kind = self.given.type_of(row)
        by_exchange: dict[str, list[DefinitionRow]] = defaultdict(list)
        for one in self.given.bindings.get(name, ()):
            by_exchange[self.given.name(one, one.text("source"))].append(one)
        ordered = sorted(by_exchange, key=lambda one: (one not in self.exchanges, one))
        exchange = ordered[0] if ordered else ""
        others = [one for key in ordered[1:] for one in by_exchange[key]]
        address = exchange or name
        if not exchange and name in self.exchanges:
            address = f"{name}.queue"
            why = (
                f"An exchange has this name, so the address of the queue is {address}:"
                " let its producers send to that."
            )
            self.found.parts.name(why, (*row.path, "name"))
        arguments = self.given.arguments(row, kind)
        return RabbitQueue(
            row, name, kind, arguments, by_exchange.get(exchange, []), others,
            exchange, address,
        )  # fmt: skip

    def beside(self, one: RabbitQueue) -> list[RabbitQueue]:
        """The other queues of its address."""
        return [each for each in self.of_address[one.address] if each is not one]

    def type_of(self, exchange: str) -> str:
        """The type by which an exchange routes."""
        row = self.exchanges.get(exchange)
        if row is None:  # a predefined exchange, such as amq.topic
            last = exchange.rpartition(".")[2]
            return "headers" if last == "match" else last
        said = row.text("type", "direct")
        delayed = row.pairs("arguments").get("x-delayed-type")
        return str(delayed[0]) if said == "x-delayed-message" and delayed else said


def convert_queues(queues: RabbitQueues, found: Converted) -> None:
    for one in queues.by_name.values():
        if one.is_left_out:
            found.parts.name("Its client makes it again.", one.row.path)
        else:
            convert_queue(one, queues, found)


def convert_queue(one: RabbitQueue, queues: RabbitQueues, found: Converted) -> None:
    row, parts = one.row, found.parts
    values = found.of(QUEUE, one.name, source=(*row.path, "name"))
    in_prefix = queues.given.has_several and row.text("vhost", "/") != "/"
    (parts.take if in_prefix else parts.default)(*row.parts("vhost"))
    if one.address != one.name:
        values["address"] = one.address
    if one.exchange:
        spreads = queues.type_of(one.exchange) in SPREADING
        values["routing_type"] = "anycast" if spreads else "multicast"
    for key, usual, why in (
        ("durable", True, "It is transient there; here it stays, with its messages."),
        (
            "auto_delete",
            False,
            "It is deleted there after its last consumer; here it stays.",
        ),
    ):
        said = row.values.get(key, usual)
        if said == usual:
            parts.default(*row.parts(key))
        else:
            parts.name(why, *row.parts(key))
    parts.default(*row.parts("exclusive", "type"))
    if one.kind == STREAM:
        why = (
            "It is a stream: many read it there, from any place. Here each message is"
            " consumed once. Let each reader subscribe to its address."
        )
        parts.name(why, (*row.path, "name"))
    limit(one, values, queues, found)
    for name, argument in one.arguments.items():
        name_argument(name, argument, one, found)


def limit(
    one: RabbitQueue, values: dict[str, object], queues: RabbitQueues, found: Converted
) -> None:
    """The most messages of a queue. A full queue refuses what is sent to its address,
    and so what others of the address would take."""
    length, overflow = one.arguments.get("max-length"), one.arguments.get("overflow")
    how = str(overflow.value) if overflow else "drop-head"
    parts = found.parts
    if overflow and not length:
        parts.default(*overflow.sources)
    if not length:
        return
    sources = [*length.sources, *(overflow.sources if overflow else ())]
    if type(length.value) is not int or not 0 <= length.value <= MOST:
        parts.name("It is no number of messages.", *sources)
    elif beside := queues.beside(one):
        parts.name(
            f"Its address feeds {', '.join(each.name for each in beside)} too, and a"
            " queue that is full refuses what is sent to its address: nothing was made"
            f" of it. {ITS_ADDRESS} Then set max_depth = {length.value}.",
            *sources,
        )
    else:
        found.set(values, "max_depth", length.value, *sources)
        if how != "reject-publish":
            parts.name(OVERFLOWS.get(how, OVERFLOWS["drop-head"]), *sources)


OVERFLOWS = {
    "drop-head": "When it is full, the oldest message is dropped there; here the put is"
    " refused. Let producers try again, or leave max_depth out.",
    "reject-publish-dlx": "What is refused becomes a dead letter there; here the put is"
    " refused, and its producer learns of it. Let it put the message elsewhere, or"
    " leave max_depth out.",
}


def name_argument(
    name: str, argument: Argument, one: RabbitQueue, found: Converted
) -> None:
    """Note an argument that sets nothing here: as a default, or in a comment."""
    parts = found.parts
    if name in SAME:
        parts.default(*argument.sources)
    elif name in NO_EQUAL:
        parts.name(NO_EQUAL[name], *argument.sources)
    elif name.startswith(OF_CLUSTERS):
        parts.name(CLUSTER, *argument.sources)
    elif name.startswith(OF_STREAMS):
        parts.name(NO_EQUAL["max-age"], *argument.sources)
    elif name == "delivery-limit" and one.kind != QUORUM:
        why = f"It has no effect on a {one.kind} queue there, and none here."
        parts.name(why, *argument.sources)
