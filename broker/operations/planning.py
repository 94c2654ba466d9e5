"""The plan of an operation: its set, frozen before anything is done."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import transaction

from broker import sql
from broker.errors import NoSuchQueue, NotResubmittable
from broker.errors.operations import InvalidPriority, NothingChosen
from broker.models import Operation, OperationItem, Place, Queue
from broker.operations.orders import Chosen, Order
from broker.selectors import Selector, parse
from broker.triage import Selection

Kind = Operation.Kind

PRIORITIES = frozenset("0123456789")
SCAN = 2000  # items that one statement looks at


@transaction.atomic
def plan(
    user: Any,
    order: Order,
    chosen: Chosen,
    *,
    scope: str,
    reason: str = "",
    now: datetime | None = None,
) -> Operation:
    """Freeze what an operation is to be about; nothing is done to it yet.

    Args:
        user: who plans it.
        order: what is to be done.
        chosen: to which entries.
        scope: the same in words, for people.
        reason: why, for the record.
        now: by then; what has expired matches no selector. The database's clock when
            not given.

    Raises:
        NothingChosen: nothing is there that was chosen.
        NotResubmittable: nothing of it knows a way back, for a resubmit.
        NoSuchQueue: there is no such queue to choose from, or to move or copy to.
        InvalidPriority: the new priority is not one of 0 to 9.
        InvalidSelector: the selector cannot be read.

    Source:
        ActiveMQ Artemis, QueueControl: a move to an unknown queue leaves the source as
        it is; without a filter, all messages are meant.
    """
    check(order)
    selector = parse(chosen.selector) if chosen.selector else None
    parameters = choice(chosen)
    operation = Operation.objects.create(
        kind=order.kind,
        argument=order.argument,
        scope=scope,
        reason=reason,
        created_by=user,
    )
    (planned,) = sql.fetch_one(
        "plan_items",
        operation_id=operation.pk,
        resubmits=order.kind == Kind.RESUBMIT,
        target=order.argument if order.kind in (Kind.MOVE, Kind.COPY) else "",
        **parameters,
    )
    if planned and selector:
        planned -= leave_out(operation, selector, now)
    if not planned:
        nothing = NotResubmittable if order.kind == Kind.RESUBMIT else NothingChosen
        raise nothing(scope)
    return operation


def check(order: Order) -> None:
    """Refuse what could not be done to any entry."""
    if order.kind == Kind.PRIORITY and order.argument not in PRIORITIES:
        raise InvalidPriority(order.argument)
    if order.kind in (Kind.MOVE, Kind.COPY):
        queue_id_of(order.argument)


def choice(chosen: Chosen) -> dict[str, Any]:
    """The parameters of the statement that freezes.

    Of the three ways to find entries, the narrowest is taken: by dead letters, by
    messages, or by queue; the others only leave out.
    """
    letters = chosen.letters
    if letters is None and chosen.queue is None and not chosen.ids:
        raise NothingChosen("everything")
    return {
        "by": "letters" if letters is not None else "ids" if chosen.ids else "queue",
        "on_queue": None if chosen.queue is None else queue_id_of(chosen.queue),
        "ready": chosen.place in (None, Place.READY),
        "delayed": chosen.place in (None, Place.DELAYED),
        "ids": sorted(set(chosen.ids)),
        **(letters or Selection()).parameters(),
    }


def queue_id_of(name: str) -> int:
    found = Queue.objects.filter(name=name).values_list("pk", flat=True).first()
    if found is None:
        raise NoSuchQueue(name)
    return found


def leave_out(operation: Operation, selector: Selector, now: datetime | None) -> int:
    """Take out of a plan what a selector does not match; return how many."""
    looked_at: dict[str, Any] = {
        "operation_id": operation.pk,
        "path": selector.path,
        "limit": SCAN,
        "now": now,
    }
    left_out, after = 0, 0
    while seen := sql.run("plan_documents", looked_at | {"after": after}):
        unwanted = [
            item_id
            for item_id, matches, document in seen
            if not matches and not (document and selector.matches(document))
        ]
        OperationItem.objects.filter(pk__in=unwanted).delete()
        left_out += len(unwanted)
        after = seen[-1][0]
    return left_out
