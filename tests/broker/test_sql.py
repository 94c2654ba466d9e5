"""Statements and the cursors that run them."""

from __future__ import annotations

import pytest
from django.db import connection

from broker import sql
from broker.put import put
from broker.unit_of_work import unit_of_work
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
    for body in (b"short", b"x" * (sql.SHORT + 1), b"short"):
        assert cycle(body) == body
        is_short = len(body) <= sql.SHORT
        assert ("put_one" in sql.kept.cursors) is is_short
        assert ("get_one" in sql.kept.cursors) is is_short


def test_a_statement_that_failed_leaves_no_cursor_behind() -> None:
    make_queue("orders")
    with pytest.raises(Exception, match="NUL"):
        put("orders", subject="\x00")

    assert "put_one" not in sql.kept.cursors
    assert cycle(b"after") == b"after"
