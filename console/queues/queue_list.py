"""The list of queues: filter, order, and columns.

A cookie keeps which columns are hidden. The URL holds the rest of its state: ``q`` is
part of a name, or a pattern with ``*``; ``sort`` a column, with ``-`` before it for
descending order; ``page`` a number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from django.core.paginator import Page, Paginator
from django.http import QueryDict
from django.utils.translation import gettext, gettext_noop

from broker.security.authorities import GrantedAuthorities
from dashboards.live import ages, attention, trends
from dashboards.live.depths import QueueDepth
from dashboards.live.trends import Trend

PAGE = 50
TREND = "trend"  # a column by which queues cannot be sorted


@dataclass(frozen=True, slots=True)
class QueueRow:
    """One queue of the list."""

    depth: QueueDepth
    died: int  # dead letters that came from this queue, on any queue
    oldest_s: float | None  # age of the first message


@dataclass(frozen=True, slots=True)
class Column:
    """A column by which queues can be sorted."""

    name: str  # the name of the column in the URL
    label: str
    what: str
    of: Callable[[QueueRow], float | str]

    @property
    def is_number(self) -> bool:
        return self.name not in ("name", "state")

    @property
    def has_largest_first(self) -> bool:
        """Whether its default order is descending; only names ascend."""
        return self.name != "name"


def urgency(row: QueueRow) -> int:
    """Sort key of a queue's state: stopped, then paused, then without consumers."""
    depth = row.depth
    return depth.stopped * 4 + depth.paused * 2 + depth.is_untaken


COLUMNS = [
    Column(
        "name",
        gettext_noop("Queue"),
        gettext_noop("its name"),
        lambda row: row.depth.name.lower(),
    ),
    Column(
        "state",
        gettext_noop("State"),
        gettext_noop("its state, if it is unusual"),
        urgency,
    ),
    Column(
        "ready",
        gettext_noop("Ready"),
        gettext_noop("deliverable messages"),
        lambda row: row.depth.ready,
    ),
    Column(
        "in-flight",
        gettext_noop("In flight"),
        gettext_noop("messages that consumers have"),
        lambda row: row.depth.claimed,
    ),
    Column(
        "delayed",
        gettext_noop("Delayed"),
        gettext_noop("messages that are delayed"),
        lambda row: row.depth.delayed,
    ),
    Column(
        "dead",
        gettext_noop("Dead letters"),
        gettext_noop("on a queue for dead letters: all its messages"),
        lambda row: row.depth.total if row.depth.takes_dead_letters else -1,
    ),
    Column(
        "died",
        gettext_noop("Died"),
        gettext_noop(
            "dead letters that came from here, on any queue; some seconds old"
        ),
        lambda row: row.died,
    ),
    Column(
        "oldest",
        gettext_noop("Oldest"),
        gettext_noop("age of the oldest message, since its put"),
        lambda row: -1.0 if row.oldest_s is None else row.oldest_s,
    ),
    Column(
        "in",
        gettext_noop("In /s"),
        gettext_noop("messages that were put, a second, over the last ten seconds"),
        lambda row: row.depth.arriving or 0,
    ),
    Column(
        "out",
        gettext_noop("Out /s"),
        gettext_noop(
            "messages that were accepted, a second, over the last ten seconds"
        ),
        lambda row: row.depth.accepted or 0,
    ),
    Column(
        "back",
        gettext_noop("Backouts /s"),
        gettext_noop(
            "backouts a second, over the last ten seconds: messages to be redelivered"
        ),
        lambda row: row.depth.backed_out or 0,
    ),
]
COOKIE = "queue-columns-hidden"
NONE = "none"  # ``aria-sort`` of a column that is not in order
BY_NAME = {column.name: column for column in COLUMNS}


@dataclass(frozen=True, slots=True)
class Order:
    """A column and a direction."""

    column: Column
    is_falling: bool

    @classmethod
    def of(cls, wanted: str) -> Order:
        """The order of the URL; by name if that is invalid."""
        column = BY_NAME.get(wanted.removeprefix("-"))
        if column is None:
            return cls(BY_NAME["name"], is_falling=False)
        return cls(column, wanted.startswith("-"))

    @property
    def value(self) -> str:
        """The value of ``sort``."""
        return f"-{self.column.name}" if self.is_falling else self.column.name

    def sorted(self, rows: Sequence[QueueRow]) -> list[QueueRow]:
        """Queues in this order; equal ones by name."""
        by_name = sorted(rows, key=BY_NAME["name"].of)
        return sorted(by_name, key=self.column.of, reverse=self.is_falling)

    def words(self, column: Column) -> str:
        """The ``aria-sort`` of a column."""
        if column is not self.column:
            return "none"
        return "descending" if self.is_falling else "ascending"

    def next(self, column: Column) -> str:
        """The ``sort`` after a click on a column: its default direction first, then the
        reverse.
        """
        is_falling = column.has_largest_first
        if column is self.column:
            is_falling = not self.is_falling
        return f"-{column.name}" if is_falling else column.name


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns that a user chose; the name of a queue is always shown."""

    shown: frozenset[str]

    @classmethod
    def of(cls, names: Sequence[str]) -> Columns:
        return cls(frozenset({"name", *names} & (BY_NAME.keys() | {TREND})))

    @classmethod
    def read_cookie(cls, hidden: str) -> Columns:
        """From the cookie; columns that it does not know are shown."""
        return cls.of([*({*BY_NAME, TREND} - {*hidden.split(".")})])

    @property
    def hidden(self) -> str:
        """The value of the cookie."""
        return ".".join(name for name in (*BY_NAME, TREND) if name not in self.shown)

    @property
    def choices(self) -> list[tuple[str, str, bool]]:
        """The name and the label of each column that may be hidden, and whether it is
        shown."""
        labels = {one.name: gettext(one.label) for one in COLUMNS[1:]}
        labels[TREND] = "5 min"
        return [(name, words, name in self.shown) for name, words in labels.items()]


@dataclass(frozen=True, slots=True)
class QueueList:
    """One page of the list."""

    wanted: str
    order: Order
    columns: Columns
    page: Page[QueueRow]
    trends: Mapping[int, Trend]

    @property
    def head(self) -> list[tuple[str, list[tuple[Column, str]]]]:
        """The heads: the ``aria-sort`` of each, and its columns with the ``sort`` of
        their links. The state stands below the name.
        """
        order = self.order
        shown = [one for one in COLUMNS if one.name in self.columns.shown]
        heads = [[one] for one in shown if one.name != "state"]
        heads[0] += [one for one in shown if one.name == "state"]
        return [
            (
                next(
                    (said for one in head if (said := order.words(one)) != NONE), NONE
                ),
                [(one, order.next(one)) for one in head],
            )
            for head in heads
        ]

    @property
    def orders(self) -> list[tuple[str, str]]:
        """The choices for narrow pages, which have no column heads: each column in its
        default direction, and the present order.
        """
        usual = [Order(one, is_falling=one.has_largest_first) for one in COLUMNS]
        chosen = self.order
        words = {one.value: gettext(one.column.label) for one in [*usual, chosen]}
        if chosen not in usual:
            words[chosen.value] = gettext("%(column)s, the other way") % {
                "column": words[chosen.value]
            }
        return [*words.items()]

    @property
    def rows(self) -> list[tuple[QueueRow, Trend]]:
        return [(row, self.trends[row.depth.queue_id]) for row in self.page]


def listed(
    every: Sequence[QueueDepth],
    query: QueryDict,
    held: GrantedAuthorities,
    hidden: str = "",
) -> QueueList:
    """The queues that match the query, of those the user may inquire.

    Args:
        every: queues that the user may inquire.
        query: the URL's query.
        held: the user's authorities, for the counts of dead letters.
        hidden: the cookie of the hidden columns.
    """
    wanted = query.get("q", "").strip()
    died, oldest = attention.died(held), ages.lately()
    rows = [
        QueueRow(one, died[one.name], oldest.get(one.queue_id))
        for one in every
        if matches_name(one.name, wanted)
    ]
    order = Order.of(query.get("sort", ""))
    page = Paginator(order.sorted(rows), PAGE).get_page(query.get("page"))
    drawn = trends.of(row.depth.queue_id for row in page)
    return QueueList(wanted, order, Columns.read_cookie(hidden), page, drawn)


def matches_name(name: str, wanted: str) -> bool:
    """Whether a name contains a text, or matches a pattern with ``*``; any case."""
    if "*" not in wanted:
        return wanted.lower() in name.lower()
    pattern = ".*".join(map(re.escape, wanted.split("*")))
    return re.fullmatch(pattern, name, re.IGNORECASE | re.DOTALL) is not None
