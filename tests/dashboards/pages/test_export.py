"""Reports as files: the same rows as on the page, harmless wherever they are opened."""

from __future__ import annotations

import csv
import io
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from dashboards.live.languages import COOKIE
from dashboards.models import ReportRow, ReportRun
from dashboards.pages import export
from tests.dashboards.pages.sample_report import CELLS, COLUMNS, known, make_run
from tests.make import NOON, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_names")]

DAYS = "/reports/dead-letters/export/"
ASKED = "/reports/what-if/export/"
FORMULAS = ("=1+1", "+1", "-1", "@x", "\tx", "\uff1dx")
HOSTILE = "<script>alert('1')</script>\"&"


@pytest.fixture(autouse=True)
def _known(monkeypatch: pytest.MonkeyPatch) -> None:
    known(monkeypatch)


@pytest.fixture
def vera(client: Client) -> User:
    user = make_user("vera", permissions=("dashboards.view_report",))
    client.force_login(user)
    return user


def make_day(back: int = 0, **said: Any) -> None:
    at = timezone.now() - timedelta(days=back)
    cells = {"cause": "EXPIRED", "dead_letters": 3, "last_at": at.isoformat()}
    ReportRow.objects.create(
        report="dead-letters",
        day=at.date(),
        n=1,
        cells={"day": str(at.date()), "queue": "orders"} | cells | said,
    )


def file(client: Client, url: str, kind: str, **query: Any) -> bytes:
    answer = client.get(url, query | {"format": kind})
    assert answer.status_code == 200
    assert answer["Content-Disposition"].startswith('attachment; filename="')
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in answer["Content-Security-Policy"]
    return b"".join(answer)


def table(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content.decode())))


def test_csv_has_the_rows_of_the_page(vera: User, client: Client) -> None:
    make_day(0, queue="b")
    make_day(1, queue="a", dead_letters=7)
    make_day(40, queue="old")

    rows = table(file(client, DAYS, "csv", sort="queue"))
    assert [row["queue"] for row in rows] == ["a", "b"]
    assert rows[0]["dead_letters"] == "7"
    assert rows[1]["last_at"].endswith("Z")
    (only,) = table(file(client, DAYS, "csv", queue="a", days="7"))
    assert only["queue"] == "a"
    assert len(table(file(client, DAYS, "csv", days="90"))) == 3


def test_no_cell_is_a_formula(vera: User, client: Client) -> None:
    make_run(*({"words": one, "queue": one, "cause": one} for one in FORMULAS))
    rows = table(file(client, ASKED, "csv"))
    for row, one in zip(rows, FORMULAS, strict=True):
        assert row["words"] == row["queue"] == row["cause"] == f"'{one}"


def test_parquet_has_the_types_that_are_declared(vera: User, client: Client) -> None:
    make_run({"queue": HOSTILE}, dict.fromkeys(CELLS))

    found = pq.read_table(io.BytesIO(file(client, ASKED, "parquet")))

    assert found.column_names == [one.name for one in COLUMNS]
    assert found.schema.field("tries").type == pa.int64()
    assert found.schema.field("died").type == pa.date32()
    row, nothing = found.to_pylist()
    assert row["queue"] == HOSTILE
    assert row["died"] == date(2026, 3, 1)
    assert row["at"] == datetime(2026, 3, 1, 2, 3, 4, tzinfo=UTC)
    assert row["kept"] == pytest.approx(0.955)
    assert set(nothing.values()) == {None}


def test_parquet_without_rows_has_its_columns(vera: User, client: Client) -> None:
    found = pq.read_table(io.BytesIO(file(client, ASKED, "parquet")))
    assert found.num_rows == 0
    assert found.num_columns == len(COLUMNS)


@pytest.mark.parametrize("kind", ["csv", "html"])
def test_files_are_english_whoever_asks_for_them(
    vera: User, client: Client, kind: str
) -> None:
    make_run({"cause": "MAX_DELIVERY_ATTEMPTS"}, {"tries": 1234})
    english = file(client, ASKED, kind)

    client.cookies[COOKIE] = "de"

    assert file(client, ASKED, kind) == english


def test_html_stands_alone(vera: User, client: Client) -> None:
    make_run({"words": HOSTILE, "queue": HOSTILE, "cause": HOSTILE}, {"tries": 1})

    page = file(client, ASKED, "html").decode()

    assert "What would have been saved by other attempts?" in page
    assert "Counts everything before 2026-03-14 12:00:00 UTC." in page
    assert "attempts: 5" in page
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "1,235" in page, "the sum"
    for outside in ("http", "<link", "<img", "style=", "src="):
        assert outside not in page


def test_html_of_days_says_which(vera: User, client: Client) -> None:
    ReportRun.objects.create(report="dead-letters", state="done", as_of=NOON)
    make_day(queue="orders")
    page = file(client, DAYS, "html", days="7", queue="orders").decode()
    assert "Queue: orders." in page
    assert "Rows: 1." in page


def test_files_are_bounded_and_say_so(
    vera: User, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind in ("csv", "html", "parquet"):
        monkeypatch.setitem(export.MOST, kind, 2)
    make_run({}, {}, {})
    assert len(table(file(client, ASKED, "csv"))) == 2
    assert "The first 2 of 3 rows" in file(client, ASKED, "html").decode()
    parquet = pq.read_table(io.BytesIO(file(client, ASKED, "parquet")))
    assert parquet.num_rows == 2


def test_a_kind_that_is_none_leads_to_the_page(vera: User, client: Client) -> None:
    answer = client.get(DAYS, {"format": "exe"})
    assert answer["Location"] == "/reports/dead-letters/"


def test_rows_of_queues_that_one_may_not_inquire_are_in_no_file(
    client: Client,
) -> None:
    rights = ("dashboards.view_report",)
    user = make_user("noor", permissions=rights, granted=("inquire",), pattern="eu.#")
    client.force_login(user)
    make_day(queue="us.secret")
    make_run({"queue": "us.secret"}, {"queue": "eu.open"}, {"queue": None})

    for kind in ("csv", "html", "parquet"):
        assert b"us.secret" not in file(client, DAYS, kind)
        assert b"us.secret" not in file(client, DAYS, kind, queue="us.other")
    assert [row["queue"] for row in table(file(client, ASKED, "csv"))] == ["eu.open"]
    page = client.get("/reports/what-if/").content.decode()
    assert "eu.open" in page
    assert "us.secret" not in page
    assert "2,468" not in page
