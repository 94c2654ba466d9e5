"""Every statement, explained: the index that its head names must be in the plan.

The tables hold enough rows, and are analysed, so that the planner has a choice; the
plans are generic, as in production.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.apps import apps
from django.db import connection
from psycopg.sql import SQL, Literal

from broker import sql
from broker.formats.filters import KEYS, PATH, PROPERTY, parse
from broker.models import Address, Operation, Queue
from broker.monitoring.search import tallies, walking
from broker.monitoring.search.pages import LISTED
from broker.monitoring.search.walking import ONLY_KEYS, Columns, Walk
from broker.queueing.put import NewMessage, put_many
from broker.sql import partitions
from tests.broker.bridges.making import stored_link
from tests.broker.dying import operator
from tests.broker.plan_parameters import parameters
from tests.make import NOON, make_queue, minutes

pytestmark = pytest.mark.thorough

PARTITIONED = {  # in a plan, the index of a partition
    "broker_message_pkey": r"broker_message_\w+_pkey",
    "broker_message_first_id": r"broker_message_\w+_first_id_idx",
    "broker_event_xid": r"broker_event_\w+_xid_idx",
    "broker_event_ids": r"broker_event_\w+_ids",
}
STATEMENTS = sorted(sql.FILES)
ENTRIES = 3000


@pytest.fixture
def busy() -> Queue:
    """A queue among others, with enough on it, all of it analysed.

    Its tables are made anew first: tests that were rolled back have left them long.
    """
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE " + ",".join(FILLED))
    queue = make_queue("orders")
    for other in range(5):
        make_queue(f"other {other}")
    addresses = [Address(name=f"address {n}") for n in range(1000)]
    Queue.objects.bulk_create(
        Queue(name=one.name, address=one)
        for one in Address.objects.bulk_create(addresses)
    )
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
    for number in range(20):
        stored_link(f"link {number}")
    with connection.cursor() as cursor:
        for statement in MORE:
            cursor.execute(statement, {"queue": queue.pk})
    analyse()
    return queue


def analyse() -> None:
    """Every table of the broker, so that what others left there decides nothing."""
    with connection.cursor() as cursor:
        for model in apps.get_app_config("broker").get_models():
            cursor.execute(f"ANALYZE {model._meta.db_table}")


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
    # Each at a moment of its own: one alone could be skipped in its index.
    "INSERT INTO broker_discarded SELECT n, %(queue)s, 'orders', now()"
    " - n * interval '1 s', now() + n * interval '1 s', NULL, '', 4, 1, 1"
    " FROM generate_series(1, 20000) n",
    "INSERT INTO broker_operationitem (operation_id, queue_id, message_id, target)"
    " SELECT (SELECT max(id) FROM broker_operation) - n %% 50, %(queue)s, n, ''"
    " FROM generate_series(1, 20000) n",
    "INSERT INTO broker_seenmessage (link_id, message_id, seen_at)"
    " SELECT id, n::text, now() - n * interval '1 s'"
    " FROM broker_link, generate_series(1, 1000) n",
    "INSERT INTO broker_branch (xid, link_id, kind, messages, detail, began_at)"
    " SELECT id || '-' || n, id, 'decided', 1, '{}', now()"
    " FROM broker_link, generate_series(1, 1000) n",
    "INSERT INTO broker_handlerlimit (queue_id, handler, uows)"
    " SELECT %(queue)s, n::text, ARRAY[-n] FROM generate_series(1, 5000) n",
    "INSERT INTO broker_experience SELECT n, n::text, 1, 1, now(), now()"
    " FROM generate_series(1, 20000) n",
]
FILLED = {one.split()[2] for one in MORE if one.startswith("INSERT")}


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
    return indexes_in(sql.FILES[name])


def indexes_in(path: Path) -> list[str]:
    head = re.search(r"-- Index +(.+(?:\n--  .+)*)", path.read_text())
    assert head, f"{path.name} does not say which index it uses"
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
@pytest.mark.parametrize("names", [one for one in sorted(sql.HOT) if ", " in one])
def test_two_statements_in_one_use_the_indexes_of_both(busy: Queue, names: str) -> None:
    plan = json.dumps(explain(names, busy))
    promised = [index for name in names.split(", ") for index in indexes_of(name)]
    found = [PARTITIONED.get(index, index) for index in promised]
    assert [index for index in found if not re.search(index, plan)] == []


@pytest.mark.django_db
def test_a_pick_reads_no_table_from_end_to_end_and_sorts_no_queue(busy: Queue) -> None:
    for name in ("get", "get_each", "wake", "wake_queue", "take_ready"):
        plan = json.dumps(explain(name, busy))

        scanned = r'"Seq Scan"[^{}]*"Relation Name": "broker_(ready|delayed)'
        assert not re.search(scanned, plan), f"{name}.sql reads the whole queue"
        assert '"Tid Scan"' in plan, "the array of ctids is not what deletes"


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["get", "get_each", "accept"])
def test_a_plan_that_was_made_while_all_was_empty_suits_full_tables(name: str) -> None:
    queue = make_queue("orders")
    analyse()

    kinds = {node["Node Type"] for node in nodes(explain(name, queue)[0]["Plan"])}

    assert kinds & {"Index Scan", "Index Only Scan"}
    assert not kinds & {"Seq Scan", "Hash Join", "Merge Join"}


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["put_back", "copy", "copy_one", "redeliver"])
def test_a_failure_looks_up_its_queues_whenever_its_plan_was_made(name: str) -> None:
    queue = make_queue("orders")
    analyse()

    plan = json.dumps(explain(name, queue))

    whole = re.findall(r'"Seq Scan"[^{}]*"Relation Name": "(\w+)', plan)
    assert set(whole) == {"broker_addresssetting"}


@pytest.mark.django_db
def test_settlements_look_up_their_claims_whenever_their_plan_was_made() -> None:
    queue = make_queue("orders")
    analyse()

    scans = [
        node
        for node in nodes(explain("settle_many", queue)[0]["Plan"])
        if "Scan" in node["Node Type"]
        and "broker_claim" in str(node)
        and not node.get("Plans")
    ]

    assert len(scans) == 3
    assert all("uow >= $" in node["Index Cond"] for node in scans)


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["get", "get_each"])
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
@pytest.mark.parametrize(
    "name", ["get", "get_each", "put_back", "copy", "copy_one", "redeliver"]
)
def test_a_get_and_a_failure_open_only_the_partitions_that_are_near(
    busy: Queue, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    near = parameters(name, busy) | {"near_from": 1, "near_to": 2}
    near |= {"first_id": 1, "last_id": 2}
    monkeypatch.setattr("tests.broker.test_plans.parameters", lambda *_: near)
    plan = explain(name, busy)
    removed = [node.get("Subplans Removed", 0) for node in nodes(plan[0]["Plan"])]
    assert sum(removed) >= partitions.MESSAGES_AHEAD - 1


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


READY, DEAD, SHOWN = (
    f"broker_{one}_pkey" for one in ("ready", "dead_letter", "message")
)
SHAPES: list[tuple[str, Columns, set[str]]] = [  # of filters: what of find.sql is used
    ("", LISTED, {READY, DEAD, SHOWN}),
    ("", ONLY_KEYS, {READY, DEAD}),
    ("queue:orders state:ready", LISTED, {READY, DEAD, SHOWN}),
    ("state:delayed", LISTED, {"broker_delayed_pkey", SHOWN}),
    ("state:discarded", LISTED, {"broker_discarded_pkey", SHOWN}),
    ("state:dead", LISTED, {READY, DEAD, SHOWN}),
    ("fingerprint:7", LISTED, {READY, DEAD, SHOWN, "broker_dead_letter_fingerprint"}),
    ("state:dead at:<2026-03-14", LISTED, {"broker_dead_letter_late", SHOWN}),
    ("id:1000001..1000100", LISTED, {READY, DEAD, SHOWN}),
    ("body:x body.a[].b:c h.a:b", LISTED, {READY, DEAD, SHOWN}),
    ("type:x", tallies.columns_of(KEYS["type"], None), {READY, DEAD, SHOWN}),
    ("", tallies.columns_of(PROPERTY, "tenant"), {READY, DEAD, SHOWN}),
    ("", tallies.columns_of(PATH, "a."), {READY, DEAD, SHOWN}),
]


@pytest.mark.django_db
@pytest.mark.usefixtures("busy")
def test_finding_uses_the_indexes_of_each_shape_and_reads_no_table_whole() -> None:
    names = dict(Queue.objects.values_list("pk", "name"))
    wrong = []
    for text, columns, indexes in SHAPES:
        walk = Walk(parse(text), names, columns, now=NOON)
        with psycopg.Cursor(connection.connection) as cursor:
            look = SQL("EXPLAIN (FORMAT JSON) {}").format(walk.statement)
            cursor.execute(look, {**walk.values, "limit": 51})
            plan = json.dumps(cursor.fetchall())
        wrong += [
            (text, "does not use", one)
            for one in indexes
            if not re.search(PARTITIONED.get(one, one), plan)
        ]
        whole = re.findall(r'"Seq Scan"[^{}]*"Relation Name": "(\w+)', plan)
        wrong += [(text, "reads all of", one) for one in whole]

    assert wrong == []


def test_what_finds_names_all_its_indexes() -> None:
    used = set().union(*(indexes for _, _, indexes in SHAPES))
    files = (walking.FOLDER / one for one in ("find.sql", "find_letters.sql"))
    assert used == {index for file in files for index in indexes_in(file)}


def nodes(plan: dict[str, Any]) -> list[dict[str, Any]]:
    return [plan, *(n for child in plan.get("Plans", []) for n in nodes(child))]
