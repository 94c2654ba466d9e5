"""The worker of reports leaves room for the broker beside it, and so does what the
database does for it; Spark leaves room for the worker. No other worker does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest
from django.db import connection
from pytest_django import Settings

from broker.models import Queue
from console.integration import checks
from dashboards.pipeline.fields.event_fields import events
from dashboards.pipeline.fields.rows import Bounds
from dashboards.spark import cpu_share
from tests.dashboards.journal import record, until_final

pytestmark = pytest.mark.thorough

MINE = os.sched_getaffinity(0) if sys.platform == "linux" else set()
LAST = sorted(MINE)[len(MINE) // 2 :]
COPIES = """
    SELECT pid FROM pg_stat_activity
    WHERE datname = current_database() AND query LIKE 'COPY%dashboards.pipeline.bronze%'
"""
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="no other can do it")
WORKER = """
import json, os, subprocess, sys
from celery.signals import celeryd_init
import console
import django
django.setup()
from django.db import connection
from dashboards import tasks
from dashboards.spark import cpu_share

queues = sys.argv[1].split(",")
celeryd_init.send(sender="here", instance=None, conf=None, options={"queues": queues})
started = []
cpu_share.behind_all(lambda: started.append(subprocess.Popen(["sleep", "60"])))
last = [os.sched_getscheduler(one) == os.SCHED_IDLE for one in (0, started[0].pid)]
started[0].kill()
started[0].wait()
connection.ensure_connection()
processes = 0, connection.connection.info.backend_pid
kept_to = [sorted(os.sched_getaffinity(one)) for one in processes]
session = cpu_share.SESSION.read_text() if cpu_share.SESSION.exists() else ""
print(json.dumps([os.nice(0), *kept_to, *last, session.strip().rpartition(" ")[2]]))
"""


@on_linux
@pytest.mark.parametrize(
    ("queues", "nice", "expected"),
    [
        ("reports", "19", [19, LAST, LAST, False, True, "19"]),
        ("reports", "10", [10, LAST, LAST, False, False, "10"]),
        ("housekeeping,celery", "19", [0, *[sorted(MINE)] * 2, False, False, "0"]),
    ],
)
def test_the_worker_of_reports_leaves_half_of_the_processors_and_java_all(
    queues: str, nice: str, expected: list[object]
) -> None:
    """Java leaves all only with the lowest priority."""
    said = subprocess.run(
        [sys.executable, "-c", WORKER, queues],
        env=os.environ
        | {
            "DJANGO_SETTINGS_MODULE": "console.settings",
            "BACKOUT_REPORTS_NICE": nice,
        },
        start_new_session=True,
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    *found, of_session = json.loads(said)
    assert found == expected[:-1]
    assert of_session in (expected[-1], "")  # not every Linux shares by session


@on_linux
def test_where_a_sandbox_forbids_to_come_last_java_starts_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def forbidden(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr("os.nice", lambda _: cpu_share.LOWEST)
    monkeypatch.setattr("os.sched_setscheduler", forbidden)
    started: list[str] = []

    cpu_share.behind_all(lambda: started.append("java"))

    assert started == ["java"]


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> Iterator[set[int]]:
    """This process gives way, and is kept to one processor: which."""
    monkeypatch.setattr("os.nice", lambda _: cpu_share.LOWEST)
    one = {LAST[-1]}
    os.sched_setaffinity(0, one)
    yield one
    os.sched_setaffinity(0, MINE)


@on_linux
def test_the_journal_is_copied_by_a_process_that_is_kept_to_the_same_processors(
    orders: Queue, worker: set[int]
) -> None:
    until_final(record(orders, [1]))

    with closing(events(Bounds(0, 2**62))) as copying:
        next(copying)
        with connection.cursor() as cursor:
            cursor.execute(COPIES)
            ((backend,),) = cursor.fetchall()

        assert os.sched_getaffinity(backend) == worker


@pytest.mark.skipif(len(MINE) < 2, reason="it takes two processors")
def test_what_is_kept_to_other_processors_stays_there(
    orders: Queue, worker: set[int]
) -> None:
    others = MINE - worker
    with psycopg.connect(**connection.get_connection_params()) as other:
        backend = other.info.backend_pid
        os.sched_setaffinity(backend, others)

        cpu_share.take_along(backend)

        assert os.sched_getaffinity(backend) == others


@on_linux
def test_a_process_that_is_none_of_the_database_is_left_alone(
    orders: Queue, worker: set[int]
) -> None:
    with subprocess.Popen(["sleep", "60"]) as somebody:
        os.sched_setaffinity(somebody.pid, MINE)

        cpu_share.take_along(somebody.pid)

        assert os.sched_getaffinity(somebody.pid) == MINE
        somebody.kill()


@pytest.mark.parametrize(
    ("nice", "errors"), [(-1, 1), (0, 1), (1, 0), (19, 0), (20, 1)]
)
def test_an_impossible_priority_of_reports_is_refused(
    nice: int, errors: int, settings: Settings
) -> None:
    settings.BACKOUT_REPORTS_NICE = nice

    assert len(list(checks.priority_of_reports_is_possible())) == errors
