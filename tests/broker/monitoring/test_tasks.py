"""Messages that are tasks, counted by the name of the task."""

from __future__ import annotations

import pytest
from django.utils import timezone

from broker.models import Queue
from broker.monitoring import tasks
from broker.monitoring.tasks import TasksDead, TasksHere, TasksRun
from broker.queueing.put import put, put_many
from broker.transactions.unit_of_work import UnitOfWork
from tests.console.letters import attempt, die, make_places
from tests.make import make_messages, make_queue, minutes, seconds

pytestmark = pytest.mark.django_db

SEND = {"task": "shop.tasks.send"}
BILL = {"task": "shop.tasks.bill"}


def ids() -> list[int]:
    return list(Queue.objects.values_list("pk", flat=True))


def test_tasks_are_counted_by_name_and_place() -> None:
    orders = make_queue()
    make_queue("plain")
    now = timezone.now()
    put("plain")  # no task, so its queue carries none
    put("orders", properties=SEND, now=now - minutes(2))
    put("orders", properties=SEND, now=now)
    put("orders", properties=BILL, deliver_at=now + minutes(5), now=now)
    put("orders", now=now)

    found = {one.task: one for one in tasks.here(ids())}

    assert found == {
        "shop.tasks.send": TasksHere(
            "shop.tasks.send", orders.pk, 2, 0, 0, now - minutes(2), is_cut=False
        ),
        "shop.tasks.bill": TasksHere(
            "shop.tasks.bill", orders.pk, 0, 1, 0, None, is_cut=False
        ),
    }


def test_of_a_long_queue_the_first_are_counted_and_all_names_say_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tasks, "MOST", 4)
    make_queue()
    put_many(make_messages(4, properties=SEND))
    assert [one.is_cut for one in tasks.here(ids())] == [False]

    put("orders", properties=BILL, priority=9)

    found = tasks.here(ids())
    assert sum(one.ready for one in found) == 4
    assert all(one.is_cut for one in found)


def test_a_task_that_runs_is_counted() -> None:
    make_queue()
    put("orders", properties=SEND)
    work = UnitOfWork()
    assert work.get("orders")

    (found,) = tasks.here(ids())

    assert (found.ready, found.running) == (0, 1)


def test_attempts_of_the_last_hour_have_durations_and_failures() -> None:
    orders = make_places()
    now = timezone.now()
    put_many(make_messages(4, properties=SEND))
    attempt("no", now=now - minutes(90), limit=1)
    for ago in (3, 2):
        attempt(now=now - minutes(ago))
    attempt("no", now=now - minutes(1))

    (found,) = tasks.run(ids(), now=now)

    assert found == TasksRun("shop.tasks.send", orders.pk, 2, 1, 12.0, 12.0)


def test_dead_letters_of_tasks_are_counted_by_error_while_they_are_there() -> None:
    make_places()
    now = timezone.now() - minutes(30)
    for number in (7, 8):
        die(f"ValueError: row {number} is bad", properties=SEND, now=now)
    die("KeyError: 'x'", now=now)  # no task

    (found,) = tasks.dead(ids())

    assert isinstance(found, TasksDead)
    assert (found.task, found.pattern) == (
        "shop.tasks.send",
        "ValueError: row {n} is bad",
    )
    assert found.messages == 2

    attempt(queue="DLQ", now=now + seconds(300), limit=2)

    assert tasks.dead(ids()) == []
