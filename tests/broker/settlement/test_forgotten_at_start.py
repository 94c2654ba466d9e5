"""Counts that do not survive a restart: whoever starts first forgets them, and nobody
else."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.db import connection

from broker.models import Queue, Ready
from broker.queueing import processes
from broker.queueing.put import put
from tests.console.until import until
from tests.make import make_queue

MANUAL = settings.BASE_DIR / "docs" / "operations.md"


@contextmanager
def unit(name: str) -> Iterator[None]:
    """The process of a systemd unit, by the command that the manual has for it."""
    (command,) = re.findall(rf"^\| `{name}` \| `([^`]+)`", MANUAL.read_text(), re.M)
    address = urlsplit(os.environ["DATABASE_URL"])
    database = address._replace(path=f"/{connection.settings_dict['NAME']}").geturl()
    environment = os.environ | {
        "BACKOUT_SECRET_KEYS": ",".join(settings.BACKOUT_SECRET_KEYS),
        "DATABASE_URL": database,
        "PATH": f"{settings.BASE_DIR}/.venv/bin:{os.environ['PATH']}",
    }
    with subprocess.Popen(
        shlex.split(command), cwd=settings.BASE_DIR, env=environment
    ) as running:
        try:
            yield
        finally:
            running.kill()


def counted(queue: Queue) -> None:
    Ready.objects.filter(queue_id=queue.pk).update(backout_count=3, delivery_count=3)


def end_others() -> None:
    """End the sessions by which other processes count as alive here, and not that of
    a dispatcher: other tests share a server of pages, which comes back."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(session.pid, 10000) FROM pg_locks"
            " JOIN pg_stat_activity AS session USING (pid)"
            " JOIN broker_owner ON id::oid = objid"
            " WHERE locktype = 'advisory' AND classid = %s::int::oid"
            " AND application_name = %s AND datname = current_database()"
            " AND kind <> 'dispatcher'",
            [processes.LOCK_CLASS, processes.NAME],
        )


def count() -> int:
    return Ready.objects.get().backout_count


@pytest.mark.thorough
def test_the_first_process_of_all_forgets_them_whatever_started_it(
    transactional_db: None,
) -> None:
    soft = make_queue("soft", harden_backout=False)
    put("soft")
    processes.resign()
    counted(soft)

    def are_forgotten() -> bool:
        end_others()
        return count() == 0

    with unit("backout-dispatcher"):
        until(are_forgotten)

        counted(soft)
        processes.current()  # starts while another one is alive
        assert count() == 3
        processes.resign()

    counted(soft)

    def starts_first() -> bool:
        end_others()
        processes.current()
        if count() == 0:
            return True
        processes.resign()
        return False

    until(starts_first)


def test_a_process_that_was_only_taken_for_dead_forgets_nothing(
    transactional_db: None,
) -> None:
    soft = make_queue("soft", harden_backout=False)
    put("soft")
    processes.resign()
    processes.current()
    counted(soft)
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM broker_owner")

    assert processes.renew()

    assert count() == 3
