"""Drawings of a report's rows, or of what queues did over time, as numbers that a
template writes into an SVG.

    rows ── chart_series: summed in the database ──▶ Points ── draw ──▶ Drawing
    samples ── history_charts: points of a range ──▶ Points ── draw ──▶ Drawing

Lengths are in units of the drawing's own grid, from the top left. They are text, so
that no language of a page formats them with a decimal comma. The style sheet sets the
colours: by the number of a series, or by the name of a cause.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from math import ceil, floor, isfinite, log10
from typing import Any

from dashboards.pages.wording import by_unit, in_sentence
from dashboards.reports import Chart, Column

WIDTH, HEIGHT = 960, 240
LEFT, RIGHT, TOP, BOTTOM = 80, 8, 12, 28  # margins, with room for the labels
ROW, NAMES = 22, 176  # a grid: the height of a row, and the width of its names
STEPS = (1, 2, 5, 10)
# Steps of an axis of seconds, up to a day: round numbers of seconds, minutes, hours.
SPANS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21_600, 43_200)
DAY = 86_400
# The most labels below a drawing: short ones, and long ones, which have a time.
LABELS, LONG_LABELS = 10, 6
WIDEST = 64  # the largest width of a bar
EDGE = 44  # room for half of the last label
LEVELS = 5  # levels of shading of a grid's cells
LINE_OF = {"lines", "steps"}
RING = "m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0"  # a circle around the only point of a line


@dataclass(frozen=True, slots=True)
class Series:
    """One series: its key as stored; None for all other series together."""

    key: str | None
    n: int
    total: float


@dataclass(frozen=True, slots=True)
class Shape:
    """A bar, or a cell of a grid."""

    series: Series
    place: Any
    value: float
    x: str
    y: str
    width: str
    height: str
    level: int = 0


@dataclass(frozen=True, slots=True)
class ChartLine:
    series: Series
    path: str


@dataclass(frozen=True, slots=True)
class Mark:
    """A label at an axis, and the position of its line."""

    at: str
    word: Any


@dataclass(frozen=True, slots=True)
class Points:
    """The data of a chart: sums by place on the x axis and series, places in order."""

    sums: Mapping[tuple[Any, str | None], float]
    places: Sequence[Any]
    series: Sequence[Series]  # the largest first


@dataclass(frozen=True)
class Drawing:
    chart: Chart
    x: Column
    y: Column
    series: Sequence[Series]
    of: Column | None  # the column whose values are the series
    # The unit of time of each sum: minute, hour, day. Or how to label moments in the
    # user's zone: clock, date.
    by: str = ""
    shapes: list[Shape] = field(default_factory=list)
    lines: list[ChartLine] = field(default_factory=list)
    values: list[Mark] = field(default_factory=list)
    places: list[Mark] = field(default_factory=list)
    names: list[Mark] = field(default_factory=list)  # labels of a grid's rows
    notes: list[Mark] = field(default_factory=list)  # moments that are marked
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = WIDTH - RIGHT
    has_gaps: bool = False  # whether a line ends where a place has no value

    @property
    def room(self) -> int:
        """The width between the margins."""
        return self.right - self.left

    @property
    def bottom(self) -> int:
        return self.height - BOTTOM

    @property
    def is_in_time(self) -> bool:
        return self.x.type in ("day", "moment")

    @property
    def title(self) -> str:
        """The chart's title, with the unit of time that its sums are of."""
        return by_unit(self.chart.title, self.by)

    @property
    def counted(self) -> str:
        """What the y axis counts, within a sentence."""
        return in_sentence(self.y.title)

    @property
    def along(self) -> str:
        """What the x axis has, within a sentence."""
        return in_sentence(self.x.title)

    @property
    def draws_others(self) -> bool:
        """Whether the sum of all other series is drawn, too."""
        return self.chart.type not in LINE_OF

    @property
    def total(self) -> float:
        return sum(one.total for one in self.series)

    @property
    def adds_up(self) -> bool:
        """Whether the sum over all rows is meaningful."""
        return self.y.has_sum


def draw(drawing: Drawing, points: Points) -> Drawing:
    """Fill a drawing, by the type of its chart."""
    if drawing.chart.type == "grid":
        return grid(drawing, points)
    if drawing.chart.type in LINE_OF:
        return lines(drawing, points)
    if drawing.chart.type == "beside":
        return beside(drawing, points)
    return bars(drawing, points)


def bars(drawing: Drawing, points: Points) -> Drawing:
    """Stacked bars: the largest series is at the bottom."""
    tallest = max(
        sum(points.sums.get((place, one.key), 0) for one in points.series)
        for place in points.places
    )
    scale = axis(drawing, tallest)
    pitch = drawing.room / len(points.places)
    width = min(pitch * 0.8, WIDEST)
    for n, place in enumerate(points.places):
        below = 0.0
        for one in points.series:
            value = max(points.sums.get((place, one.key), 0), 0)
            if not value:
                continue
            below += value
            drawing.shapes.append(
                Shape(
                    one,
                    place,
                    value,
                    x=units(drawing.left + (n + 0.5) * pitch - width / 2),
                    y=units(drawing.bottom - below * scale),
                    width=units(width),
                    height=units(value * scale),
                )
            )
    mark_places(drawing, points.places, pitch)
    return drawing


def beside(drawing: Drawing, points: Points) -> Drawing:
    """Bars side by side; a series has the same colour in all charts of a report."""
    names = sorted(points.series, key=lambda one: one.key or "")
    series = [replace(one, n=n) for n, one in enumerate(names)]
    drawn = replace(drawing, series=series)
    scale = axis(drawn, max(points.sums.values(), default=0))
    pitch = drawn.room / len(points.places)
    width = min(pitch * 0.8 / len(series), WIDEST)
    for n, place in enumerate(points.places):
        left = drawn.left + (n + 0.5) * pitch - width * len(series) / 2
        for one in series:
            value = max(points.sums.get((place, one.key), 0), 0)
            if value:
                drawn.shapes.append(
                    Shape(
                        one,
                        place,
                        value,
                        x=units(left + one.n * width),
                        y=units(drawn.bottom - value * scale),
                        width=units(width),
                        height=units(value * scale),
                    )
                )
    mark_places(drawn, points.places, pitch)
    return drawn


def lines(drawing: Drawing, points: Points) -> Drawing:
    """A line for each series; the sum of all others has none, as it would flatten them.
    A count without a row is drawn as 0."""
    points = without_others(points)
    scale = axis(drawing, max(points.sums.values(), default=0))
    across = positions(drawing, points.places)
    is_stairs = drawing.chart.type == "steps"
    for one in points.series:
        parts: list[list[tuple[float, float]]] = [[]]
        for place, x in zip(points.places, across, strict=True):
            value = points.sums.get((place, one.key))
            if value is None and drawing.adds_up and not is_stairs:
                value = 0
            if value is not None:
                parts[-1].append((x, drawing.bottom - max(value, 0) * scale))
            elif drawing.has_gaps:
                parts.append([])
        drawn = "".join(path(part, is_stairs=is_stairs) for part in parts if part)
        if drawn:
            drawing.lines.append(ChartLine(one, drawn))
    most = LABELS if drawing.by in ("", "day") else LONG_LABELS
    for n in every_so_many(len(points.places), most):
        edge = EDGE / 2 if drawing.by in ("clock", "date") else EDGE
        at = min(max(across[n], drawing.left), drawing.width - edge)
        drawing.places.append(Mark(units(at), points.places[n]))
    return drawing


def without_others(points: Points) -> Points:
    """The points without the sum of all other series."""
    sums = {at: total for at, total in points.sums.items() if at[1] is not None}
    named = [one for one in points.series if one.key is not None]
    return replace(points, sums=sums, series=named)


def grid(drawing: Drawing, points: Points) -> Drawing:
    """A row for each series, a column for each place; larger values are darker."""
    most = max(points.sums.values(), default=0)
    height = TOP + ROW * len(points.series) + BOTTOM
    drawn = replace(drawing, height=height, left=NAMES)
    pitch = drawn.room / len(points.places)
    for row, one in enumerate(points.series):
        top = TOP + row * ROW
        drawn.names.append(Mark(units(top + ROW * 0.7), one))
        for n, place in enumerate(points.places):
            value = points.sums.get((place, one.key), 0)
            if value > 0:
                drawn.shapes.append(
                    Shape(
                        one,
                        place,
                        value,
                        x=units(NAMES + n * pitch),
                        y=units(top),
                        width=units(max(pitch - 1, 1)),
                        height=units(ROW - 1),
                        level=min(max(ceil(value / most * LEVELS), 1), LEVELS),
                    )
                )
    mark_places(drawn, points.places, pitch)
    return drawn


def axis(drawing: Drawing, tallest: float) -> float:
    """Mark the values at the left; return the length of one unit."""
    step = round_step(tallest, whole=drawing.y.type == "count")
    if drawing.y.type == "seconds" and SPANS[0] <= tallest / 5 <= DAY:
        step = next((one for one in SPANS if one * 5 >= tallest), DAY)
    count = max(ceil(tallest / step - 1e-9), 1)
    scale = (drawing.bottom - TOP) / (step * count)
    drawing.values.extend(
        Mark(units(drawing.bottom - n * step * scale), n * step)
        for n in range(count + 1)
    )
    return scale


def round_step(tallest: float, *, whole: bool = True) -> float:
    """The distance between two grid lines: 1, 2 or 5 times a power of ten. The axis has
    at most five steps."""
    if tallest <= 0 or not isfinite(tallest):
        return 1
    power = 10.0 ** floor(log10(tallest / 5))
    found = next((s * power for s in STEPS if s * power * 5 >= tallest * 0.999999), 1)
    return max(round(found), 1) if whole else found


def positions(drawing: Drawing, places: Sequence[Any]) -> list[float]:
    """The x of each place of a line: by its value, or at equal distances."""
    left, room = drawing.left, drawing.room
    if not all(isinstance(one, date | int | float) for one in places):
        pitch = room / len(places)
        return [left + (n + 0.5) * pitch for n in range(len(places))]
    first, last = places[0], places[-1]
    if first == last:
        return [left + room / 2 for _ in places]
    return [left + room * ((one - first) / (last - first)) for one in places]


def mark_places(drawing: Drawing, places: Sequence[Any], pitch: float) -> None:
    drawing.places.extend(
        Mark(units(drawing.left + (n + 0.5) * pitch), places[n])
        for n in every_so_many(len(places))
    )


def every_so_many(count: int, most: int = LABELS) -> range:
    """The places that have a label: the last one, and as many before it as fit."""
    return range(count - 1, -1, -max(ceil(count / most), 1))


def path(stops: Sequence[tuple[float, float]], *, is_stairs: bool) -> str:
    (x, y), *rest = stops
    written = [f"M{units(x)} {units(y)}"]
    for x, y in rest:
        written.append(
            f"H{units(x)}V{units(y)}" if is_stairs else f"L{units(x)} {units(y)}"
        )
    if not rest:
        written.append(RING)
    return "".join(written)


def units(length: float) -> str:
    return f"{length:.1f}"


def every_step(first: Any, last: Any, step: timedelta) -> list[Any]:
    """All days or times from ``first`` to ``last``."""
    many = int((last - first) / step) + 1
    return [first + n * step for n in range(many)]
