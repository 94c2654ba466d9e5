"""Pauses of queues: with and without an end."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.db.models.functions import Now

from broker.errors.queues import PauseEndPassed
from broker.housekeeping import work
from broker.models import Act, AuditRecord, Queue
from broker.operations import queue_pause
from broker.queueing import notifications
from broker.sql import database_now
from tests.make import make_queue, minutes, seconds

pytestmark = pytest.mark.django_db
Captured = Callable[..., AbstractContextManager[list[Any]]]


def state(name: str = "orders") -> tuple[bool, object]:
    found: tuple[bool, object] = Queue.objects.values_list(
        "paused", "paused_until"
    ).get(name=name)
    return found


def test_a_pause_ends_at_its_time_and_wakes_the_consumers(
    django_capture_on_commit_callbacks: Captured,
) -> None:
    queue, other = make_queue("orders"), make_queue("other")
    later = database_now() + minutes(3)
    queue_pause.pause("orders", until=later)
    queue_pause.pause("other")

    assert queue_pause.resume_due(limit=9) == 0
    assert state() == (True, later)
    Queue.objects.filter(pk=queue.pk).update(paused_until=Now())
    seen = notifications.version(queue.pk)
    with django_capture_on_commit_callbacks(execute=True):
        assert queue_pause.resume_due(limit=9) == 1

    assert state() == (False, None)
    assert notifications.version(queue.pk) > seen
    assert state("other") == (True, None), "it has no end"
    assert other.pk != queue.pk
    record = AuditRecord.objects.get(act=Act.RESUME)
    assert (record.actor, record.object_name) == ("housekeeping", "orders")
    assert record.reason.startswith("Its pause was until ")
    assert record.details["changed"]["paused"] == {"before": True, "after": False}


def test_the_housekeeping_resumes_on_time_to_a_fraction_of_a_second() -> None:
    make_queue()
    assert not work.DUE[work.resume_paused]()
    end = database_now() + seconds(0.2)
    queue_pause.pause("orders", until=end)

    assert work.DUE[work.resume_paused]()
    work.resume_paused()

    assert state() == (False, None)
    assert end <= database_now() < end + seconds(0.7)


def test_a_pause_cannot_end_in_the_past() -> None:
    make_queue()

    with pytest.raises(PauseEndPassed, match="that is in the past"):
        queue_pause.pause("orders", until=database_now())

    assert state() == (False, None)
    assert not AuditRecord.objects.filter(act=Act.PAUSE).exists()


def test_a_new_end_replaces_the_old_one_and_each_is_audited() -> None:
    make_queue()
    first = database_now() + minutes(3)

    told = [
        queue_pause.pause("orders", until=first),
        queue_pause.pause("orders", until=first),
        queue_pause.pause("orders", until=first + minutes(1)),
        queue_pause.pause("orders"),
        queue_pause.resume("orders"),
        queue_pause.resume("orders"),
    ]

    assert told == [True, False, True, True, True, False]
    ends = [
        one.details["changed"].get("paused_until", {}).get("after")
        for one in AuditRecord.objects.order_by("pk")
    ]
    said = queue_pause.audit_time
    assert ends == [
        said(first),
        said(first),
        said(first + minutes(1)),
        None,
        None,
        None,
    ]


def test_whoever_resumes_a_queue_ends_its_pause() -> None:
    make_queue()
    queue_pause.pause("orders", until=database_now() + minutes(3))

    queue = Queue.objects.get()
    queue.paused = False
    queue.save()

    assert state() == (False, None)
    with (
        pytest.raises(IntegrityError, match="only_a_pause_has_an_end"),
        transaction.atomic(),
    ):
        Queue.objects.update(paused_until=Now())
