"""The worker of reports leaves room for the broker beside it; no other worker does."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

WORKER = """
import json, os, pathlib, sys
from celery.signals import celeryd_init
import console
import django
django.setup()
from dashboards import tasks

before = len(os.sched_getaffinity(0))
queues = sys.argv[1].split(",")
celeryd_init.send(sender="here", instance=None, conf=None, options={"queues": queues})
left = before - len(os.sched_getaffinity(0))
said = [pathlib.Path("/proc/self", name) for name in ("autogroup", "sched")]
print(json.dumps([os.nice(0), left, *(one.read_text() for one in said)]))
"""
AUTOGROUP, SCHED = Path("/proc/self/autogroup"), Path("/proc/self/sched")
linux = pytest.mark.skipif(
    sys.platform != "linux", reason="processors are Linux's to give"
)


def worker_of(queues: str, *, is_alone: bool = False) -> list[Any]:
    """Its priority, how many processors it leaves, and what Linux says of it."""
    said = subprocess.run(
        [sys.executable, "-c", WORKER, queues],
        env=os.environ | {"DJANGO_SETTINGS_MODULE": "console.settings"},
        capture_output=True,
        text=True,
        check=True,
        start_new_session=is_alone,
    ).stdout
    return list(json.loads(said))


@linux
@pytest.mark.parametrize(
    ("queues", "niceness", "left"),
    [("reports", 19, len(os.sched_getaffinity(0)) // 2), ("housekeeping,celery", 0, 0)],
)
def test_the_worker_of_reports_leaves_half_of_the_processors(
    queues: str, niceness: int, left: int
) -> None:
    assert worker_of(queues)[:2] == [niceness, left]


@linux
@pytest.mark.skipif(not AUTOGROUP.exists(), reason="this Linux knows no such groups")
@pytest.mark.parametrize(("is_alone", "niceness"), [(True, 19), (False, 0)])
def test_its_session_is_behind_all_others_if_nobody_else_is_in_it(
    *, is_alone: bool, niceness: int
) -> None:
    _, _, group, _ = worker_of("reports", is_alone=is_alone)

    assert group.endswith(f" nice {niceness}\n")


@linux
@pytest.mark.skipif(
    not SCHED.exists() or "se.slice" not in SCHED.read_text(),
    reason="this Linux does not tell",
)
@pytest.mark.parametrize(("queues", "is_long"), [("reports", True), ("celery", False)])
def test_its_turns_are_long(queues: str, *, is_long: bool) -> None:
    *_, sched = worker_of(queues)

    turn_ns = re.search(r"^se\.slice\s*: *(\d+)$", sched, re.M)
    assert turn_ns
    assert (int(turn_ns[1]) == 100_000_000) == is_long
