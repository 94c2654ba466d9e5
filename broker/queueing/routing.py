"""Routing of messages that the broker itself sends: which queues of an address accept
them.

Limits and put inhibition apply to clients, and to operators who resubmit, move or copy
(``broker.operations.batches``). Dead letters and expired messages obey selectors only:
they have no other place, so a full queue would block theirs, or lose them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from broker import sql
from broker.formats.selectors import document, parse
from broker.models import Queue
from broker.queueing.store import NewMessage


@dataclass(frozen=True, slots=True)
class Taker:
    """A queue of an address, locked against deletion until the transaction ends."""

    id: int
    routing_type: int
    selector: str  # empty: the queue accepts every message
    name: str


@dataclass(frozen=True, slots=True)
class Route:
    """The queues of an address, locked against deletion until the transaction ends."""

    address: str
    queues: Sequence[Taker]

    @property
    def is_choosy(self) -> bool:
        """Whether a queue has a selector, so that messages must be checked."""
        return any(queue.selector for queue in self.queues)

    @property
    def why_not(self) -> str:
        """The reason why no queue accepts a message, as a sentence."""
        if not self.queues:
            return f"{self.address!r} feeds no queue"
        return f"no queue of {self.address!r} has a selector that matches"

    @property
    def text(self) -> str:
        """The queues as copy.sql writes them, to see whether they have changed."""
        return "\n".join(
            f"{one.id} {one.routing_type} {one.name} {one.selector}"
            for one in self.queues
        )

    def refusing(self, messages: Sequence[NewMessage]) -> list[set[int]]:
        """For each message, the queues whose selector does not match it."""
        choosy = [(one.id, parse(one.selector)) for one in self.queues if one.selector]
        documents = [document(message) for message in messages]
        return [
            {queue_id for queue_id, wanted in choosy if wanted.matches(one) is not True}
            for one in documents
        ]

    def taking(self, refusing: set[int]) -> list[Taker]:
        """The queues that may take a message."""
        return [queue for queue in self.queues if queue.id not in refusing]

    def takes(self, refusing: set[int]) -> bool:
        return len(refusing) < len(self.queues)

    def parameters(self, refusing: Sequence[set[int]]) -> dict[str, Any]:
        """Parameters of ``copy.sql``."""
        ways = {way: n for n, way in enumerate(sorted(set(map(named, refusing))), 1)}
        return {
            "taker_ids": [queue.id for queue in self.queues],
            "taker_types": [queue.routing_type for queue in self.queues],
            "refusing": list(ways),
            "ways": [ways[named(one)] for one in refusing] if len(ways) > 1 else None,
        }


def named(refusing: set[int]) -> str:
    """Refusing queues as a JSON document."""
    return json.dumps(sorted(refusing)) if refusing else "[]"


def preview_route(address: str) -> Route:
    """Like ``route_to``, without locks, for previews."""
    queues = Queue.objects.filter(address__name=address).order_by("pk")
    found = queues.values_list("pk", "routing_type", "selector", "name")
    return Route(address, [Taker(*row) for row in found])


def route_to(address: str, only_queue: str | None = None) -> Route:
    """Lock the queues of an address against deletion; or only one queue, which accepts
    every message."""
    queues = sql.fetch("hold_takers", Taker, address=address, only_queue=only_queue)
    return Route(address, queues)
