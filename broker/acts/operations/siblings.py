"""The other queues that a resubmit reaches.

A dead letter whose queue is named as its address goes back to the address. So each
multicast queue of the address gets a copy, and one of its anycast queues.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from broker.acts.operations.ledgers import Ledger
from broker.models import Operation, Queue, RoutingType
from broker.operations import EVERY_QUEUE
from broker.security import authorities


@dataclass(frozen=True, slots=True)
class Sibling:
    """Another queue of an address to which a resubmit sends."""

    of: str  # the queue that is named as its address
    queue: str  # the other queue; empty: it is hidden from the user
    # Whether the queue is anycast: it gets only some messages, or none.
    is_anycast: bool
    messages: int = 0  # most copies that it may get


def siblings_of(
    queues: Iterable[str], held: authorities.GrantedAuthorities
) -> list[Sibling]:
    """The other queues that get copies of what is sent back to these queues. One
    query."""
    rows = Queue.objects.filter(address__name__in=set(queues)).order_by(
        "address__name", "name"
    )
    every = list(rows.values_list("address__name", "name", "routing_type"))
    wholes = {name for address, name, _ in every if name == address}
    return [
        Sibling(
            address,
            name if held.on("inquire", name) else "",
            routing_type == RoutingType.ANYCAST,
        )
        for address, name, routing_type in every
        if address in wholes and name != address
    ]


def siblings_in(
    operation: Operation, ledger: Ledger, user: authorities.Principal
) -> list[Sibling]:
    """The other queues that a resubmit reaches, with the number of messages for each;
    none if it is for the queue of each message alone."""
    if operation.argument != EVERY_QUEUE:
        return []
    sent: Counter[str] = Counter()
    for way in ledger.ways:
        sent[way.to] += way.messages
    names = [name for name, count in sent.items() if count]
    found = siblings_of(names, authorities.held_by(user))
    return [replace(one, messages=sent[one.of]) for one in found]


def reached(queues: Iterable[str], siblings: Iterable[Sibling]) -> int:
    """How many queues may get copies of what is sent back to these queues; zero if no
    other queue does."""
    origins = set(queues)
    others = sum(one.of in origins for one in siblings)
    return len(origins) + others if others else 0
