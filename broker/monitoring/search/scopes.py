"""The part of the data that a filter needs to search: which queues, which states, and
which ranges of message numbers. Everything else is not read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from broker import sql
from broker.formats.filters import COPY, Filter, Term
from broker.formats.filters.keys import STATES
from broker.formats.filters.values import (
    Alternative,
    Between,
    Compared,
    Is,
    Moment,
    Text,
)

BEYOND = 2**62  # greater than every message number
# A message may have been put at most this long before a message with a lower number.
SLACK = timedelta(minutes=1)
Range = tuple[int, int]  # message numbers; the end is exclusive


@dataclass(frozen=True, slots=True)
class Scope:
    """Where to search."""

    queue_ids: tuple[int, ...]
    states: frozenset[str]
    ranges: tuple[Range, ...]  # message numbers of any entries
    # Message numbers of dead letters, if no other ready entries are searched.
    letter_ranges: tuple[Range, ...]
    # Message numbers of dead letters that keep their original put time.
    late_ranges: tuple[Range, ...]
    fingerprints: tuple[str, ...]  # fingerprints of dead letters; empty: any

    @property
    def top(self) -> int:
        """All message numbers to search are below this number."""
        return max((high for _, high in self.ranges + self.late_ranges), default=0)

    @property
    def bottom(self) -> int:
        """All message numbers to search are this number or above."""
        return min((low for low, _ in self.ranges + self.late_ranges), default=0)

    @property
    def is_empty(self) -> bool:
        nowhere = not self.ranges and not self.late_ranges
        return nowhere or not self.queue_ids or not self.states


def scope_of(wanted: Filter, queues: Mapping[int, str], now: datetime) -> Scope:
    """Where a filter needs to search.

    Dead letters are ready entries, so a search of ready entries finds them. If no other
    ready entries are wanted, they are read from their own index. A dead letter by IBM
    MQ's rules keeps its time of put, so its number may be greater than those of that
    time.

    Args:
        wanted: the filter.
        queues: the queues to search: their names, by id.
        now: the time from which ages count.
    """
    states = states_of(wanted)
    ranges = ranges_of(wanted)
    low, high = numbers_between(*times_of(wanted, now))
    in_time = overlaps(ranges, [(low, high)])
    late = overlaps(ranges, [(high, BEYOND)]) if "dead" in states else []
    letters = in_time if "dead" in states and "ready" not in states else []
    return Scope(
        queues_of(wanted, queues),
        states,
        tuple(in_time),
        tuple(letters),
        tuple(late),
        fingerprints_of(wanted),
    )


def terms_of(wanted: Filter, *keys: str) -> Iterable[Term]:
    return (term for term in wanted.terms if term.key.name in keys)


def states_of(wanted: Filter) -> frozenset[str]:
    """The states that a matching entry can have."""
    states = set(STATES)
    for term in wanted.terms:
        named = {str(one) for one in term.alternatives}
        if term.key.name == "state":
            states = states - named if term.is_negated else states & named
        elif term.is_negated:
            continue
        elif term.key.of_letters:
            states &= {"dead"}
        elif term.key.name == "due":
            states &= {"delayed"}
    return frozenset(states)


def queues_of(wanted: Filter, queues: Mapping[int, str]) -> tuple[int, ...]:
    """The queues that a matching entry can be on."""
    terms = tuple(terms_of(wanted, "queue"))
    if not terms:
        return tuple(queues)
    return tuple(pk for pk, name in queues.items() if matches_terms(terms, name))


def matches_terms(terms: Iterable[Term], queue: str) -> bool:
    return all(
        term.is_negated != any(matches(one, queue) for one in term.alternatives)
        for term in terms
    )


def matches(one: Alternative, name: str) -> bool:
    return (
        isinstance(one, Is) and isinstance(one.value, Text) and one.value.matches(name)
    )


def fingerprints_of(wanted: Filter) -> tuple[str, ...]:
    """The fingerprints that a match may have, if the filter gives them without
    wildcards."""
    for term in terms_of(wanted, "fingerprint"):
        texts = [
            one.value
            for one in term.alternatives
            if isinstance(one, Is) and isinstance(one.value, Text)
        ]
        if not term.is_negated and all(text.is_exact for text in texts):
            return tuple(text.parts[0] for text in texts)
    return ()


def ranges_of(wanted: Filter) -> list[Range]:
    """The ranges of message numbers that the filter allows."""
    ranges: list[Range] = [(1, BEYOND)]
    for term in terms_of(wanted, "id", COPY.name):
        if term.is_negated:
            continue
        found = union(map(range_of, term.alternatives))
        if term.key != COPY:  # the ids of copies are above the number of the message
            found = [(low, BEYOND) for low, _ in found[:1]]
        ranges = overlaps(ranges, found)
    return ranges


def range_of(one: Alternative) -> Range:
    match one:
        case Is(int() as number):
            return number, number + 1
        case Between(int() as low, int() as high):
            return low, high + 1
        case Compared(operator, int() as number):
            bound = number + (operator in (">", "<="))
            return (bound, BEYOND) if operator.startswith(">") else (0, bound)
    raise AssertionError(one)


def union(ranges: Iterable[Range]) -> list[Range]:
    """The numbers of all these ranges, as sorted ranges that do not overlap."""
    apart: list[Range] = []
    for low, high in sorted(ranges):
        if apart and low <= apart[-1][1]:
            apart[-1] = apart[-1][0], max(apart[-1][1], high)
        else:
            apart.append((low, high))
    return apart


def overlaps(some: Iterable[Range], others: Iterable[Range]) -> list[Range]:
    found = (
        (max(one[0], other[0]), min(one[1], other[1]))
        for one in some
        for other in others
    )
    return [(low, high) for low, high in found if low < high]


Times = tuple[datetime | None, datetime | None]


def times_of(wanted: Filter, now: datetime) -> Times:
    """The earliest and the latest put time of a match; None: no bound."""
    lows: list[datetime] = []
    highs: list[datetime] = []
    for term in terms_of(wanted, "at", "age"):
        if term.is_negated:
            continue
        earliest, latest = zip(
            *(times_between(one, now) for one in term.alternatives), strict=True
        )
        if None not in earliest:
            lows.append(min(earliest))
        if None not in latest:
            highs.append(max(latest))
    return max(lows, default=None), min(highs, default=None)


def times_between(one: Alternative, now: datetime) -> Times:
    match one:
        case Is(Moment() as moment):
            return moment.start, moment.end
        case Between(Moment() as first, Moment() as last):
            return first.start, last.end
        case Between(timedelta() as least, timedelta() as most):
            return now - most, now - least
        case Compared(operator, Moment() as moment):
            return (
                (moment.start, None) if operator.startswith(">") else (None, moment.end)
            )
        case Compared(operator, timedelta() as span):
            at = now - span
            return (None, at) if operator.startswith(">") else (at, None)
    raise AssertionError(one)


def numbers_between(since: datetime | None, until: datetime | None) -> Range:
    """The range of message numbers put between two times, extended by ``SLACK``."""
    low, high = 1, BEYOND
    if since is not None:
        (low,) = sql.fetch_one("first_since", at=since - SLACK)
    if until is not None:
        (high,) = sql.fetch_one("first_since", at=until + SLACK)
    return low, high
