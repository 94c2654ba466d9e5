"""Long work keeps to half of the processors, with the database's process that does it,
and gives the others back."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from django.db import connection

from broker.sql import processors

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(sys.platform != "linux", reason="no other can do it"),
]
MINE = os.sched_getaffinity(0) if sys.platform == "linux" else set()
LAST = set(sorted(MINE)[len(MINE) // 2 :])


def limits() -> list[set[int]]:
    """The processors of this thread and of the database's process."""
    backend = connection.connection.info.backend_pid
    return [os.sched_getaffinity(one) for one in (0, backend)]


def test_it_keeps_to_the_last_half_and_gives_the_others_back() -> None:
    connection.ensure_connection()
    before = limits()

    with pytest.raises(ZeroDivisionError), processors.last_half():
        assert limits() == [LAST, LAST]
        raise ZeroDivisionError

    assert limits() == before == [MINE, MINE]


def test_where_the_database_is_another_users_this_thread_alone_is_limited(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limit = os.sched_setaffinity

    def forbidden(process: int, to: set[int]) -> None:
        if process:
            raise PermissionError
        limit(process, to)

    monkeypatch.setattr("os.sched_setaffinity", forbidden)

    with processors.last_half():
        assert limits() == [LAST, MINE]


def test_a_database_elsewhere_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processors, "listener", lambda: None)

    with processors.last_half():
        assert limits() == [LAST, MINE]


def test_where_a_system_cannot_limit_a_thread_it_works_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr("os.sched_setaffinity")

    with processors.last_half():
        assert limits() == [MINE, MINE]


def test_only_the_databases_own_processes_are_its_processes() -> None:
    connection.ensure_connection()
    assert processors.serves(connection.connection.info.backend_pid)
    with subprocess.Popen(["sleep", "60"]) as somebody:
        assert not processors.serves(somebody.pid)
        assert processors.parent_of(somebody.pid) == os.getpid()
        somebody.kill()
    assert processors.parent_of(somebody.pid) is None
