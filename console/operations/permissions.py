"""Who may see, plan and start an operation.

An operation names the queues of its messages and their errors. Only users who may
inquire all these queues may see it; for deleted queues, users who may inquire all
queues.
"""

from __future__ import annotations

from django.db.models import Exists, OuterRef, QuerySet

from broker.errors import NoSuchQueue
from broker.models import Operation, OperationItem, Queue
from broker.operations import Order
from broker.security import authorities
from console.operations.results import Ledger
from console.operations.wording import words_of

# one of these lets a user name a target queue
KNOWING: tuple[authorities.Authority, ...] = ("inquire", "put")


def seen_by(user: authorities.Principal) -> QuerySet[Operation]:
    """Operations that the user may see."""
    held = authorities.held_by(user)
    every = Operation.objects.all()
    if held.everywhere("inquire"):
        return every
    names = Queue.objects.values_list("pk", "name")
    known = [pk for pk, name in names if held.on("inquire", name)]
    others = OperationItem.objects.filter(operation=OuterRef("pk"))
    return every.exclude(Exists(others.exclude(queue_id__in=known)))


def require_sight(user: authorities.Principal, ledger: Ledger) -> None:
    """Check that the user may see an operation.

    Raises:
        NotAuthorized: ``inquire`` is missing on one of its queues.
    """
    authorities.require(user, "inquire", *(name or "#" for name in ledger.sources))


def require_target(user: authorities.Principal, order: Order) -> None:
    """Check that the user may know the target queue.

    Raises:
        NoSuchQueue: the queue does not exist, or is hidden from the user.
    """
    if order.kind not in (Operation.Kind.MOVE, Operation.Kind.COPY):
        return
    held = authorities.held_by(user)
    if not any(held.on(one, order.argument) for one in KNOWING):
        raise NoSuchQueue(order.argument)


def require_ways(
    user: authorities.Principal, operation: Operation, ledger: Ledger
) -> None:
    """Check the authorities that an operation needs at sources and targets.

    Raises:
        NotAuthorized: an authority is missing; nothing is done.
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
