"""Housekeeping: each task does its part, and doing it twice does it once."""

from __future__ import annotations

import re
import threading
from collections import defaultdict
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.conf import settings
from django.utils import timezone
from django_celery_beat.models import PeriodicTask
from honcho.environ import parse_procfile

from broker import operations, tasks
from broker.housekeeping import work
from broker.models import Experience, Operation, OperationItem, Queue, Ready
from broker.models import UnitOfWork as UnitOfWorkRow
from broker.monitoring import fsck
from broker.queueing import journal, processes
from broker.queueing.put import put, put_many
from broker.sql import partitions
from broker.transactions.scope import UnitOfWork
from console.celery import app
from tests.broker.dying import make_dead_letters, plan, start
from tests.console.until import until
from tests.make import make_messages, make_queue

LONG_AGO = timedelta(days=1)


def test_what_is_due_is_released_once(orders: Queue) -> None:
    now = timezone.now()
    put("orders", deliver_at=now - LONG_AGO / 2, now=now - LONG_AGO)

    for _ in range(2):
        tasks.release_due()

        depth = journal.depths()[orders.pk]
        assert (depth.ready, depth.delayed) == (1, 0)


def test_what_falls_due_within_the_beat_is_released_in_it(orders: Queue) -> None:
    now = timezone.now()
    put("orders", deliver_at=now + timedelta(milliseconds=50), now=now)
    put("orders", deliver_at=now + LONG_AGO, now=now)

    tasks.release_due()

    depth = journal.depths()[orders.pk]
    assert (depth.ready, depth.delayed) == (1, 1)


def test_what_is_overdue_is_backed_out_once(orders: Queue) -> None:
    now = timezone.now()
    put("orders", now=now - LONG_AGO)
    UnitOfWork(now=now - LONG_AGO).get("orders")

    for _ in range(2):
        tasks.back_out_overdue()

        assert Ready.objects.get().backout_count == 1


def test_what_is_expired_ends_once(orders: Queue) -> None:
    now = timezone.now()
    put("orders", expires_at=now - LONG_AGO / 2, now=now - LONG_AGO)

    for _ in range(2):
        tasks.expire()

        assert journal.depths()[orders.pk].total == 0
    assert fsck.violations() == []


def test_what_expires_within_the_beat_ends_in_it(orders: Queue) -> None:
    now = timezone.now()
    put("orders", expires_at=now + timedelta(milliseconds=50), now=now)

    tasks.expire()

    assert journal.depths()[orders.pk].total == 0


@pytest.mark.parametrize("more", [0, 1])
def test_a_task_goes_on_until_nothing_is_left(
    orders: Queue, monkeypatch: pytest.MonkeyPatch, more: int
) -> None:
    monkeypatch.setattr(work, "BATCH", 4)
    now = timezone.now()
    late = make_messages(8 + more, expires_at=now - LONG_AGO / 2)
    put_many(late, now=now - LONG_AGO)

    tasks.expire()

    assert not Ready.objects.exists()


def test_a_running_operation_is_worked_through_once(orders: Queue) -> None:
    make_dead_letters(3)
    start(plan(), limit=1)

    for _ in range(2):
        tasks.step_operations()

        assert Operation.objects.get().state == Operation.State.DONE
        assert journal.depths()[orders.pk].ready == 3


def test_a_paced_operation_goes_on_within_the_beat(orders: Queue) -> None:
    make_dead_letters(30)
    planned = plan()
    operations.arrange(planned.pk, pace=20, canary=0)
    assert start(planned).state == Operation.State.RUNNING

    tasks.step_operations()

    assert Operation.objects.get().state == Operation.State.DONE


def test_what_became_of_what_was_sent_is_noted_once(orders: Queue) -> None:
    make_dead_letters(3)
    start(plan())
    work = UnitOfWork()
    work.get("orders", 2)
    work.commit()

    for _ in range(2):
        tasks.step_operations()

        assert OperationItem.objects.filter(outcome=1).count() == 2
        assert Experience.objects.get().processed == 2


def test_partitions_are_tended_once(orders: Queue) -> None:
    tasks.tend_partitions()
    made = {parent: partitions.children(parent) for parent in PARENTS}

    tasks.tend_partitions()

    assert {parent: partitions.children(parent) for parent in PARENTS} == made


def test_the_journal_is_folded_once(transactional_db: None) -> None:
    """As far as transactions have ended; others may be open on this server."""
    orders = make_queue("orders")
    put_many(make_messages(3))

    for _ in range(2):
        tasks.fold_journal()

        assert journal.depths()[orders.pk].ready == 3
    assert fsck.violations() == []


def test_a_dead_process_is_found_by_the_task(transactional_db: None) -> None:
    make_queue("orders")
    put("orders")
    UnitOfWork().get("orders")
    processes.resign()

    def swept() -> bool:
        tasks.back_out_overdue()
        return not UnitOfWorkRow.objects.exists()

    until(swept)
    assert Ready.objects.get().backout_count == 1


@pytest.mark.parametrize(
    "task",
    [
        tasks.release_due,
        tasks.back_out_overdue,
        tasks.expire,
        tasks.empty_discard_bin,
        tasks.fold_journal,
        tasks.look_at_patches,
        tasks.step_operations,
        tasks.tend_partitions,
    ],
)
def test_with_nothing_to_do_a_task_does_nothing(
    db: None, task: Callable[[], None]
) -> None:
    task()


def test_every_task_of_the_broker_is_called_by_the_beat_or_when_due(db: None) -> None:
    called = PeriodicTask.objects.filter(task__startswith="broker.")

    app.loader.import_default_modules()
    by_beat = {*called.values_list("task", flat=True)}
    when_due = {task.name for task, _ in tasks.DUE if task.name.startswith("broker.")}
    assert not by_beat & when_due
    ours = {name for name in app.tasks if name.startswith("broker.")}
    assert by_beat | when_due == ours


def due() -> set[str]:
    """What is due, but for what other tests have left in the files of the tables."""
    found = {
        task.name.rpartition(".")[2]
        for task, is_due in tasks.DUE
        if not isinstance(is_due, tasks.Every)
        and task.name.startswith("broker.")
        and is_due()
    }
    return found - {"vacuum_bloated"}


def fold_all() -> None:
    """A transaction of another test that is open ends a fold."""

    def fold() -> bool:
        tasks.fold_journal()
        return not journal.is_any_unfolded()

    until(fold)


def test_a_task_with_a_period_is_due_once_in_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    moments = iter([0.0, 9.9, 10.0, 11.0, 25.0])
    monkeypatch.setattr("broker.tasks.time.monotonic", lambda: next(moments))
    is_due = tasks.Every(10)
    assert [is_due() for _ in range(5)] == [True, False, True, False, True]


def test_a_task_is_due_as_long_as_it_has_something_to_do(
    transactional_db: None,
) -> None:
    orders, now = make_queue("orders"), timezone.now()
    put("orders", deliver_at=now - LONG_AGO / 2, now=now - LONG_AGO)
    put("orders", expires_at=now + LONG_AGO)
    UnitOfWork(now=now - LONG_AGO).get("orders")
    assert due() == {"release_due", "back_out_overdue", "fold_journal"}

    tasks.release_due()
    tasks.back_out_overdue()
    fold_all()
    assert due() == set()
    orders.delete()  # its entries are strays
    assert due() == {"back_out_overdue"}

    tasks.back_out_overdue()
    fold_all()
    assert due() == set()

    make_queue("orders")
    put("orders", expires_at=now + timedelta(milliseconds=500))
    assert due() == {"expire", "fold_journal"}
    tasks.expire()
    until(lambda: due() == {"fold_journal"})


def test_running_operations_and_untested_patches_are_due(orders: Queue) -> None:
    make_dead_letters(3)
    planned = plan()
    operations.arrange(planned.pk, pace=20, canary=0)
    assert "step_operations" not in due()
    start(planned)
    assert "step_operations" in due()


def test_tasks_that_are_due_are_sent_until_the_worker_stops(
    orders: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[object] = []
    monkeypatch.setattr(tasks, "DUE", [(tasks.expire, lambda: True)])

    def stop(**_: object) -> None:
        tasks.stop_asking()
        sent.append(tasks.expire)

    monkeypatch.setattr(tasks.expire, "apply_async", stop)
    monkeypatch.setattr(tasks, "STOPPING", threading.Event())

    tasks.send_due()

    assert sent == [tasks.expire]


def test_celery_knows_every_task_that_is_scheduled(db: None) -> None:
    app.loader.import_default_modules()

    scheduled = set(PeriodicTask.objects.values_list("task", flat=True))

    assert scheduled <= set(app.tasks)


def test_what_must_be_on_time_has_a_queue_and_a_worker_of_its_own() -> None:
    """No slow task, as of live pages, delays it, whatever the number of queues."""
    app.loader.import_default_modules()
    routed = defaultdict(set)
    for name in app.tasks:
        queue = app.amqp.router.route({}, name)["queue"].name
        routed[queue].add(name.rpartition(".")[2])

    commands = parse_procfile((settings.BASE_DIR / "Procfile").read_text()).processes
    told = dict(commands)
    served = {name: re.findall(r"-Q (\S+)", line) for name, line in told.items()}

    assert routed["deadlines"] == {
        "send_due",
        "put_recurring",
        "release_due",
        "resume_paused",
        "expire",
        "back_out_overdue",
        "fold_journal",
    }
    assert served["deadlines"] == ["deadlines"]
    assert "--pool threads --concurrency 5" in told["deadlines"]
    assert "deadlines" not in served["worker"][0].split(",")
    assert told["worker"].startswith("nice ")


def test_a_beat_that_came_too_late_is_not_made_up_for(db: None) -> None:
    beats = PeriodicTask.objects.filter(interval__isnull=False)
    for periodic in beats.select_related("interval"):
        every = timedelta(**{periodic.interval.period: periodic.interval.every})
        assert periodic.expire_seconds >= every.total_seconds()


PARENTS = ("broker_message", "broker_event")
