"""Where the bars, lines and cells of a chart are drawn."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.staticfiles import finders
from django.template.loader import render_to_string

from broker.models import DeadLetter
from console.templatetags.console_reports import answer
from dashboards.pages import chart_series, charts
from dashboards.pages.chart_series import MOST_SERIES
from dashboards.pages.charts import Drawing, Points, Series
from dashboards.reports import Chart, Column

MONDAY = date(2026, 3, 2)
TUESDAY = MONDAY + timedelta(days=1)
HOUR = datetime(2026, 3, 2, 7, tzinfo=UTC)
COUNT, QUEUE = Column("n", "Messages", "count"), Column("queue", "Queue", "queue")


def drawn(kind: Any, sums: dict[Any, float], places: list[Any], y: Column) -> Drawing:
    keys = list(dict.fromkeys(key for _, key in sums))
    series = [
        Series(key, n, sum(v for (_, k), v in sums.items() if k == key))
        for n, key in enumerate(keys)
    ]
    chart = Chart("Messages", kind, "x", y.name, "queue")
    drawing = Drawing(chart, Column("x", "Day", "day"), y, series, QUEUE)
    return charts.draw(drawing, Points(sums, places, series))


def test_bars_stand_on_each_other() -> None:
    sums = {(MONDAY, "a"): 6.0, (MONDAY, "b"): 4.0, (TUESDAY, "a"): 1.0}

    drawing = drawn("bars", sums, [MONDAY, TUESDAY], COUNT)

    low, high, other = drawing.shapes
    assert float(low.y) + float(low.height) == pytest.approx(drawing.bottom, abs=0.2)
    assert float(high.y) + float(high.height) == pytest.approx(float(low.y), abs=0.2)
    assert float(low.height) == pytest.approx(6 * float(other.height), abs=0.4)
    assert [mark.word for mark in drawing.values] == [0, 2, 4, 6, 8, 10]
    assert drawing.total == 11


def test_what_is_compared_stands_side_by_side_and_keeps_its_colour() -> None:
    sums = {(MONDAY, "b"): 6.0, (MONDAY, "a"): 4.0, (TUESDAY, "a"): 1.0}

    drawing = drawn("beside", sums, [MONDAY, TUESDAY], COUNT)

    first, second, other = drawing.shapes
    assert [one.series.key for one in drawing.shapes] == ["a", "b", "a"]
    assert [(one.key, one.n) for one in drawing.series] == [("a", 0), ("b", 1)]
    for one in drawing.shapes:
        assert float(one.y) + float(one.height) == pytest.approx(212, abs=0.2)
    assert float(first.x) + float(first.width) == pytest.approx(
        float(second.x), abs=0.2
    )
    assert [mark.word for mark in drawing.values] == [0, 2, 4, 6]
    assert (second.place, other.place) == (MONDAY, TUESDAY)


def test_what_is_counted_is_nothing_where_no_row_is() -> None:
    places = [HOUR, HOUR + timedelta(hours=1), HOUR + timedelta(hours=2)]
    sums = {(places[0], "a"): 5.0, (places[2], "a"): 5.0}

    (line,) = drawn("lines", sums, places, COUNT).lines

    low = float(charts.HEIGHT - charts.BOTTOM)
    assert f"L516.0 {low:.1f}" in line.path
    measured = drawn("lines", sums, places, Column("s", "Waited", "seconds")).lines[0]
    assert measured.path.count("L") == 1, "what is measured goes on"


def test_stairs_go_across_then_up() -> None:
    (line,) = drawn("steps", {(1, "a"): 1.0, (2, "a"): 2.0}, [1, 2], COUNT).lines
    assert "H" in line.path
    assert "L" not in line.path


def test_one_point_is_a_dot() -> None:
    (line,) = drawn("lines", {(1, "a"): 1.0}, [1], COUNT).lines
    assert line.path.endswith(charts.RING)


def test_a_grid_is_the_fuller_the_more_there_is() -> None:
    sums = {(0, "a"): 1.0, (1, "a"): 100.0, (1, "b"): 41.0}

    drawing = drawn("grid", sums, [0, 1, 2], COUNT)

    assert [one.level for one in drawing.shapes] == [1, 5, 3]
    assert [one.word.key for one in drawing.names] == ["a", "b"]
    assert drawing.bottom < drawing.height


@pytest.mark.parametrize(
    ("tallest", "whole", "step"),
    [
        (0, True, 1), (3, True, 1), (7, True, 2), (49, True, 10), (5_000, True, 1_000),
        (0.9, False, 0.2), (0.004, False, 0.001), (float("inf"), False, 1),
    ],
)  # fmt: skip
def test_steps_are_round(tallest: float, whole: bool, step: float) -> None:
    assert charts.round_step(tallest, whole=whole) == pytest.approx(step)


@pytest.mark.parametrize(
    ("tallest", "step"), [(3, 1), (100, 30), (4_000, 900), (90_000, 21_600), (1e7, 2e6)]
)
def test_steps_of_time_are_round_in_its_own_units(tallest: float, step: float) -> None:
    waited = Column("s", "Waited", "seconds")
    drawing = drawn("lines", {(1, "a"): tallest}, [1], waited)
    assert drawing.values[1].word == step


def test_few_places_have_a_word() -> None:
    days = [MONDAY + timedelta(days=n) for n in range(90)]
    drawing = drawn("bars", {(MONDAY, "a"): 1.0}, days, COUNT)
    assert len(drawing.places) <= charts.LABELS
    assert drawing.places[0].word == days[-1]


def test_the_sum_of_all_others_does_not_flatten_the_lines() -> None:
    sums = {(MONDAY, "a"): 5.0, (TUESDAY, "a"): 4.0, (MONDAY, None): 900.0}

    drawing = drawn("lines", sums, [MONDAY, TUESDAY], COUNT)

    assert [one.series.key for one in drawing.lines] == ["a"]
    assert [mark.word for mark in drawing.values] == [0, 1, 2, 3, 4, 5]
    assert (drawing.total, drawing.draws_others) == (909, False)


def test_a_chart_begins_with_its_sum_and_its_largest_part() -> None:
    sums = {(MONDAY, "a"): 5.0, (MONDAY, "b"): 1200.0, (MONDAY, None): 900.0}

    drawing = drawn("lines", sums, [MONDAY], COUNT)

    assert answer(drawing) == "2,105 messages. The largest part: b, 1,200."
    alone = drawn("lines", {(MONDAY, "a"): 5.0}, [MONDAY], COUNT)
    assert answer(alone) == "5 messages."
    key = render_to_string("dashboards/_key.html", {"drawing": drawing})
    assert key.count("<rect") == 2
    assert "not drawn: 900" in key


def test_a_series_keeps_its_colour_and_no_chart_has_one_twice() -> None:
    colours: chart_series.Colours = {}

    def of(*keys: str | None) -> dict[str | None, int]:
        series = [Series(key, n, 1) for n, key in enumerate(keys)]
        found = chart_series.coloured(series, "queue", colours)
        return {one.key: one.n for one in found}

    first = of("a", "b", "c", None)
    second = of("d", "c", "a", None)
    assert (second["a"], second["c"]) == (first["a"], first["c"])
    assert second["d"] not in first.values()
    assert first[None] == second[None] == chart_series.MOST_SERIES
    third = of("p", "q", "r", "s", "t", "a")
    assert len({*third.values()}) == 6
    assert max(third.values()) < chart_series.MOST_SERIES


def test_no_two_series_are_alike() -> None:
    """Each cause and each number of a series has a colour of its own."""
    css = Path(str(finders.find("console/css/charts.css"))).read_text()
    for attribute, expected in (
        ("cause", {*DeadLetter.Cause.values}),
        ("series", {str(n) for n in range(MOST_SERIES + 1)}),
    ):
        rule = rf'\[data-{attribute}="(\w+)"\] {{\s*--paint: ([^;]*);'
        paints = dict(re.findall(rule, css))
        assert paints.keys() == expected
        assert len({*paints.values()}) == len(paints)
