"""What one acts on where something is wrong.

A group of dead letters, a queue or a link may have several problems, and several rules
may ring for it. It is one cause: it is shown, acknowledged and notified as one.
"""

from __future__ import annotations

from typing import NamedTuple

from broker.models import Alert
from broker.problems.conditions import table
from broker.problems.problem import LONGEST, Problem

GROUP, QUEUE = "group", "queue"
# Pages on which the subject of a problem is a queue.
OF_QUEUES = frozenset({QUEUE, "consumers", "scheduled", "dead_letters"})


class Cause(NamedTuple):
    """What has the problems."""

    kind: str  # group, queue, or the page of the condition
    name: str  # a fingerprint, the name of a queue, or the subject


def cause_of(one: Problem | Alert) -> Cause:
    """The cause of a problem, or of an alert."""
    if one.fingerprint:
        return Cause(GROUP, one.fingerprint)
    # None: the application that defined the condition is not installed any more.
    row = table().get(one.condition)
    page = row.page if row else ""
    return Cause(QUEUE if page in OF_QUEUES else page, one.subject[:LONGEST])
