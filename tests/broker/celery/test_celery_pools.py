"""Workers of Celery with other pools, and one that dies."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from celery.exceptions import TaskError

from broker.models import AddressSetting, DeadLetter, Message, Owner
from broker.settlement import settle
from tests.broker.breaking import BROKEN
from tests.broker.celery.conftest import WITHIN_S, worker
from tests.celery_peer import app as peer
from tests.console.until import until

pytestmark = [pytest.mark.usefixtures("transactional_db"), pytest.mark.thorough]


@pytest.mark.parametrize("pool", ["threads", "solo"])
def test_a_pool_without_processes_runs_tasks_and_keeps_failures(
    pool: str, tmp_path: Path
) -> None:
    queue = f"--queues={pool}"
    options = f"--pool={pool}", queue, "--concurrency=2", "-E"
    process = worker(tmp_path / "log", *options)
    try:
        result = peer.add.apply_async([2, 3], queue=pool)
        assert result.get(timeout=WITHIN_S) == 5
        failed = peer.fail.apply_async(["oh"], queue=pool)
        with pytest.raises(ValueError, match="oh"):
            failed.get(timeout=WITHIN_S)
        until(lambda: letters(failed.id) == ["ValueError: oh"])
        ways = [
            peer.break_session.apply_async([way], queue=pool).id
            for way in (*BROKEN, "search_path", "statement_timeout")
        ]
        for each in ways:
            until(lambda each=each: letters(each))  # type: ignore[misc]
        assert peer.add.apply_async([2, 3], queue=pool).get(timeout=WITHIN_S) == 5
        assert peer.app.control.ping(timeout=WITHIN_S, limit=1)
        for name in ("NoText", "TextHasNul", "NotPickled"):
            odd = peer.odd_late.apply_async([name], queue=pool).id
            until(lambda odd=odd: letters(odd))  # type: ignore[misc]
            assert str(letters(odd)[0]).startswith(f"{name}: ")
    finally:
        process.terminate()
        process.wait(WITHIN_S)


def letters(task_id: str) -> list[str | None]:
    ids = Message.objects.filter(correlation_id=task_id).values("id")
    found = DeadLetter.objects.filter(message_id__in=ids)
    return list(found.values_list("error", flat=True))


def test_who_waits_is_told_of_a_task_that_killed_its_worker(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    first = worker(tmp_path / "log", "--queues=killed", "--pool=solo")
    AddressSetting.objects.update_or_create(
        match="killed",
        defaults={"max_delivery_attempts": 1, "dead_letter_address": "DLQ"},
    )
    result = peer.note.apply_async([str(notes), "one", 600], queue="killed")
    until(notes.exists)
    first.kill()
    first.wait()
    second = worker(tmp_path / "log2", "--queues=killed", "--pool=solo")
    try:
        with pytest.raises(TaskError, match="process ended before"):
            result.get(timeout=WITHIN_S)
        assert notes.read_text().count("one") == 1
    finally:
        second.kill()
        second.wait()


def is_back(notes: Path) -> bool:
    """A worker of the console that another test left does no housekeeping without
    Celery beat, and nobody else does it beside one."""
    settle.back_out_overdue(limit=100)
    return notes.read_text().count("one") == 2


def test_tasks_of_a_dead_worker_come_back_at_once(tmp_path: Path) -> None:
    """Its children may live a little longer; they have closed their parent's lock."""
    notes = tmp_path / "notes"
    first = worker(tmp_path / "log", "--queues=dies", "--concurrency=1", "-O", "fair")
    peer.note.apply_async([str(notes), "one", 600], queue="dies")
    until(notes.exists)
    owners = set(Owner.objects.values_list("pk", flat=True))
    left = psutil.Process(first.pid).children(recursive=True)
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    second = worker(tmp_path / "log2", "--queues=dies", "--concurrency=1")
    try:
        until(lambda: is_back(notes))
        assert owners - set(Owner.objects.values_list("pk", flat=True))
    finally:
        left += psutil.Process(second.pid).children(recursive=True)
        second.kill()
        second.wait()
        for each in left:
            with suppress(psutil.NoSuchProcess):
                each.kill()
