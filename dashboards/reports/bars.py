"""Stacked bars, one for each day, as numbers that a template writes into an SVG.

Lengths are units of the drawing's own grid, from the top left. They are text, so that
no language of a page puts a comma in them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from math import ceil

WIDTH, HEIGHT = 960, 240
LEFT, RIGHT, TOP, BOTTOM = 56, 8, 12, 28  # what the axes' words need
STEPS = (1, 2, 5)
LABELS = 10  # at most, below the bars


@dataclass(frozen=True)
class Part:
    """One series of one day."""

    series: str
    word: str
    day: date
    count: int
    x: str
    y: str
    width: str
    height: str


@dataclass(frozen=True)
class Mark:
    """A word at an axis, and where its line is."""

    at: str
    word: date | int


@dataclass(frozen=True)
class Bars:
    parts: list[Part] = field(default_factory=list)
    counts: list[Mark] = field(default_factory=list)
    days: list[Mark] = field(default_factory=list)
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = WIDTH - RIGHT
    bottom: int = HEIGHT - BOTTOM


def stack(
    counts: Mapping[tuple[date, str], int],
    days: Sequence[date],
    words: Mapping[str, str],
) -> Bars:
    """Draw counts by day and series.

    Args:
        words: what each series is called; the first lies at the bottom.
    """
    tallest = max(sum(counts.get((day, name), 0) for name in words) for day in days)
    step = round_step(tallest)
    top = step * max(ceil(tallest / step), 1)
    scale = (HEIGHT - TOP - BOTTOM) / top
    pitch = (WIDTH - LEFT - RIGHT) / len(days)
    bars = Bars()
    for place, day in enumerate(days):
        below = 0
        for name in filter(lambda name: (day, name) in counts, words):
            count = counts[day, name]
            below += count
            bars.parts.append(
                Part(
                    name,
                    words[name],
                    day,
                    count,
                    x=units(LEFT + (place + 0.1) * pitch),
                    y=units(HEIGHT - BOTTOM - below * scale),
                    width=units(pitch * 0.8),
                    height=units(count * scale),
                )
            )
    bars.counts.extend(
        Mark(units(HEIGHT - BOTTOM - count * scale), count)
        for count in range(0, top + 1, step)
    )
    bars.days.extend(
        Mark(units(LEFT + (place + 0.5) * pitch), days[place])
        for place in range(len(days) - 1, -1, -ceil(len(days) / LABELS))
    )
    return bars


def round_step(tallest: int) -> int:
    """Between lines: 1, 2 or 5, or ten times as much and so on, for at most five."""
    power = 1
    while True:
        for step in STEPS:
            if step * power * 5 >= tallest:
                return step * power
        power *= 10


def units(length: float) -> str:
    return f"{length:.1f}"
