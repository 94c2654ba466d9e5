"""Statements and the cursors that run them."""

from __future__ import annotations

from contextlib import ExitStack

import psycopg
import pytest
from django.db import connection, transaction
from psycopg._queries import MAX_CACHED_STATEMENT_LENGTH

from broker import sql
from broker.queueing.put import NewMessage, put, put_many
from broker.transactions.scope import unit_of_work
from tests.make import make_queue

pytestmark = pytest.mark.usefixtures("transactional_db")


def cycle(body: bytes) -> bytes:
    put("orders", body)
    with unit_of_work() as work:
        (delivery,) = work.get("orders")
    return delivery.body


def test_statements_run_on_the_connection_that_is_open_now() -> None:
    make_queue("orders")
    assert cycle(b"first") == b"first"

    connection.close()

    assert cycle(b"second") == b"second"
    for cursor in sql.kept.cursors.values():
        assert cursor.connection is connection.connection


def test_no_cursor_is_kept_that_holds_a_long_message() -> None:
    make_queue("orders")
    for body in (b"short", b"x" * (sql.LITTLE + 1), b"short"):
        assert cycle(body) == body
        is_short = len(body) <= sql.LITTLE
        assert ("put_one" in sql.kept.cursors) is is_short
        assert ("get_one" in sql.kept.cursors) is is_short


def test_what_many_messages_need_is_not_kept() -> None:
    make_queue("orders")
    for count in (10, sql.FEW + 1, 10):
        put_many([NewMessage("orders") for _ in range(count)])
        with unit_of_work() as work:
            assert len(work.get("orders", count)) == count
        assert ("put" in sql.kept.cursors) is (count == 10)
        assert ("get" in sql.kept.cursors) is (count == 10)


def test_statements_of_the_hot_path_are_read_once_by_the_client() -> None:
    """psycopg looks for the parameters of a longer one at each run."""
    lengths = {name: len(sql.statement(name)) for name in (*sql.KEPT, "settle_many")}
    assert max(lengths.values()) <= MAX_CACHED_STATEMENT_LENGTH, lengths


def test_a_statement_that_failed_leaves_no_cursor_behind() -> None:
    make_queue("orders")
    with pytest.raises(Exception, match="NUL"):
        put("orders", subject="\x00")

    assert "put_one" not in sql.kept.cursors
    assert cycle(b"after") == b"after"


@pytest.mark.parametrize("depth", [1, 2])
def test_a_rollback_keeps_the_statements_of_the_broker_and_no_others(
    depth: int,
) -> None:
    connection.close()  # psycopg deallocates the oldest of more than a hundred
    make_queue("orders")
    cycle(b"first")
    repeated = "SELECT 1 FROM broker_queue WHERE id > 0"
    with psycopg.Cursor(connection.connection) as cursor:
        for _ in range(7):
            cursor.execute(repeated)
    before = prepared()

    with pytest.raises(ZeroDivisionError), ExitStack() as stack:
        for _ in range(depth):
            stack.enter_context(transaction.atomic())
        put("orders", b"undone")
        raise ZeroDivisionError

    assert before.pop(repeated)
    assert cycle(b"second") == b"second"
    after = prepared()
    assert repeated not in after
    assert before.items() <= after.items(), "none was prepared again"


def prepared() -> dict[str, str]:
    """Names of the prepared statements of this connection, by their text."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT statement, name FROM pg_prepared_statements")
        return dict(cursor.fetchall())


def test_a_changed_table_makes_statements_anew() -> None:
    make_queue("orders")
    cycle(b"first")
    before = prepared()
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE tried (n integer)")
        cursor.execute("DROP TABLE tried")
    assert cycle(b"second") == b"second"
    after = prepared()
    assert before.keys() & after.keys()
    assert not before.items() & after.items(), "none was kept"
