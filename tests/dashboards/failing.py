"""Queues whose messages fail as often as they are told to, by the engine's own rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime, timedelta

from django.db.models import Min

from broker import operations
from broker.models import Delayed, Queue
from broker.operations import Chosen
from broker.queueing import delayed
from broker.queueing.put import put_many
from broker.settlement import settle
from broker.settlement.outcomes import BackOut
from broker.transactions.scope import UnitOfWork
from dashboards.reports.policies.policy_replay import Policy
from tests.broker import ordering
from tests.broker.dying import on
from tests.make import NOON, make_messages, make_queue, make_setting

HELD = timedelta(milliseconds=250)  # until a delivery ends, well or badly
LATE = timedelta(milliseconds=40)  # after something is due, somebody looks
MESSAGES = 8  # on each queue: the first never fails, the next once, and so on
RESUBMITTED = timedelta(hours=3)  # after it began
ENDED = RESUBMITTED + timedelta(hours=1)
POLICIES: Mapping[str, Policy] = {
    "flat": Policy(3, 1000),
    "growing": Policy(5, 1000, 2.0),
    "capped": Policy(6, 1000, 3.0, max_redelivery_delay_ms=4000),
    "at once": Policy(4, 0),
    "endless": Policy(-1, 500, 1.5),
    "shrinking": Policy(7, 3333, 0.7),
    "spread": Policy(5, 2000, 2.0, 0.5),
}


def make_failures(start: datetime = NOON) -> None:
    """Each queue is consumed until nothing is left, but for the last, where that ends
    early; then all dead letters are resubmitted, and go well. It ends ``ENDED`` later
    at most."""
    resubmitted = start + RESUBMITTED
    make_queue("DLQ", address="DLA")
    for name, policy in {**POLICIES, "left": Policy(9, 2000)}.items():
        make_queue(name, address=name)
        said = asdict(policy) | {"dead_letter_address": "DLA"}
        make_setting(name, **said)
        put_many(make_messages(MESSAGES, name), now=start)
        ids = on(name)
        failures = {message: n for n, message in enumerate(ids)}
        last = start + timedelta(seconds=5) if name == "left" else resubmitted
        consume(name, failures, since=start, until=last)
    letters = Chosen(queue="DLQ", ids=tuple(on("DLQ")))
    planned = ordering.plan_of(ordering.Kind.RESUBMIT, "", letters)
    operations.start(planned.pk, now=resubmitted)
    for name in POLICIES:
        consume(name, {}, since=resubmitted, until=start + ENDED)


def consume(
    queue: str,
    failures: dict[int, int],
    *,
    since: datetime = NOON,
    until: datetime = NOON + ENDED,
) -> None:
    """One consumer, one message at a time.

    Args:
        queue: whose messages.
        failures: how often each is still to fail, by message.
        since: when it begins.
        until: when it is gone.
    """
    now = since
    while now < until:
        delayed.wake_due_on(queue, limit=100, now=now)
        got = UnitOfWork(now=now).get(queue, 1)
        if not got:
            due = next_due(queue)
            if due is None:
                return
            now = due + LATE
            continue
        now += HELD
        if failures.get(got[0].message_id, 0):
            failures[got[0].message_id] -= 1
            settle.end(got[0].uow, BackOut("no such customer 17"), now=now)
        else:
            settle.accept(got[0].uow, expected=1, now=now)


def next_due(queue: str) -> datetime | None:
    waiting = Delayed.objects.filter(queue_id=Queue.objects.get(name=queue).pk)
    due = waiting.aggregate(at=Min("due_at"))["at"]
    assert due is None or isinstance(due, datetime)
    return due
