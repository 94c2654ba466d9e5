"""The backend: enqueues tasks, and finds their results."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from django.apps import apps
from django.core import checks
from django.db import DEFAULT_DB_ALIAS, connections

from broker.client.asynchronous.puts import aput
from broker.client.django_tasks.framework import (
    BaseTaskBackend,
    Task,
    TaskResult,
    TaskResultDoesNotExist,
    TaskResultStatus,
    task_enqueued,
)
from broker.client.django_tasks.messages import Call, fields_of
from broker.client.django_tasks.results import result_of
from broker.config.address_settings import settings_for
from broker.declarations.declaring import declare_queue
from broker.errors import NoSuchAddress
from broker.errors.tasks import OtherTransaction
from broker.models import Queue
from broker.queueing.put import NewMessage, Receipt, put, put_many

DEAD_LETTERS = "DLQ"
MAX_RETURN_BYTES = 64 * 1024


class BackoutBackend(BaseTaskBackend):
    """Tasks as messages, in the database and its transactions.

    ``OPTIONS``:
        PREFIX: of the names of the queues of the broker; by default none.
        JOIN: run each task in one transaction with its acceptance; by default False.
        CONCURRENCY: threads of each dispatcher for each queue; by default 1.
        MAX_RETURN_BYTES: most bytes of a return value as JSON; by default 64 KiB.
    """

    supports_defer = True
    supports_async_task = True
    supports_get_result = True
    supports_priority = True

    def __init__(self, alias: str, params: dict[str, Any]) -> None:
        super().__init__(alias, params)
        self.prefix: str = self.options.get("PREFIX", "")
        self.join: bool = self.options.get("JOIN", False)
        self.concurrency: int = self.options.get("CONCURRENCY", 1)
        self.max_return_bytes: int = self.options.get(
            "MAX_RETURN_BYTES", MAX_RETURN_BYTES
        )

    def enqueue(self, task: Task, args: Any, kwargs: Any) -> TaskResult:
        """Put a task; inside a transaction it is committed with it, or not at all.

        Raises:
            InvalidTask: of the framework: the task cannot be run by this backend.
            OtherTransaction: the caller's transaction is one of another database.
            BrokerError: as of ``put``.
        """
        self.validate_task(task)
        check_transaction()
        receipt = self.send(task, args, kwargs)
        return self.enqueued(Call(task, args, kwargs), receipt)

    async def aenqueue(self, task: Task, args: Any, kwargs: Any) -> TaskResult:
        """As ``enqueue``, from asynchronous code: by ``aput``, which shares commits.

        ``enqueue`` itself is run, in a thread, if the queue is missing, and beside
        other databases, whose transactions only their thread knows.
        """
        if len(connections.settings) > 1:
            return await super().aenqueue(task, args, kwargs)
        self.validate_task(task)
        receipt = await self.asend(task, args, kwargs)
        if receipt is None:
            return await super().aenqueue(task, args, kwargs)
        result = self.result_of(Call(task, args, kwargs), receipt)
        await task_enqueued.asend(type(self), task_result=result)
        return result

    def bulk_enqueue(self, calls: Iterable[Call]) -> list[TaskResult]:
        """Put many tasks at once, all or none: one put, whatever their number.

        Returns:
            Their results, in order.

        Raises:
            InvalidTask, OtherTransaction, BrokerError: as of ``enqueue``.
        """
        calls = list(calls)
        queues = [self.prefix + one.task.queue_name for one in calls]
        for task in {id(one.task): one.task for one in calls}.values():
            self.validate_task(task)
        check_transaction()
        for queue in sorted(set(queues)):
            declare(queue)
        messages = [
            NewMessage(queue, **fields_of(one.task, one.args, one.kwargs))
            for queue, one in zip(queues, calls, strict=True)
        ]
        receipts = put_many(messages)
        return list(map(self.enqueued, calls, receipts))

    def enqueued(self, call: Call, receipt: Receipt) -> TaskResult:
        """The result of a task that was put; the framework's signal is sent."""
        result = self.result_of(call, receipt)
        task_enqueued.send(type(self), task_result=result)
        return result

    def result_of(self, call: Call, receipt: Receipt) -> TaskResult:
        result: TaskResult[Any, Any] = TaskResult(
            task=call.task,
            id=str(receipt.message_id),
            status=TaskResultStatus.READY,
            enqueued_at=receipt.put_at or datetime.now(UTC),
            started_at=None,
            finished_at=None,
            last_attempted_at=None,
            args=call.args,
            kwargs=call.kwargs,
            backend=self.alias,
            errors=[],
            worker_ids=[],
        )
        return result

    def send(self, task: Task, args: Any, kwargs: Any) -> Receipt:
        """Put the message of a task. Its queue is made if it is missing."""
        queue, fields = self.prefix + task.queue_name, fields_of(task, args, kwargs)
        try:
            receipt = put(queue, **fields)
            if receipt.queue_ids:
                return receipt
        except NoSuchAddress:
            pass
        declare(queue)
        return put(queue, **fields)

    async def asend(self, task: Task, args: Any, kwargs: Any) -> Receipt | None:
        """Put the message of a task; None: its queue is missing."""
        queue, fields = self.prefix + task.queue_name, fields_of(task, args, kwargs)
        try:
            receipt = await aput(queue, **fields)
        except NoSuchAddress:
            return None
        return receipt if receipt.queue_ids else None

    def get_result(self, result_id: str) -> TaskResult:
        """The result of a task, as the journal has it.

        Raises:
            TaskResultDoesNotExist: there is none, or it is past its retention.
        """
        found = result_of(self, result_id)
        if found is None:
            raise TaskResultDoesNotExist(result_id)
        return found

    def check(self, **_: Any) -> list[checks.CheckMessage]:
        if not apps.is_installed("broker"):
            hint = "Add 'broker' to INSTALLED_APPS."
            return [checks.Error("The tables of tasks are missing.", hint=hint)]
        return []


def check_transaction() -> None:
    """Refuse a transaction that a task cannot be part of.

    Raises:
        OtherTransaction: only another database has a transaction.
    """
    if connections[DEFAULT_DB_ALIAS].in_atomic_block:
        return
    for one in connections.all(initialized_only=True):
        if one.in_atomic_block:
            raise OtherTransaction(one.alias)


def declare(queue: str) -> None:
    """Make a queue of tasks, if it is missing. A task that fails for good becomes a
    dead letter at the address of its settings, or else at ``DEAD_LETTERS``."""
    if Queue.objects.filter(name=queue).exists():
        return
    if settings_for(queue).dead_letter_address:
        declare_queue(queue)
    else:
        declare_queue(queue, dead_letter_address=DEAD_LETTERS)
