"""The pages of reports: what the last run found, and how far the present one is."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from dashboards.models import ReportRow, ReportRun
from dashboards.pipeline import locks, runs
from tests.make import NOON, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_names")]

SLUG = "dead-letters"
LIST = "/reports/"
PAGE = "/reports/dead-letters/"
RUN = "/reports/dead-letters/run/"
HOSTILE = "orders\"><script>alert('1')</script>&x=é"


@pytest.fixture
def vera(client: Client) -> User:
    user = make_user("vera", permissions=("dashboards.view_report",))
    client.force_login(user)
    return user


@pytest.fixture
def omar(client: Client) -> User:
    user = make_user(
        "omar", permissions=("dashboards.view_report", "dashboards.run_report")
    )
    client.force_login(user)
    return user


def make_day(back: int = 0, **fields: Any) -> ReportRow:
    now = timezone.now() - timedelta(days=back)
    defaults: dict[str, Any] = {
        "day": str(now.date()), "queue": "orders", "cause": "EXPIRED",
        "dead_letters": 3, "last_at": now.isoformat(),
    }  # fmt: skip
    return ReportRow.objects.create(
        report=SLUG, day=now.date(), n=1, cells=defaults | fields
    )


def make_run(**fields: Any) -> ReportRun:
    defaults: dict[str, Any] = {"report": SLUG, "state": ReportRun.State.DONE}
    return ReportRun.objects.create(**defaults | fields)


def text(client: Client, url: str, **query: Any) -> str:
    response = client.get(url, query)
    assert response.status_code == 200
    return str(response.content, "utf-8")


def test_strangers_are_sent_to_log_in(client: Client) -> None:
    for url in (LIST, PAGE, RUN):
        assert client.get(url)["Location"].startswith(reverse("account_login"))


def test_who_may_not_read_reports_is_refused(client: Client) -> None:
    client.force_login(make_user("noor"))
    for url in (LIST, PAGE, RUN):
        assert client.get(url).status_code == 403


def test_the_list_says_when_each_report_last_ran(vera: User, client: Client) -> None:
    page = text(client, LIST)
    assert "Dead letters by queue, cause and day" in page
    assert "has not run yet" in page

    make_run(as_of=NOON, ended_at=NOON)
    page = text(client, LIST)
    assert f'href="{PAGE}"' in page
    assert "2026-03-14 12:00:00" in page


def test_a_report_that_never_ran_says_what_to_do(vera: User, client: Client) -> None:
    page = text(client, PAGE)
    assert "This report has not run yet." in page
    assert "01:10 UTC" in page


def test_nothing_found_is_said(vera: User, client: Client) -> None:
    make_run(as_of=NOON)
    page = text(client, PAGE)
    assert "Nothing was found in 30 days." in page
    assert 'href="?days=90"' in page
    assert "Nothing to do here." in text(client, PAGE, days=90)


def test_the_page_shows_rows_bars_and_their_age(vera: User, client: Client) -> None:
    make_run(as_of=NOON, ended_at=NOON)
    make_day(0, dead_letters=1234)
    make_day(1, cause="REJECTED", queue="invoices")

    page = text(client, PAGE)

    assert "Counts everything before <time" in page
    assert 'datetime="2026-03-14T12:00:00.000+00:00"' in page
    assert ">1,234</a></td>" in page
    assert "1,237 dead letters: 1,234 expired, 3 rejected by its consumer." in page
    assert page.count('<rect class="cause" data-cause="EXPIRED"') == 2  # and a legend
    assert 'role="img" aria-labelledby="chart-1-title chart-1-desc"' in page
    assert "All 2 rows" in page
    assert ">1,237</td>" in page


@pytest.mark.parametrize(
    ("asked", "shown"), [("7", 1), ("30", 2), ("90", 3), ("all", 2), ("", 2)]
)
def test_the_page_shows_as_many_days_as_asked(
    vera: User, client: Client, asked: str, shown: int
) -> None:
    for back in (6, 29, 89, 90):
        make_day(back)
    assert text(client, PAGE, days=asked).count('data-label="Day"') == shown


def test_one_queue_can_be_chosen(vera: User, client: Client) -> None:
    make_run(as_of=NOON)
    make_day(queue=HOSTILE)
    make_day()

    page = text(client, PAGE, queue=HOSTILE)
    assert page.count('data-label="Day"') == 1
    assert "<script>alert" not in page
    assert "orders%22%3E%3Cscript%3E" in page

    page = text(client, PAGE, queue="<b>")
    assert "Nothing was found on &lt;b&gt; in 30 days." in page


def test_a_cause_that_is_not_known_is_shown_as_it_is(
    vera: User, client: Client
) -> None:
    make_day(cause='NEW"><b>')
    page = text(client, PAGE)
    assert "NEW&quot;&gt;&lt;b&gt;" in page
    assert '"><b>' not in page


def test_a_long_table_has_pages(
    vera: User, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dashboards.pages.views.PAGE", 2)
    for number in range(3):
        make_day(queue=f"q{number}")
    first = text(client, PAGE, days=7)
    assert first.count('data-label="Day"') == 2
    assert "Rows 1 to 2 of 3." in first
    assert 'href="?days=7&amp;page=2"' in first
    assert ">9</td>" in first, "sums are of all pages"
    second = text(client, PAGE, page=2)
    assert "q2</a>" in second or ">q2<" in second
    assert "Rows 3 to 3 of 3." in text(client, PAGE, page=99)


def test_rows_are_sorted_by_a_column(vera: User, client: Client) -> None:
    for name, count in (("a", 9), ("b", 100), ("c", 11)):
        make_day(queue=name, dead_letters=count)

    def order(sort: str) -> list[str]:
        page = text(client, PAGE, sort=sort)
        return re.findall(r"queue=(.)\">", page)

    assert order("-dead_letters") == ["b", "c", "a"]
    assert order("dead_letters") == ["a", "c", "b"]
    assert order("-queue") == ["c", "b", "a"]
    assert order("weather") == order("") == ["b", "c", "a"], "the largest first"
    assert 'aria-sort="descending"' in text(client, PAGE, sort="-dead_letters")


@pytest.mark.parametrize(
    ("sort", "chosen"),
    [
        ("", "as the report has it"),
        ("-dead_letters", "Dead letters"),
        ("dead_letters", "Dead letters, the other way"),
    ],
)
def test_the_order_is_chosen_where_columns_have_no_heads(
    vera: User, client: Client, sort: str, chosen: str
) -> None:
    make_day()

    page = text(client, PAGE, sort=sort)

    (said,) = re.findall(r"<option[^>]*selected>(\D[^<]*)</option>", page)
    assert said == chosen
    assert ("the other way" in page) == ("the other way" in chosen)


def test_the_page_asks_few_questions(
    vera: User, client: Client, django_assert_max_num_queries: Any
) -> None:
    make_run(as_of=NOON)
    for number in range(20):
        make_day(number, queue=f"q{number}")
    with django_assert_max_num_queries(20):  # 8 of every page
        text(client, PAGE)


def test_an_operator_asks_for_a_run(omar: User, client: Client) -> None:
    assert "Run now" in text(client, PAGE)

    response = client.post(RUN)

    assert response["Location"] == PAGE
    run = ReportRun.objects.get()
    assert (run.state, run.requested_by) == (ReportRun.State.WAITING, omar)
    client.post(RUN)  # a second click joins it
    assert ReportRun.objects.get() == run


def test_a_viewer_sees_why_there_is_no_button(vera: User, client: Client) -> None:
    assert "Operators can run reports." in text(client, PAGE)
    assert client.post(RUN).status_code == 403
    assert not ReportRun.objects.exists()


def test_progress_is_shown_and_asked_for_again(vera: User, client: Client) -> None:
    run = make_run(
        state=ReportRun.State.RUNNING, stage="Counting", progress=0.42,
        requested_by=vera,
    )  # fmt: skip
    with locks.attempted(run.pk):
        page = text(client, PAGE)
        part = text(client, RUN)
    for html in (page, part):
        assert f'hx-get="{RUN}"' in html
        assert 'hx-trigger="every 1s"' in html
        assert 'max="100" value="42"' in html
        assert "Counting" in html
        assert "by vera" in html
    assert "<html" not in part


def test_the_page_is_read_again_when_the_run_has_ended(
    vera: User, client: Client
) -> None:
    make_run(as_of=NOON)
    assert client.get(RUN)["HX-Refresh"] == "true"


def test_a_run_that_stopped_says_why(vera: User, client: Client) -> None:
    make_run(as_of=NOON)
    make_run(
        state=ReportRun.State.STOPPED, error="The check does not hold.", ended_at=NOON
    )
    page = text(client, PAGE)
    assert "The check does not hold." in page
    assert "2026-03-14T12:00:00" in page, "what was found before is still shown"


def test_a_run_whose_worker_died_can_be_run_again(omar: User, client: Client) -> None:
    make_run(state=ReportRun.State.RUNNING, stage="Counting", progress=0.4)

    page = text(client, PAGE)
    assert "The process that ran this report ended at 40 %, at “Counting”." in page
    assert "Run now" in page
    client.post(RUN)

    assert runs.active(SLUG).get().state == ReportRun.State.WAITING


def test_there_is_no_page_for_a_report_that_does_not_exist(
    vera: User, client: Client
) -> None:
    assert client.get("/reports/weather/").status_code == 404
    assert client.get("/reports/weather/run/").status_code == 404


CHECKS = [
    {
        "claim": "no message left a queue twice",
        "found": 1234,
        "expected": 1234,
        "times": 7,
    },
    {"claim": "every put is counted", "found": 8, "expected": 9, "times": 1},
]


def test_the_page_shows_what_the_last_run_checked(vera: User, client: Client) -> None:
    make_run(checks=CHECKS)
    make_run(state=ReportRun.State.WAITING)  # has checked nothing yet

    words = " ".join(re.sub(r"<[^>]*>", " ", text(client, PAGE)).split())

    assert "2 numbers of them were compared with the journal" in words
    assert "No message left a queue twice yes 1,234 1,234 7 times" in words
    assert "Every put is counted no 8 9 1 time" in words


def test_checks_count_all_queues_so_not_everybody_sees_them(client: Client) -> None:
    user = make_user("olga", permissions=("dashboards.view_report",), pattern="orders")
    client.force_login(user)
    make_run(checks=CHECKS)

    assert "left a queue twice" not in text(client, PAGE)
