"""Asking for runs: one at a time, taken once, and never lost with who took them."""

from __future__ import annotations

import sys
from importlib.util import find_spec

import pytest
from django_celery_beat.models import PeriodicTask
from pytest_django import DjangoCaptureOnCommitCallbacks

from dashboards import tasks
from dashboards.models import ReportRun
from dashboards.pipeline import runs
from dashboards.pipeline.run import end, perform, started
from dashboards.reports import discover
from dashboards.reports.errors import Overtaken, ReportError
from tests.dashboards.journal import held_elsewhere
from tests.make import NOON, make_user

State = ReportRun.State
SLUG = "dead-letters"


@pytest.mark.django_db
def test_asking_twice_gives_the_same_run() -> None:
    asked = runs.ask_for(SLUG, make_user("omar"))
    again = runs.ask_for(SLUG, make_user("ada"))

    assert again == asked
    assert asked.requested_by
    assert asked.requested_by.username == "omar"


@pytest.mark.django_db
def test_a_run_is_taken_once() -> None:
    asked = runs.ask_for(SLUG)

    taken = runs.take(asked.pk)

    assert taken
    assert taken.state == State.RUNNING
    assert runs.take(asked.pk) is None


@pytest.mark.django_db
def test_progress_never_goes_back() -> None:
    run = runs.take(runs.ask_for(SLUG).pk)
    assert run
    runs.tell(run, 0.5, "Counting")
    runs.tell(run, 0.2)
    run.refresh_from_db()

    assert (run.percent, run.stage) == (50, "Counting")


@pytest.mark.django_db
def test_the_worker_is_told_of_a_run_that_waits(
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    asked = runs.ask_for(SLUG)
    with django_capture_on_commit_callbacks() as told:
        runs.send(asked)
        runs.send(asked)  # the first word may have been lost
    assert len(told) == 2

    taken = runs.take(asked.pk)
    assert taken
    with django_capture_on_commit_callbacks() as told:
        runs.send(taken)
    assert told == []


@pytest.mark.django_db
def test_every_report_is_asked_for_at_night(
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    night = PeriodicTask.objects.get(task=tasks.ask_for_reports.name)
    assert str(night.crontab).startswith("10 1 * * *")

    with django_capture_on_commit_callbacks() as told:
        tasks.ask_for_reports()

    assert {run.requested_by for run in ReportRun.objects.all()} == {None}
    assert len(told) == sum(one.nightly for one in discover().values())


def test_a_run_whose_process_died_makes_room(committed: None) -> None:
    asked = runs.ask_for(SLUG)
    with held_elsewhere(asked.pk):
        run = runs.take(asked.pk)
        assert run
        assert not runs.has_died(run)
        assert runs.ask_for(SLUG) == run
        perform(run.pk)  # the lock is another's: nothing happens

    assert runs.has_died(run)
    following = runs.ask_for(SLUG)

    assert following != run
    run.refresh_from_db()
    assert (run.state, run.error) == (State.STOPPED, runs.GONE)


@pytest.mark.django_db
def test_who_was_taken_for_dead_publishes_nothing() -> None:
    run = runs.take(runs.ask_for(SLUG).pk)
    assert run
    runs.stop(run, runs.GONE)

    with pytest.raises(Overtaken):
        end(run, NOON, through=1, rows=0)

    run.refresh_from_db()
    assert run.state == State.STOPPED


@pytest.mark.django_db
@pytest.mark.skipif(find_spec("grpc") is not None, reason="the client is installed")
def test_a_run_says_that_the_client_of_spark_connect_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SPARK_REMOTE", "sc://spark.example:15002")
    # Without a file of its own, as in a test process, PySpark takes it for a doctest.
    monkeypatch.setattr(sys.modules["__main__"], "__file__", __file__, raising=False)
    run = runs.take(runs.ask_for(SLUG).pk)
    assert run

    with pytest.raises(ReportError, match=r"Install pyspark\[connect\]"):
        started(run, discover()[SLUG])
