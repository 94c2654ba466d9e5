"""A report of another application: found, asked with parameters, cancelled."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
from django.conf import settings as django_settings
from pytest_django import Settings

from broker.models import Queue
from dashboards import tasks
from dashboards.models import ReportRow, ReportRun
from dashboards.pipeline import runs
from dashboards.reports import REPORTS, Column, Total, discover, report
from dashboards.reports.errors import Cancelled
from tests.broker.elsewhere import Background
from tests.console.until import until
from tests.dashboards.journal import record, until_final
from tests.make import make_user

APPLICATION = "tests.dashboards.reports.weather"
FOR_EVER = 10**15
State = ReportRun.State


@pytest.fixture(autouse=True)
def _weather(settings: Settings) -> Iterator[None]:
    settings.INSTALLED_APPS = [*django_settings.INSTALLED_APPS, APPLICATION]
    yield
    REPORTS.pop("weather", None)
    sys.modules.pop(f"{APPLICATION}.reports", None)


def test_it_is_found() -> None:
    assert discover()["weather"].title == "The weather"


def test_what_is_declared_wrongly_is_refused() -> None:
    with pytest.raises(ValueError, match="it is by day, and has none") as refused:
        report(
            "broken",
            title="Broken",
            question="Is it?",
            inputs=("lifelines", "messages"),
            columns=(Column("stays", "Stays", "count"),),
            totals=(Total("it is", ("messages",), {"messages": "true"}),),
        )(lambda inputs, _: inputs["lifelines"])
    assert "broken: a total adds up no column; " in str(refused.value)
    assert "broken: a total counts no input from silver" in str(refused.value)
    with pytest.raises(ValueError, match="nothing checks it"):
        report("broken", title="Broken", question="Is it?", inputs=(), columns=())(
            lambda inputs, _: inputs["lifelines"]
        )
    assert "broken" not in discover()


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ({"days": "many"}, "Days is not a count: 'many'."),
        ({"days": "91"}, "Days is at most 90."),
        ({"wind": "1"}, "There is no parameter wind."),
    ],
)
def test_parameters_are_read_as_they_are_declared(
    said: dict[str, str], sentence: str
) -> None:
    read = discover()["weather"].read
    assert read({"days": "7"}) == {"days": 7, "place": "here", "slowness": 1}
    with pytest.raises(ValueError, match=sentence):
        read(said)


@pytest.mark.django_db
def test_runs_with_other_parameters_wait_beside_each_other() -> None:
    one = runs.ask_for("weather", parameters={"days": 7})
    other = runs.ask_for("weather", parameters={"days": 8})
    assert one != other
    assert runs.ask_for("weather", parameters={"days": "7"}) == one


@pytest.mark.django_db
def test_a_run_that_waits_is_cancelled_at_once() -> None:
    run = runs.ask_for("weather")
    runs.cancel(run, make_user("omar"))

    run.refresh_from_db()
    assert (run.state, run.error) == (
        State.CANCELLED,
        "omar cancelled it. Nothing was changed.",
    )
    assert runs.take(run.pk) is None
    assert list(runs.history("weather")) == [run]


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_rows_of_a_run_are_its_own_and_it_can_be_cancelled(orders: Queue) -> None:
    until_final(record(orders, [1, 2]))
    said = {"place": "there", "days": 90}
    first = runs.ask_for("weather", parameters={"place": "nowhere"})
    asked = runs.ask_for("weather", parameters=said)
    tasks.run_report(asked.pk)
    asked.refresh_from_db()
    assert (asked.state, asked.rows) == (State.DONE, 1)
    assert asked.duration
    row = ReportRow.objects.get()
    assert (row.run, row.day) == (asked, None)
    assert row.cells["place"] == "there"

    slow = runs.ask_for("weather", parameters={"slowness": FOR_EVER})
    omar = make_user("omar")

    def cancel() -> None:
        until(lambda: ReportRun.objects.get(pk=slow.pk).stage == "Counting", 60)
        runs.cancel(ReportRun.objects.get(pk=slow.pk), omar)

    other = Background(cancel)
    with pytest.raises(Cancelled):
        tasks.run_report(slow.pk)
    other.join()

    slow.refresh_from_db()
    assert (slow.state, slow.rows) == (State.CANCELLED, None)
    assert slow.error.startswith("omar cancelled it.")
    assert ReportRow.objects.get() == row
    runs.cancel(first, omar)
