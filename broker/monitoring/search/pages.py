"""Pages, counts, and keys of the entries that match a filter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from math import inf
from time import monotonic
from typing import Any

from psycopg.sql import SQL

from broker.formats.filters import Filter
from broker.models import Message, Place
from broker.monitoring.search.lanes import Lanes
from broker.monitoring.search.walking import (
    ONLY_KEYS,
    PATIENCE,
    SHOWN,
    START,
    Columns,
    Cursor,
    Walk,
    patiently,
)
from broker.queueing.browse import bigint

LOOKS = 25  # most steps for one page; a step reads fewer entries if it reads bodies
MOST = 1000  # the default limit of a count
BATCH = 2000  # most keys that one step returns for a plan
STATES = {
    Place.READY.value: "ready",
    Place.CLAIMED.value: "in-flight",
    Place.DELAYED.value: "delayed",
}
# Places of entries that are not claimed.
AT_HAND = (Place.READY.value, Place.DELAYED.value)
LISTED = Columns(
    SQL(
        "dead.message_id IS NOT NULL AS is_dead, dead.cause, dead.error,"
        " dead.fingerprint, dead.origin_queue, dead.resubmit_count, dead.died_at,"
        " coalesce(dead.backout_count, entry.backout_count) AS tries"
    ),
    SQL(
        "found.number, found.id, found.queue_id, found.place, found.is_dead,"
        " found.priority, found.tries, found.until, found.expires_at, message.put_at,"
        " message.address, message.content_type, message.subject, message.message_id,"
        " message.correlation_id, message.producer, octet_length(message.body),"
        " found.cause, found.error, found.fingerprint, found.origin_queue,"
        " found.resubmit_count, found.died_at, coalesce(message.first_id, found.id)"
    ),
    SHOWN,
)


@dataclass(frozen=True, slots=True)
class Effort:
    """The limit of a search, after which it stops before its end."""

    looks: int | None = None  # most steps; None: ``LOOKS``
    seconds: float = inf  # time after which no further step begins
    skips: bool = False  # ``skips`` of the page before


@dataclass(frozen=True, slots=True)
class Reach:
    """How far a search has come in the range of message numbers, from the newest on."""

    top: int  # the highest number that was read; 0: none was
    at: int  # the number at which the search continues
    bottom: int  # the lowest number that it can read

    @property
    def share(self) -> float:
        """The share of the range that was searched, from 0 to 1."""
        length = self.top - self.bottom + 1
        return min(max((self.top - self.at + 1) / length, 0), 1) if length > 0 else 0


USUAL = Effort()


@dataclass(frozen=True, slots=True)
class Found:
    """One entry that matches a filter."""

    message_id: int
    queue_id: int
    state: str  # a value of broker.formats.filters.keys.STATES
    priority: int
    tries: int  # number of backouts; for a dead letter, of the original
    until: datetime | None  # end of the delay, of the unit of work, or of the retention
    expires_at: datetime | None
    put_at: datetime | None
    address: str | None
    content_type: str | None
    subject: str | None
    client_message_id: str | None
    correlation_id: str | None
    producer: str | None
    size_bytes: int | None
    cause: str | None  # this field and the next five are set only for a dead letter
    error: str | None
    fingerprint: str | None
    origin_queue: str | None
    resubmit_count: int | None
    died_at: datetime | None
    number: int  # the number that all copies of the message share

    @property
    def key(self) -> tuple[int, int]:
        return self.message_id, self.queue_id

    @property
    def is_at_hand(self) -> bool:
        """Whether an operation can take the entry: it is on a queue and not claimed."""
        return self.state not in ("in-flight", "discarded")


@dataclass(frozen=True, slots=True)
class Count:
    """How many entries match a filter."""

    messages: int
    is_exact: bool  # False: there may be more
    looked_at: int  # number of entries read
    at_hand: int  # matching entries that an operation can take, as they are not claimed

    def __add__(self, rest: Count) -> Count:
        """The sum of this count and of the count of the entries after it."""
        return Count(
            self.messages + rest.messages,
            rest.is_exact,
            self.looked_at + rest.looked_at,
            self.at_hand + rest.at_hand,
        )


@dataclass(frozen=True, slots=True)
class SearchPage:
    """One page of results, the newest message first."""

    rows: list[Found]
    after: str  # cursor of the next page; empty for the last page
    looked_at: int  # number of entries read
    is_limited: bool  # the search stopped at its limit before its end
    reach: Reach | None = None  # set if the search is limited
    # Whether the next page may begin with the next message that may match.
    skips: bool = False
    # State from which the next page continues.
    lanes: Lanes | None = field(default=None, repr=False, compare=False)

    @property
    def count(self) -> Count:
        """The number of matches up to the end of this page, if it is the first page."""
        at_hand = sum(one.is_at_hand for one in self.rows)
        return Count(len(self.rows), not self.after, self.looked_at, at_hand)


def find(
    wanted: Filter,
    *,
    within: Mapping[int, str],
    after: str = "",
    limit: int = 50,
    effort: Effort = USUAL,
    now: datetime | None = None,
) -> SearchPage:
    """One page of the entries that match a filter, the newest message first.

    It reads only, and takes no lock. A page reads a bounded number of entries. If these
    do not fill it, it is marked as limited, and the next page continues there.

    Args:
        wanted: the filter.
        within: the queues to search: their names, by id.
        after: the cursor of the page before.
        limit: the largest number of entries.
        effort: the limit of the search.
        now: the time from which ages count; the database's clock when not given.

    Raises:
        ValueError: ``after`` is not a cursor.
        SearchTooLong: the database took too long for one step.
    """
    before = cursor_of(after)
    with patiently(PATIENCE):
        walk = Walk(wanted, within, LISTED, before=before, now=now)
        walk.skips = effort.skips and walk.may_skip
        some = looks(walk, limit + 1, effort)
        rows = [row for look in some for row in look]
    lanes = None if "ready" not in walk.scope.states or walk.at_end else walk.lanes
    found = [as_found(row[1:]) for row in rows[:limit]]
    if len(rows) > limit:
        goes_on = f"{found[-1].message_id}.{found[-1].queue_id}"
        return SearchPage(found, goes_on, walk.looked_at, is_limited=False, lanes=lanes)
    if walk.at_end:
        return SearchPage(found, "", walk.looked_at, is_limited=False)
    return SearchPage(
        found,
        f"{walk.before[0]}.{walk.before[1]}",
        walk.looked_at,
        is_limited=True,
        reach=reach_of(walk),
        skips=walk.skips,
    )


def reach_of(walk: Walk) -> Reach:
    oldest = Message.objects.order_by("pk").values_list("pk", flat=True).first()
    bottom = max(walk.scope.bottom, oldest or 0)
    return Reach(walk.top, walk.before[0], bottom)


def count(
    wanted: Filter,
    *,
    within: Mapping[int, str],
    after: SearchPage | None = None,
    most: int = MOST,
    effort: Effort = USUAL,
    now: datetime | None = None,
) -> Count:
    """How many entries match a filter, within a limit of matches and of effort.

    Args:
        wanted: the filter.
        within: the queues to search: their names, by id.
        after: a page; only the entries after it are counted.
        most: the limit of the count.
        effort: the limit of the search.
        now: the time from which ages count; the database's clock when not given.

    Raises:
        SearchTooLong: the database took too long for one step.
    """
    before, lanes = (cursor_of(after.after), after.lanes) if after else (START, None)
    with patiently(PATIENCE):
        walk = Walk(wanted, within, ONLY_KEYS, before=before, now=now, lanes=lanes)
        some = looks(walk, most + 1, effort)
        found = [row for look in some for row in look]
    is_exact = walk.at_end and len(found) <= most
    at_hand = sum(place in AT_HAND for *_, place in found[:most])
    return Count(min(len(found), most), is_exact, walk.looked_at, at_hand)


def keys(
    wanted: Filter, *, within: Mapping[int, str], now: datetime | None = None
) -> Iterator[list[tuple[int, int]]]:
    """Message and queue of all entries that match a filter, in batches. A plan needs
    all matches, so there is no limit of effort."""
    walk = Walk(wanted, within, ONLY_KEYS, now=now)
    walk.is_whole = True
    while not walk.at_end:
        yield [(message_id, queue_id) for _, message_id, queue_id, _ in walk.on(BATCH)]


def looks(
    walk: Walk, limit: int, effort: Effort = USUAL
) -> Iterator[list[tuple[Any, ...]]]:
    """The matches of each step, until there are enough matches or the limit of effort
    is reached. There is at least one step."""
    missing, began_s = limit, monotonic()
    for number in range(effort.looks or LOOKS):
        is_late = number > 0 and monotonic() - began_s > effort.seconds
        if not missing or walk.at_end or is_late:
            return
        rows = walk.on(missing)
        missing -= len(rows)
        yield rows


def cursor_of(text: str) -> Cursor:
    if not text:
        return START
    message_id, queue_id = map(bigint, text.split("."))
    if not (0 < message_id <= START[0] and 0 <= queue_id < 2**31):
        raise ValueError(f"{text} is no place in a list")
    return message_id, queue_id


def as_found(row: tuple[Any, ...]) -> Found:
    message_id, queue_id, place, is_dead, *rest = row
    state = "dead" if is_dead else STATES.get(place, "discarded")
    return Found(message_id, queue_id, state, *rest)
