"""Whole runs, on a real journal and a real Spark, held to the same numbers by SQL."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from broker.models import Kind, Place, Queue
from broker.queueing.put import put_many
from broker.transactions.scope import unit_of_work
from dashboards import tasks
from dashboards.models import ReportRow, ReportRun
from dashboards.pipeline import runs
from tests.dashboards.journal import record, until_final
from tests.make import NOON, make_messages, make_queue, make_setting, minutes

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

DAY = timedelta(days=1)
HOSTILE = "orders'; DROP TABLE x; -- <script>alert(1)</script> \\ 50% é"

BY_HAND = """
    SELECT
        (e.at AT TIME ZONE 'UTC')::date, q.name, e.detail->>'cause', sum(e.n), max(e.at)
    FROM broker_event e JOIN broker_queue q ON q.id = e.queue_id
    WHERE e.kind = 7
    GROUP BY 1, 2, 3
"""


def run() -> ReportRun:
    call_command("run_report", "dead-letters", stdout=StringIO())
    return ReportRun.objects.latest("pk")


def by_hand() -> set[tuple[object, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(BY_HAND)
        return {tuple(row) for row in cursor.fetchall()}


def published() -> set[tuple[object, ...]]:
    rows = ReportRow.objects.filter(report="dead-letters")
    return {
        (
            row.day,
            row.cells["queue"],
            row.cells["cause"],
            row.cells["dead_letters"],
            datetime.fromisoformat(row.cells["last_at"]),
        )
        for row in rows
    }


@pytest.mark.thorough
def test_what_is_published_is_what_the_journal_says(orders: Queue) -> None:
    hostile = make_queue(HOSTILE, address="orders")
    record(orders, range(1, 50))
    record(orders, [50], cause="REJECTED")
    record(orders, [51, 52], at=NOON.replace(hour=23, minute=59, second=59))
    record(orders, [53], at=NOON.replace(hour=0) + DAY)
    got = (Place.READY, Place.CLAIMED)
    record(orders, range(1, 50), at=NOON - minutes(1), kind=Kind.GET, way=got)
    until_final(record(hostile, [60, 61], cause="OPERATOR"))

    first = run()
    assert published() == by_hand()
    assert (first.state, first.progress) == (ReportRun.State.DONE, 1)
    assert first.rows == len(by_hand()) == 4
    assert len(first.checks) > 6  # of silver and of the report
    counted = sum(int(str(row[3])) for row in by_hand())
    assert first.checks[-1] == {
        "claim": "every dead letter is counted once",
        "found": counted, "expected": counted, "times": 1,
    }  # fmt: skip

    record(orders, [54], at=NOON + DAY)
    until_final(record(orders, [55], at=NOON - DAY))  # late: its day was counted
    second = run()
    assert published() == by_hand()
    assert second.through == (first.through or 0) + 1

    third = run()
    assert published() == by_hand()
    ages = [run.as_of for run in (first, second, third) if run.as_of]
    assert ages == sorted(set(ages))
    assert len(ages) == 3


@pytest.mark.long
def test_a_queue_that_is_gone_keeps_its_name_in_the_report(orders: Queue) -> None:
    until_final(record(orders, [1]))
    run()
    orders.delete()
    other = make_queue("invoices")
    until_final(record(other, [2]))

    run()

    assert {row[1] for row in published()} == {"orders", "invoices"}


def test_a_poison_message_ends_up_in_the_report(orders: Queue) -> None:
    make_queue("DLQ")
    make_setting(max_delivery_attempts=1, dead_letter_address="DLQ")
    put_many(make_messages(3))
    with suppress(ZeroDivisionError), unit_of_work() as work:
        work.get("orders", limit=2)
        raise ZeroDivisionError
    with connection.cursor() as cursor:
        cursor.execute("SELECT max(xid) FROM broker_event")
        until_final(cursor.fetchone()[0])

    run()

    today = timezone.now().date()
    [(day, *counted, _)] = published()
    assert day in {today, today - DAY}
    assert counted == ["orders", "MAX_DELIVERY_ATTEMPTS", 2]


@pytest.mark.thorough
def test_numbers_that_disagree_are_not_published(orders: Queue) -> None:
    until_final(record(orders, [1]))
    run()
    before = published()
    until_final(record(orders, [1]))

    with pytest.raises(CommandError, match="no message left a queue twice"):
        run()

    assert published() == before
    stopped = ReportRun.objects.latest("pk")
    assert stopped.state == ReportRun.State.STOPPED
    assert "expected 2, found 1" in stopped.error
    assert stopped.checks[-1]["claim"] == "no message left a queue twice"
    assert (stopped.checks[-1]["found"], stopped.checks[-1]["expected"]) == (1, 2)


def test_a_run_is_run_once(orders: Queue) -> None:
    until_final(record(orders, [1]))
    asked = runs.ask_for("dead-letters")

    tasks.run_report(asked.pk)
    first = ReportRun.objects.get(pk=asked.pk)
    tasks.run_report(asked.pk)

    again = ReportRun.objects.get(pk=asked.pk)
    assert (again.ended_at, again.as_of) == (first.ended_at, first.as_of)
    assert again.state == ReportRun.State.DONE
