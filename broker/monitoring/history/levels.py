"""Samples of short periods become samples of longer ones, and are deleted later.

Each sample of a level is counted in exactly one sample of the next level: that of the
period in which it ends. Nothing that was counted is lost, only its exact time.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from broker.models import HistorySample
from broker.monitoring.history.packing import Counts, combined, packed, unpacked


@dataclass(frozen=True, slots=True)
class Level:
    """A length of periods, and for how long their samples are kept."""

    period_s: int
    kept: timedelta


LEVELS = (
    Level(10, timedelta(hours=2)),
    Level(60, timedelta(hours=26)),
    Level(600, timedelta(days=8)),
    Level(3600, timedelta(days=31)),
    Level(14_400, timedelta(days=92)),
)


def last_end(moment: datetime, period_s: int) -> datetime:
    """The end of the last period that had ended at a moment."""
    return datetime.fromtimestamp(moment.timestamp() // period_s * period_s, UTC)


def end_of(moment: datetime, period_s: int) -> datetime:
    """The end of the period that a moment is in; a period includes its end."""
    return datetime.fromtimestamp(-(-moment.timestamp() // period_s) * period_s, UTC)


def roll_up(before: datetime, at: datetime) -> None:
    """Combine the samples of longer periods that have ended, and delete old samples.

    Args:
        before: the end of the last sample but one; no later period was combined.
        at: the end of the last sample.
    """
    for fine, coarse in pairwise(LEVELS):
        period_s = coarse.period_s
        ends = {end_of(before, period_s), end_of(at, period_s)}
        for end in sorted(ends):
            if last_end(before, period_s) < end <= at:
                store(fine, coarse, end)
    if last_end(before, LEVELS[1].period_s) < last_end(at, LEVELS[1].period_s):
        prune(at)


def store(fine: Level, coarse: Level, end: datetime) -> None:
    """Store one sample that combines the finer samples of its period, if there are
    any."""
    begin = end - timedelta(seconds=coarse.period_s)
    rows = HistorySample.objects.filter(
        period_s=fine.period_s, at__gt=begin, at__lte=end
    )
    span_s, counts = 0, defaultdict[int, list[Counts]](list)
    for row in rows:
        span_s += row.span_s
        for one, numbers in unpacked(bytes(row.counts)).counts().items():
            counts[one].append(numbers)
    if span_s:
        block = packed({one: combined(numbers) for one, numbers in counts.items()})
        HistorySample.objects.create(
            period_s=coarse.period_s, at=end, span_s=span_s, counts=block
        )


def prune(at: datetime) -> None:
    """Delete old samples; samples of longer periods already contain their counts."""
    for level in LEVELS:
        old = HistorySample.objects.filter(
            period_s=level.period_s, at__lt=at - level.kept
        )
        old.delete()
