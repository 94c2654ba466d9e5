"""Grouping dead letters, explained while nobody has analyzed the tables yet."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db import connection

from broker import sql
from broker.models import DeadLetter
from broker.monitoring import dead_letters
from tests.console.graveyard import bury

pytestmark = pytest.mark.usefixtures("transactional_db")
LETTERS = 6000


def explained(name: str, **asked: Any) -> list[dict[str, Any]]:
    """The nodes of a statement's plan."""
    with connection.cursor() as cursor:
        statement = sql.statement(name).decode()
        cursor.execute(f"EXPLAIN (FORMAT JSON) {statement}", asked or None)
        (found,) = cursor.fetchone()
    plan = json.loads(found) if isinstance(found, str) else found
    return nodes(plan[0]["Plan"])


def executed(name: str, **asked: Any) -> list[dict[str, Any]]:
    """The nodes of a statement that was prepared, and what each of them did."""
    statement = sql.statement(name).decode()
    for number, key in enumerate(asked, 1):
        statement = statement.replace(f"%({key})s", f"${number}")
    with connection.cursor() as cursor:
        cursor.execute(f"PREPARE asked AS {statement}")
        marks = ",".join(["%s"] * len(asked))
        cursor.execute(
            f"EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE asked({marks})",
            list(asked.values()),
        )
        (found,) = cursor.fetchone()
        cursor.execute("DEALLOCATE asked")
    plan = json.loads(found) if isinstance(found, str) else found
    return nodes(plan[0]["Plan"])


def nodes(plan: dict[str, Any]) -> list[dict[str, Any]]:
    inner = [one for child in plan.get("Plans", []) for one in nodes(child)]
    return [plan, *inner]


def test_many_that_died_at_once_are_grouped_by_equality_alone() -> None:
    """A join that compares each letter with each entry takes minutes."""
    assert list(bury(LETTERS, 3))[-1] == LETTERS == DeadLetter.objects.count()

    plan = explained("dead_letter_groups")

    assert not any("Join Filter" in one for one in plan)
    assert not any(one["Node Type"] == "Nested Loop" for one in plan)
    keys = {f"{by} Cond" for by in ("Hash", "Merge", "Index")}
    conditions = [one[key] for one in plan for key in keys & one.keys()]
    assert any("message_id" in one for one in conditions), conditions
    assert sum(group.messages for group in dead_letters.groups()) == LETTERS


def test_one_group_costs_what_it_is_large_however_much_lies_beside_it() -> None:
    assert list(bury(LETTERS, 3))[-1] == LETTERS
    largest, *_, smallest = dead_letters.groups()
    gone = dead_letters.letters(largest.selection, limit=1)[0].message_id
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM broker_ready WHERE pos = %s", [gone])
        cursor.execute("ANALYZE broker_dead_letter, broker_message, broker_ready")

    plan = executed("dead_letter_group", fingerprint=smallest.fingerprint)

    looks = [one for one in plan if one.get("Relation Name") == "broker_ready"]
    assert len(looks) == 2  # which lanes there are, and each letter
    assert max(one["Actual Loops"] for one in looks) == smallest.messages
    assert dead_letters.groups(smallest.fingerprint) == [smallest]
    (left,) = dead_letters.groups(largest.fingerprint)
    assert left.messages == largest.messages - 1
    assert dead_letters.groups() == [left, *dead_letters.groups()[1:-1], smallest]
    assert dead_letters.groups("0" * 12) == []


def test_whether_groups_grow_is_looked_up_by_whole_keys() -> None:
    """Else the first page reads all entries for each of a thousand letters."""
    assert list(bury(LETTERS // 2, 3))[-1] == LETTERS // 2

    plan = explained(
        "recent_deaths",
        scan=1000,
        now=None,
        span=dead_letters.LATELY,
        limit=5,
        within=[],
    )

    (look,) = [one for one in plan if one.get("Relation Name") == "broker_ready"]
    assert all(key in look["Index Cond"] for key in ("queue_id", "priority", "pos"))


def test_a_page_of_letters_looks_for_no_more_than_it_shows() -> None:
    """Else the first of a hundred thousand are shown when all were looked up."""
    assert list(bury(LETTERS // 2, 3))[-1] == LETTERS // 2
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE broker_dead_letter, broker_message, broker_ready")

    plan = executed(
        "dead_letters",
        **dict.fromkeys(("fingerprint", "origin_queue", "cause", "queue_id")),
        within=[*range(100_000)],
        before=dead_letters.NEWEST,
        scan=200,
        limit=51,
    )

    looks = [one for one in plan if one.get("Relation Name") == "broker_ready"]
    assert sorted(one["Actual Loops"] for one in looks)[0] == 0  # all at once: never
    assert max(one["Actual Loops"] for one in looks) <= 200 * 2


def test_letters_that_are_gone_are_not_looked_up_one_by_one() -> None:
    """After thousands were sent back, those that stayed are shown as quickly."""
    assert list(bury(LETTERS // 2, 3))[-1] == LETTERS // 2
    newest = dead_letters.letters(dead_letters.Selection(), limit=10)
    kept = DeadLetter.objects.order_by("message_id")[60].message_id
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM broker_ready WHERE pos > %s", [kept])
        cursor.execute("ANALYZE broker_dead_letter, broker_message, broker_ready")

    plan = executed(
        "dead_letters",
        **dict.fromkeys(("fingerprint", "origin_queue", "cause", "queue_id")),
        within=None,
        before=dead_letters.NEWEST,
        scan=200,
        limit=51,
    )

    found = dead_letters.letters(dead_letters.Selection(), limit=51)
    assert [one.message_id for one in found] == sorted(
        DeadLetter.objects.order_by("message_id")[10:61].values_list(
            "message_id", flat=True
        ),
        reverse=True,
    )
    assert newest[0].message_id > found[0].message_id == kept
    looks = [one for one in plan if one.get("Relation Name") == "broker_ready"]
    assert max(one["Actual Loops"] for one in looks) <= 200 * 20
