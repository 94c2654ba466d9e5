"""Who may see an operation, plan it and start it.

An operation is seen by those who may inquire every queue that its messages lay on: it
names them, and their errors. What lay on a queue that is gone is for those who may
inquire all.
"""

from __future__ import annotations

from django.db.models import Exists, OuterRef, QuerySet

from broker.errors import NoSuchQueue
from broker.models import Operation, OperationItem, Queue
from broker.operations import Order
from broker.security import authorities
from console.operations.results import Ledger
from console.operations.wording import words_of

KNOWING: tuple[authorities.Authority, ...] = ("inquire", "put")  # a queue, to send to


def seen_by(user: authorities.Principal) -> QuerySet[Operation]:
    """The operations that a person may see."""
    held = authorities.held_by(user)
    every = Operation.objects.all()
    if held.everywhere("inquire"):
        return every
    names = Queue.objects.values_list("pk", "name")
    known = [pk for pk, name in names if held.on("inquire", name)]
    others = OperationItem.objects.filter(operation=OuterRef("pk"))
    return every.exclude(Exists(others.exclude(queue_id__in=known)))


def require_sight(user: authorities.Principal, ledger: Ledger) -> None:
    """Go on only if a person may see an operation.

    Raises:
        NotAuthorized: one of its queues may not be inquired.
    """
    authorities.require(user, "inquire", *(name or "#" for name in ledger.sources))


def require_target(user: authorities.Principal, order: Order) -> None:
    """Go on only if a person may know the queue to which an order sends.

    Raises:
        NoSuchQueue: it is not there, or not for them.
    """
    if order.kind not in (Operation.Kind.MOVE, Operation.Kind.COPY):
        return
    held = authorities.held_by(user)
    if not any(held.on(one, order.argument) for one in KNOWING):
        raise NoSuchQueue(order.argument)


def require_ways(
    user: authorities.Principal, operation: Operation, ledger: Ledger
) -> None:
    """Go on only if a person may do what an operation does, where its messages lie and
    where they go.

    Raises:
        NotAuthorized: nothing of it is done.
    """
    words = words_of(operation)
    held = authorities.held_by(user)
    for way in ledger.ways:
        for authority, queue in (
            (words.takes, way.on),
            (words.gives, way.to or way.on),
        ):
            if authority and queue and not held.on(authority, queue):
                raise authorities.refusal(user, authority, queue)
