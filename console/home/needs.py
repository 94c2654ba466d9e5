"""What Overview tells: what is wrong, the oldest message, and what runs now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from broker.models import Operation
from broker.monitoring import connections as clients
from broker.monitoring import wait_times
from broker.problems.readings import Readings
from broker.security.authorities import GrantedAuthorities, Principal
from console.alerts import causes
from console.alerts.causes import CauseRow, Causes
from dashboards.live.depths import QueueDepth

MOST = 5  # causes that are shown; the page Alerts has all
# The oldest message is read of so many queues: those with the most entries.
LOOKED_AT = 200


@dataclass(frozen=True, slots=True)
class Overview:
    """The data of the page."""

    causes: Causes
    # the queue with the oldest ready message, and the time of its put
    oldest: tuple[QueueDepth, datetime] | None
    running: int  # running operations
    connections: int

    @property
    def worst(self) -> list[CauseRow]:
        return self.causes.urgent[:MOST]

    @property
    def more(self) -> list[CauseRow]:
        return self.causes.urgent[MOST:]

    @property
    def others(self) -> Mapping[str, int]:
        """What the rows that are not shown are, by their titles."""
        return causes.titles(self.more)


def overview(
    queues: Sequence[QueueDepth],
    held: GrantedAuthorities,
    user: Principal,
    *,
    seen: Readings,
) -> Overview:
    """What the user may see.

    Args:
        queues: those that the user may inquire, with their depths.
        held: the user's authorities.
        user: the reader.
        seen: what was read of the queues, and when.
    """
    busiest = sorted(queues, key=lambda one: -one.total)[:LOOKED_AT]
    waits = wait_times.waiting([one.queue_id for one in busiest], now=seen.now)
    return Overview(
        causes=causes.now(user, held, seen),
        oldest=oldest_of(busiest, waits),
        running=Operation.objects.filter(state=Operation.State.RUNNING).count(),
        connections=clients.count(user),
    )


def oldest_of(
    queues: Iterable[QueueDepth], waits: Mapping[int, wait_times.QueueWait]
) -> tuple[QueueDepth, datetime] | None:
    """The oldest message on a queue that consumers should empty."""
    found = [
        (one, wait.oldest_at)
        for one in queues
        if not one.takes_dead_letters
        and (wait := waits.get(one.queue_id))
        and wait.oldest_at is not None
    ]
    return min(found, key=lambda pair: pair[1], default=None)
