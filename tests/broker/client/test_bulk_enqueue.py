"""Many calls of a task by one put."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import transaction

from broker.client.django_tasks import enqueue_many
from broker.client.django_tasks.framework import (
    InvalidTask,
    TaskResultStatus,
    task_backends,
    task_enqueued,
)
from broker.errors.tasks import NotJson
from broker.models import Event, Message, Queue, Ready
from broker.monitoring import fsck
from tests.broker.client import sample_tasks as tasks
from tests.broker.client.test_django_tasks import use, work

pytestmark = pytest.mark.usefixtures("transactional_db")


@pytest.fixture(autouse=True)
def backend(settings: Any) -> None:
    use(settings)


def test_each_call_is_a_task_of_its_own(statements: list[str]) -> None:
    enqueue_many(tasks.add, [(1, 1)])  # the queue is made
    statements.clear()

    results = enqueue_many(tasks.add, [(1, 2), {"one": 3, "other": 4}])

    assert [one for one in statements if one.startswith("put")] == ["put"]
    assert [one.kwargs for one in results] == [{}, {"one": 3, "other": 4}]
    assert len({one.id for one in results}) == 2
    for _ in range(3):
        work()
    for one, value in zip(results, (3, 7), strict=True):
        one.refresh()
        assert (one.status, one.return_value) == (TaskResultStatus.SUCCESSFUL, value)
    assert fsck.violations() == []


def test_no_call_is_enqueued_if_one_cannot_be() -> None:
    with pytest.raises(NotJson):
        enqueue_many(tasks.add, [(1, 2), (3, float("nan"))])
    assert not Message.objects.exists()


def test_they_are_part_of_the_caller_s_transaction() -> None:
    with transaction.atomic():
        enqueue_many(tasks.add, [(1, 2)] * 3)
        transaction.set_rollback(True)
    assert not Ready.objects.exists()


def test_none_is_none() -> None:
    assert enqueue_many(tasks.add, []) == []
    assert not Event.objects.exists()


def test_the_framework_is_told_of_each() -> None:
    told: list[Any] = []

    def hear(task_result: Any, **_: object) -> None:
        told.append(task_result.id)

    task_enqueued.connect(hear)
    try:
        results = enqueue_many(tasks.add, [(1, 2)] * 2)
    finally:
        task_enqueued.disconnect(hear)
    assert told == [one.id for one in results]


def test_another_backend_has_no_bulk(settings: Any) -> None:
    framework = task_backends.__class__.__module__
    name = f"{framework}.backends.dummy.DummyBackend"
    settings.TASKS = settings.TASKS | {"other": {"BACKEND": name}}
    with pytest.raises(InvalidTask, match="'other' of this task is not Backout's"):
        enqueue_many(tasks.add.using(backend="other"), [(1, 2)])


def test_its_queue_is_made() -> None:
    enqueue_many(tasks.add.using(queue_name="mail"), [(1, 2)])
    assert Queue.objects.filter(name="mail").exists()
