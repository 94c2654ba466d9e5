"""Timelines: the lines of entries in their order, each with what is known up to it.

Lines are columns of Arrow, and are computed as such: a task of Spark has all lines of
some messages, and a row of its own costs a JVM much more. Row numbers, such as those of
``Timelines.newest``, refer to the lines of one timeline table.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, reduce
from itertools import groupby
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from dashboards.pipeline.events import (
    BACKED_OUT,
    CLAIMED,
    DEAD,
    DELAYED,
    DISCARDED,
    FAILED,
    GOT,
    READY,
    read_open,
)

# the columns by which lines are sorted
ORDER = ("queue_id", "message_id", "turn", "at", "seq")
DAY_US = 86_400_000_000
NO_ROW = pa.scalar(None, pa.int64())


class Timelines:
    """Lines of ``events.lines``, whole entries one after the other, and their stays.

    A stay is the time from the arrival of an entry on its queue until it leaves.
    ``carried`` are the columns of stays that were open before, see ``events.OPEN``.
    A place is 0 where the entry is nowhere.
    """

    def __init__(
        self, lines: pa.Table, carried: pa.Table, carried_row: pa.Array
    ) -> None:
        self.lines = lines
        self.carried = carried
        # For each line, the row of ``carried`` that it carries on, or null.
        self.carried_row = carried_row
        self.row = pa.arange(0, lines.num_rows)
        self.kind = self["kind"]
        self.at_us = self["at"].cast(pa.int64())
        self.day = self["day"].cast(pa.int32())
        self.came, self.went = (pc.fill_null(self[one], 0) for one in ("came", "went"))

    def __getitem__(self, name: str) -> pa.Array:
        return self.lines[name].chunk(0)

    def at(self, name: str, rows: pa.Array) -> pa.Array:
        """A column of the lines with these numbers; null where the number is null."""
        return self[name].take(rows)

    def of_carried(self, name: str, rows: pa.Array) -> pa.Array:
        """A column of the open stay that each of these lines carries on, or null."""
        return self.carried[name].take(self.carried_row.take(rows)).combine_chunks()

    def is_kind(self, *kinds: int) -> pa.Array:
        return pc.is_in(self.kind, pa.array(kinds, self.kind.type))

    def newest(self, where: pa.Array) -> pa.Array:
        """The number of the last line, up to each, where something holds."""
        return pc.fill_null_forward(pc.if_else(where, self.row, NO_ROW))

    # Comparisons of each line with the lines before and after it of the same entry.

    @cached_property
    def is_first(self) -> pa.Array:
        """Whether the line is the first of its entry."""
        queue, message = self["queue_id"], self["message_id"]
        new = pc.or_(*(pc.not_equal(one, before(one)) for one in (queue, message)))
        return pc.fill_null(new, fill_value=True)

    @cached_property
    def entry(self) -> pa.Array:
        """The number of the line's entry, from 1."""
        return pc.cumulative_sum(self.is_first.cast(pa.int64()))

    @cached_property
    def came_before(self) -> pa.Array:
        """Where the line before left the entry."""
        return pc.if_else(self.is_first, 0, pc.fill_null(before(self.went), 0))

    @cached_property
    def is_last(self) -> pa.Array:
        return pc.fill_null(after(self.is_first), fill_value=True)

    def of_next(self, values: pa.Array) -> pa.Array:
        """What the next line of the entry has; null after the last."""
        return pc.if_else(self.is_last, pa.scalar(None, values.type), after(values))

    @cached_property
    def next_came(self) -> pa.Array:
        return pc.fill_null(self.of_next(self.came), 0)

    @cached_property
    def is_fresh(self) -> pa.Array:
        """Whether the line is its entry's first on its day, and no stay was open."""
        day = pc.fill_null(self.day, -1)
        same = pc.and_(pc.invert(self.is_first), pc.equal(day, before(day)))
        unknown = pc.and_(self.is_first, pc.is_null(self.day))
        old = pc.or_kleene(pc.fill_null(same, fill_value=False), unknown)
        return pc.and_(pc.equal(self.came_before, 0), pc.invert(old))

    @cached_property
    def is_broken(self) -> pa.Array:
        """Whether the line does not continue the line before."""
        moved = pc.not_equal(self.came, self.came_before)
        return all_of(pc.invert(self.is_first), moved, pc.invert(self.is_fresh))

    # Stays and deliveries

    @cached_property
    def begins(self) -> pa.Array:
        return pc.or_(pc.equal(self.came, 0), pc.equal(self.came_before, 0))

    @cached_property
    def is_unseen(self) -> pa.Array:
        """Whether it ends a delivery whose unit of work was deleted: one without a
        get."""
        failed = pc.is_valid(self["cause"])
        ends = pc.or_(
            self.is_kind(BACKED_OUT, DEAD), pc.and_(self.is_kind(DISCARDED), failed)
        )
        by_itself = pc.is_null(self["operation"])
        return all_of(pc.equal(self.came, READY), by_itself, ends)

    @cached_property
    def starts(self) -> pa.Array:
        """Whether a delivery starts with the line."""
        taken = pc.and_(
            pc.equal(self.came, CLAIMED), pc.not_equal(self.came_before, CLAIMED)
        )
        return pc.or_(pc.or_(self.is_kind(GOT), self.is_unseen), taken)

    @cached_property
    def ends(self) -> pa.Array:
        """Whether a delivery ends with the line."""
        left = pc.and_(pc.equal(self.came, CLAIMED), pc.not_equal(self.went, CLAIMED))
        return pc.or_(left, self.is_unseen)

    @cached_property
    def lost(self) -> pa.Array:
        """Whether the journal has no end of the delivery; the next line ends it."""
        next_came = self.next_came
        elsewhere = pc.and_(
            pc.not_equal(next_came, 0), pc.not_equal(next_came, CLAIMED)
        )
        return pc.and_(pc.equal(self.went, CLAIMED), elsewhere)

    @cached_property
    def goes_on(self) -> pa.Array:
        """Whether the next line belongs to the same stay."""
        return pc.and_(pc.not_equal(self.next_came, 0), pc.not_equal(self.went, 0))

    def next_of_stay(self, values: pa.Array) -> pa.Array:
        """What the next line of the stay has; null after the last."""
        nothing = pa.scalar(None, values.type)
        return pc.if_else(self.goes_on, after(values), nothing)

    @cached_property
    def next_day(self) -> pa.Array:
        return self.next_of_stay(self.day)

    @cached_property
    def stay_row(self) -> pa.Array:
        """The number of the first line of the stay."""
        return self.newest(self.begins)

    @cached_property
    def source_row(self) -> pa.Array:
        """The number of the line that tells where the message came from."""
        return self.newest(pc.or_(self.is_first, self.is_fresh))

    @cached_property
    def taker_row(self) -> pa.Array:
        """The number of the line that tells who got the message."""
        return self.newest(pc.or_(self.begins, self.starts))

    @cached_property
    def failure_row(self) -> pa.Array:
        """The number of the line with the newest error of the stay."""
        return self.newest(pc.or_(self.begins, self.is_kind(BACKED_OUT)))

    # For each line: sums over the lines of its stay, up to this line

    @cached_property
    def deliveries(self) -> pa.Array:
        return self.summed("deliveries", self.starts.cast(pa.int64()))

    @cached_property
    def failed(self) -> pa.Array:
        own = pc.and_(self.ends, self.is_kind(*FAILED))
        return self.summed("failed", own.cast(pa.int64()))

    @cached_property
    def waited_us(self) -> pa.Array:
        return self.summed("waited_us", self.spent(READY))

    @cached_property
    def delayed_us(self) -> pa.Array:
        return self.summed("delayed_us", self.spent(DELAYED))

    @cached_property
    def held_us(self) -> pa.Array:
        return self.summed("held_us", self.spent(CLAIMED))

    def spent(self, place: int) -> pa.Array:
        """Microseconds in a place, from the line before to each."""
        since = pc.subtract(self.at_us, before(self.at_us))
        here = pc.and_(pc.invert(self.begins), pc.equal(self.came_before, place))
        return pc.if_else(here, pc.max_element_wise(since, 0), 0)

    def summed(self, name: str, own: pa.Array) -> pa.Array:
        """
        Args:
            name: of the same sum of stays that were open before.
            own: what each line adds.
        """
        carried = self.of_carried(name, self.row).cast(pa.int64())
        own = pc.add(own, pc.fill_null(carried, 0))
        until = pc.cumulative_sum(own)
        before_stay = pc.subtract(until, own).take(self.stay_row)
        return pc.subtract(until, before_stay)

    @cached_property
    def first_got_at(self) -> pa.Array:
        """The earliest get of the stay, up to each line."""
        carried = self.of_carried("first_got_at", self.row)
        got = pc.if_else(self.is_kind(GOT), self["at"], carried)
        if got.null_count == len(got):
            return got
        # One running minimum serves all stays: the numbers of a later stay are made
        # lower than those of all stays before.
        ranks = pc.rank(got, "ascending").cast(pa.int64())
        stay = pc.cumulative_sum(self.begins.cast(pa.int64()))
        size = len(got) + 1
        base = pc.multiply(pc.subtract(stay[-1], stay), size)
        least = pc.subtract(pc.cumulative_min(pc.add(base, ranks)), base)
        return got.take(pc.array_sort_indices(got)).take(pc.subtract(least, 1))


def timelines(lines: pa.Table) -> Timelines:
    """Sort the lines of some entries; those of entries that are out of order are moved
    behind the line that they continue."""
    lines = lines.take(pc.sort_indices(lines, [(one, "ascending") for one in ORDER]))
    found = with_carried(lines)
    if not pc.any(found.is_broken).as_py():
        return found
    broken = pc.unique(found.entry.filter(found.is_broken))
    unordered = pc.is_in(found.entry, broken)
    moved = pa.array(chained(found, unordered), pa.int64())
    return with_carried(lines.take(pc.replace_with_mask(found.row, unordered, moved)))


def with_carried(lines: pa.Table) -> Timelines:
    """Timelines of lines in their order, with the stays that these carry on."""
    texts = lines["c"].combine_chunks()
    known = texts.drop_null()
    carried = read_open("\n".join(known.to_pylist()).encode())
    rows = pc.subtract(pc.cumulative_sum(texts.is_valid().cast(pa.int64())), 1)
    is_carried = texts.is_valid()
    carried_row = pc.if_else(is_carried, rows, NO_ROW)
    return Timelines(lines.drop_columns("c").combine_chunks(), carried, carried_row)


def chained(found: Timelines, unordered: pa.Array) -> Iterator[int]:
    """The numbers of all lines of unordered entries, in their new order: next is
    always the earliest line that starts where the entry is, or the earliest of all if
    none does. Days are not mixed, so that it does not matter which are built together.
    """
    names = ("row", "entry", "day", "came", "went", "is_broken")
    columns = (getattr(found, name).filter(unordered).to_pylist() for name in names)
    lines = [Line(*one) for one in zip(*columns, strict=True)]
    for _, entry in groupby(lines, lambda line: line.entry):
        yield from chain(list(entry))


class Line(NamedTuple):
    row: int
    entry: int
    day: int | None  # None: the line stands for a stay that was open before
    came: int
    went: int
    is_broken: bool


def chain(rest: list[Line]) -> Iterator[int]:
    """The numbers of the lines of one entry, in their new order."""
    first = min(line.day for line in rest if line.day is not None)
    rest = [line._replace(day=first) if line.day is None else line for line in rest]
    unordered = {line.day for line in rest if line.is_broken}
    place = None
    while rest:
        day = rest[0].day
        fits = (
            n
            for n, line in enumerate(rest)
            if line.day == day and line.came == (place or 0)
        )
        starts = place is None and day not in unordered
        line = rest.pop(0 if starts else next(fits, 0))
        place = line.went or None
        yield line.row


def before(values: pa.Array) -> pa.Array:
    """For each line the value of the line before it; null for the first."""
    return pa.concat_arrays([pa.nulls(1, values.type), values[:-1]])


def after(values: pa.Array) -> pa.Array:
    """For each line the value of the next; null for the last."""
    return pa.concat_arrays([values[1:], pa.nulls(1, values.type)])


def all_of(*conditions: pa.Array) -> pa.Array:
    return reduce(pc.and_, conditions)
