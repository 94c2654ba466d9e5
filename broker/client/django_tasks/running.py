"""Run tasks: the handler of their queues."""

from __future__ import annotations

import json
import logging
import re
from datetime import UTC, datetime
from typing import Any

from django.conf import settings

from broker.client.dispatch.handlers import HANDLERS, consumes
from broker.client.django_tasks.backend import BackoutBackend, declare
from broker.client.django_tasks.framework import (
    TaskContext,
    TaskResult,
    TaskResultStatus,
    normalize_json,
    task_backends,
    task_finished,
    task_started,
)
from broker.client.django_tasks.messages import SUBJECT, Call, as_json, call_of
from broker.client.django_tasks.results import result_of
from broker.client.django_tasks.retries import policy_of
from broker.errors.tasks import NoTask, NotJson, ReturnsTooMuch
from broker.errors.units_of_work import RedeliverIn, Reject
from broker.formats.exceptions import concerns_program, described, is_a
from broker.models import Message, Returned
from broker.queueing.get import Delivery
from broker.settlement.settings_cache import rules_of
from broker.transactions.scope import UnitOfWork
from broker.transactions.session import Lent

logger = logging.getLogger(__name__)

NO_QUEUES = (
    "Tasks of the backend %s are not run here: name its QUEUES in TASKS. An empty list"
    " lets any queue be enqueued to."
)
RETURNED = "What the task returns"
HAS_NUL = "it has the character NUL, which PostgreSQL cannot store"
NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")  # NUL's escape, not an escaped backslash
ORIGINAL = "_AMQ_ORIG_MESSAGE_ID"  # property of a copy: id of the original


def register() -> None:
    """Make handlers for the queues of all backends in ``TASKS``, and missing queues."""
    for alias in settings.TASKS:
        backend = task_backends[alias]
        if not isinstance(backend, BackoutBackend):
            continue
        if not backend.queues:
            logger.warning(NO_QUEUES, alias)
        for name in sorted(backend.queues):
            queue = backend.prefix + name
            if (queue, "") in HANDLERS and HANDLERS[queue, ""].handle is run:
                continue  # another backend or an earlier call made it
            declare(queue)
            made = consumes(queue, join=backend.join, concurrency=backend.concurrency)
            made(run)


def run(delivery: Delivery, work: UnitOfWork) -> None:
    """Run the task of a message: the handler of queues of tasks.

    Raises:
        Reject: the message is no task, or is not to be run again.
    """
    try:
        backend, call = read(delivery)
    except NoTask as error:
        raise Reject(str(error)) from error
    result = result_at_start(backend, call, delivery)
    task_started.send(type(backend), task_result=result)
    session = Lent.now()
    try:
        value = returned(call, result)
        session.check()
        text = result_text(value, backend.max_return_bytes)
    except (NotJson, ReturnsTooMuch) as error:
        note_failure(backend, result)
        raise Reject(str(error)) from error
    except BaseException as error:  # SystemExit ends the task, not the dispatcher
        fail(backend, result, error, delivery)
        raise RedeliverIn from error
    object.__setattr__(result, "_return_value", value)
    if value is not None and backend.join:
        Returned.objects.create(pk=delivery.message_id, value=json.loads(text))
    elif value is not None:
        work.returned = text
    note_end(backend, result, TaskResultStatus.SUCCESSFUL)


def read(delivery: Delivery) -> tuple[BackoutBackend, Call]:
    """The task of a message, and the backend that it was enqueued by.

    Raises:
        NoTask: it is no task, or not one of this project.
    """
    if delivery.subject != SUBJECT:
        raise NoTask(f"its type is {delivery.subject!r}, not {SUBJECT!r}")
    alias = str(delivery.properties.get("backend", "default"))
    backend = task_backends[alias] if alias in settings.TASKS else None
    if not isinstance(backend, BackoutBackend):
        raise NoTask(f"TASKS has no backend of Backout named {alias!r}")
    queue = delivery.address.removeprefix(backend.prefix)
    call = call_of(delivery.properties, delivery.body, queue=queue, alias=alias)
    return backend, call


def result_at_start(
    backend: BackoutBackend, call: Call, delivery: Delivery
) -> TaskResult:
    """The result of a task that begins to run. A first attempt needs no query."""
    number = delivery.message_id
    is_copy = ORIGINAL in delivery.properties
    if is_copy:
        row = Message.objects.filter(pk=number).values_list("first_id", flat=True)
        number = row.first() or number
    if is_copy or delivery.backout_count:
        known = result_of(backend, str(number))
        if known is not None:
            return known
    now = datetime.now(UTC)
    return TaskResult(
        task=call.task,
        id=str(number),
        status=TaskResultStatus.RUNNING,
        enqueued_at=delivery.put_at,
        started_at=now,
        last_attempted_at=now,
        finished_at=None,
        args=call.args,
        kwargs=call.kwargs,
        backend=backend.alias,
        errors=[],
        worker_ids=[str(delivery.uow)],
    )


def returned(call: Call, result: TaskResult) -> Any:
    """What a task returns, in types of JSON."""
    if call.task.takes_context:
        context: TaskContext[Any, Any] = TaskContext(task_result=result)
        return normalize_json(call.task.call(context, *call.args, **call.kwargs))
    return normalize_json(call.task.call(*call.args, **call.kwargs))


def result_text(value: Any, most: int) -> str:
    """A return value as text.

    Raises:
        ReturnsTooMuch: it has more bytes.
        NotJson: it has something that JSON, or PostgreSQL, cannot hold.
    """
    text = as_json(RETURNED, value)
    if NUL.search(text):
        raise NotJson(RETURNED, HAS_NUL)
    size = len(text.encode())
    if size > most:
        raise ReturnsTooMuch(size, most)
    return text


def fail(
    backend: BackoutBackend,
    result: TaskResult,
    error: BaseException,
    delivery: Delivery,
) -> None:
    """Say that a task failed, if this was its last attempt; and raise what it says of
    its redelivery itself, if it does.

    Raises:
        Reject: it is not run again.
        RedeliverIn: it is run again, after a delay of its own.
    """
    if is_a(error, Reject):
        note_failure(backend, result)
        raise error
    policy, attempts = policy_of(result.task.func), delivery.backout_count + 1
    rule = rules_of({delivery.queue_id}).get(delivery.queue_id)
    limit = rule.max_delivery_attempts if rule else 1
    is_last = 0 < (limit or 0) <= attempts
    try:
        if policy is not None:
            policy.raise_for(error, attempts)
    except Reject:
        is_last = True
        raise
    finally:
        if is_last:
            note_failure(backend, result)


def note_failure(backend: BackoutBackend, result: TaskResult) -> None:
    """Note the end of a task that failed, even if a receiver of the signal raises an
    exception. Django's receiver may: it logs the text of the task's exception."""
    try:
        note_end(backend, result, TaskResultStatus.FAILED)
    except BaseException as error:
        if concerns_program(error):
            raise
        logger.error("A receiver of task_finished failed: %s", described(error))


def note_end(
    backend: BackoutBackend, result: TaskResult, status: TaskResultStatus
) -> None:
    object.__setattr__(result, "status", status)
    object.__setattr__(result, "finished_at", datetime.now(UTC))
    task_finished.send(type(backend), task_result=result)
