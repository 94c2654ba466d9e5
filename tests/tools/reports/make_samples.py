"""Writes the sample of each report, which its page shows until it has run.

    .venv/bin/python manage.py with_servers \
        .venv/bin/python -m tests.tools.reports.make_samples [REPORT …]

The broker's own engine makes a week in which messages are put, fail, die and are
cleared, always the same. Each report is computed by Spark, and its rows are written
into ``dashboards/reports/samples``, in the order of its page.
"""

from __future__ import annotations

import json
import os
import sys
from datetime import date, datetime
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import django

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from dashboards.reports import Report

HOURS = 6 * 24 + 11  # from noon to a midnight
DAYS, PAYMENTS = 6, 20  # so many times two payments a day
MOST = 400  # rows of a sample
PARAMETERS = {
    "rule-backtest": {
        "queue": "DLQ",
        "rules": "DESTQ('orders') ACTION(RETRY) RETRY(3)\n"
        "DESTQ('bills') ACTION(FWD) FWDQ('review')",
    },
    "what-if": {"queue": "orders"},
}


def make_week() -> None:
    """Losses of two queues, and each day payments that confirm their delivery: those
    in a currency that nobody knows fail."""
    from tests.dashboards import journal, losses  # noqa: PLC0415
    from tests.dashboards.histories import last_xid  # noqa: PLC0415
    from tests.make import make_queue, make_setting  # noqa: PLC0415

    losses.make_losses(HOURS)
    make_queue("payments")
    make_queue("replies")
    make_setting("payments", max_delivery_attempts=1, dead_letter_address="DLA")
    for day in range(DAYS):
        for n in range(PAYMENTS):
            pay(day * 24 * 60 + n * 10, "XBT" if n % 9 == day else "EUR")
    journal.until_final(last_xid())


def pay(minute: int, currency: str) -> None:
    from broker.errors.mq_codes import Report  # noqa: PLC0415
    from broker.queueing.put import put_many  # noqa: PLC0415
    from broker.transactions.scope import UnitOfWork  # noqa: PLC0415
    from tests.broker.dying import back_out  # noqa: PLC0415
    from tests.dashboards.histories import at  # noqa: PLC0415
    from tests.make import make_messages  # noqa: PLC0415

    payments = make_messages(
        2,
        "payments",
        descriptor={"report": int(Report.COD)},
        reply_to="replies",
        properties={"currency": currency, "country": "DE" if minute % 20 else "FR"},
    )
    put_many(payments, now=at(minute))
    if currency == "EUR":
        work = UnitOfWork(actor="clerk", now=at(minute + 1))
        work.get("payments", 2)
        work.commit()
    else:
        error = f"the currency {currency} is unknown"
        back_out("payments", limit=2, error=error, at=minute + 2)


def rows_of(spark: SparkSession, report: Report, as_of: datetime) -> list[Any]:
    """The rows of a report of the whole week, the newest and largest first."""
    from dashboards.pages.results import usual  # noqa: PLC0415
    from dashboards.pipeline import gold, manifest  # noqa: PLC0415

    values = report.read(PARAMETERS.get(report.slug, {}))
    if not report.is_by_day:
        return list(gold.answer(spark, report, values, as_of).to_pylist())
    span = manifest.Span(date.min, as_of.date())
    rows = gold.count(spark, report, span, {"as_of": as_of}).to_pylist()
    if report.is_of_minutes:
        rows = by_hour(report, rows)
    for name in reversed(usual(report)):
        key = itemgetter(name.removeprefix("-"))
        rows.sort(key=key, reverse=name.startswith("-"))
    return list(rows)


def by_hour(report: Report, rows: list[Any]) -> list[Any]:
    """Rows of minutes, added up."""
    assert report.time is not None
    at, counts = report.time.name, [one.name for one in report.columns if one.has_sum]
    hours: dict[Any, Any] = {}
    for row in rows:
        hour = {at: row[at].replace(minute=0)}
        none = row | hour | dict.fromkeys(counts, 0)
        kept = hours.setdefault((row["queue"], hour[at]), none)
        for name in counts:
            kept[name] += row[name]
    return [*hours.values()]


def write(report: Report, rows: list[Any]) -> None:
    from dashboards.pages.samples import FOLDER  # noqa: PLC0415

    lines = (json.dumps(row, default=plain, ensure_ascii=False) for row in rows[:MOST])
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{report.slug}.json").write_text("".join(f"{one}\n" for one in lines))
    print(f"{report.slug:20} {len(rows):5} rows", flush=True)


def plain(value: datetime | date) -> str:
    return value.isoformat()


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
    django.setup()
    from django.conf import settings  # noqa: PLC0415

    from dashboards.reports import discover  # noqa: PLC0415
    from dashboards.spark import session  # noqa: PLC0415
    from tests.bench.ground import own_database  # noqa: PLC0415
    from tests.dashboards import histories  # noqa: PLC0415
    from tests.tools.reports.cluster import SHORT_LIVED  # noqa: PLC0415
    from tests.tools.reports.sql_comparison import archived  # noqa: PLC0415

    with own_database(), TemporaryDirectory() as var:
        settings.VAR_DIR = Path(var)
        make_week()
        os.environ.setdefault("JAVA_TOOL_OPTIONS", SHORT_LIVED)
        spark = session.spark(settings.VAR_DIR)
        archived(spark)
        for report in map(discover().__getitem__, sys.argv[1:] or discover()):
            write(report, rows_of(spark, report, histories.at(HOURS * 60)))
        spark.stop()


if __name__ == "__main__":
    main()
