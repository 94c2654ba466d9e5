"""Units of work that another coordinator ends: what a promise to commit outlives."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django_celery_beat.models import PeriodicTask

from broker import tasks
from broker.housekeeping import work as housekeeping
from broker.models import (
    DeadLetter,
    Delayed,
    Kind,
    Message,
    Owner,
    PreparedPut,
    Queue,
)
from broker.models import UnitOfWork as UnitRow
from broker.monitoring import fsck
from broker.queueing import journal, processes
from broker.queueing.put import put, put_many
from broker.settlement import poison, settle
from broker.transactions import prepared
from broker.transactions.prepared import back_out_prepared, commit_prepared, prepare
from broker.transactions.scope import UnitOfWork, unit_of_work
from tests.broker.elsewhere import Elsewhere, kill, process, said
from tests.broker.promising import promise, ready
from tests.make import NOON, make_messages, make_queue, minutes, seconds

pytestmark = pytest.mark.usefixtures("transactional_db")

MUCH_LATER = NOON + minutes(60 * 24)
PROMISE = """
from broker.transactions.prepared import prepare
from broker.transactions.scope import UnitOfWork
work = UnitOfWork(coordinated=True)
work.get("orders", 2)
work.put("answers", b"done")
prepare(work, "branch 1")
print("prepared", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def orders(transactional_db: None) -> Queue:
    return make_queue()


@pytest.fixture
def answers(transactional_db: None) -> Queue:
    return make_queue("answers")


@pytest.mark.spec("UOW-7")
def test_what_is_prepared_outlives_its_deadline_and_others_do_not(
    orders: Queue, answers: Queue
) -> None:
    put_many(make_messages(3), now=NOON)
    promise(entries=2)
    UnitOfWork(now=NOON).get("orders")

    assert settle.back_out_overdue(limit=10, now=MUCH_LATER) == 1

    assert ready(orders) == 1
    commit_prepared("branch 1", now=MUCH_LATER)
    assert ready(orders) == ready(answers) == 1


@pytest.mark.spec("UOW-7")
def test_what_is_prepared_outlives_its_process(orders: Queue, answers: Queue) -> None:
    put_many(make_messages(3))
    with process(PROMISE) as other:
        assert said(other) == "prepared"
        kill(other)
    tasks.back_out_overdue()

    assert not Owner.objects.filter(kind="application").exists()
    (waiting,) = prepared.prepared()
    assert (waiting.xid, waiting.entries, waiting.puts) == ("branch 1", 2, 1)
    assert (ready(orders), ready(answers)) == (1, 0)
    commit_prepared("branch 1")
    assert (ready(orders), ready(answers)) == (1, 1)
    assert fsck.violations() == []


@pytest.mark.spec("UOW-1", "UOW-7")
def test_until_its_coordinator_decides_nobody_gets_or_sees_any_of_it(
    orders: Queue, answers: Queue, elsewhere: Elsewhere
) -> None:
    put_many(make_messages(2))
    promise()

    with unit_of_work() as work:
        assert work.get("orders", 9) == []
        assert work.get("answers") == []

    elsewhere(commit_prepared, "branch 1", actor="coordinator")

    with unit_of_work() as work:
        (answer,) = work.get("answers")
    assert (answer.body, answer.priority) == (b"done", 7)
    assert answer.properties == {"for": "orders"}
    depth = journal.depths()[orders.pk]
    assert (depth.total, depth.done[Kind.ACCEPT]) == (0, 2)
    story = [(e.kind, e.actor) for e in journal.lifeline(answer.message_id)]
    assert story[0] == (Kind.PUT, "coordinator")
    assert not PreparedPut.objects.exists()
    assert not UnitRow.objects.exists()


@pytest.mark.spec("UOW-2", "UOW-7")
def test_backed_out_by_an_operator_its_entries_are_counted_and_nothing_is_sent(
    orders: Queue, answers: Queue
) -> None:
    put_many(make_messages(2))
    promise()

    back_out_prepared("branch 1", error="its coordinator is gone", actor="omar")

    with unit_of_work() as work:
        got = work.get("orders", 9)
    assert [(d.body, d.backout_count) for d in got] == [(b"1", 1), (b"2", 1)]
    assert ready(answers) == 0
    assert not PreparedPut.objects.exists()
    back_out = journal.lifeline(got[0].message_id)[2]
    assert (back_out.kind, back_out.actor) == (Kind.BACK_OUT, "omar")
    assert back_out.detail["error"] == "its coordinator is gone"
    assert fsck.violations() == []


@pytest.mark.parametrize("decide", [commit_prepared, back_out_prepared])
def test_a_unit_of_work_that_only_puts_can_be_prepared(
    answers: Queue, decide: Callable[[str], object]
) -> None:
    promise(entries=0)
    assert [one.entries for one in prepared.prepared()] == [0]

    decide("branch 1")

    assert ready(answers) == (decide is commit_prepared)
    assert prepared.prepared() == []


def test_one_that_holds_nothing_and_sends_nothing_can_be_prepared_too() -> None:
    for decide in (commit_prepared, back_out_prepared):
        prepare(UnitOfWork(coordinated=True), "nothing")
        decide("nothing")
    assert not UnitRow.objects.exists()


def test_every_part_of_a_message_is_as_it_was_put(answers: Queue) -> None:
    moment = NOON + seconds(0.123456)
    fields = {
        "content_type": "text/plain",
        "properties": {"a": [1, {"b": None}], "ü": 0.5},
        "priority": 9,
        "durable": False,
        "expires_at": moment + minutes(9),
        "message_id": "ID:1",
        "correlation_id": "c",
        "reply_to": "replies",
        "subject": "s",
        "group_id": "g",
        "producer": "me",
        "routing_type": 1,
        "descriptor": {"format": "MQSTR", "report": 0},
        "headers": b"\x00\xff",
    }
    put("answers", b"\x00\xfe", **fields, now=NOON)
    for delay in ({}, {"deliver_at": moment}):
        work = UnitOfWork(coordinated=True, now=NOON)
        work.put("answers", b"\x00\xfe", **fields, **delay)
        prepare(work, "branch 1")
        commit_prepared("branch 1", now=NOON)

    direct, once, late = (
        {name: value for name, value in row.items() if name != "id"}
        for row in Message.objects.order_by("id").values()
    )
    assert direct == once == late
    assert Delayed.objects.get().due_at == moment


def test_a_rehearsal_leaves_nothing_behind(orders: Queue, answers: Queue) -> None:
    put_many(make_messages(2))
    before = Message.objects.count()
    promise()

    assert Message.objects.count() == before
    assert journal.depths()[orders.pk].claimed == 2
    assert answers.pk not in journal.depths()
    assert fsck.violations() == []


@pytest.mark.spec("POISON-8", "UOW-7")
@pytest.mark.parametrize("decide", [commit_prepared, back_out_prepared])
def test_a_poison_message_is_taken_away_as_its_coordinator_decides(
    orders: Queue, decide: Callable[[str], object]
) -> None:
    back = make_queue("orders.back")
    put_many(make_messages(2))
    work = UnitOfWork(coordinated=True)
    bad, _ = work.get("orders", 2)
    work.remove(poison.Removing(bad, "orders.back"))
    prepare(work, "branch 1")
    assert ready(back) == 0
    processes.resign()
    tasks.back_out_overdue()

    decide("branch 1")

    committed = decide is commit_prepared
    assert (ready(orders), ready(back)) == ((0, 1) if committed else (2, 0))
    if committed:
        (letter,) = DeadLetter.objects.all()
        assert letter.origin_id == bad.message_id
        assert letter.cause == DeadLetter.Cause.BACKOUT_THRESHOLD
    assert fsck.violations() == []


@pytest.mark.spec("UOW-7")
def test_a_unit_of_work_that_is_left_open_is_backed_out_after_five_minutes(
    orders: Queue,
) -> None:
    put("orders", now=NOON)
    UnitOfWork(now=NOON).get("orders")
    ends = NOON + seconds(300)

    assert settle.back_out_overdue(limit=9, now=ends - seconds(0.001)) == 0
    assert settle.back_out_overdue(limit=9, now=ends) == 1
    with unit_of_work() as work:
        assert [d.backout_count for d in work.get("orders")] == [1]


@pytest.mark.spec("UOW-7")
def test_units_of_work_left_open_are_looked_for_every_second() -> None:
    assert housekeeping.BEAT_S == 1
    assert tasks.back_out_overdue in [task for task, _ in tasks.DUE]
    asked = PeriodicTask.objects.get(task="broker.tasks.send_due")
    assert asked.interval is not None
    assert asked.interval.schedule.run_every == seconds(tasks.ASKS_S)
    assert asked.enabled
