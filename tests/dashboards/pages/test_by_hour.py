"""Rows of minutes: by hour unless asked for, the largest queue of an hour first."""

from __future__ import annotations

import csv
import re
from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client
from django.utils import timezone

from dashboards.models import ReportRow
from dashboards.pages import by_hour
from dashboards.reports import Column, Report, discover
from tests.make import make_user

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_names")]
PAGE = "/reports/throughput/"
FILE = "/reports/throughput/export/"
CELL = re.compile(r'<td data-label="(Queue|Put|Hour|Minute)"[^>]*>(.*?)</td>', re.S)


def at(minute: int) -> datetime:
    """Minutes of the last day but one."""
    day = timezone.now().date() - timedelta(days=1)
    return datetime(day.year, day.month, day.day, 5, tzinfo=UTC) + timedelta(
        minutes=minute
    )


@pytest.fixture(autouse=True)
def _rows() -> None:
    """Two hours; in the first, the queue that comes last in the alphabet has most."""
    said = [(0, "bills", 1), (1, "orders", 5), (59, "orders", 2), (61, "bills", 4)]
    for n, (minute, queue, put) in enumerate(said, 1):
        counts = dict.fromkeys(("got", "accepted", "backed_out", "dead_lettered"), n)
        moment = at(minute).isoformat()
        cells = {"minute": moment, "queue": queue, "put": put} | counts
        ReportRow.objects.create(
            report="throughput", day=at(0).date(), n=n, cells=cells
        )


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


def test_minutes_with_numbers_that_do_not_add_up_are_no_report() -> None:
    about = discover()["throughput"]
    columns = (*about.columns, Column("wait", "Wait", "seconds"))
    wrong = Report(
        "x", "X", "Why?", about.inputs, columns, build=about.build, check=about.check
    )
    assert wrong.faults() == ["x: its minutes do not add up"]
    assert by_hour.of_hours(discover()["expiry"]) is discover()["expiry"]
