"""The statement for one dead letter writes what the one for several writes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection

from broker.models import Queue
from broker.monitoring import fsck
from broker.queueing.put import put
from broker.queueing.routing import Route
from broker.settlement.outcomes import BackOut, Failure, Reject
from broker.transactions.scope import UnitOfWork
from tests.make import NOON, make_queue, make_setting, minutes

TABLES = ("message", "ready", "annotations", "dead_letter", "event")
# Of the letter: its ids, and the number of its transaction.
OWN = {"id", "pos", "message_id", "copied_from", "first_id", "origin_id"} | {
    *("ids", "uow", "xid", "seq")
}
OWN_IN_JSON = {"_AMQ_ORIG_MESSAGE_ID", "copies"}
MESSAGES: list[dict[str, Any]] = [
    {},
    {"body": b"\x00x" * 5000, "content_type": "text/plain", "priority": 9},
    {"durable": False, "message_id": "ID:1", "correlation_id": "c", "reply_to": "r"},
    {"subject": "s", "group_id": "g", "producer": "p", "envelope": b"e"},
    {"expires_at": NOON + minutes(1)},
    {"descriptor": {"format": "MQSTR"}, "headers": b"h"},
    {"headers": b"", "properties": {"_BRK_RESUBMIT_COUNT": "2", "x": None}},
    {"properties": {"_BRK_RESUBMIT_COUNT": "two", "_AMQ_ORIG_QUEUE": "mine"}},
    {"properties": {"_BRK_DEATH_ERROR": "mine", "_AMQ_ACTUAL_EXPIRY": 7, "n": [1]}},
]


@pytest.fixture(autouse=True)
def orders(transactional_db: None) -> Queue:
    make_queue("graves", address="DLA")
    make_setting("orders", max_delivery_attempts=2, dead_letter_address="DLA")
    make_setting("DLA", expiry_delay_ms=60_000)
    return make_queue("orders")


@contextmanager
def by_the_statement_for_several(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patched:
        patched.setattr(Route, "taking", lambda *_: [])
        yield


def letter(fields: dict[str, Any], outcome: Failure) -> dict[str, list[Any]]:
    """What the death of a message writes; its first attempt has left an annotation."""
    fields = {"body": b"", **fields}
    put("orders", fields.pop("body"), now=NOON, **fields)
    for one in (BackOut("first", annotations=(("x-opt-a", b"\x41"),)), outcome):
        work = UnitOfWork(now=NOON)
        assert work.get("orders")
        before = {table: rows(table) for table in TABLES}
        work.back_out(one)
    return {
        table: [one for one in rows(table) if one not in before[table]]
        for table in TABLES
    }


def rows(table: str) -> list[dict[str, Any]]:
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT to_jsonb(held) FROM broker_{table} AS held ORDER BY held::text"
        )
        return [json.loads(found) for (found,) in cursor.fetchall()]


def comparable(written: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Without what two letters differ in."""
    return {table: list(map(without_own, found)) for table, found in written.items()}


def without_own(row: dict[str, Any]) -> dict[str, Any]:
    row = {name: value for name, value in row.items() if name not in OWN}
    for name in ("properties", "detail"):
        row[name] = {
            key: value
            for key, value in (row.get(name) or {}).items()
            if key not in OWN_IN_JSON
        }
    return row


@pytest.mark.spec("DLA-4", "DLA-5")
@pytest.mark.parametrize("outcome", [BackOut("no"), Reject("never"), Reject("")])
@pytest.mark.parametrize("fields", MESSAGES)
def test_one_dead_letter_is_as_one_of_several(
    monkeypatch: pytest.MonkeyPatch,
    statements: list[str],
    fields: dict[str, Any],
    outcome: Failure,
) -> None:
    with by_the_statement_for_several(monkeypatch):
        expected = letter(fields, outcome)
    written = letter(fields, outcome)

    assert [one for one in statements if "copy" in one] == ["copy", "copy_one"]
    assert comparable(written) == comparable(expected)
    assert {table: len(found) for table, found in written.items()} == {
        **dict.fromkeys(TABLES, 1),
        "event": 2,
    }
    assert fsck.violations() == []
