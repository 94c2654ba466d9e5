"""The points of a chart: what some queues or links did in a range of time.

A range has at most ``MOST`` points. They are read from the coarsest samples that are
fine enough and still kept, and at the end of the range from finer ones, whose longer
period has not ended yet.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from broker.models import HistorySample
from broker.monitoring.history.levels import LEVELS, Level, end_of
from broker.monitoring.history.packing import (
    COUNTS,
    FIELDS,
    GAUGES,
    SUMMED_FROM,
    Counts,
    combined,
    unpacked,
)
from broker.monitoring.history.sampling import UNCHANGED_S
from broker.queueing.journal import BOUNDS_MS

MOST = 180  # most points of one history
# Seconds from one point to the next.
STEPS = (
    *(10, 30, 60, 120, 300, 600, 1800),
    *(3600, 7200, 14_400, 21_600, 43_200, 86_400),
)
# A longer span without a sample is unknown: no process took samples.
KNOWN_S = UNCHANGED_S + 20
FIRST_TIME = SUMMED_FROM + len(COUNTS)


@dataclass(frozen=True, slots=True)
class Point:
    """What happened in the step that ends at ``at``. Depths and ages are the highest of
    the step; of several queues, the sum of the highest depths."""

    at: datetime
    ready: int
    in_flight: int
    delayed: int
    oldest_s: int  # age of the oldest ready message; 0 if there is none
    added_per_s: float
    removed_per_s: float
    backed_out: int
    dead_lettered: int
    p50_ms: float | None = None  # time from get to accept; None: nothing was accepted
    p95_ms: float | None = None


@dataclass(frozen=True, slots=True)
class History:
    """The points of a range in order; None is a step of which nothing is known."""

    begin: datetime
    end: datetime
    step_s: int
    ends: Sequence[datetime]  # the end of each step
    points: Sequence[Point | None]


@dataclass(frozen=True, slots=True)
class SampleSpan:
    """The counts of one sample, or of several combined."""

    at: datetime
    span_s: int
    counts: Counts


def read(
    ids: Collection[int], begin: datetime, end: datetime, *, now: datetime
) -> History:
    """The history of queues and links together, by their ids in a block.

    Args:
        ids: whose counts are added up.
        begin: where the range begins; before ``end``.
        now: the current time, which decides which samples are still kept.
    """
    level, step_s = resolution(begin, end, now=now)
    known = [
        SampleSpan(at, span_s, unpacked(counts).sum_of(ids))
        for at, span_s, counts in samples(level, begin, end)
    ]
    first = end_of(begin, step_s)
    many = int((end_of(end, step_s) - first).total_seconds()) // step_s
    ends = [first + timedelta(seconds=step_s) * n for n in range(1, many + 1)]
    points = points_of(known, step_s)
    return History(begin, end, step_s, ends, [points.get(one) for one in ends])


def resolution(begin: datetime, end: datetime, *, now: datetime) -> tuple[Level, int]:
    """The level to read, and the seconds of a step."""
    length_s = (end - begin).total_seconds()
    kept = [one for one in LEVELS if begin >= now - one.kept] or [LEVELS[-1]]
    step_s = next(
        (one for one in STEPS if one >= kept[0].period_s and one * MOST >= length_s),
        STEPS[-1],
    )
    fitting = [one for one in kept if step_s % one.period_s == 0]
    return fitting[-1], step_s


def samples(
    level: Level, begin: datetime, end: datetime
) -> Iterator[tuple[datetime, int, bytes]]:
    """Samples of a range, the oldest first; the last ones from finer levels."""
    after = begin - timedelta(seconds=KNOWN_S)
    for one in reversed(LEVELS[: LEVELS.index(level) + 1]):
        rows = HistorySample.objects.filter(
            period_s=one.period_s, at__gt=after, at__lte=end
        ).order_by("at")
        for at, span_s, counts in rows.values_list("at", "span_s", "counts"):
            after = at
            yield at, span_s, bytes(counts)


def points_of(known: Sequence[SampleSpan], step_s: int) -> dict[datetime, Point]:
    """Points by the end of their step; steps of which nothing is known are left out."""
    steps: dict[datetime, list[SampleSpan]] = {}
    for one in known:
        steps.setdefault(end_of(one.at, step_s), []).append(one)
    step = timedelta(seconds=step_s)
    found = {end: point(end, spans) for end, spans in steps.items()}
    for earlier, later in pairwise(known):
        if later.at - earlier.at <= timedelta(seconds=KNOWN_S):
            between, last = end_of(earlier.at, step_s) + step, end_of(later.at, step_s)
            # Nothing changed in this step, or the change is in the later sample.
            while between < last:
                found[between] = unchanged(between, earlier, later)
                between += step
    return found


def point(at: datetime, spans: Sequence[SampleSpan]) -> Point:
    counts = combined([one.counts for one in spans])
    span_s = sum(one.span_s for one in spans)
    ready, in_flight, delayed, oldest_s, added, removed, backed_out, dead = counts[
        :FIRST_TIME
    ]
    times = counts[FIRST_TIME:]
    return Point(
        at,
        ready,
        in_flight,
        delayed,
        oldest_s,
        round(added / span_s, 2),
        round(removed / span_s, 2),
        backed_out,
        dead,
        percentile(times, 0.5),
        percentile(times, 0.95),
    )


def unchanged(at: datetime, earlier: SampleSpan, later: SampleSpan) -> Point:
    """A step between two samples: the depths of the first, the rates of the second."""
    rates = later.counts[SUMMED_FROM : SUMMED_FROM + 2]
    nothing = [0] * (len(FIELDS) - len(GAUGES) - len(rates))
    counts = [*earlier.counts[:SUMMED_FROM], *rates, *nothing]
    return point(at, [SampleSpan(at, later.span_s, counts)])


def percentile(times: Sequence[int], share: float) -> float | None:
    """A percentile of times in milliseconds, from their buckets; inside a bucket the
    times are assumed to be spread evenly. None without times."""
    wanted = sum(times) * share
    if not wanted:
        return None
    below = 0.0
    for count, low, high in zip(
        times, (0, *BOUNDS_MS), (*BOUNDS_MS, 2 * BOUNDS_MS[-1]), strict=True
    ):
        if count and below + count >= wanted:
            return round(low + (high - low) * (wanted - below) / count, 1)
        below += count
    return None
