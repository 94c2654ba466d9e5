"""Queue depths for pages: queried once, rendered once.

Counts come from the journal, exact and without counting rows. Rates compare them with a
sample some seconds old; without a sample (``publisher`` does not run) a rate is
unknown, and everything else is still correct.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

from django.template.loader import render_to_string

from broker.models import Kind
from broker.monitoring import queue_states
from broker.problems.readings import Readings
from broker.queueing import journal
from broker.security import authorities
from broker.sql import database_now
from dashboards.live import attention, link_status, problems, samples

GROUP = "dashboards.depths"
MOST_SHOWN = 500  # the most queues that a page may list as shown


class QueueDepth(NamedTuple):
    """One queue. Rates are entries a second; totals only grow."""

    queue_id: int
    name: str
    address: str
    paused: bool
    stopped: bool  # delivery to ConnectionConsumers is stopped
    takes_dead_letters: bool
    ready: int
    claimed: int
    delayed: int
    arrived: int
    left: int  # entries accepted since the queue was created
    attempts: int  # deliveries, whatever their outcome
    arriving: float | None
    accepted: float | None
    backed_out: float | None  # returned for redelivery, or on their way to be moved
    is_untaken: bool  # messages are ready, and no consumer got one for a minute

    @property
    def total(self) -> int:
        return self.ready + self.claimed + self.delayed


def queues(
    name: str | None = None,
    *,
    user: authorities.Principal = None,
    counts: Mapping[int, journal.Depth] | None = None,
    now: datetime | None = None,
    seen: Readings | None = None,
) -> list[QueueDepth]:
    """All queues, or the one of that name, ordered by name. Three queries, and up to
    three more if messages are ready and none is claimed.

    Args:
        user: limits the result to queues the user may inquire (one more query);
            None is the process itself.
        counts: the journal's counts, if the caller has them already.
        seen: readings of all queues, if the caller has them already.
    """
    if name is None:
        seen = seen or problems.readings(now, counts)
        found = seen.queues
        waits = seen.waits if any(one.is_idle for one in found) else {}
    else:
        found = queue_states.states(name, counts=counts)
        waits = queue_states.waits(found, now)
    rates = samples.rates({one.pk: one.depth for one in found}, now)
    lying = queue_states.untaken(waits, now or database_now()) if waits else {}
    held = authorities.held_by(user)
    sees_all = held.everywhere("inquire")
    return [
        QueueDepth(
            *(one.pk, one.name, one.address, one.paused, one.stopped),
            *(one.takes_dead_letters, one.depth.ready, one.depth.claimed),
            *(one.depth.delayed, one.depth.done.get(Kind.PUT, 0), one.depth.accepted),
            one.depth.accept_attempts,
            *rates[one.pk],
            one.is_idle and one.pk in lying,
        )
        for one in found
        if sees_all or held.on("inquire", one.name)
    ]


def html(
    every: list[QueueDepth],
    shown: Iterable[QueueDepth],
    *,
    held: authorities.GrantedAuthorities = authorities.EVERYTHING,
) -> str:
    """The numbers that a page replaces, by the name of their place.

    Args:
        every: the queues to add up.
        shown: the queues with numbers of their own.
        held: the user's authorities, for the count of dead-letter groups.
    """
    return "".join([*parts(shown).values(), sums(every, held=held)])


def parts(queues: Iterable[QueueDepth]) -> dict[str, str]:
    """The numbers of each queue, by its id as a text."""
    return {
        str(queue.queue_id): render_to_string(
            "dashboards/_queue_numbers.html", {"queue": queue}
        )
        for queue in queues
    }


def sums(
    every: list[QueueDepth],
    *,
    held: authorities.GrantedAuthorities = authorities.EVERYTHING,
    groups: int | None = None,
) -> str:
    """Totals over all queues.

    Args:
        every: the queues.
        held: the user's authorities.
        groups: dead-letter groups that need attention, if the caller has counted them.
    """
    context = {
        "totals": totals(every),
        "stopped": [queue.name for queue in every if queue.stopped],
        "groups": attention.count(held) if groups is None else groups,
        "failed": link_status.failed(held),
    }
    return render_to_string("dashboards/_sums.html", context)


def named(said: str) -> frozenset[int]:
    """The ids of shown queues, from a comma-separated list of a page; empty if invalid.
    At most ``MOST_SHOWN``.
    """
    if not re.fullmatch(r"\d{1,18}(,\d{1,18})*", said):
        return frozenset()
    return frozenset(map(int, said.split(",")[:MOST_SHOWN]))


def totals(every: list[QueueDepth]) -> dict[str, int]:
    """The totals that pages show. An entry is counted once: on a queue of dead letters
    only as dead."""
    others = [queue for queue in every if not queue.takes_dead_letters]
    return {
        "queues": len(every),
        "ready": sum(queue.ready for queue in others),
        "claimed": sum(queue.claimed for queue in others),
        "delayed": sum(queue.delayed for queue in others),
        "dead": sum(queue.total for queue in every if queue.takes_dead_letters),
    }
