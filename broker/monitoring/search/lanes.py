"""Which lanes have anything between two numbers of messages.

There may be thousands of lanes, and most have nothing just there. So it is known of
each where its next entry stands, and only those are looked at that have one.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappop, heappush
from typing import NamedTuple

from broker import sql

RETURNED = 2**62  # by which entries that came back stand lower than their numbers


class LaneSegment(NamedTuple):
    """Of one lane what is new, or what came back."""

    queue_id: int
    priority: int
    moved: int  # by how much positions differ from numbers of messages


class Lanes:
    """The way down through all lanes, the newest message first.

    What comes to a lane meanwhile may be left out, as what leaves it may be: neither
    was there all the time.
    """

    def __init__(self, lanes: Iterable[tuple[int, int, int]]) -> None:
        """Args:
        lanes: queue, priority, and the last position of each.
        """
        self.passed: list[LaneSegment] = []  # of which the next entry is not known
        self.next: list[
            tuple[int, LaneSegment]
        ] = []  # a heap: the number of it, negative
        for queue_id, priority, last in lanes:
            self.passed.append(LaneSegment(queue_id, priority, -RETURNED))
            if last >= 0:
                heappush(self.next, (-last, LaneSegment(queue_id, priority, 0)))

    def highest(self, beyond: int) -> int:
        """The highest number that any lane has below one; 0 where none has."""
        while self.next and -self.next[0][0] >= beyond:
            self.passed.append(heappop(self.next)[1])
        if self.passed:
            self.find(beyond)
        return -self.next[0][0] if self.next else 0

    def find(self, beyond: int) -> None:
        """Find where each part goes on that was looked at."""
        tops = sql.run(
            "lane_tops",
            {
                "queue_ids": [part.queue_id for part in self.passed],
                "priorities": [part.priority for part in self.passed],
                "lows": [min(part.moved, 0) for part in self.passed],
                "highs": [
                    min(beyond + part.moved, RETURNED if not part.moved else 0)
                    for part in self.passed
                ],
            },
        )
        for part, (top,) in zip(self.passed, tops, strict=True):
            if top is not None:
                heappush(self.next, (part.moved - top, part))
        self.passed = []

    def down_to(self, floor: int) -> list[LaneSegment]:
        """Pass those that have an entry from a number on."""
        while self.next and -self.next[0][0] >= floor:
            self.passed.append(heappop(self.next)[1])
        return list(self.passed)
