"""``aenqueue``: many at once share commits; each is a task as ``enqueue`` makes it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import transaction

from broker.client.asynchronous import puts, threads
from broker.client.django_tasks.framework import task_enqueued
from broker.errors.tasks import OtherTransaction
from broker.models import Message, Ready
from broker.transactions import merged_puts
from tests.broker.client import sample_tasks as tasks
from tests.broker.elsewhere import in_transaction_elsewhere

BACKEND = "broker.client.django_tasks.BackoutBackend"
MANY = 200


@pytest.fixture(autouse=True)
def _tasks(transactional_db: None, settings: Any) -> Iterator[None]:
    settings.TASKS = {"default": {"BACKEND": BACKEND}}
    yield
    threads.close()


def test_many_at_once_are_all_there_and_share_commits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    groups = []

    def store(group: list[merged_puts.Put]) -> Any:
        groups.append(len(group))
        return merged_puts.store(group)

    monkeypatch.setattr(puts, "store", store)

    async def enqueue_all() -> list[Any]:
        calls = (tasks.add_later.aenqueue(number, 1) for number in range(MANY))
        return await asyncio.gather(*calls)

    tasks.add_later.enqueue(0, 0)  # the queue is there
    results = asyncio.run(enqueue_all())

    assert {int(one.id) for one in results} < set(
        Message.objects.values_list("pk", flat=True)
    )
    assert Ready.objects.count() == MANY + 1
    assert sum(groups) == MANY
    assert len(groups) < MANY / 4


def test_the_first_one_makes_the_queue() -> None:
    result = async_to_sync(tasks.noop.aenqueue)()
    assert Ready.objects.get().id == int(result.id)


def test_within_a_transaction_it_is_part_of_it() -> None:
    with transaction.atomic():
        async_to_sync(tasks.noop.aenqueue)()
        assert Ready.objects.count() == 1
        transaction.set_rollback(True)
    assert not Ready.objects.exists()


def test_a_transaction_of_another_database_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    other = in_transaction_elsewhere(monkeypatch)
    with pytest.raises(OtherTransaction, match="'other'"):
        async_to_sync(tasks.noop.aenqueue)()
    other.in_atomic_block = False
    async_to_sync(tasks.noop.aenqueue)()
    assert Ready.objects.count() == 1


def test_receivers_of_the_signal_may_query() -> None:
    told = []

    def hear(task_result: Any, **_: Any) -> None:
        told.append((task_result.id, Ready.objects.count()))

    task_enqueued.connect(hear)
    try:
        result = async_to_sync(tasks.noop.aenqueue)()
    finally:
        task_enqueued.disconnect(hear)
    assert told == [(result.id, 1)]
