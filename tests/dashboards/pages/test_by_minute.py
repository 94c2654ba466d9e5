"""Rows of minutes: hours unless asked for, the largest queue of an hour first."""

from __future__ import annotations

import csv
import re
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from dashboards.models import ArchiveFile, PublishedDay, ReportRow
from dashboards.pages import chart_series, results
from dashboards.pages.results import ResultsQuery
from dashboards.reports import Column, Report, discover
from tests.dashboards.files import place
from tests.dashboards.minute_tables import publish_minutes
from tests.make import make_user

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_names")]
PAGE = "/reports/throughput/"
FILE = "/reports/throughput/export/"
API = "/api/v1/reports/throughput/rows"
CELL = re.compile(r'<td data-label="(Queue|Put|Hour|Minute)"[^>]*>(.*?)</td>', re.S)
# Two hours; in the first, the queue that comes last in the alphabet has most.
SAID = [(0, "bills", 1), (1, "orders", 5), (59, "orders", 2), (61, "bills", 4)]


def at(minute: int, back: int = 1) -> datetime:
    """Minutes of a day."""
    day = timezone.now().date() - timedelta(days=back)
    return datetime(day.year, day.month, day.day, 5, tzinfo=UTC) + timedelta(
        minutes=minute
    )


@pytest.fixture(autouse=True)
def _rows(settings: Settings, tmp_path: Path) -> None:
    settings.VAR_DIR = tmp_path
    publish_minutes((at(minute), queue, put) for minute, queue, put in SAID)


@pytest.fixture
def vera(client: Client) -> Client:
    rights = ("dashboards.view_report", "broker.browse_queue")
    client.force_login(make_user("vera", permissions=rights))
    return client


def shown(client: Client, **query: str) -> list[tuple[str, ...]]:
    """The cells of each row: the time as UTC, queue, put."""
    page = client.get(PAGE, query).content.decode()
    found = [
        re.search(r'datetime="([^".]*)', cell)[1][11:16]  # type: ignore[index]
        if "<time" in cell
        else re.sub(r"<[^>]*>", "", cell).strip()
        for _, cell in CELL.findall(page)
    ]
    return list(zip(*[iter(found)] * 3, strict=True))


def test_the_database_has_hours_only() -> None:
    rows = ReportRow.objects.order_by("cells__minute", "cells__queue")
    assert [(row.cells["queue"], row.cells["put"]) for row in rows] == [
        ("bills", 1), ("orders", 7), ("bills", 4),
    ]  # fmt: skip
    assert rows[1].cells == {
        "day": str(at(0).date()), "minute": at(0).isoformat(), "queue": "orders",
        "put": 7, "got": 2, "accepted": 2, "backed_out": 2, "dead_lettered": 2,
    }  # fmt: skip


def test_minutes_are_added_up_and_the_largest_queue_is_first(vera: Client) -> None:
    assert shown(vera) == [
        ("06:00", "bills", "4"),
        ("05:00", "orders", "7"),
        ("05:00", "bills", "1"),
    ]
    assert shown(vera, sort="put")[0] == ("05:00", "bills", "1")
    assert shown(vera, queue="orders") == [("05:00", "orders", "7")]


def test_each_minute_is_shown_to_whoever_asks(vera: Client) -> None:
    assert shown(vera, by="minute") == [
        ("06:01", "bills", "4"),
        ("05:59", "orders", "2"),
        ("05:01", "orders", "5"),
        ("05:00", "bills", "1"),
    ]
    assert shown(vera, by="minute", queue="orders", sort="put") == [
        ("05:59", "orders", "2"),
        ("05:01", "orders", "5"),
    ]


def test_minutes_of_several_days_come_in_pages(vera: Client) -> None:
    publish_minutes((at(n, back=2), "orders", n % 9) for n in range(150))
    pages = [shown(vera, by="minute", page=str(page)) for page in (1, 2)]
    assert [len(page) for page in pages] == [100, 54]
    assert [row[0] for row in pages[0][3:5]] == ["05:00", "07:29"]
    assert [row[0] for row in pages[1]][-1] == "05:00"
    largest = shown(vera, by="minute", sort="-put")
    assert [row[2] for row in largest[:18]] == ["8"] * 16 + ["7"] * 2
    rest = shown(vera, by="minute", sort="-put", page="2")
    assert len({*largest, *rest}) == len({*pages[0], *pages[1]})
    assert "154 rows" in vera.get(PAGE, {"by": "minute"}).content.decode()


def test_nobody_sees_minutes_of_a_queue_that_they_may_not_inquire(
    client: Client,
) -> None:
    rights = ("dashboards.view_report",)
    user = make_user("rita", permissions=rights, granted=("inquire",), pattern="orders")
    client.force_login(user)
    assert {row[1] for row in shown(client, by="minute")} == {"orders"}
    assert shown(client, by="minute", queue="bills") == []


def test_a_chart_of_a_day_has_minutes_if_they_are_asked_for() -> None:
    publish_minutes([(at(3, back=0), "orders", 2), (at(4, back=0), "bills", 6)])
    about = discover()["throughput"]

    def places(**said: Any) -> list[str]:
        wanted = ResultsQuery.of(about, said)
        rows = results.found(None, wanted)
        drawn = chart_series.drawings(rows, wanted, chart_series.points_of)
        return [one.by for one in drawn]

    assert places(days=1, by="minute") == ["minute", "minute"]
    assert places(days=1) == places(days=7, by="minute") == ["hour", "hour"]


def test_a_count_of_an_hour_leads_to_the_messages_of_all_of_it(vera: Client) -> None:
    page = vera.get(PAGE).content.decode()
    day = f"{at(0):%Y-%m-%d}"
    assert f"queue%3Aorders+at%3A{day}T05%3A00Z..05%3A59Z" in page
    assert f"at%3A{day}T05%3A59Z" in vera.get(PAGE, {"by": "minute"}).content.decode()


@pytest.mark.parametrize(("by", "rows"), [("", 3), ("hour", 3), ("minute", 4)])
def test_files_have_the_rows_of_the_page(vera: Client, by: str, rows: int) -> None:
    query = {"format": "csv", **({"by": by} if by else {})}
    answer = vera.get(FILE, query)
    content = b"".join(answer.streaming_content).decode()  # type: ignore[attr-defined]
    assert len(list(csv.DictReader(content.splitlines()))) == rows


def test_the_api_gives_minutes_in_pages(vera: Client) -> None:
    publish_minutes((at(n, back=2), "orders", 1) for n in range(5))
    assert len(vera.get(API).json()["rows"]) == 4
    seen, after = [], ""
    while True:
        query = {"by": "minute", "limit": "2", "after": after}
        told = vera.get(API, query).json()
        seen += [row["minute"][11:16] for row in told["rows"]]
        after = told["next"]
        if not after:
            break
    assert seen == [
        "06:01",
        "05:59",
        "05:01",
        "05:00",
        *[f"05:0{n}" for n in range(5)][::-1],
    ]


def test_hours_stand_in_for_minutes_whose_file_is_lost(vera: Client) -> None:
    place(ArchiveFile.objects.get()).unlink()
    page = vera.get(PAGE, {"by": "minute"}).content.decode()
    assert "is missing. Run the report again to rebuild it." in page
    assert len(shown(vera, by="minute")) == 3
    assert vera.get(FILE, {"by": "minute"})["Location"] == f"{PAGE}?by=minute"
    refused = vera.get(API, {"by": "minute"})
    assert (refused.status_code, refused.json()["code"]) == (503, "refused")


def test_a_lost_file_is_built_again() -> None:
    from dashboards.pipeline import gold  # noqa: PLC0415  loads Spark

    about, day = discover()["throughput"], at(0).date()
    PublishedDay.objects.create(
        table="silver", day=day, version=7, source=1, code=1, rows=4
    )
    assert gold.stale(about) == {}
    place(ArchiveFile.objects.get()).unlink()
    assert gold.stale(about) == {day: 7}


def test_an_upgrade_adds_up_the_minutes_that_are_stored() -> None:
    expected = cells_of_rows()
    ReportRow.objects.all().delete()
    counts = dict.fromkeys(("got", "accepted", "backed_out", "dead_lettered"), 1)
    for n, (minute, queue, put) in enumerate(SAID):
        ReportRow.objects.create(
            report="throughput",
            day=at(0).date(),
            n=n,
            cells={"day": str(at(0).date()), "minute": at(minute).isoformat(),
                   "queue": queue, "put": put} | counts,
        )  # fmt: skip
    name = "dashboards.migrations.0004_minutes_are_added_up_by_hour"
    with connection.cursor() as cursor:
        cursor.execute(import_module(name).ADD_UP)
    assert cells_of_rows() == expected


def cells_of_rows() -> list[dict[str, Any]]:
    found = ReportRow.objects.values_list("cells", flat=True)
    return sorted(found, key=lambda cells: (cells["minute"], cells["queue"]))


def test_minutes_with_numbers_that_do_not_add_up_are_no_report() -> None:
    about = discover()["throughput"]
    columns = (*about.columns, Column("wait", "Wait", "seconds"))
    wrong = Report("x", "X", "Why?", about.inputs, columns, about.build, about.totals)
    assert wrong.faults() == ["x: its minutes do not add up"]
    assert discover()["expiry"].by_hour is discover()["expiry"]
