"""Processes that count as alive and do not run."""

from __future__ import annotations

import signal

import pytest

from broker.monitoring import silent_processes
from broker.monitoring.silent_processes import SILENCE, SilentProcess, silent
from broker.queueing import processes
from broker.security import authorities
from console.layout import settings_problems
from dashboards.live import problems
from tests.broker.elsewhere import process, said
from tests.console.until import until
from tests.make import make_user, seconds

PROCESSES_KEPT_S = problems.KEPT_S["process_silent"]  # outside of tests
DISPATCHER = """
from broker.client.dispatch.dispatcher import Dispatcher
from broker.queueing import processes
processes.HEARTBEAT_S = 0.05
Dispatcher([]).start()
print("runs", flush=True)
input()
"""
WORKER = """
from broker.queueing import processes
processes.HEARTBEAT_S = 0.05
from console.celery import app
from celery.signals import worker_ready
app.loader.import_default_modules()  # the tasks hear the signal before this script
@worker_ready.connect
def tell(**_):
    print("runs", flush=True, file=sys.__stdout__)  # Celery redirects the other
app.worker_main(["--quiet", "worker", "-Q", "nothing", "--pool", "threads",
    "--concurrency", "1", "-l", "ERROR", "--without-gossip", "--without-mingle"])
"""


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("script", "kind"), [(DISPATCHER, "dispatcher"), (WORKER, "worker")]
)
def test_a_process_that_was_stopped_is_found_until_it_goes_on(
    transactional_db: None, script: str, kind: str
) -> None:
    with process(script) as other:
        assert said(other) == "runs"

        def found() -> list[SilentProcess]:
            """Other tests may have left processes that answer every 3 seconds."""
            return [one for one in silent(seconds(0.5)) if one.pid == other.pid]

        other.send_signal(signal.SIGSTOP)
        (stopped,) = until(found)
        assert stopped.kind == kind
        assert stopped.silent_s >= 0.5
        other.send_signal(signal.SIGCONT)
        until(lambda: not found())


def test_a_silent_process_is_told_within_15_seconds_with_what_to_do(
    transactional_db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    longest_s = SILENCE.total_seconds() + PROCESSES_KEPT_S
    assert processes.HEARTBEAT_S < SILENCE.total_seconds() < longest_s < 15
    processes.resign()
    processes.current("dispatcher")
    monkeypatch.setattr(silent_processes, "silent", lambda: silent(seconds(0)))
    viewer = make_user("vera", permissions=("broker.view_queue",), granted=())

    found = settings_problems.all_for(viewer, authorities.NOTHING)

    processes.resign()
    assert [one.code for one in found] == ["process-silent"]
    assert "has not answered for 0 seconds: it hangs, or it was stopped" in str(
        found[0]
    )
