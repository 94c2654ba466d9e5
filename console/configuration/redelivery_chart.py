"""The redelivery delays as coordinates for an SVG.

Lengths are in units of the drawing's own grid, from the top left, as text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from broker.formats.quantities import write_duration
from broker.settlement.redelivery_schedule import Staircase

HEIGHT, TOP, BOTTOM = 220, 28, 36  # TOP and BOTTOM: space for labels
PITCH, BAR, EDGE = 68, 44, 12
MILLISECOND = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class Stair:
    """One delay: a bar, and the range of collision avoidance."""

    attempt: int
    words: str
    middle: str
    x: str
    y: str
    height: str
    highest: str  # the upper end of the range of collision avoidance
    lowest: str
    is_spread: bool


@dataclass(frozen=True, slots=True)
class Stairs:
    """A drawing."""

    stairs: Sequence[Stair]
    width: int
    end: str  # middle of the last column
    height: int = HEIGHT
    floor: int = HEIGHT - BOTTOM
    bar: int = BAR


def draw(found: Staircase) -> Stairs:
    """Bars with heights proportional to the delays; the longest possible one is the
    tallest.
    """
    longest = max((step.wait.longest for step in found.steps), default=MILLISECOND)
    scale = (HEIGHT - TOP - BOTTOM) / (max(longest, MILLISECOND) / MILLISECOND)

    def height(span: timedelta) -> float:
        return span / MILLISECOND * scale

    floor = HEIGHT - BOTTOM
    drawn = []
    for place, step in enumerate(found.steps):
        left = EDGE + place * PITCH
        drawn.append(
            Stair(
                step.attempt,
                write_duration(step.wait.usual, exact=True),
                middle=units(left + PITCH / 2),
                x=units(left + (PITCH - BAR) / 2),
                y=units(floor - height(step.wait.usual)),
                height=units(height(step.wait.usual)),
                highest=units(floor - height(step.wait.longest)),
                lowest=units(floor - height(step.wait.shortest)),
                is_spread=step.wait.is_spread,
            )
        )
    columns = len(found.steps) + 1
    return Stairs(
        drawn,
        width=2 * EDGE + columns * PITCH,
        end=units(EDGE + (columns - 0.5) * PITCH),
    )


def units(length: float) -> str:
    return f"{length:.1f}"
