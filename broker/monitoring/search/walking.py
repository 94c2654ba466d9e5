"""Read entries, the newest message first, in steps of bounded cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from time import perf_counter
from typing import Any

from django.db import OperationalError, connection, transaction
from psycopg.errors import QueryCanceled
from psycopg.sql import SQL, Composable, Composed, Literal

from broker import sql
from broker.errors.messages import SearchTooLong
from broker.formats.filters import Filter
from broker.models import DeadLetter
from broker.monitoring.search.conditions import (
    Condition,
    reads_bodies,
    reads_messages,
    with_copies,
)
from broker.monitoring.search.lanes import Lanes, LaneSegment
from broker.monitoring.search.scopes import BEYOND, Scope, scope_of
from broker.queueing.get import CAME_BACK

FIRST_SCAN = 250  # entries that the first step reads: enough for most pages
SCAN = 5000  # entries that each further step reads
OF_MESSAGES = 1000  # entries that a step reads if it reads each message
OF_BODIES = 500  # entries that a step reads if it reads each body
STRIDE = 5000  # message numbers that are skipped at once, at first; at most ``LEAP``
LEAP, LEAP_OF_BODIES = 200_000, 20_000
MOST_BYTES = 64 * 2**20  # of the bodies that are skipped at once
QUICK_S, SLOW_S = 0.05, 0.15  # quicker steps become larger, slower ones smaller
# Messages are read in the order of their numbers where this share of them has entries.
DENSE = 1 / 8
# Factor by which the range of numbers grows after a step that found few entries.
WIDER = 8
MOST_LANES = 20_000  # most lanes times ranges in one step
PATIENCE = timedelta(seconds=10)  # statement timeout of one step

FOLDER = Path(__file__).parent
STATEMENT = SQL((FOLDER / "find.sql").read_text())
SKIP = SQL((FOLDER / "skip.sql").read_text())
SIZES = SQL((FOLDER / "body_sizes.sql").read_text()).format()
LETTERS = SQL((FOLDER / "find_letters.sql").read_text())
MESSAGE = """{} LATERAL (
    -- One index lookup for each, whatever the planner estimates.
    SELECT * FROM broker_message WHERE id = {}.id LIMIT 1
) AS {} ON true"""
LOOKED_AT = SQL(MESSAGE.format("LEFT JOIN", "seen", "message"))
SHOWN = SQL(MESSAGE.format("LEFT JOIN", "found", "message"))
# With these causes, a dead letter has the put time of its original, as IBM MQ has it.
CAUSES = SQL(", ").join(map(Literal, DeadLetter.IBM_CAUSES))
KEYS = SQL("found.number, found.id, found.queue_id, found.place")
SET = "SELECT set_config('statement_timeout', %s, true)"
# Message id and queue id; a walk reads the entries before this position.
Cursor = tuple[int, int]
START: Cursor = (BEYOND, 0)


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns that a walk returns for each entry, as SQL."""

    of_dead: Composable  # columns of the dead letter, which ``all`` may use
    all: Composable  # all columns, the row number first
    of_message: Composable  # the join with the message, if a column needs it


ONLY_KEYS = Columns(SQL("NULL AS nothing"), KEYS, SQL(""))


@dataclass(frozen=True, slots=True)
class SearchStep:
    """The result of one step."""

    seen: int  # number of entries read
    top: int | None  # the highest message number read; None if no entry was read
    last: Cursor | None  # the last entry read; None if there was none
    floor: int  # the lowest message number that the step has read
    # The matches: row number in the step, message, queue, ….
    rows: list[tuple[Any, ...]]


@contextmanager
def patiently(patience: timedelta) -> Iterator[None]:
    """A transaction block with a statement timeout.

    Raises:
        SearchTooLong: a statement took longer.
    """
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT current_setting('statement_timeout')")
            (before,) = cursor.fetchone()
            milliseconds = str(int(patience.total_seconds() * 1000))
            cursor.execute(SET, [milliseconds])
            yield
            cursor.execute(SET, [before])
    except OperationalError as error:
        if isinstance(error.__cause__, QueryCanceled):
            raise SearchTooLong(patience) from error
        raise


def paced(size: int, took_s: float, least: int, most: int) -> int:
    """The size of the next step: larger if this one was quick, smaller if it was
    slow."""
    if took_s < QUICK_S:
        return max(size, min(2 * size, most))
    return max(size // 4, least) if took_s > SLOW_S else size


class Walk:
    """A search for the entries that match a filter, from a cursor on, in steps."""

    def __init__(
        self,
        wanted: Filter,
        queues: Mapping[int, str],
        columns: Columns,
        *,
        before: Cursor = START,
        now: datetime | None = None,
        lanes: Lanes | None = None,
    ) -> None:
        """Args:
        wanted: the filter.
        queues: the queues to search: their names, by id.
        columns: the columns to return for each entry.
        before: the cursor to begin at.
        now: the time from which ages count; the database's clock when not given.
        lanes: the lanes of an earlier walk with the same filter that stopped at the
            cursor.
        """
        at: datetime = now or sql.fetch_one("now")[0]
        wanted = with_copies(wanted)
        self.scope: Scope = scope_of(wanted, queues, at)
        self.condition = Condition(wanted, at)
        self.columns = columns
        self.reads_messages = reads_messages(wanted)
        self.reads_bodies = reads_bodies(wanted)
        self.most = SCAN
        if self.reads_messages:
            self.most = OF_BODIES if self.reads_bodies else OF_MESSAGES
        self.scan = self.width = FIRST_SCAN
        (last,) = sql.fetch_one("last_message")
        self.before: Cursor = min(before, (min(last + 1, self.scope.top), 0))
        self.looked_at = 0
        self.top = 0  # the highest message number read so far
        self.at_end = self.scope.is_empty
        self.stride = STRIDE
        # Whether the next step first goes to the next message that may match. A search
        # in which that was in vain does so no more.
        self.skips, self.may_skip = False, self.condition.of_message is not None
        self.hit = self.matched = 0  # the last message gone to; that of the last match
        # Whether each step reads all lanes in their present state.
        self.is_whole = False
        self.known_lanes = lanes

    def on(self, limit: int) -> list[tuple[Any, ...]]:
        """Make one step; return the matches, in order."""
        passed = self.skip() if self.skips else None
        if self.skips and passed is None:
            return []
        began_s, beyond = perf_counter(), self.beyond
        look = self.look(limit)
        self.top = max(self.top, look.top or 0)
        if len(look.rows) == limit:
            number, message_id, queue_id = look.rows[-1][:3]
            self.looked_at += number
            self.before = (message_id, queue_id)
        else:
            self.looked_at += look.seen
            if look.seen == self.scan and look.last is not None:
                self.before = look.last
            else:
                self.before = (look.floor, 0)
                self.at_end = look.floor <= self.scope.bottom
        if self.scan == self.most:
            took_s = perf_counter() - began_s
            self.most = paced(self.most, took_s, min(self.most, FIRST_SCAN), SCAN)
        self.width = self.most if look.seen > self.scan // WIDER else self.width * WIDER
        self.scan = self.most
        self.may_skip &= bool(look.rows) or passed is None or self.hit == self.matched
        self.matched = look.rows[-1][1] if look.rows else self.matched
        is_dense = look.seen >= DENSE * (beyond - self.before[0])
        is_rare = not look.rows or (passed or 0) > self.most
        self.skips = self.may_skip and is_dense and is_rare
        return look.rows

    @property
    def beyond(self) -> int:
        """All messages still to search are below this number."""
        message_id, queue_id = self.before
        return message_id + (queue_id > 0)

    def skip(self) -> int | None:
        """Go to the next message that may match, within a stride. Return how many were
        passed; None if all were, as none may match."""
        began_s, beyond = perf_counter(), self.beyond
        assert self.condition.of_message is not None
        at = self.before[0]  # which was looked at, if it is not beyond
        floor = max(at - self.affordable(), self.scope.bottom, 0)
        ((count, found),) = sql.ask(
            SKIP.format(condition=self.condition.of_message),
            {**self.condition.values, "floor": floor, "beyond": beyond},
        )
        took_s = perf_counter() - began_s
        leap = LEAP_OF_BODIES if self.reads_bodies else LEAP
        self.stride = paced(self.stride, took_s, FIRST_SCAN, leap)
        if found is not None:
            passed: int = max(min(count, at - 1 - found), 0)
            self.looked_at += passed
            self.hit, self.before = found, min(self.before, (found + 1, 0))
            self.scan = FIRST_SCAN
            self.stride = min(self.stride, max(2 * passed, STRIDE))
            return passed
        self.looked_at += max(count - (beyond - at), 0)
        self.before = (floor, 0)
        self.at_end = floor <= self.scope.bottom
        self.skips = count > 0
        return None

    def affordable(self) -> int:
        """How many message numbers to skip at once: fewer where bodies are large."""
        if self.reads_bodies:
            bounds = {"floor": self.before[0] - self.stride, "beyond": self.beyond}
            ((size,),) = sql.ask(SIZES, bounds)
            if size > MOST_BYTES:
                self.stride = max(self.stride * MOST_BYTES // size, FIRST_SCAN)
        return self.stride

    def look(self, limit: int) -> SearchStep:
        rows = sql.ask(self.statement, {**self.values, "limit": limit})
        seen, top, floor, last_id, last_queue = rows[0][:5]
        return SearchStep(
            seen,
            top,
            None if last_id is None else (last_id, last_queue),
            floor,
            [row[5:] for row in rows if row[5] is not None],
        )

    @cached_property
    def statement(self) -> Composed:
        states = self.scope.states
        met = self.condition.text
        if "ready" in states and "dead" not in states:
            met = SQL("(seen.place <> 1 OR dead.message_id IS NULL) AND {}").format(met)
        return STATEMENT.format(
            letters=self.letters,
            of_dead=self.columns.of_dead,
            message=LOOKED_AT if self.reads_messages else SQL(""),
            condition=met,
            columns=self.columns.all,
            of_message=self.columns.of_message,
        )

    @cached_property
    def letters(self) -> Composable:
        """The part of the statement that reads the dead letters that are not ready."""
        alike = SQL("true")
        if self.scope.fingerprints:
            alike = SQL("fingerprint = ANY (%(fingerprints)s::text[])")
        kept = SQL("cause IN ({}) AND {}").format(CAUSES, alike)
        sources = (self.scope.letter_ranges, alike), (self.scope.late_ranges, kept)
        return SQL(" ").join(
            LETTERS.format(lows=ends(ranges, 0), highs=ends(ranges, 1), condition=asked)
            for ranges, asked in sources
            if ranges
        )

    @property
    def values(self) -> dict[str, Any]:
        scope = self.scope
        beyond = self.before[0] + 1
        # A lower limit is needed only if lanes are read: all other sources are in
        # order.
        floor, parts = 0, list[LaneSegment]()
        if self.is_whole and "ready" in scope.states:
            floor = max(beyond - 1 - self.width, 0) if self.all_lanes else 0
            parts = [
                LaneSegment(queue_id, priority, moved)
                for queue_id, priority in {lane[1:3] for lane in self.all_lanes}
                for moved in (0, -CAME_BACK)
            ]
        elif "ready" in scope.states:
            floor = max(self.lanes.highest(beyond) - self.width, 0)
            parts = self.lanes.down_to(floor)
        lanes = self.within(parts)
        return {
            **self.condition.values,
            "lane_queues": [lane[0] for lane in lanes],
            "lane_priorities": [lane[1] for lane in lanes],
            "lane_lows": [max(lane[2], floor + lane[4]) for lane in lanes],
            "lane_highs": [min(lane[3], beyond + lane[4]) for lane in lanes],
            "floor": floor,
            "lows": [low for low, _ in scope.ranges],
            "highs": [high for _, high in scope.ranges],
            "queue_ids": self.queue_ids,
            "fingerprints": list(scope.fingerprints),
            "delayed": "delayed" in scope.states,
            "held": "in-flight" in scope.states,
            "discarded": "discarded" in scope.states,
            "before_id": self.before[0],
            "before_queue": self.before[1],
            "scan": self.scan,
        }

    @cached_property
    def queue_ids(self) -> str:
        """An array, as text: psycopg takes long for a list of thousands."""
        return f"{{{','.join(map(str, self.scope.queue_ids))}}}"

    @cached_property
    def all_lanes(self) -> list[tuple[Any, ...]]:
        """The newest entry of each segment of the lanes."""
        wanted = set(self.scope.queue_ids)
        bounds = {"lowest": min(wanted, default=0), "highest": max(wanted, default=0)}
        return [lane for lane in sql.run("lanes", bounds) if lane[1] in wanted]

    @cached_property
    def lanes(self) -> Lanes:
        return self.known_lanes or Lanes(self.all_lanes)

    def within(self, parts: list[LaneSegment]) -> list[tuple[int, int, int, int, int]]:
        """Queue, priority, lowest and highest position, and position minus message
        number of each segment."""
        ranges = self.scope.ranges
        if len(ranges) * len(parts) > MOST_LANES:
            ranges = ((ranges[0][0], ranges[-1][1]),)
        return [
            (queue_id, priority, low + moved, high + moved, moved)
            for queue_id, priority, moved in parts
            for low, high in ranges
        ]


def ends(ranges: Iterable[tuple[int, int]], end: int) -> Composable:
    return Literal([one[end] for one in ranges])
