"""Find the lanes that have entries between two message numbers.

There may be thousands of lanes, and most have no entry in a given range. So the
position of the next entry of each lane is kept, and only lanes with an entry are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import NamedTuple

from broker import sql
from broker.queueing.get import CAME_BACK


class LaneSegment(NamedTuple):
    """One part of a lane (the ready entries of one queue and one priority): the new
    entries, or the entries that returned to the queue."""

    queue_id: int
    priority: int
    moved: int  # position minus message number


# The next entry of a segment: its negative message number, and the segment's fields.
Next = tuple[int, int, int, int]


class Lanes:
    """Iteration down through all lanes, the newest message first.

    Entries that arrive or leave meanwhile may be missed.
    """

    def __init__(self, newest: Sequence[Next]) -> None:
        """Start before the newest entries.

        Args:
            newest: the newest entry of each segment, the newest first.
        """
        # segments whose next entry is not known
        self.passed: list[LaneSegment] = []
        self.next = list(newest)  # a heap: every sorted list is one

    def highest(self, beyond: int) -> int:
        """The highest message number below ``beyond`` in any lane; 0 if there is
        none."""
        self.down_to(beyond)
        if self.passed:
            self.find(beyond)
        return -self.next[0][0] if self.next else 0

    def find(self, beyond: int) -> None:
        """Find the next entry of each segment in ``passed``."""
        tops = sql.run(
            "lane_tops",
            {
                "queue_ids": [part.queue_id for part in self.passed],
                "priorities": [part.priority for part in self.passed],
                "lows": [min(part.moved, 0) for part in self.passed],
                "highs": [
                    min(beyond + part.moved, CAME_BACK if not part.moved else 0)
                    for part in self.passed
                ],
            },
        )
        for part, (top,) in zip(self.passed, tops, strict=True):
            if top is not None:
                heappush(self.next, (part.moved - top, *part))
        self.passed = []

    def down_to(self, floor: int) -> list[LaneSegment]:
        """Return the segments with an entry at ``floor`` or above; their next entry
        becomes unknown."""
        while self.next and -self.next[0][0] >= floor:
            self.passed.append(LaneSegment(*heappop(self.next)[1:]))
        return list(self.passed)
