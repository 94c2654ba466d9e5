"""The database goes away under a worker, and comes back."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlsplit

import psycopg
import pytest
from django.db import connections
from psycopg.sql import SQL, Identifier

from broker.models import Claim, DeadLetter, Queue, Ready
from tests.amqp.launching import database_url
from tests.broker.celery.conftest import WITHIN_S
from tests.celery_peer.app import app, note
from tests.console.until import until

pytestmark = pytest.mark.thorough

TASKS = 60
AWAY_S = 3  # longer than the worker waits before it tries again


ALLOW = "ALTER DATABASE {} WITH ALLOW_CONNECTIONS {}"
END = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s"


@contextmanager
def away() -> Iterator[None]:
    """No session can be on the database of the tests."""
    url = urlsplit(database_url())
    name = url.path.removeprefix("/")
    connections.close_all()
    elsewhere = url._replace(path="/postgres").geturl()
    with psycopg.connect(elsewhere, autocommit=True) as other:
        other.execute(SQL(ALLOW).format(Identifier(name), SQL("false")))
        other.execute(END, [name])
        try:
            yield
        finally:
            other.execute(SQL(ALLOW).format(Identifier(name), SQL("true")))


def test_a_worker_outlives_an_outage_and_still_answers(
    celery_worker: SimpleNamespace, transactional_db: None, tmp_path: Path
) -> None:
    notes = tmp_path / "notes"
    notes.touch()
    letters = DeadLetter.objects.count()
    for number in range(TASKS):
        note.delay(str(notes), str(number), 0.05)
    until(lambda: len(done(notes)) > TASKS // 10, seconds=WITHIN_S)

    with away():
        time.sleep(AWAY_S)

    until(lambda: len(done(notes)) == TASKS, seconds=WITHIN_S)
    peer = Queue.objects.get(name="peer").pk
    until(lambda: not Claim.objects.filter(queue_id=peer).exists(), seconds=WITHIN_S)
    assert not Ready.objects.filter(queue_id=peer).exists()
    assert DeadLetter.objects.count() == letters
    assert celery_worker.process.poll() is None
    until(lambda: bool(app.control.inspect(timeout=1).ping()), seconds=WITHIN_S)


def done(notes: Path) -> set[str]:
    return {line.split()[0] for line in notes.read_text().splitlines()}
