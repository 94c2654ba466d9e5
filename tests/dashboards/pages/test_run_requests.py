"""Pages of reports with parameters: asking, the runs of before, cells of each kind."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from broker.formats import filters
from broker.models import Act, AuditRecord, DeadLetter
from dashboards.models import ReportRow, ReportRun
from dashboards.pages import cells
from dashboards.pipeline import locks
from tests.dashboards.pages.sample_report import (
    CELLS,
    REPORT,
    SAID,
    SLUG,
    known,
    make_run,
)
from tests.make import make_user

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("plain_names")]

PAGE = f"/reports/{SLUG}/"
RUN = f"{PAGE}run/"
HOSTILE = "orders\" state:ready <script>alert('1')</script>&x=é,*"


@pytest.fixture(autouse=True)
def _known(monkeypatch: pytest.MonkeyPatch, settings: Settings, tmp_path: Path) -> None:
    known(monkeypatch)
    plain = "django.contrib.staticfiles.storage.StaticFilesStorage"
    settings.STORAGES = {**settings.STORAGES, "staticfiles": {"BACKEND": plain}}
    settings.STATIC_ROOT = tmp_path


@pytest.fixture
def omar(client: Client) -> User:
    rights = ("dashboards.view_report", "dashboards.run_report")
    user = make_user("omar", permissions=rights)
    client.force_login(user)
    return user


def text(client: Client, **query: Any) -> str:
    return str(client.get(PAGE, query).content, "utf-8")


def test_who_never_asked_is_told_to(omar: User, client: Client) -> None:
    page = text(client)
    assert "Choose the parameters above, and run it." in page
    assert 'name="attempts" value="5"' in page
    assert 'value="2026-03-01"' in page
    assert '<option value="growing">' in page


def test_a_run_is_asked_for_with_parameters(omar: User, client: Client) -> None:
    answer = client.post(RUN, SAID | {"attempts": "9", "mode": "growing"})

    run = ReportRun.objects.get()
    assert answer["Location"] == f"{PAGE}?run={run.pk}"
    assert run.parameters == SAID | {"attempts": 9, "mode": "growing"}
    assert run.requested_by == omar
    assert "Waiting for the reports worker" in text(client, run=run.pk)
    assert f'hx-get="{RUN}?run={run.pk}"' in text(client, run=run.pk)


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ({"attempts": "many"}, "Enter a whole number."),
        ({"attempts": "51"}, "Attempts is at most 50."),
        ({"attempts": ""}, "This field is required."),
        ({"since": "yesterday"}, "Enter a valid date."),
        ({"mode": HOSTILE}, "Select a valid choice."),
        ({"factor": "<b>"}, "Enter a number."),
    ],
)
def test_what_is_wrong_is_said_where_it_is(
    omar: User, client: Client, typed: dict[str, str], told: str
) -> None:
    answer = client.post(RUN, SAID | typed)
    page = answer.content.decode()
    assert answer.status_code == 422
    assert told in page
    assert "<script>alert" not in page
    assert not ReportRun.objects.exists()


def test_a_queue_that_one_may_not_inquire_is_as_none(client: Client) -> None:
    rights = ("dashboards.view_report", "dashboards.run_report")
    user = make_user("noor", permissions=rights, granted=("inquire",), pattern="eu.#")
    client.force_login(user)
    make_run({}, parameters=SAID | {"queue": "orders"})

    said = client.post(RUN, SAID | {"queue": "orders"}).content.decode()

    assert "There is no queue orders, or none that you may see." in said
    assert client.post(RUN, SAID | {"queue": "eu.x"}).status_code == 302
    assert "Queue: orders" not in text(client)
    assert "Queue: eu.x" in text(client)


def test_each_kind_of_cell_is_shown_as_what_it_is(omar: User, client: Client) -> None:
    make_run({})
    page = text(client)
    assert "><bdi>orders</bdi></a>" in page
    assert "queue=orders&amp;run=" in page
    assert str(DeadLetter.Cause.MAX_DELIVERY_ATTEMPTS.label) in page
    assert 'href="/messages/42/">42</a>' in page
    assert ">1,234</a>" in page
    assert "?f=origin%3Aorders+cause%3Amax-delivery-attempts" in page
    assert "2.5 a second" in page
    assert "95.5%" in page
    assert "1 min 30 s" in page
    assert 'datetime="2026-03-01T02:03:04.000+00:00"' in page
    for chart in REPORT.charts:
        assert re.search(rf"{chart.title}( by (minute|hour|day))?</title>", page)
    assert page.count('role="img"') == 4
    assert "style=" not in page.partition("<main")[2].partition("</main>")[0]


def test_what_is_not_known_is_a_dash(omar: User, client: Client) -> None:
    make_run(dict.fromkeys(CELLS), {})
    assert text(client).count("<td") > 0
    assert "None" not in text(client).partition("<main")[2].partition("</main>")[0]


def test_hostile_cells_stay_text(omar: User, client: Client) -> None:
    make_run(dict.fromkeys(("queue", "cause", "fingerprint", "words"), HOSTILE))
    page = text(client)
    assert "<script>alert" not in page
    assert HOSTILE not in page
    assert "&lt;script&gt;alert" in page


@pytest.mark.parametrize(
    "name", [HOSTILE, "a b", "*", "-x", '"', "\\", "a,b", "..", "eu.orders", "é"]
)
def test_a_filter_means_just_this_queue(name: str) -> None:
    row = ReportRow(report=SLUG, n=1, cells=CELLS | {"queue": name})
    (wanted,) = (one.filter for one in cells.cells_of(REPORT, row) if one.filter)

    origin, cause = filters.parse(wanted).terms

    assert str(origin) == str(filters.equal("origin", name))
    assert str(cause) == "cause:max-delivery-attempts"


def test_a_cause_that_filters_do_not_know_links_nothing() -> None:
    row = ReportRow(report=SLUG, n=1, cells=CELLS | {"cause": HOSTILE})
    assert not any(one.filter for one in cells.cells_of(REPORT, row))


def test_runs_of_before_are_listed(omar: User, client: Client) -> None:
    old = make_run({"words": "of the old one"}, parameters=SAID | {"attempts": 2})
    make_run({"words": "of the new one"}, requested_by=omar, error="")

    page = text(client)
    assert "of the new one" in page
    assert "of the old one" not in page
    assert f'href="?run={old.pk}"' in page
    assert "omar" in page

    page = text(client, run=old.pk)
    assert "of the old one" in page
    assert 'name="attempts" value="2"' in page
    assert "The last run with the same parameters" in page


def test_a_run_without_rows_says_why_there_are_none(omar: User, client: Client) -> None:
    make_run()
    run = make_run(state="running", parameters=SAID | {"attempts": 9})
    with locks.attempted(run.pk):
        page = text(client, run=run.pk)
    assert "Its rows appear here when it has ended." in page
    assert "Choose the parameters above" not in page
    ReportRun.objects.filter(pk=run.pk).update(state="stopped", error="It broke.")
    page = text(client, run=run.pk)
    assert "This run did not finish, so it has no results." in page


def test_of_many_parameters_those_that_are_not_usual_are_said(
    omar: User, client: Client
) -> None:
    make_run(parameters={**SAID, "attempts": 9})
    assert "<bdi>Attempts: 9</bdi></a>" in text(client)
    ReportRun.objects.all().delete()
    make_run()
    assert "<bdi>as usual</bdi></a>" in text(client)


def test_what_columns_mean_is_said_to_whoever_has_no_pointer(
    omar: User, client: Client
) -> None:
    make_run({})
    page = text(client)
    assert "Meaning of the columns" in page
    assert "<dt>Kept</dt><dd>of all that was tried</dd>" in page


@pytest.mark.parametrize("asked", ["99999999999999999999", "x", "0", "-1", "7777"])
def test_a_run_that_is_none_shows_nothing_of_others(
    omar: User, client: Client, asked: str
) -> None:
    assert client.get(PAGE, {"run": asked}).status_code == 200
    assert client.get(RUN, {"run": asked}).status_code == 200


def test_a_run_is_cancelled_once(omar: User, client: Client) -> None:
    run = make_run(state="waiting")
    url = f"{PAGE}runs/{run.pk}/cancel/"
    assert url in text(client, run=run.pk)

    assert client.post(url)["Location"] == f"{PAGE}?run={run.pk}"
    client.post(url)

    run.refresh_from_db()
    assert run.state == ReportRun.State.CANCELLED
    assert AuditRecord.objects.filter(act=Act.CANCEL_REPORT).count() == 1
    page = text(client, run=run.pk)
    assert "omar cancelled it. Nothing was changed." in page
    assert "cancelled</span>" in page
    assert "chip-dead" not in page, "it did not fail"
    assert "notice-danger" not in page
    assert "The last run with the same parameters" in page


def test_a_run_under_way_is_asked_to_end(omar: User, client: Client) -> None:
    run = make_run(state="running", stage="Counting", progress=0.4)
    with locks.attempted(run.pk):
        client.post(f"{PAGE}runs/{run.pk}/cancel/")
        page = text(client, run=run.pk)
    run.refresh_from_db()
    assert run.state == ReportRun.State.RUNNING
    assert run.cancelled_at is not None
    assert "It is being cancelled." in page


def test_who_may_only_read_cancels_nothing(client: Client) -> None:
    client.force_login(make_user("vera", permissions=("dashboards.view_report",)))
    run = make_run(state="waiting")
    assert client.post(f"{PAGE}runs/{run.pk}/cancel/").status_code == 403
    assert "Cancel this run" not in text(client, run=run.pk)
    (record,) = AuditRecord.objects.filter(act=Act.CANCEL_REPORT)
    assert record.outcome == "refused"


def test_a_run_of_another_report_is_not_found(omar: User, client: Client) -> None:
    run = ReportRun.objects.create(report="dead-letters")
    assert client.post(f"{PAGE}runs/{run.pk}/cancel/").status_code == 404
    assert client.post(f"{PAGE}runs/{10**20}/cancel/").status_code == 404
