"""Every report about losses says of three days what SQL says over the same journal."""

from __future__ import annotations

from collections import Counter
from contextlib import nullcontext
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from django.db import connection

from broker.fingerprints import fingerprint
from dashboards.reports import bronze, discover, manifest
from tests.dashboards.reports.by_hand import BY_HAND, CAUSES, HANDOVER, VIEWS
from tests.dashboards.reports.histories import at
from tests.dashboards.reports.losses import HOURS, make_losses

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

Row = tuple[Any, ...]
END = at(HOURS * 60)


def by_hand(query: str, **parameters: datetime) -> list[Row]:
    with connection.cursor() as cursor:
        cursor.execute(query, parameters or None)
        return [tuple(map(plain, row)) for row in cursor.fetchall()]


def plain(value: object) -> object:
    return float(value) if isinstance(value, Decimal) else value


def told(spark: SparkSession, slug: str, as_of: datetime, **said: int) -> list[Row]:
    from dashboards.reports import gold  # noqa: PLC0415  loads Spark

    report = discover()[slug]
    span = manifest.Span(date.min, as_of.date())
    values = report.read(said) | {"as_of": as_of}
    found = gold.count(spark, report, span, values).to_pylist()
    return [tuple(row.values()) for row in found]


def alike(found: list[Row], expected: list[Row]) -> None:
    """The same rows in no order; numbers but for what floats lose."""

    def ordered(rows: list[Row]) -> list[list[object]]:
        return sorted([[about(cell) for cell in row] for row in rows], key=str)

    assert ordered(found) == ordered(expected)


def about(cell: object) -> object:
    return round(float(cell), 6) if isinstance(cell, int | float) else cell


def test_reports_say_what_the_journal_says(
    committed: None, spark: SparkSession
) -> None:
    from dashboards.reports import days  # noqa: PLC0415  loads Spark

    make_losses()
    as_of = bronze.export(lambda _: None)
    assert days.bring_up_to_date(spark, 1, as_of, lambda *_: nullcontext()) == 3
    for view in VIEWS.split(";"):
        by_hand_do(view)

    for slug, query in BY_HAND.items():
        expected = by_hand(query)
        assert len(expected) > 1, slug
        alike(told(spark, slug, END), expected)
    of_hand = by_hand(HANDOVER, as_of=END)
    handed = told(spark, "handover", END, hours=12)
    alike([short(row) for row in handed if row[1] != "new cause"], of_hand)
    assert {row[0] for row in of_hand} >= {"arrived", "died", "open dead letters"}
    same_causes(told(spark, "causes", END, days=30))


def by_hand_do(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


def short(row: Row) -> Row:
    _, what, queue, cause, how, *_, count, before, _, _ = row
    return what, queue, cause or how, count, before


def same_causes(found: list[Row]) -> None:
    """As many by queue, and of as many fingerprints; near-duplicates are one."""
    letters: Counter[str] = Counter()
    keys: dict[str, set[str]] = {}
    for queue, error, count, _, _ in by_hand(CAUSES):
        letters[queue] += count
        keys.setdefault(queue, set()).add(fingerprint(error).key if error else "")
    assert (
        Counter({q: sum(r[8] for r in found if r[1] == q) for q in letters}) == letters
    )
    for queue, its in keys.items():
        assert sum(row[5] for row in found if row[1] == queue) == len(its)
    assert any(row[5] > 1 for row in found)
