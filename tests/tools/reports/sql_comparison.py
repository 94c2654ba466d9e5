"""Every report beside SQL by hand over the same journal: the same numbers?

    .venv/bin/python manage.py with_servers \
        .venv/bin/python -m tests.tools.reports.sql_comparison --messages 100000

The broker's own engine makes five days in which so many messages are put, fail, die and
are cleared, always the same. Each report is computed by Spark from the archive, and by
PostgreSQL from the journal; exit 1 where a row differs.
"""

from __future__ import annotations

import os
import sys
import time
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import django
from django.db import connection

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Row = tuple[Any, ...]
HOURS = 108  # up to a midnight
EACH = 5  # messages, at least, that two hours of a history bring
SHOWN = 5  # rows that differ, of each report


class Agreed(NamedTuple):
    """What Spark and PostgreSQL say of one report."""

    report: str
    rows: int
    missing: list[Any]  # what only PostgreSQL says
    added: list[Any]  # what only Spark says
    spark_s: float
    postgres_s: float

    @property
    def is_equal(self) -> bool:
        return not self.missing and not self.added


def archived(spark: SparkSession) -> int:
    """Bring the archive up to date; how many days it made."""
    from dashboards.pipeline import bronze, silver_days  # noqa: PLC0415  loads Spark

    as_of = bronze.export(lambda _: None)
    return silver_days.bring_up_to_date(spark, 1, as_of, lambda *_: nullcontext())


def agreed(spark: SparkSession, as_of: datetime) -> Iterator[Agreed]:
    """Each report that has SQL by hand, of all days up to a moment."""
    from tests.tools.reports.by_hand import (  # noqa: PLC0415
        BY_HAND,
        CAUSES,
        HANDOVER,
    )

    days = (as_of.date() - date(2026, 1, 1)).days
    for slug, query in BY_HAND.items():
        said = {"days": days} if slug == "debt-forecast" else {}
        yield beside(slug, timed(told, spark, slug, as_of, **said), timed(asked, query))
    rows, seconds = timed(told, spark, "handover", as_of, hours=12)
    handed = [short(row) for row in rows if row[1] != "new cause"]
    by_hand = timed(asked, HANDOVER, as_of=as_of)
    yield beside("handover", (handed, seconds), by_hand)
    rows, seconds = timed(told, spark, "causes", as_of, days=days)
    letters, by_hand_s = timed(asked, CAUSES)
    merged = by_queue((row[1], row[8], row[5]) for row in rows)
    yield beside("causes", (merged, seconds), (by_fingerprint(letters), by_hand_s))


def beside(
    slug: str, spark: tuple[list[Row], float], postgres: tuple[list[Row], float]
) -> Agreed:
    """The same rows in no order; numbers but for what floats lose."""
    found, expected = (Counter(map(about, rows)) for rows, _ in (spark, postgres))
    missing, added = expected - found, found - expected
    return Agreed(slug, len(postgres[0]), [*missing], [*added], spark[1], postgres[1])


def timed(what: Any, *args: Any, **said: Any) -> tuple[list[Row], float]:
    began = time.monotonic()
    rows = what(*args, **said)
    return rows, time.monotonic() - began


def told(spark: SparkSession, slug: str, as_of: datetime, **said: int) -> list[Row]:
    """What a report says, of all days up to a moment."""
    from dashboards.pipeline import gold, manifest  # noqa: PLC0415
    from dashboards.reports import discover  # noqa: PLC0415

    report = discover()[slug]
    span = manifest.Span(date.min, as_of.date())
    values = report.read(said) | {"as_of": as_of}
    found = gold.count(spark, report, span, values).to_pylist()
    return [tuple(row.values()) for row in found]


def asked(query: str, **parameters: datetime) -> list[Row]:
    with connection.cursor() as cursor:
        cursor.execute(query, parameters or None)
        return cursor.fetchall() if cursor.description else []


def about(row: Row) -> Row:
    return tuple(
        round(float(cell), 6) if isinstance(cell, int | float | Decimal) else cell
        for cell in row
    )


def short(row: Row) -> Row:
    _, what, queue, cause, how, *_, count, before, _, _ = row
    return what, queue, cause or how, count, before


def by_fingerprint(letters: list[Row]) -> list[Row]:
    """Errors by hand as ``by_queue`` has them: each fingerprint once a queue."""
    from broker.formats.error_fingerprint import fingerprint  # noqa: PLC0415

    groups: Counter[tuple[str, str]] = Counter()
    for queue, error, count, *_ in letters:
        groups[queue, fingerprint(error).key if error else ""] += count
    return by_queue((queue, count, 1) for (queue, _), count in groups.items())


def by_queue(rows: Any) -> list[Row]:
    """As many letters, of as many fingerprints; which are merged is not SQL's."""
    letters: Counter[str] = Counter()
    fingerprints: Counter[str] = Counter()
    for queue, count, merged in rows:
        letters[queue] += count
        fingerprints[queue] += merged
    return [(queue, letters[queue], fingerprints[queue]) for queue in sorted(letters)]


def make_tables() -> None:
    """What the journal tells, once for all that is asked by hand."""
    from tests.tools.reports.by_hand import TABLES  # noqa: PLC0415

    for statement in TABLES.split(";"):
        asked(statement)


def compare(messages: int) -> bool:
    """Print a line for each report, and the rows that differ."""
    from django.conf import settings  # noqa: PLC0415

    from dashboards.spark import session  # noqa: PLC0415
    from tests.dashboards import histories, losses  # noqa: PLC0415
    from tests.tools.reports.cluster import SHORT_LIVED  # noqa: PLC0415

    _, made_s = timed(losses.make_losses, HOURS, -(-messages // (HOURS // 2 * EACH)))
    os.environ.setdefault("JAVA_TOOL_OPTIONS", SHORT_LIVED)
    spark = session.spark(settings.VAR_DIR)
    began = time.monotonic()
    days = archived(spark)
    archived_s = time.monotonic() - began
    _, tables_s = timed(make_tables)
    ((lines, copies, put),) = asked(
        "SELECT count(*), count(copy), count(*) FILTER (WHERE kind = 1) - count(copy)"
        " FROM told"
    )
    print(
        f"{put} messages and {copies} copies of them, {lines} lines, {days} days;"
        f" made in {made_s:.0f} s, archived in {archived_s:.0f} s,"
        f" told by PostgreSQL in {tables_s:.0f} s",
        flush=True,
    )
    wrong = put < messages
    for one in agreed(spark, histories.at(HOURS * 60)):
        same = "equal" if one.is_equal else "NOT EQUAL"
        print(
            f"{one.report:20} {one.rows:6} rows, {same},"
            f" Spark {one.spark_s:5.1f} s, PostgreSQL {one.postgres_s:5.1f} s",
            flush=True,
        )
        for whose, rows in (("SQL", one.missing), ("Spark", one.added)):
            print(*(f"  only {whose}: {row}\n" for row in rows[:SHOWN]), sep="", end="")
        wrong |= not one.is_equal
    spark.stop()
    return not wrong


def main() -> None:
    parser = ArgumentParser(
        prog="tests.tools.reports.sql_comparison", description=__doc__
    )
    parser.add_argument("--messages", type=int, default=100_000)
    messages = parser.parse_args().messages
    django.setup()
    from django.conf import settings  # noqa: PLC0415

    from tests.bench.ground import own_database  # noqa: PLC0415

    with own_database(), TemporaryDirectory() as var:
        settings.VAR_DIR = Path(var)
        is_same = compare(messages)
    sys.exit(not is_same)


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
    main()
