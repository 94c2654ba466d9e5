"""Every statement, explained: the index that its head names must be in the plan.

The tables hold enough rows, and are analysed, so that the planner has a choice; the
plans are generic, as in production.
"""

from __future__ import annotations

import json
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import connection
from psycopg.sql import SQL, Literal

from broker import owner, sql
from broker.get import HIGHS, LOWEST, NEW, PRIORITIES
from broker.models import Address, Operation, Queue
from broker.put import NewMessage, put_many
from tests.broker.dying import operator
from tests.make import NOON, make_queue, minutes

PARTITIONED = {  # in a plan, the index of a partition
    "broker_message_pkey": r"broker_message_\w+_pkey",
    "broker_event_xid": r"broker_event_\w+_xid_idx",
    "broker_event_ids": r"broker_event_\w+_ids",
}
STATEMENTS = sorted(path.stem for path in Path(sql.FOLDER).glob("*.sql"))
ENTRIES = 3000
LANES = {
    "priorities": PRIORITIES,
    "lows": [low for _ in range(10) for low in (LOWEST, NEW)],
    "highs": HIGHS,
}
ONE_MESSAGE = {
    "priorities": [4],
    "routing_types": [None],
    "durables": [True],
    "expiries": [None],
    "dues": [None],
    "content_types": ["text/plain"],
    "producers": [""],
    "message_ids": [None],
    "correlation_ids": [None],
    "reply_tos": [None],
    "subjects": [None],
    "group_ids": [None],
    "properties": ["{}"],
    "bodies": [b"x"],
    "descriptors": [None],
    "headers": [None],
}
ITS_VALUES = {
    "priority": 4,
    "routing_type": None,
    "durable": True,
    "expires_at": None,
    "content_type": "text/plain",
    "producer": "",
    "message_id": None,
    "correlation_id": None,
    "reply_to": None,
    "subject": None,
    "group_id": None,
    "properties": "{}",
    "body": b"x",
    "descriptor": None,
    "headers": None,
}
ONE_ENTRY = {
    "queue_ids": [1],
    "ids": [1],
    "backout_counts": [1],
    "delivery_counts": [1],
    "delays_ms": [0],
    "retentions_s": [60],
    "mosts": [10],
    "are_limits": [True],
}
SWITCHES = {
    "restore": False,
    "as_ibm": False,
    "though_paused": False,
    "looked": False,
    "pooled": False,
    "in_transaction": False,
    "most_records": 10,
    "tables": ["broker_ready"],
    "few": 1000,
}
ONE_ITEM = {
    "by": "queue",
    "on_queue": 1,
    "ready": True,
    "delayed": True,
    "resubmits": True,
    "target": "",
    "after": 0,
    "undoes": 1,
    "expired_too": False,
    "delayed_too": True,
    "item_ids": [1],
    "statuses": ["done"],
    "notes": [""],
    "copies": [None],
    "places": [1],
    "first_id": 1,
    "last_id": 1,
}


def parameters(name: str, queue: Queue) -> dict[str, Any]:
    """A value for every parameter that any statement has."""
    common = {
        "address": "orders",
        "queue": "orders",
        "queue_id": queue.pk,
        "owner": owner.current(),
        "uow": None,
        "claim_id": 0,
        "limit": 3,
        "expected": 1,
        "id": 0,
        "message_id": 17,
        "before": 10**9,
        "kind": 4,
        "came_from": 2,
        "cause": "EXPIRED",
        "error": "",
        "fingerprint": "f",
        "pattern": "",
        "origin_queue": None,
        "only_queue": None,
        "path": "(1 == 1)",
        "scan": 100,
        "reason": None,
        "why": "",
        "refusing_ids": [],
        "priority": 4,
        "backout_count": 0,
        "delivery_count": 1,
        "expires_at": None,
        "operation_id": 1,
        "actor": "",
        "xid": "x",
        "detail": "{}",
        "dead_owners": [1],
        "lock_class": owner.LOCK_CLASS,
        "timeout": timedelta(seconds=1),
        "synchronous_commit": None,
        "taker_ids": [queue.pk],
        "taker_types": [1],
        "refusing": ["[]"],
        "stale": ["_BRK_DEATH_TIME"],
        "lifetime": None,
        "ends": True,
        "at": NOON,
        "within": None,
        "due_at": NOON,
        "now": NOON,
    }
    arrays = (
        LANES
        if name in ("get", "get_one", "browse_ready", "browse_chosen", "choose")
        else ITS_VALUES
        if name == "put_one"
        else ONE_MESSAGE
    )
    return common | SWITCHES | ONE_MESSAGE | ONE_ENTRY | ONE_ITEM | arrays


@pytest.fixture
def busy() -> Queue:
    """A queue among others, with enough on it, all of it analysed."""
    queue = make_queue("orders")
    for other in range(5):
        make_queue(f"other {other}")
    Address.objects.bulk_create(Address(name=f"address {n}") for n in range(1000))
    later = NOON + minutes(1)
    put_many(
        [
            NewMessage("orders", expires_at=later if n % 50 == 0 else None)
            for n in range(ENTRIES)
        ],
        now=NOON,
    )
    Operation.objects.bulk_create(
        Operation(kind=Operation.Kind.MOVE, created_by=operator()) for _ in range(50)
    )
    with connection.cursor() as cursor:
        for statement in MORE:
            cursor.execute(statement, {"queue": queue.pk})
        for table in ANALYSED:
            cursor.execute(f"ANALYZE broker_{table}")
    return queue


ANALYSED = (
    "message",
    "ready",
    "delayed",
    "claim",
    "unit_of_work",
    "event",
    "dead_letter",
    "discarded",
    "operationitem",
)
MORE = [
    "INSERT INTO broker_ready (queue_id, priority, pos, id)"
    " SELECT %(queue)s + n %% 50, 4, n, n FROM generate_series(1000001, 1080000) n",
    "INSERT INTO broker_unit_of_work SELECT -n, 1, now(), now()"
    " FROM generate_series(1000, 3000) n",
    "INSERT INTO broker_claim SELECT -n, 0, %(queue)s, now(), ARRAY[n], ARRAY[4],"
    " ARRAY[0], ARRAY[1], ARRAY[NULL::timestamptz] FROM generate_series(1000, 3000) n",
    "INSERT INTO broker_delayed (due_at, id, queue_id, priority)"
    " SELECT now() + n * interval '1 s', n, %(queue)s + n %% 50, 4"
    " FROM generate_series(1, 20000) n",
    "INSERT INTO broker_event (xid, at, queue_id, n, kind, went_to, ids)"
    " SELECT n, timestamptz '2020-01-01', %(queue)s, 1, 1, 1, ARRAY[n]"
    " FROM generate_series(1, 60000) n",
    "UPDATE broker_watermark SET xid = 59990",
    "INSERT INTO broker_dead_letter SELECT n, %(queue)s, now(), n, 1, 0, 'EXPIRED', '',"
    " (n %% 997)::text, '', 'orders', 'orders' FROM generate_series(1, 20000) n",
    "INSERT INTO broker_discarded SELECT n, %(queue)s, 'orders', now(), now()"
    " + n * interval '1 s', NULL, '', 4, 1, 1 FROM generate_series(1, 20000) n",
    "INSERT INTO broker_operationitem (operation_id, queue_id, message_id, target)"
    " SELECT (SELECT max(id) FROM broker_operation) - n %% 50, %(queue)s, n, ''"
    " FROM generate_series(1, 20000) n",
]


def explain(name: str, queue: Queue, options: str = "FORMAT JSON") -> Any:
    """The generic plan, which is the one that production runs."""
    text = sql.statement(name).decode().rstrip().rstrip(";")
    names = list(dict.fromkeys(re.findall(r"%\((\w+)\)[sb]", text)))
    numbered = re.sub(r"%\((\w+)\)[sb]", lambda m: f"${names.index(m[1]) + 1}", text)
    given = parameters(name, queue)
    values = SQL(", ").join(Literal(given[one]) for one in names)
    called = SQL("({})").format(values) if names else SQL("")
    with psycopg.Cursor(connection.connection) as cursor:
        cursor.execute(f"PREPARE explained AS {numbered.replace('%%', '%')}".encode())
        cursor.execute(
            SQL(f"EXPLAIN ({options}) EXECUTE explained {{}}").format(called)
        )
        row = cursor.fetchone()
        cursor.execute("DEALLOCATE explained")
    assert row is not None
    return row[0]


def indexes_of(name: str) -> list[str]:
    """The indexes that the head of a statement promises."""
    head = re.search(r"-- Index +(.+)", sql.statement(name).decode())
    assert head, f"{name}.sql does not say which index it uses"
    return [] if head[1].startswith("none") else re.findall(r"\w+", head[1])


@pytest.mark.django_db
def test_each_statement_uses_the_indexes_that_its_head_names(busy: Queue) -> None:
    plans = {name: json.dumps(explain(name, busy)) for name in STATEMENTS}

    unused = [
        (name, index)
        for name, plan in plans.items()
        for index in indexes_of(name)
        if not re.search(PARTITIONED.get(index, index), plan)
    ]
    assert unused == []


@pytest.mark.django_db
def test_a_pick_reads_no_table_from_end_to_end_and_sorts_no_queue(busy: Queue) -> None:
    for name in ("get", "get_one", "wake", "wake_queue", "take_ready"):
        plan = json.dumps(explain(name, busy))

        scanned = r'"Seq Scan"[^{}]*"Relation Name": "broker_(ready|delayed)'
        assert not re.search(scanned, plan), f"{name}.sql reads the whole queue"
        assert '"Tid Scan"' in plan, "the array of ctids is not what deletes"


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["get", "get_one", "accept"])
def test_a_plan_that_was_made_while_all_was_empty_suits_full_tables(name: str) -> None:
    queue = make_queue("orders")
    with connection.cursor() as cursor:
        for table in (*ANALYSED, "queue", "owner"):
            cursor.execute(f"ANALYZE broker_{table}")

    kinds = {node["Node Type"] for node in nodes(explain(name, queue)[0]["Plan"])}

    assert kinds & {"Index Scan", "Index Only Scan"}
    assert not kinds & {"Seq Scan", "Hash Join", "Merge Join"}


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["get", "get_one"])
def test_a_get_reads_as_many_entries_as_it_takes(busy: Queue, name: str) -> None:
    plan = explain(name, busy, "ANALYZE, FORMAT JSON")
    scans = [
        node
        for node in nodes(plan[0]["Plan"])
        if node.get("Index Name") == "broker_ready_pkey"
    ]

    assert scans
    assert sum(n["Actual Rows"] * n["Actual Loops"] for n in scans) <= 3 + 20


@pytest.mark.django_db
def test_choosing_reads_no_more_messages_than_it_chooses(busy: Queue) -> None:
    plan = explain("choose", busy, "ANALYZE, FORMAT JSON")
    read: dict[str, int] = {}
    for node in nodes(plan[0]["Plan"]):
        which = node.get("Index Name", "")
        kind = "message" if which.startswith("broker_message") else which
        read[kind] = read.get(kind, 0) + node["Actual Rows"] * node["Actual Loops"]

    assert 0 < read["broker_ready_pkey"] <= 100
    assert read["message"] == 3


def nodes(plan: dict[str, Any]) -> list[dict[str, Any]]:
    return [plan, *(n for child in plan.get("Plans", []) for n in nodes(child))]
