"""Without a worker of Celery, one dispatcher does the housekeeping."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import psycopg
import pytest
from django.apps import apps
from django.db import connection
from django.utils import timezone

from broker.declarations.declaring import declare_queue
from broker.housekeeping import housekeeper
from broker.housekeeping.housekeeper import HOUSEKEEPING, Housekeeper
from broker.housekeeping.work import Duty
from broker.models import Owner
from broker.queueing import journal
from broker.queueing.processes import LOCK_CLASS
from broker.queueing.put import put
from tests.broker.bridges.other_backout import parameters
from tests.console.until import until
from tests.make import make_queue


@pytest.fixture
def elsewhere(transactional_db: None) -> Iterator[psycopg.Connection]:
    """A session of another process."""
    name = connection.settings_dict["NAME"]
    with psycopg.connect(**parameters(name), autocommit=True) as session:
        yield session


def lock(session: psycopg.Connection, *keys: int) -> None:
    session.execute("SELECT pg_advisory_lock(%s::int, %s::int)", keys)


def is_taken() -> bool:
    """Whether a dispatcher could take a turn now; it ends at once."""
    with Housekeeper().taken() as mine:
        return mine


def test_what_is_due_is_done_until_the_dispatcher_stops(transactional_db: None) -> None:
    orders = make_queue("orders")
    now = timezone.now()
    put("orders", expires_at=now - timedelta(hours=1), now=now - timedelta(hours=2))
    mine = Housekeeper()
    mine.start()
    try:
        until(lambda: journal.depths()[orders.pk].total == 0)
    finally:
        mine.stop()
    assert mine.thread is not None
    assert not mine.thread.is_alive()


def test_a_worker_that_lives_does_it_alone_if_it_has_the_schedule(
    elsewhere: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = Owner.objects.create(
        id=7, kind="worker", host="here", pid=1, started_at=timezone.now()
    )
    lock(elsewhere, LOCK_CLASS, worker.pk)
    assert not is_taken()

    with monkeypatch.context() as patch:
        patch.setattr(apps, "is_installed", lambda _: False)
        assert is_taken()
    elsewhere.execute("SELECT pg_advisory_unlock_all()")
    assert is_taken()


def test_one_dispatcher_does_it_at_a_time(elsewhere: psycopg.Connection) -> None:
    lock(elsewhere, HOUSEKEEPING, 0)
    assert not is_taken()

    elsewhere.close()
    until(is_taken)


def test_a_duty_that_fails_keeps_no_other_from_its_turn(
    db: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    done: list[str] = []

    def fail() -> None:
        raise KeyError("unexpected")

    duties = (
        Duty(fail, lambda: True),
        Duty(lambda: done.append("each beat"), lambda: True, every_s=0),
        Duty(lambda: done.append("now and then"), lambda: True, every_s=3600),
        Duty(lambda: done.append("never"), lambda: False, every_s=0),
    )
    monkeypatch.setattr(housekeeper, "DUTIES", duties)
    mine = Housekeeper()
    mine.do_what_is_due()
    mine.do_what_is_due()
    assert done == ["each beat", "now and then", "each beat"]
    assert "The housekeeping failed: fail" in caplog.text


def test_queues_are_declared_while_somebody_has_the_turn(
    elsewhere: psycopg.Connection,
) -> None:
    lock(elsewhere, HOUSEKEEPING, 0)
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = 1000")
        try:
            declare_queue("orders")
        finally:
            cursor.execute("RESET lock_timeout")
