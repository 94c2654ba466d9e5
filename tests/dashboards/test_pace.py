"""The worker of reports leaves room for the broker beside it, and Spark for the worker;
no other worker does."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from dashboards.reports import pace

WORKER = """
import json, os, subprocess, sys
from celery.signals import celeryd_init
import console
import django
django.setup()
from dashboards import tasks
from dashboards.reports import pace

before = len(os.sched_getaffinity(0))
queues = sys.argv[1].split(",")
celeryd_init.send(sender="here", instance=None, conf=None, options={"queues": queues})
started = []
pace.behind_all(lambda: started.append(subprocess.Popen(["sleep", "60"])))
last = [os.sched_getscheduler(one) == os.SCHED_IDLE for one in (0, started[0].pid)]
started[0].kill()
started[0].wait()
print(json.dumps([os.nice(0), before - len(os.sched_getaffinity(0)), *last]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="processors are Linux's to give")
@pytest.mark.parametrize(
    ("queues", "expected"),
    [
        ("reports", [19, len(os.sched_getaffinity(0)) // 2, False, True]),
        ("housekeeping,celery", [0, 0, False, False]),
    ],
)
def test_the_worker_of_reports_leaves_half_of_the_processors_and_java_all(
    queues: str, expected: list[int | bool]
) -> None:
    said = subprocess.run(
        [sys.executable, "-c", WORKER, queues],
        env=os.environ | {"DJANGO_SETTINGS_MODULE": "console.settings"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    assert json.loads(said) == expected


@pytest.mark.skipif(sys.platform != "linux", reason="an order that only Linux has")
def test_where_a_sandbox_forbids_to_come_last_java_starts_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def forbidden(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr("os.nice", lambda _: pace.LOWEST)
    monkeypatch.setattr("os.sched_setscheduler", forbidden)
    started: list[str] = []

    pace.behind_all(lambda: started.append("java"))

    assert started == ["java"]
