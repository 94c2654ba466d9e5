"""Celery with this broker: an application that knows nothing of it, and a worker."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from billiard.exceptions import TimeLimitExceeded
from celery import Task
from celery.exceptions import TaskError, TaskRevokedError
from celery.result import AsyncResult
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.utils.timezone import now

from broker.models import (
    AddressSetting,
    DeadLetter,
    Delayed,
    Event,
    Message,
    Queue,
    Ready,
)
from broker.monitoring import fsck
from broker.operations import single_edit
from tests.broker.odd_exceptions import MAKERS
from tests.celery_peer import app as peer
from tests.console.until import until

pytestmark = pytest.mark.usefixtures("transactional_db")
WITHIN_S = 30


def letter_of(result: AsyncResult) -> DeadLetter:
    """The dead letter of a task, when there is one."""
    until(letters_of(result).exists)
    (letter,) = letters_of(result)
    return letter


def letters_of(result: AsyncResult) -> QuerySet[DeadLetter]:
    ids = Message.objects.filter(correlation_id=result.id).values("id")
    return DeadLetter.objects.filter(message_id__in=ids)


def test_a_task_runs_and_its_result_comes_back() -> None:
    assert peer.add.delay(2, 3).get(timeout=WITHIN_S) == 5


def test_a_message_has_the_body_and_the_headers_of_its_task() -> None:
    result = peer.add.apply_async([2, 3], {}, countdown=600, priority=7)
    message = Message.objects.get(correlation_id=result.id)
    assert json.loads(bytes(message.body)) == [
        [2, 3],
        {},
        {"callbacks": None, "errbacks": None, "chain": None, "chord": None},
    ]
    assert message.content_type == "application/json"
    assert message.properties["task"] == "tests.celery_peer.app.add"
    assert message.properties["argsrepr"] == "[2, 3]"
    assert message.properties["retries"] == 0
    assert "@" in message.properties["origin"]
    held = Delayed.objects.get(id=message.id)
    assert held.priority == 7
    assert timedelta(590) > held.due_at - now() > timedelta(seconds=590)


def test_delay_in_a_transaction_sends_if_and_only_if_it_commits() -> None:
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        peer.add.apply_async([1, 1], queue="not yet")
        raise ZeroDivisionError
    assert not Message.objects.filter(address="not yet").exists()
    assert not Queue.objects.filter(name="not yet").exists()

    with transaction.atomic():
        result = peer.add.apply_async([1, 1], queue="not yet")
    message = Message.objects.get(correlation_id=result.id)
    assert Ready.objects.filter(id=message.id).exists()


def test_a_worker_gets_a_task_with_a_countdown_when_it_is_due() -> None:
    began = now()
    result = peer.about.apply_async(countdown=1, priority=3, headers={"mine": [1]})
    told = result.get(timeout=WITHIN_S)
    assert now() - began >= timedelta(seconds=1)
    assert told["priority"] == 3
    assert told["headers"] == {"mine": [1]}


@pytest.mark.parametrize("task", [peer.fail, peer.fail_late, peer.retry])
def test_a_task_that_failed_is_a_dead_letter_with_its_traceback(task: Task) -> None:
    result = task.delay("There is no customer 17.")
    with pytest.raises(ValueError, match="customer 17"):
        result.get(timeout=WITHIN_S)
    letter = letter_of(result)
    assert letter.error == "ValueError: There is no customer 17."
    assert letter.origin_queue == "peer"
    message = Message.objects.get(id=letter.message_id)
    assert message.properties["task"] == task.name
    assert "ValueError(text)" in stack_of(letter)


def stack_of(letter: DeadLetter) -> str:
    """The stack trace that the journal has of the delivery that failed."""
    events = Event.objects.filter(ids__contains=[letter.origin_id])
    return "".join((one.detail or {}).get("stack", "") for one in events)


@pytest.mark.thorough
@pytest.mark.parametrize("task", [peer.slow, peer.slow_late])
def test_a_task_over_its_time_limit_is_one_dead_letter(task: Task) -> None:
    result = task.delay()
    with pytest.raises(TimeLimitExceeded):
        result.get(timeout=WITHIN_S)
    assert letter_of(result).error == "TimeLimitExceeded: 1 seconds"
    # What the worker says of a later task, it says after the last word about this one.
    letter_of(peer.fail.delay("later"))
    assert letters_of(result).count() == 1


# By these, Celery loses the process of the task, with any broker.
FATAL = {
    *("TextLeaves", "ClassLies", "ClassIsNameless", "NotesRefuse", "CauseRefuses"),
    *("TraceRefuses", "NothingIsThere", "NotEvenTrue", "Leaves", "Generates"),
}


@pytest.mark.thorough
@pytest.mark.parametrize("task", [peer.odd, peer.odd_late])
def test_a_task_may_raise_anything(task: Task) -> None:
    results = {name: task.delay(name) for name in MAKERS.keys() - FATAL}
    errors = {name: letter_of(result).error for name, result in results.items()}
    assert {n: e for n, e in errors.items() if not str(e).startswith(n)} == {}


def test_a_rejected_task_is_a_dead_letter() -> None:
    result = peer.reject.delay("not for us")
    assert letter_of(result).error == "not for us"


def test_an_unknown_task_is_a_dead_letter() -> None:
    result = peer.app.send_task("peer.unknown")
    assert letter_of(result).error == "The worker rejected the message."


def test_commands_reach_the_worker_and_their_answers_come_back() -> None:
    inspect = peer.app.control.inspect(timeout=2, limit=1)
    ((name, pong),) = inspect.ping().items()
    assert pong == {"ok": "pong"}
    (queues,) = inspect.active_queues().values()
    assert [one["name"] for one in queues] == ["peer"]
    assert inspect.active() == {name: []}
    until(lambda: not Queue.objects.filter(name__contains="reply").exists())


def test_events_reach_a_monitor() -> None:
    seen: list[dict[str, Any]] = []
    with peer.app.connection_for_read() as line:
        receiver = peer.app.events.Receiver(line, handlers={"*": seen.append})
        with receiver.consumer_context() as (connection, *_):
            result = peer.add.delay(2, 3)
            result.get(timeout=WITHIN_S)
            while {"task-sent", "task-succeeded"} - {one["type"] for one in seen}:
                connection.drain_events(timeout=WITHIN_S)
    kinds = [one["type"] for one in seen if one.get("uuid") == result.id]
    kinds.remove("task-sent")  # it races the worker: it is sent after the task
    assert kinds == ["task-received", "task-started", "task-succeeded"]


def test_purge_discards_what_waits() -> None:
    peer.add.apply_async([1, 1], queue="waiting")
    peer.add.apply_async([1, 1], queue="waiting", countdown=600)
    with peer.app.connection_for_write() as line:
        assert line.default_channel.queue_purge("waiting") == 2
    queue = Queue.objects.get(name="waiting")
    assert not Ready.objects.filter(queue_id=queue.pk).exists()


@pytest.mark.thorough
def test_a_task_that_kills_its_process_ends_as_a_dead_letter() -> None:
    """It is rejected to be requeued; each time counts, until its attempts are used
    up."""
    AddressSetting.objects.filter(match="peer").update(max_delivery_attempts=2)
    result = peer.die.delay()
    assert "WorkerLostError" in letter_of(result).error
    with pytest.raises(TaskError, match="delivery attempts used up: WorkerLostError"):
        result.get(timeout=WITHIN_S)


def test_who_waits_is_told_of_a_task_that_was_purged_or_has_expired() -> None:
    purged = peer.add.apply_async([1, 1], countdown=600)
    with peer.app.connection_for_write() as line:
        assert line.default_channel.queue_purge("peer") >= 1
    with pytest.raises(TaskError, match="discarded: "):
        purged.get(timeout=WITHIN_S)
    with pytest.raises(TaskRevokedError):
        peer.add.apply_async([1, 1], expires=-1).get(timeout=WITHIN_S)


def test_a_dead_letter_with_other_arguments_runs_when_it_is_resubmitted(
    tmp_path: Path,
) -> None:
    notes = tmp_path / "notes"
    result = peer.note.delay(str(tmp_path), "here")  # it is a folder
    letter = letter_of(result)
    message = Message.objects.get(id=letter.message_id)
    arguments, *rest = json.loads(bytes(message.body))
    body = json.dumps([[str(notes), *arguments[1:]], *rest])
    user = User.objects.create_superuser("tess")
    edit = single_edit.Edit(body=body.encode())
    operation = single_edit.plan_edit(user, letter.message_id, "DLQ", edit)
    single_edit.start_edit(operation.pk)
    until(lambda: notes.exists() and notes.read_text())
    assert notes.read_text().startswith("here ")


def test_nothing_is_inconsistent_afterwards() -> None:
    assert fsck.violations() == []
