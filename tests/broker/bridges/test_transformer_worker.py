"""Transformers with a time limit: their process, and what they can do to it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from copy import deepcopy
from datetime import timedelta
from pathlib import Path

import psutil
import pytest
from django.db import connection

from broker.bridges.providers.interface import Destination
from broker.bridges.transformers.registry import BranchTo, NoTransfer
from broker.bridges.transformers.running import MINE, close_worker
from broker.errors.bridges import NoSuchTransformer, TransformerFailed
from broker.models import RoutingType
from broker.queueing.store import NewMessage
from tests.broker.bridges import transformers  # they are registered here, too
from tests.broker.bridges.transforming import (
    PATIENCE_S,
    apart,
    here,
    make_message,
    register,
)
from tests.console.until import until
from tests.make import NOON

SHORT_S = 0.2
PARENT = """
import django
django.setup()
from tests.broker.bridges.transforming import apart
apart("test-echo")
apart({name!r}, folder={folder!r}, time_limit_s=3600)
"""


@pytest.fixture(scope="module", autouse=True)
def _worker() -> Iterator[None]:
    """One for all that leave it alive: it takes seconds to start."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BACKOUT_TRANSFORMERS", transformers.__name__)
        yield
        close_worker()


def failure(name: str, time_limit_s: float = PATIENCE_S, **properties: str) -> str:
    """Why it fails; the message that came stays as it was."""
    message = make_message(properties={"list": [1]})
    before = deepcopy(message)
    with pytest.raises(TransformerFailed) as failed:
        apart(name, message, time_limit_s, **properties)
    assert message == before
    assert failed.value.transformer == name
    return failed.value.why


def is_gone(pid: int) -> bool:
    """Whether it has ended; how, its parent may still want to know."""
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


# What goes there and comes back


def test_a_message_comes_back_as_it_went() -> None:
    message = make_message(
        bytes(range(256)) * 5000,
        properties={
            "a": [1, {"b": None}],
            "n": 2**70,
            "x": 0.1,
            "t": True,
            "u": "世\n",
        },
        priority=9,
        durable=False,
        expires_at=NOON,
        deliver_at=NOON + timedelta(microseconds=1),
        message_id="ID:1",
        correlation_id="",
        reply_to="answers",
        group_id="g",
        producer="till 7",
        routing_type=RoutingType.MULTICAST,
        descriptor={"put_appl_name": "till"},
        headers=b"RFH \0",
        envelope=b"\2rest",
    )

    assert apart("test-echo", message) == message


@pytest.mark.spec("BRIDGE-5", "BRIDGE-6")
def test_a_worker_gives_what_this_process_would() -> None:
    message = make_message(properties={"list": ["one"]})

    assert apart("test-shout", message, a="b") == here("test-shout", message, a="b")
    assert apart("test-refuse") == NoTransfer()
    branched = make_message(subject="branched")
    assert apart("test-branch", to="n") == BranchTo(
        Destination("n", is_topic=True), branched
    )


@pytest.mark.spec("BRIDGE-5")
def test_failures_are_told_as_in_this_process_and_cost_no_other_message() -> None:
    pid = apart_pid()

    assert failure("test-raise", text="a\0\x1b\nb" + "c" * 2000) == (
        "LookupError: a b" + "c" * 984
    )
    assert failure("test-exit") == "SystemExit: I leave"
    assert failure("test-nothing").startswith("What it returned is None")
    assert "of the type lock" in failure("test-lock")
    assert apart_pid() == pid


def apart_pid() -> int:
    apart("test-echo")
    assert MINE.worker.pid is not None
    return MINE.worker.pid


def test_a_name_that_nobody_has_is_refused_before_anything_starts() -> None:
    with pytest.raises(NoSuchTransformer):
        apart("no-such")


def test_a_name_that_the_worker_does_not_find_is_a_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    register(monkeypatch, "test-only-here", transformers.echo)

    assert "does not know it" in failure("test-only-here")


def test_what_cannot_be_carried_is_a_failure() -> None:
    message = make_message(properties={"a": {1, 2}})

    with pytest.raises(TransformerFailed, match="No worker process can be given"):
        apart("test-echo", message)


@pytest.mark.long
def test_it_has_nothing_of_its_parent(transactional_db: None) -> None:
    """A connection that two processes use breaks; a lock of one is not the other's."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    close_worker()

    seen = apart("test-look")

    assert isinstance(seen, NewMessage)
    assert seen.properties == {
        "connections": 0,
        "sockets": 1,  # by which it was asked
        "pid": MINE.worker.pid,
        "is_leader": True,
    }


# What it may not do


@pytest.mark.thorough
@pytest.mark.spec("BRIDGE-5")
def test_one_that_takes_too_long_is_killed_and_the_next_message_gets_another() -> None:
    pid = apart_pid()
    begun = time.monotonic()

    why = failure("test-sleep", SHORT_S)

    assert time.monotonic() - begun < 1
    assert why == "It took longer than 0.2 s and was stopped."
    assert is_gone(pid)
    assert apart_pid() != pid


@pytest.mark.long
@pytest.mark.parametrize("name", ["test-spin", "test-regex", "test-stop"])
def test_whatever_it_does_so_long_it_is_killed(name: str, tmp_path: Path) -> None:
    apart_pid()
    begun = time.monotonic()

    why = failure(name, SHORT_S, folder=str(tmp_path))

    assert time.monotonic() - begun < 1
    assert why == "It took longer than 0.2 s and was stopped."
    until(lambda: all(is_gone(int(one.name)) for one in tmp_path.iterdir()), 5)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("test-die", "Its worker process ended by itself, with exit status 3."),
        pytest.param(
            "test-crash",
            "Its worker process was killed by SIGSEGV.",
            marks=pytest.mark.long,
        ),
        pytest.param(
            "test-babble",
            "Its worker process sent an answer that cannot be read.",
            marks=pytest.mark.long,
        ),
    ],
)
def test_one_that_ends_its_process_costs_no_other_message(name: str, why: str) -> None:
    assert failure(name) == why
    assert apart("test-echo") == make_message()


@pytest.mark.long
def test_one_that_closes_everything_costs_no_other_message() -> None:
    assert failure("test-close").startswith("Its worker process ")
    assert apart("test-echo") == make_message()


def test_one_that_forks_is_answered_once() -> None:
    for _ in range(3):
        assert apart("test-fork") == make_message(subject="parent")
    assert apart("test-echo") == make_message()


@pytest.mark.long
def test_one_that_prints_and_reads_disturbs_nobody(
    capfd: pytest.CaptureFixture[str],
) -> None:
    close_worker()  # the next prints into what is captured here

    assert apart("test-print") == make_message(b"")

    out, err = capfd.readouterr()
    assert out == ""
    assert err.count("x") == err.count("y") == 2_000_000


# Who ends it


@pytest.mark.long
def test_one_that_died_in_between_costs_no_message() -> None:
    pid = apart_pid()
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)

    assert apart("test-echo") == make_message()
    assert MINE.worker.pid != pid


@pytest.mark.long
def test_it_ends_with_the_thread_that_runs_the_link() -> None:
    found: list[int] = []
    thread = threading.Thread(target=lambda: found.append(apart_pid()))
    thread.start()
    thread.join()

    assert found != [MINE.worker.pid]
    until(lambda: is_gone(found[0]))


@pytest.mark.long
def test_one_that_cannot_start_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    close_worker()
    with monkeypatch.context() as patch:
        patch.setenv("BACKOUT_TRANSFORMERS", "no.such.module")
        why = failure("test-echo")

    assert why.startswith("Its worker process cannot start. ModuleNotFoundError: No")
    assert MINE.worker.pid is None


@pytest.mark.long
def test_a_machine_that_has_no_room_for_it_is_a_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    close_worker()
    with monkeypatch.context() as patch:
        patch.setattr(sys, "executable", "/no/such/python")
        why = failure("test-echo")

    assert why.startswith("Its worker process cannot be started: [Errno 2]")


@pytest.mark.thorough
@pytest.mark.parametrize(
    "name", ["test-regex", pytest.param("test-sleep", marks=pytest.mark.long)]
)
def test_it_dies_with_its_parent_however_that_ends(name: str, tmp_path: Path) -> None:
    """Even where it holds Python's lock for ever, and with what it forked."""
    program = PARENT.format(name=name, folder=str(tmp_path))
    wanted = 2 if name == "test-regex" else 1
    parent = subprocess.Popen([sys.executable, "-c", program])
    try:
        until(lambda: len(list(tmp_path.iterdir())) == wanted or parent.poll())
        pids = [int(one.name) for one in tmp_path.iterdir()]
        assert len(pids) == wanted
        assert not any(is_gone(pid) for pid in pids)
    finally:
        parent.kill()
        parent.wait()

    until(lambda: all(is_gone(pid) for pid in pids), 5)
