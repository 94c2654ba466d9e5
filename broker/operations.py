"""What an operator does to many messages: planned on a frozen set, then worked through.

``plan_resubmit`` chooses the messages once and stores them. ``start`` begins, ``step``
works on the next items in a transaction of its own, and may be called by anybody, any
number of times: what is done is done, and nothing outside the frozen set is touched.
"""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models.functions import Now

from broker import sql
from broker.errors import NotResubmittable, OperationNotPlanned
from broker.errors.messages import MalformedDeadLetterHeader
from broker.models import (
    DeadLetter,
    Kind,
    Message,
    Operation,
    OperationItem,
    Place,
    Queue,
)
from broker.moves import Copy, Dress, Held, Record, copy
from broker.mq.chain import without_dead_letter_header
from broker.triage import Selection

State, Status = Operation.State, OperationItem.Status

GONE = "It was no longer on its queue, or a consumer had it."
NO_WAY_BACK = "Its queue no longer exists."


@transaction.atomic
def plan_resubmit(
    user: Any,
    scope: str,
    selection: Selection | None = None,
    *,
    message_id: int | None = None,
    reason: str = "",
) -> Operation:
    """Freeze the dead letters that are to go back to where they came from.

    Args:
        user: who plans it.
        scope: the selection in words, for people.
        selection: which; all when not given.
        message_id: one message, instead.
        reason: why, for the record.

    Raises:
        NotResubmittable: none of them lies on a queue, with a queue to go back to.
    """
    operation = Operation.objects.create(
        kind=Operation.Kind.RESUBMIT, scope=scope, reason=reason, created_by=user
    )
    (planned,) = sql.fetch_one(
        "plan_resubmit",
        operation_id=operation.pk,
        message_id=message_id,
        **(selection or Selection()).parameters(),
    )
    if not planned:
        raise NotResubmittable(scope)
    return operation


def start(operation_id: int, *, limit: int = 100) -> Operation:
    """Begin a planned operation with its first items.

    Small operations end here, so they need no worker.

    Raises:
        OperationNotPlanned: it was started or cancelled before.
    """
    change(operation_id, State.PLANNED, state=State.RUNNING, started_at=Now())
    step(operation_id, limit=limit)
    return Operation.objects.get(pk=operation_id)


def cancel(operation_id: int) -> None:
    """End an operation where it is: what is done stays, the rest is not touched.

    Raises:
        OperationNotPlanned: it had ended before.
    """
    try:
        change(operation_id, State.PLANNED, state=State.CANCELLED, ended_at=Now())
    except OperationNotPlanned:
        change(operation_id, State.RUNNING, state=State.CANCELLED, ended_at=Now())


def change(operation_id: int, before: Operation.State, **fields: Any) -> None:
    changed = Operation.objects.filter(pk=operation_id, state=before).update(**fields)
    if not changed:
        state = Operation.objects.values_list("state", flat=True).get(pk=operation_id)
        raise OperationNotPlanned(operation_id, state)


@transaction.atomic
def step(operation_id: int, *, limit: int = 1000, now: datetime | None = None) -> int:
    """Work on the next items of a running operation; return how many.

    Zero when it has ended, is not running, or somebody else is at it.
    """
    running = Operation.objects.select_for_update(
        skip_locked=True, of=("self",)
    ).filter(pk=operation_id, state=State.RUNNING)
    operation = running.select_related("created_by").first()
    if operation is None:
        return 0
    items = list(operation.items.filter(status=Status.PLANNED).order_by("id")[:limit])
    by_way: dict[tuple[int, str], list[OperationItem]] = defaultdict(list)
    for item in items:
        by_way[item.queue_id, item.target].append(item)
    for (queue_id, target), part in by_way.items():
        resubmit(operation, queue_id, target, part, now)
    if len(items) < limit:
        Operation.objects.filter(pk=operation_id).update(
            state=State.DONE, ended_at=Now()
        )
    return len(items)


def resubmit(
    operation: Operation,
    queue_id: int,
    target: str,
    items: list[OperationItem],
    now: datetime | None,
) -> None:
    """Send items of one queue back to the queue they came from, and to no other.

    Source:
        ActiveMQ Artemis, QueueControl.retryMessages: to the original address, and where
        the queue's name differs from it, to that queue alone.
    """
    queue = Queue.objects.select_related("address").filter(name=target).first()
    if queue is None:
        note(items, {}, NO_WAY_BACK)
        return
    ids = [item.message_id for item in items]
    held = sql.fetch("take_ready", Held, queue_id=queue_id, ids=ids, now=now)
    detail = {"operation": operation.pk}
    actor = operation.created_by.get_username()
    record = Record(Kind.RESUBMIT, Place.READY, None, actor, detail, now)
    address = queue.address.name
    only = None if target == address else target
    before = by_ibm(held)
    others = [entry for entry in held if entry.id not in before]
    theirs = [entry for entry in held if entry.id in before]
    copies = copy(others, address, record, only_queue=only) if others else []
    if theirs:
        dress = [before[entry.id] for entry in theirs]
        copies += copy(theirs, address, record, only_queue=only, dress=dress)
    note(items, {one.id: one for one in copies}, GONE)


def by_ibm(held: list[Held]) -> dict[int, Dress]:
    """Those that IBM MQ's rules brought here, as they were before: without an MQDLH.

    Source:
        IBM MQ, "MQDLH - Dead-letter header": to resend, remove it, and restore what it
        says of the encoding, the character set and the format.
    """
    letters = DeadLetter.objects.filter(
        message_id__in=[entry.id for entry in held], cause__in=DeadLetter.IBM_CAUSES
    ).values("message_id")
    messages = Message.objects.filter(pk__in=letters).only("descriptor", "headers")
    return {message.pk: undressed(message) for message in messages}


def undressed(message: Message) -> Dress:
    descriptor = message.descriptor
    headers = bytes(message.headers) if message.headers else None
    try:
        return Dress(*without_dead_letter_header(descriptor, headers))
    except MalformedDeadLetterHeader:
        return Dress(descriptor or {}, headers)


def note(items: list[OperationItem], copies: dict[int, Copy], why_not: str) -> None:
    """Write into the ledger what became of each item."""
    for item in items:
        if done := copies.get(item.message_id):
            item.status, item.copy_id = Status.DONE, done.copy_id
        else:
            item.status, item.note = Status.SKIPPED, why_not
    OperationItem.objects.bulk_update(items, ["status", "copy_id", "note"])


def running() -> list[int]:
    """The operations that have items left to work on."""
    ids = Operation.objects.filter(state=State.RUNNING).values_list("pk", flat=True)
    return list(ids)
