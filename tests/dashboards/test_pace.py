"""The worker of reports leaves room for the broker beside it; no other worker does."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

WORKER = """
import json, os, sys
from celery.signals import celeryd_init
import console
import django
django.setup()
from dashboards import tasks

before = len(os.sched_getaffinity(0))
queues = sys.argv[1].split(",")
celeryd_init.send(sender="here", instance=None, conf=None, options={"queues": queues})
print(json.dumps([os.nice(0), before - len(os.sched_getaffinity(0))]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="processors are Linux's to give")
@pytest.mark.parametrize(
    ("queues", "niceness", "left"),
    [("reports", 19, len(os.sched_getaffinity(0)) // 2), ("housekeeping,celery", 0, 0)],
)
def test_the_worker_of_reports_leaves_half_of_the_processors(
    queues: str, niceness: int, left: int
) -> None:
    said = subprocess.run(
        [sys.executable, "-c", WORKER, queues],
        env=os.environ | {"DJANGO_SETTINGS_MODULE": "console.settings"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    assert json.loads(said) == [niceness, left]
