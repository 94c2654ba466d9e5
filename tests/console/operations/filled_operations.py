"""Operations in each state, for a console with something on every page."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta

from django.contrib.auth.models import User

from broker import operations
from broker.formats.patches import HeaderOperation
from broker.models import Operation, Queue
from broker.monitoring import dead_letters
from broker.operations import Chosen, Edit, Only, Order
from broker.queueing.put import put_many
from broker.sql import database_now
from tests.make import make_messages, make_queue, make_user, plan_resubmit


def make_operations(user: User, body: bytes) -> list[Operation]:
    """With a patch, a canary, an undo, a second person; their letters hold the body."""

    def plan(kind: Operation.Kind, argument: str = "") -> Operation:
        what, whence = Order(kind, argument), Chosen(queue="billing")
        return operations.plan(user, what, whence, scope="all messages on billing")

    make_queue("billing")
    put_many(make_messages(6, "billing"))
    planned, dropped = (plan(Operation.Kind.DEAD_LETTER) for _ in range(2))
    operations.cancel(dropped.pk)
    undone = plan(Operation.Kind.PRIORITY, "9")
    operations.start(undone.pk)
    undo = operations.plan_undo(user, undone.pk)
    operations.start(undo.pk)
    copied = plan(Operation.Kind.COPY, "DLQ")
    operations.start(copied.pk)
    back = undone_patch(user, plan(Operation.Kind.MOVE, "bills"))
    later, late = (plan(Operation.Kind.COPY, "DLQ") for _ in range(2))
    for one in (later, late):
        operations.set_start(one.pk, database_now() + timedelta(hours=2), user)
    operations.narrow(late.pk, Only(1))  # a change takes the time away
    tried, half, paused = (plan(Operation.Kind.MOVE, "bills") for _ in range(3))
    operations.arrange(tried.pk, pace=5, canary=1)
    operations.start(tried.pk)
    operations.start(half.pk, limit=1)
    operations.start(paused.pk, limit=1)
    operations.pause(paused.pk)
    every = [planned, dropped, undone, undo, copied, tried, half, paused, *back]
    every += [
        later,
        late,
        operations.plan_undo(user, copied.pk),
        *of_letters(user, body),
    ]
    return every


def undone_patch(user: User, plan: Operation) -> list[Operation]:
    """It had a patch; it, its undo, and the plan to do it again."""
    subject = {"op": "set", "name": "subject", "value": "corrected"}
    operations.set_patch(plan.pk, json.dumps({"headers": [subject]}))
    operations.look(plan.pk)
    operations.start(plan.pk)
    undo = operations.plan_undo(user, plan.pk)
    operations.start(undo.pk)
    return [plan, undo, operations.plan_again(user, plan.pk)]


def of_letters(user: User, body: bytes) -> Iterator[Operation]:
    """Dead letters sent back, patched, edited; the last waits for somebody else."""
    yield plan_resubmit(user, "all dead letters")
    patched, looked = (plan_resubmit(user, "all dead letters") for _ in range(2))
    patch = {
        "body": {"patch": [{"op": "replace", "path": "/currency", "value": "EUR"}]},
        "headers": [{"op": "set", "name": "subject", "value": "corrected"}],
    }
    for plan in (patched, looked):
        operations.set_patch(plan.pk, json.dumps(patch))
        yield plan
    operations.look(looked.pk, limit=50)
    one, other = dead_letters.letters(
        dead_letters.Selection(origin_queue="orders"), limit=2
    )
    edit = Edit([HeaderOperation("set", "correlation-id", "c-18")], body[:-1] + b" }")
    edited = operations.plan_edit(user, one.message_id, "DLQ", edit)
    operations.start_edit(edited.pk)
    yield edited
    ended = plan_resubmit(user, "one dead letter", message_id=other.message_id)
    operations.start(ended.pk)
    yield ended
    Queue.objects.filter(name="DLQ").update(approval_above=0)
    yield plan_resubmit(make_user("grace"), "all dead letters")
    yield plan_resubmit(user, "all dead letters")
