"""The hot tables are vacuumed as soon as there is a reason."""

from __future__ import annotations

import pytest
from django.db import connection

from broker.models import Delayed
from broker.put import put_many
from broker.vacuuming import FEW, vacuum_bloated
from tests.console.until import until
from tests.make import NOON, make_messages, make_queue, minutes


def dead_rows(table: str = "broker_delayed") -> int:
    """As the server's statistics have it, once this session has told them."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_force_next_flush()")
        cursor.execute(
            "SELECT n_dead_tup FROM pg_stat_user_tables WHERE relname = %s", [table]
        )
        return int(cursor.fetchone()[0])


def die(count: int) -> None:
    put_many(make_messages(count, deliver_at=NOON + minutes(1)), now=NOON)
    Delayed.objects.all().delete()


def test_a_table_of_dead_rows_is_vacuumed_once(transactional_db: None) -> None:
    make_queue()
    die(FEW + 1000)
    until(lambda: dead_rows() > FEW)

    assert vacuum_bloated() == ["broker_delayed"]
    assert dead_rows() < FEW
    assert vacuum_bloated() == []


def test_a_few_dead_rows_are_no_reason(transactional_db: None) -> None:
    make_queue()
    with connection.cursor() as cursor:
        cursor.execute("VACUUM broker_delayed")
    die(100)
    until(lambda: dead_rows() >= 100)

    assert vacuum_bloated() == []


@pytest.mark.django_db
def test_within_a_transaction_nothing_is_vacuumed() -> None:
    assert vacuum_bloated() == []
