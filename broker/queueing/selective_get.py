"""Get by selector: the next entries of a queue that match.

Each get searches from the top, in the order of gets. So priorities hold, and no
redelivered entry is missed. To avoid reading all entries that do not match each time, a
search remembers for each priority where its unread new entries begin:

1. This position is never above the low watermark (``broker.queueing.low_watermarks``):
   below the watermark no entry can appear any more, however late a put commits.
2. It is never above an entry that matches and that another transaction has locked: if
   that transaction is rolled back, the entry is ready again.
3. Entries that returned to their queue have negative positions, which are always
   searched.
4. Once in ``SAFETY_S``, and also after a transaction of this process was rolled back,
   the whole queue is searched.

An empty result means: no entry that was ready when the get began matches.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from broker import sql
from broker.formats.selectors import Selector
from broker.formats.selectors.documents import SelectableValues, made_prefix
from broker.queueing.browse import Browsed, bigint, browsed
from broker.queueing.get import HIGHS, LOWEST, PRIORITIES, Delivery, Lanes
from broker.queueing.low_watermarks import FLOORS, SAFETY_S

SCAN = 1000  # most entries that one statement reads
SPARE = 16  # additional entries to choose, since other consumers may take some of them
LOOKS = 100  # most statements for one page


class LanePosition(NamedTuple):
    """Position of a chosen entry, and the index of its lane in the get, from 0."""

    lane: int
    pos: int


@dataclass(frozen=True, slots=True)
class SelectorScan:
    """The result of one statement."""

    is_open: bool  # whether the queue exists and is not paused
    seen: int
    last_lane: int | None  # lane of the last entry seen, from 1
    last_pos: int | None
    lanes: list[int]  # lanes of the chosen entries, from 1
    positions: list[int]
    # Fields of the entries, if Python evaluates the selector because PostgreSQL cannot.
    columns: list[dict[str, Any]]
    descriptors: list[dict[str, Any] | None]
    envelopes: list[bytes | None]

    @property
    def documents(self) -> list[SelectableValues]:
        return list(
            map(SelectableValues, self.columns, self.descriptors, self.envelopes)
        )


class Walk:
    """One walk over the ready entries of a queue, in the order of gets."""

    def __init__(
        self,
        queue: str,
        selector: Selector,
        lows: Iterable[int],
        *,
        though_paused: bool = False,
        now: datetime | None = None,
    ) -> None:
        self.queue = queue
        self.selector = selector
        self.lows = list(lows)  # the next position of each lane
        self.though_paused = though_paused
        self.now = now
        self.is_open = True
        self.at_end = False

    def on(self, limit: int) -> list[LanePosition]:
        """Read the next entries, at most ``SCAN``; return the matching entries, in
        order."""
        in_sql = self.selector.path is not None
        (look,) = sql.fetch(
            "choose",
            SelectorScan,
            queue=self.queue,
            path=self.selector.path,
            made_prefix=made_prefix(),
            priorities=PRIORITIES,
            lows=self.lows,
            highs=HIGHS,
            limit=limit if in_sql else SCAN,
            scan=SCAN,
            though_paused=self.though_paused,
            now=self.now,
        )
        self.is_open = look.is_open
        places = [
            LanePosition(lane - 1, pos)
            for lane, pos in zip(look.lanes, look.positions, strict=True)
        ]
        if not in_sql:
            places = self.chosen(places, look.documents, limit)
        if len(places) == limit:
            self.pass_by(places[-1])
        elif look.seen == SCAN and look.last_lane and look.last_pos is not None:
            self.pass_by(LanePosition(look.last_lane - 1, look.last_pos))
        else:
            self.at_end = True
            self.lows = list(HIGHS)
        return places

    def chosen(
        self, places: list[LanePosition], documents: list[SelectableValues], limit: int
    ) -> list[LanePosition]:
        chosen: list[LanePosition] = []
        for place, document in zip(places, documents, strict=True):
            if self.selector.matches(document):
                chosen.append(place)
            if len(chosen) == limit:
                break
        return chosen

    def pass_by(self, last: LanePosition) -> None:
        self.lows[: last.lane] = HIGHS[: last.lane]
        self.lows[last.lane] = last.pos + 1


class Finder(Protocol):
    """Something that finds the entries that a consumer wants."""

    def get(
        self,
        take: Callable[[Lanes, int], list[Delivery]],
        limit: int = 1,
        *,
        now: datetime | None = None,
    ) -> list[Delivery]: ...


class Search:
    """Gets by one selector from one queue, for the life of one consumer."""

    def __init__(self, queue: str, selector: Selector) -> None:
        self.queue = queue
        self.selector = selector
        self.begin_anew()

    def begin_anew(self) -> None:
        # Positions of new entries to read next, from priority 9 to 0.
        self.starts = [0] * 10
        self.forgotten = FLOORS.forgotten
        self.safe_until = time.monotonic() + SAFETY_S

    def get(
        self,
        take: Callable[[Lanes, int], list[Delivery]],
        limit: int = 1,
        *,
        now: datetime | None = None,
    ) -> list[Delivery]:
        """Claim the next matching entries.

        Args:
            take: function that gets entries from lanes, up to a limit
                (``broker.queueing.get``).
            limit: the largest number of entries.
            now: the current time; the database's clock when not given.
        """
        if self.forgotten != FLOORS.forgotten or time.monotonic() >= self.safe_until:
            self.begin_anew()
        floors, settled = FLOORS.of(self.queue), FLOORS.settled
        lows = map(max, floors, self.starts)
        walk = Walk(
            self.queue,
            self.selector,
            [low for new in lows for low in (LOWEST, new)],
            now=now,
        )
        got: list[Delivery] = []
        left: set[tuple[int, int]] = set()
        spare = SPARE
        while len(got) < limit and not walk.at_end:
            missing = limit - len(got)
            places = walk.on(min(missing + spare, SCAN))
            if places:
                taken = take(lanes_of(places), missing)
                got += taken
                left.update((PRIORITIES[place.lane], place.pos) for place in places)
                left.difference_update((one.priority, one.pos) for one in taken)
                spare *= 2  # other consumers took entries first, or hold them
        if walk.is_open:
            self.learn(settled, walk, left)
        return got

    def learn(self, settled: int, walk: Walk, left: set[tuple[int, int]]) -> None:
        """Raise the start positions, by the rules at the top of this module."""
        for n, start in enumerate(self.starts):
            waiting = [pos for priority, pos in left if priority == 9 - n and pos >= 0]
            seen = min(settled + 1, walk.lows[2 * n + 1], *waiting)
            self.starts[n] = max(start, seen)


def lanes_of(places: list[LanePosition]) -> Lanes:
    """Lanes that contain one entry each."""
    positions = [place.pos for place in places]
    return Lanes(
        [PRIORITIES[place.lane] for place in places],
        positions,
        [pos + 1 for pos in positions],
    )


class MatchPage(NamedTuple):
    """Matching entries, and the cursor of the next page; empty at the end."""

    entries: list[Browsed]
    after: str


def browse(
    queue: str,
    selector: Selector,
    *,
    after: str = "",
    limit: int = 50,
    now: datetime | None = None,
) -> MatchPage:
    """One page of a queue's matching ready entries, in the order of gets.

    A page may hold fewer than ``limit`` entries although more follow: no page reads
    more than ``LOOKS`` times ``SCAN`` entries. Cursors are those of
    ``broker.queueing.browse``.

    Raises:
        ValueError: ``after`` is not a cursor.
    """
    walk = Walk(queue, selector, lows_after(after), though_paused=True, now=now)
    places: list[LanePosition] = []
    for _ in range(LOOKS):
        if len(places) == limit or walk.at_end:
            break
        places += walk.on(min(limit - len(places), SCAN))
    lanes = lanes_of(places)
    entries = sql.fetch(
        "browse_chosen",
        browsed,
        queue=queue,
        priorities=lanes.priorities,
        lows=lanes.lows,
    )
    return MatchPage(entries, cursor(walk))


def lows_after(cursor: str) -> list[int]:
    if not cursor:
        return [low for _ in range(10) for low in (LOWEST, 0)]
    priority, pos = map(bigint, cursor.split("."))
    if not 0 <= priority <= 9:
        raise ValueError(f"no priority is {priority}")
    lows = [low for _ in range(10) for low in (LOWEST, 0)]
    new = 2 * (9 - priority) + 1
    lows[: new - 1] = HIGHS[: new - 1]
    lows[new - 1 : new + 1] = [pos + 1, max(pos + 1, 0)]
    return lows


def cursor(walk: Walk) -> str:
    """The cursor after the last entry that was read."""
    if walk.at_end:
        return ""
    lane = next(n for n, low in enumerate(walk.lows) if low != HIGHS[n])
    return f"{PRIORITIES[lane]}.{walk.lows[lane] - 1}"
