"""Django's tasks: enqueued in the caller's transaction, run by the dispatcher."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.core.management import call_command
from django.db import transaction
from django.utils import timezone

from broker.client import declare_queue
from broker.client.dispatch.handlers import HANDLERS, Handler
from broker.client.django_tasks import messages, running
from broker.client.django_tasks.framework import (
    InvalidTask,
    TaskResultDoesNotExist,
    TaskResultStatus,
    task_backends,
)
from broker.errors import LockLost
from broker.errors.tasks import OtherTransaction
from broker.models import Address, Delayed, Event, Kind, Message, Queue, Ready, Returned
from broker.monitoring import fsck
from broker.operations import Edit
from broker.queueing import delayed
from broker.queueing.put import put
from broker.settlement import settle
from broker.settlement.discards import forget
from console.runtime.directories import BASE_DIR
from tests.amqp.launching import database_url
from tests.broker.client import sample_tasks as tasks
from tests.broker.elsewhere import in_transaction_elsewhere
from tests.broker.handling import handle_next, session
from tests.broker.repairing import edited
from tests.console.until import until
from tests.make import make_setting

pytestmark = pytest.mark.usefixtures("transactional_db")

BACKEND = "broker.client.django_tasks.BackoutBackend"
WORKER = f"""
import django
django.setup()
from django.conf import settings
settings.TASKS = {{"default": {{"BACKEND": "{BACKEND}"}}}}
from tests.broker.client.test_django_tasks import work
work()
"""
NOOP = "tests.broker.client.sample_tasks.noop"
READY, RUNNING = TaskResultStatus.READY, TaskResultStatus.RUNNING
FAILED, SUCCESSFUL = TaskResultStatus.FAILED, TaskResultStatus.SUCCESSFUL
JOINED_OR_NOT = pytest.mark.parametrize("join", [True, False])


@pytest.fixture(autouse=True)
def backend(settings: Any) -> None:
    use(settings)


def use(settings: Any, **options: Any) -> None:
    settings.TASKS = {
        "default": {
            "BACKEND": BACKEND,
            "QUEUES": ["default", "mail"],
            "OPTIONS": options,
        }
    }


def handler(queue: str = "default", *, join: bool = False) -> Handler:
    return Handler(queue, running.run, join, batch=1, concurrency=1)


def work(queue: str = "default", *, join: bool = False) -> int:
    """Run the next task."""
    return handle_next(handler(queue, join=join))


@JOINED_OR_NOT
def test_a_task_is_run_and_its_value_is_kept(join: bool, settings: Any) -> None:
    use(settings, JOIN=join)
    result = tasks.add.enqueue(2, other=3)
    assert result.status == READY
    with pytest.raises(ValueError, match="not finished"):
        _ = result.return_value

    assert work(join=join) == 1

    result.refresh()
    assert (result.status, result.return_value, result.attempts) == (SUCCESSFUL, 5, 1)
    assert result.enqueued_at
    assert result.started_at
    assert result.finished_at
    assert result.enqueued_at <= result.started_at <= result.finished_at
    again = tasks.add.get_result(result.id)
    assert (again.args, again.kwargs, again.errors) == ([2], {"other": 3}, [])
    assert again.task == tasks.add
    assert fsck.violations() == []


def test_a_task_that_returns_nothing_writes_no_row() -> None:
    result = tasks.noop.enqueue()
    work()
    result.refresh()
    assert (result.status, result.return_value) == (SUCCESSFUL, None)
    assert not Returned.objects.exists()


def test_tasks_that_follow_each_other_are_got_with_the_accept_before() -> None:
    results = [tasks.noop.enqueue(), tasks.add.enqueue(1), tasks.noop.enqueue()]
    with_accept = session(handler())
    with_accept.goes_on = lambda: True
    while with_accept.serve():
        pass
    assert {one.status for one in map(fresh, results)} == {SUCCESSFUL}


def fresh(result: Any) -> Any:
    result.refresh()
    return result


def test_a_task_is_part_of_the_caller_s_transaction() -> None:
    tasks.noop.enqueue()
    with transaction.atomic():
        Address.objects.create(name="goes with it")
        result = tasks.noop.enqueue()
        transaction.set_rollback(True)
    with pytest.raises(TaskResultDoesNotExist):
        tasks.noop.get_result(result.id)
    assert Ready.objects.count() == 1


def test_a_transaction_of_another_database_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    in_transaction_elsewhere(monkeypatch)
    with pytest.raises(OtherTransaction, match="'other'"):
        tasks.noop.enqueue()
    with transaction.atomic():
        tasks.noop.enqueue()


def test_the_queue_is_made_with_a_place_for_dead_letters() -> None:
    tasks.noop.using(queue_name="mail").enqueue()
    assert set(Queue.objects.values_list("name", flat=True)) == {"mail", "DLQ"}
    with pytest.raises(InvalidTask):
        tasks.noop.using(queue_name="unknown")


def test_a_task_fails_until_its_attempts_are_used_up() -> None:
    make_setting("default", max_delivery_attempts=2, dead_letter_address="DLQ")
    declare_queue("DLQ")
    result = tasks.fail.enqueue("no such customer")

    work()
    assert (fresh(result).status, len(result.errors)) == (READY, 1)
    work()

    assert (fresh(result).status, result.attempts) == (FAILED, 2)
    assert result.finished_at is not None
    for error in result.errors:
        assert error.exception_class is ValueError
        assert "raise ValueError(why)" in error.traceback
        assert "running.py" not in error.traceback
    assert result.started_at
    assert result.last_attempted_at
    assert result.last_attempted_at > result.started_at
    with pytest.raises(ValueError, match="failed"):
        _ = result.return_value


def test_a_dead_letter_is_mended_and_becomes_successful() -> None:
    make_setting("default", max_delivery_attempts=1, dead_letter_address="DLQ")
    result = tasks.add.enqueue("one", 2)  # type: ignore[arg-type]
    declare_queue("DLQ")
    work()
    assert fresh(result).status == FAILED
    letter = Message.objects.get(first_id=int(result.id))
    assert letter.properties["task"] == "tests.broker.client.sample_tasks.add"

    edited(letter.pk, Edit(body=json.dumps({"args": [1, 2], "kwargs": {}}).encode()))
    assert fresh(result).status == READY
    work()

    assert (fresh(result).status, result.return_value) == (SUCCESSFUL, 3)
    assert result.attempts == 2


def test_a_policy_of_the_task_delays_and_ends_it() -> None:
    result = tasks.charge.enqueue("busy")
    for delay in (60, 120):
        work()
        waits = Delayed.objects.get().due_at - timezone.now()
        assert timedelta(seconds=delay - 5) < waits <= timedelta(seconds=delay)
        delayed.wake_due(limit=1, now=timezone.now() + timedelta(hours=1))
    work()
    assert (fresh(result).status, result.attempts) == (FAILED, 3)
    assert {one.exception_class for one in result.errors} == {ConnectionError}

    declined = tasks.charge.enqueue("declined")
    work()
    assert fresh(declined).status == FAILED
    assert declined.errors[0].exception_class is tasks.CardDeclined


@pytest.mark.parametrize(
    ("task", "arguments", "error"),
    [
        (tasks.reject, ["no use"], "no use"),
        (tasks.exit_python, [], "SystemExit"),
        (tasks.give, [70_000], "bytes"),
        (tasks.give, [1, "\0"], "NUL"),
    ],
)
def test_other_ends_are_failures(task: Any, arguments: list[Any], error: str) -> None:
    make_setting("default", max_delivery_attempts=1, dead_letter_address="DLQ")
    declare_queue("DLQ")
    result = task.enqueue(*arguments)
    work()
    assert fresh(result).status == FAILED
    assert error in result.errors[0].traceback


def test_what_only_looks_like_nul_is_kept() -> None:
    result = tasks.give.enqueue(1, r"\u0000")
    work()
    assert fresh(result).return_value == r"\u0000"


def test_a_context_knows_its_attempt() -> None:
    result = tasks.tell.enqueue(3)
    while work():
        pass
    assert fresh(result).return_value == {"id": result.id, "attempt": 3}
    assert result.attempts == 3


def test_coroutines_are_enqueued_and_run() -> None:
    result: Any = async_to_sync(tasks.add_later.aenqueue)(1, 2)
    work()
    async_to_sync(result.arefresh)()
    assert result.return_value == 3


def test_a_task_runs_after_a_time_and_by_its_priority() -> None:
    later = timezone.now() + timedelta(hours=1)
    result = tasks.noop.using(run_after=later, priority=50).enqueue()
    assert work() == 0
    assert fresh(result).status == READY
    assert Delayed.objects.get().due_at == later
    assert tasks.noop.get_result(result.id).task.priority == 50
    assert tasks.noop.get_result(result.id).task.run_after == later
    levels = [messages.level(one) for one in range(-100, 101)]
    assert levels == sorted(levels)
    assert (levels[0], levels[99], levels[100], levels[101], levels[-1]) == (
        0,
        3,
        4,
        5,
        9,
    )


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"subject": messages.SUBJECT},
        {"properties": {"task": "antigravity.task"}},
        {"properties": {"task": "tests.broker.client.sample_tasks.not_a_task"}},
        {"properties": {"task": NOOP}},
        {"properties": {"task": NOOP}, "body": b"[" * 100_000},
        {"properties": {"task": NOOP, "priority": "high"}},
        {"properties": {"task": NOOP, "backend": "x"}},
    ],
)
def test_what_is_no_task_is_rejected(fields: dict[str, Any]) -> None:
    make_setting("default", dead_letter_address="DLQ")
    declare_queue("DLQ")
    declare_queue("default")
    if fields:
        fields = {"subject": messages.SUBJECT} | fields
    put("default", **fields)

    assert work() == 1

    (event,) = Event.objects.filter(kind=Kind.DEAD_LETTER)
    assert event.detail
    assert "is no task that can be run" in event.detail["error"]


@pytest.mark.thorough
def test_a_task_that_kills_its_process_becomes_a_dead_letter() -> None:
    make_setting("default", max_delivery_attempts=1, dead_letter_address="DLQ")
    declare_queue("DLQ")
    result = tasks.kill_process.enqueue()
    environment = os.environ | {"DATABASE_URL": database_url()}

    ended = subprocess.run(
        [sys.executable, "-c", WORKER], cwd=BASE_DIR, env=environment, check=False
    )

    assert ended.returncode == -signal.SIGKILL
    assert fresh(result).status == RUNNING
    until(lambda: settle.back_out_overdue(limit=10))
    assert (fresh(result).status, result.attempts) == (FAILED, 1)
    assert result.errors[0].exception_class is LockLost


def test_a_value_is_forgotten_with_its_message() -> None:
    result = tasks.add.enqueue(1)
    work()
    assert forget([int(result.id)]) == 1
    assert not Returned.objects.exists()
    for unknown in (result.id, "x", "", "9" * 30):
        with pytest.raises(TaskResultDoesNotExist):
            task_backends["default"].get_result(unknown)


def test_the_dispatcher_has_a_handler_for_each_queue(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(settings, PREFIX="tasks.", JOIN=True, CONCURRENCY=3)
    for queue in ("tasks.default", "tasks.mail"):
        monkeypatch.setitem(HANDLERS, (queue, ""), None)
        del HANDLERS[queue, ""]
    running.register()
    running.register()
    one = HANDLERS["tasks.mail", ""]
    assert (one.handle, one.join, one.concurrency) == (running.run, True, 3)
    result = tasks.add.using(queue_name="mail").enqueue(2)
    assert handle_next(one) == 1
    assert fresh(result).return_value == 2
    call_command("check")
