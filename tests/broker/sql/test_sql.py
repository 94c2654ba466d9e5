"""Statements and the cursors that run them."""

from __future__ import annotations

import asyncio
import sys
import threading
from contextlib import ExitStack
from datetime import timedelta, timezone
from typing import Any

import psycopg
import pytest
from django.core.exceptions import SynchronousOnlyOperation
from django.db import DataError, connection, connections, transaction
from psycopg.generators import execute

from broker import sql
from broker.errors import InvalidMessage
from broker.models import RoutingType
from broker.queueing.put import NewMessage, put, put_many
from broker.sql.arrays import EPOCH
from broker.sql.lines import connected, database
from broker.sql.statements import Statement, numbered
from broker.transactions.scope import unit_of_work
from tests.make import NOON, make_queue, seconds

FAR_EAST = timezone(timedelta(hours=9))

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
    assert sql.mine.line is connection.connection


def test_an_error_of_the_commit_is_raised_though_rows_came_before_it() -> None:
    """A deferred constraint fails after the rows were sent, as a session does that is
    terminated then."""
    line().execute(
        "CREATE TEMP TABLE late (id int UNIQUE DEFERRABLE INITIALLY DEFERRED)"
    )
    text = b"INSERT INTO late SELECT %(a)s::int + %(b)s::int RETURNING id"
    one = Statement(text, line())
    for number in (1, 2):  # the first time, a cursor prepares it
        assert one.run({"a": number, "b": 0}) == [(number,)]
    with pytest.raises(psycopg.errors.UniqueViolation):
        one.run({"a": 1, "b": 1})
    assert one.run({"a": 1, "b": 2}) == [(3,)]


@pytest.mark.parametrize("count", [1, 300])
def test_no_message_is_held_after_its_statement(count: int) -> None:
    make_queue("orders")
    bodies = [b"body %d" % number for number in range(count)]
    for _ in range(2):  # the first time, a cursor prepares the statements
        before = list(map(sys.getrefcount, bodies))
        put_many([NewMessage("orders", body) for body in bodies])
        assert list(map(sys.getrefcount, bodies)) == before
        with unit_of_work() as work:
            assert len(work.get("orders", count)) == count
        for statement in sql.mine.statements.values():
            assert statement.transformer.pgresult is None


def test_a_statement_that_failed_runs_again() -> None:
    make_queue("orders")
    for _ in range(2):
        with pytest.raises(InvalidMessage, match="NUL"):
            put("orders", subject="\x00")
        with pytest.raises(InvalidMessage, match="Unicode"):
            put("orders", properties={"name": "\x00"})
        assert cycle(b"after") == b"after"


def test_hot_statements_are_sent_without_a_cursor_once_they_are_prepared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make_queue("orders")
    cycle(b"first")
    monkeypatch.delattr(Statement, "prepare")
    assert cycle(b"second") == b"second"
    with transaction.atomic():
        put("orders", b"third")
        transaction.set_rollback(True)
    with unit_of_work() as work:
        assert not work.get("orders"), "the put was part of the transaction"


def test_statements_are_sent_without_a_cursor_where_none_may_be_prepared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make_queue("orders")
    connection.connection.prepare_threshold = None
    connection.connection.execute("DEALLOCATE ALL")
    monkeypatch.delattr(Statement, "prepare")
    assert cycle(b"first") == b"first"
    before = prepared()
    assert cycle(b"second") == b"second"
    assert prepared() == before == {}
    connection.close()


def test_a_statement_that_was_deallocated_is_prepared_again() -> None:
    make_queue("orders")
    cycle(b"first")
    connection.connection.execute("DEALLOCATE ALL")
    assert cycle(b"second") == b"second"


def test_an_error_after_the_rows_of_a_hot_statement_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rows come before the commit, and a session may be ended between the two."""
    make_queue("orders")
    cycle(b"first")

    def ended(pgconn: Any) -> Any:
        found = yield from execute(pgconn)
        return [*found, pgconn.exec_(b"SELECT 1 / 0")]

    monkeypatch.setattr("broker.sql.statements.execute", ended)
    with pytest.raises(DataError), unit_of_work() as work:
        work.get("orders")


def test_statements_in_a_pipeline_are_left_to_psycopg() -> None:
    make_queue("orders")
    cycle(b"first")
    with connection.connection.pipeline():
        put("orders", b"second")
    with unit_of_work() as work:
        assert [one.body for one in work.get("orders")] == [b"second"]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("bytea", [b"", b"x", b"\x00" * 300]),
        ("text", ["", "x", "äöü", '{"a": 1}']),
        ("jsonb", ['{"a": "ä"}', "null"]),
        ("bigint", [0, 1, -1, -(2**63), 2**63 - 1, 2**15]),
        ("integer", [-(2**31), 2**31 - 1]),
        ("integer", [RoutingType.ANYCAST]),
        ("smallint", [-(2**15), 2**15 - 1]),
        ("boolean", [True, False]),
        ("timestamptz", [NOON, NOON.astimezone(FAR_EAST), EPOCH - seconds(0.000001)]),
    ],
)
def test_an_array_is_converted_as_its_type(
    name: str, values: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = Statement(
        f"SELECT %(a)b::{name}[]::text, %(b)s::int, %(c)s::int".encode(), line()
    )
    with psycopg.Cursor(line()) as cursor:
        for many in (values, [None, *values], [None], [], None):
            rows = one.run({"a": many, "b": 1, "c": 2})
            cursor.execute(f"SELECT %s::{name}[]::text, 1, 2", [many])
            assert rows == cursor.fetchall()
            # The first one prepares a statement that all the others can use.
            monkeypatch.delattr(Statement, "prepare", raising=False)


def test_an_array_of_others_is_left_to_psycopg() -> None:
    one = Statement(b"SELECT %(odd)b::integer[], %(a)s::int, %(b)s::int", line())
    with pytest.raises(psycopg.errors.NumericValueOutOfRange):
        one.run({"odd": [2**31], "a": 1, "b": 2})
    assert one.run({"odd": [[1], [2]], "a": 1, "b": 2}) == [([[1], [2]], 1, 2)]


def line() -> psycopg.Connection[Any]:
    connection.ensure_connection()
    found: psycopg.Connection[Any] = connection.connection
    return found


def test_parameters_are_numbered_by_name_arrays_first() -> None:
    text = b"SELECT %(b)s, %(a)b::bytea[], 7 %% 2, %(b)s, %(a)b::bytea[]"
    assert numbered(text) == (
        b"SELECT $2, $1::bytea[], 7 % 2, $2, $1::bytea[]",
        {"a": "bytea"},
        ["b"],
    )


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


def test_the_connection_is_that_of_django() -> None:
    here = connections["default"]
    assert database() is here
    connections["default"] = other = here.copy()
    try:
        assert database() is connected() is other
    finally:
        other.close()
        connections["default"] = here
    assert database() is here


def test_each_thread_has_its_connection() -> None:
    found: list[Any] = []

    def look() -> None:
        found.extend([database(), database(), connections["default"]])

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert found[0] is found[1] is found[2] is not database()


def test_no_statement_blocks_an_event_loop() -> None:
    async def run() -> None:
        assert database() is connections["default"]
        sql.database_now()

    with pytest.raises(SynchronousOnlyOperation):
        asyncio.run(run())
