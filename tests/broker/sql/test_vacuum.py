"""The hot tables are vacuumed as soon as there is a reason."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest
from django.db import connection

from broker import tasks
from broker.models import Delayed
from broker.queueing import processes
from broker.queueing.put import put_many
from broker.sql import vacuum
from broker.sql.vacuum import FEW
from tests.console.until import until
from tests.make import NOON, make_messages, make_queue, minutes


@pytest.fixture
def _alone(transactional_db: None) -> Iterator[None]:
    """Nobody else vacuums the table, or analyses it: it would be left to them."""
    alter = "ALTER TABLE broker_delayed {} (autovacuum_enabled{})"
    with connection.cursor() as cursor:
        cursor.execute(alter.format("SET", " = off"))
        yield
        cursor.execute(alter.format("RESET", ""))


def dead_rows(table: str = "broker_delayed") -> int:
    """As the server's statistics have it, once this session has told them."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_force_next_flush()")
        cursor.execute(
            "SELECT n_dead_tup FROM pg_stat_user_tables WHERE relname = %s", [table]
        )
        return int(cursor.fetchone()[0])


def vacuums(table: str = "broker_delayed") -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT vacuum_count FROM pg_stat_user_tables WHERE relname = %s", [table]
        )
        return int(cursor.fetchone()[0])


def die(count: int) -> None:
    put_many(make_messages(count, deliver_at=NOON + minutes(1)), now=NOON)
    Delayed.objects.all().delete()


def vacuumed() -> list[str]:
    found = vacuum.bloated()
    vacuum.vacuum(found)
    return found


@pytest.mark.usefixtures("_alone")
def test_a_table_of_dead_rows_is_vacuumed_once() -> None:
    make_queue()
    die(FEW + 1000)
    until(lambda: dead_rows() > FEW)

    assert vacuumed() == ["broker_delayed"]
    assert dead_rows() < FEW
    assert vacuumed() == []


@pytest.mark.usefixtures("_alone")
def test_a_few_dead_rows_are_no_reason() -> None:
    make_queue()
    vacuum.vacuum(["broker_delayed"])
    die(100)
    until(lambda: dead_rows() >= 100)

    assert vacuumed() == []


@pytest.mark.usefixtures("_alone")
def test_a_table_that_grows_is_vacuumed_before_its_rows_are_counted() -> None:
    make_queue()
    vacuum.vacuum(vacuum.HOT)
    die(3000)  # which this session has told nobody yet, unless it took a second

    found = vacuum.bloated()
    dead_rows()  # told now, so that it is not told once they are gone
    vacuum.vacuum(found)

    assert "broker_delayed" in found
    assert vacuumed() == []


@pytest.mark.usefixtures("_alone")
def test_a_worker_vacuums_what_was_bloated_four_times_a_second() -> None:
    make_queue()
    die(FEW + 1000)
    until(lambda: dead_rows() > FEW)
    before = vacuums()

    tasks.vacuum_bloated()

    assert vacuums() == before + 4


@pytest.mark.django_db
def test_within_a_transaction_nothing_is_vacuumed() -> None:
    before = vacuums()
    vacuum.vacuum(vacuum.HOT)
    assert vacuums() == before


@pytest.fixture
def old_transaction() -> Iterator[psycopg.Connection]:
    """Somebody writes, elsewhere, and does not end."""
    with closing(processes.connect()) as other:
        other.execute("BEGIN")
        other.execute("SELECT pg_current_xact_id()")
        yield other


@pytest.mark.usefixtures("_alone")
def test_a_table_that_an_old_transaction_keeps_bloated_is_left_alone(
    old_transaction: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each vacuum would read all of it, for nothing."""
    monkeypatch.setattr(vacuum, "REST", 10_000)  # so a vacuum of 1 ms gives 10 s
    monkeypatch.setattr(vacuum, "RESTS_UNTIL", {})
    make_queue()
    die(FEW + 1000)
    until(lambda: dead_rows() > FEW)
    before = vacuums()

    for _ in range(3):
        assert vacuumed() == ["broker_delayed"]
    assert vacuums() == before + 1

    old_transaction.rollback()
    vacuum.RESTS_UNTIL.clear()  # the rest is over
    vacuumed()
    assert dead_rows() < FEW
