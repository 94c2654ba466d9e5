"""Who may see and order an operation: the authorities on its queues.

An operation names the queues of its messages and their errors. Only those who may
inquire all these queues may see it; for deleted queues, those who may inquire all
queues. To plan, approve, start or continue it takes what the operation does: the
authorities at the queues that the messages are on, and at those where they go.
"""

from __future__ import annotations

from typing import NamedTuple

from django.db.models import Exists, OuterRef, QuerySet

from broker import operations
from broker.acts.operations.ledgers import Ledger, ledger_of
from broker.errors import NoSuchQueue
from broker.errors.operations import NoSuchOperation
from broker.models import Operation, OperationItem, Queue
from broker.operations import Chosen, Order, Sought
from broker.security import authorities
from broker.security.authorities import Authority, GrantedAuthorities, Principal

Kind = Operation.Kind


class Needs(NamedTuple):
    """The authorities that a kind of operation needs."""

    source: Authority  # authority on the queues of the messages
    # Authority on the target queues; without targets, on the queues of the messages.
    target: Authority | None = None


NEEDS: dict[str, Needs] = {
    Kind.RESUBMIT: Needs("get", "put"),
    Kind.MOVE: Needs("get", "put"),
    Kind.COPY: Needs("browse", "put"),
    Kind.PRIORITY: Needs("get", "put"),
    Kind.DELIVER: Needs("get"),
    Kind.RESCHEDULE: Needs("get"),
    Kind.DEAD_LETTER: Needs("get"),
    Kind.EXPIRE: Needs("get"),
    Kind.REMOVE: Needs("get"),
}
# Needs of an undo, by the kind of the operation that it undoes.
NEEDS_OF_UNDO: dict[str, Needs] = {
    **dict.fromkeys(Kind.values, Needs("get", "put")),
    Kind.COPY: Needs("get"),
    Kind.DELIVER: Needs("get"),
    Kind.RESCHEDULE: Needs("get"),
}
# An actor who has one of these authorities on a queue may name it as a target.
KNOWING: tuple[Authority, ...] = ("inquire", "put")
LARGEST = 2**63  # no number in the database is as large


def visible_operations(actor: Principal) -> QuerySet[Operation]:
    """Operations that an actor may see."""
    held = authorities.held_by(actor)
    every = Operation.objects.all()
    if held.everywhere("inquire"):
        return every
    names = Queue.objects.values_list("pk", "name")
    known = [pk for pk, name in names if held.on("inquire", name)]
    others = OperationItem.objects.filter(operation=OuterRef("pk"))
    return every.exclude(Exists(others.exclude(queue_id__in=known)))


def require_sight(actor: Principal, ledger: Ledger) -> None:
    """Refuse an actor that may not see an operation.

    Raises:
        NotAuthorized: ``inquire`` is missing on one of its queues.
    """
    authorities.require(actor, "inquire", *sources_of(ledger))


def require_reading(actor: Principal, operation: Operation) -> None:
    """Refuse an actor that may not read the messages of an operation.

    Raises:
        NotAuthorized: ``browse`` is missing on one of its queues.
    """
    authorities.require(actor, "browse", *sources_of(ledger_of(operation)))


def sources_of(ledger: Ledger) -> list[str]:
    """The queues of an operation's messages; a deleted one is as all queues."""
    return [name or "#" for name in ledger.sources]


def find_operation(held: GrantedAuthorities, number: int) -> Operation:
    """An operation by its number.

    Raises:
        NoSuchOperation: it does not exist, or the actor may not inquire its queues.
    """
    is_number = abs(number) < LARGEST
    found = Operation.objects.filter(pk=number).first() if is_number else None
    queues = sources_of(ledger_of(found)) if found else []
    if found is None or not all(held.on("inquire", one) for one in queues):
        raise NoSuchOperation(number)
    return found


def require_target(actor: Principal, order: Order) -> None:
    """Refuse an actor that may not know the target queue.

    Raises:
        NoSuchQueue: the queue does not exist, or is hidden from the actor.
    """
    if order.kind not in (Kind.MOVE, Kind.COPY):
        return
    held = authorities.held_by(actor)
    if not any(held.on(one, order.argument) for one in KNOWING):
        raise NoSuchQueue(order.argument)


def require_ways(actor: Principal, operation: Operation) -> None:
    """Refuse an actor without the authorities that an operation needs.

    Raises:
        NotAuthorized: one is missing, at a source or at a target.
    """
    table = NEEDS if operation.undoes_id is None else NEEDS_OF_UNDO
    needs = table[operation.kind]
    held = authorities.held_by(actor)
    for way in ledger_of(operation).ways:
        for authority, queue in (
            (needs.source, way.on),
            (needs.target, way.to or way.on),
        ):
            if authority and queue and not held.on(authority, queue):
                raise authorities.refusal(actor, authority, queue)


def plan(
    actor: Principal,
    order: Order,
    chosen: Chosen | Sought,
    *,
    scope: str,
    reason: str = "",
) -> Operation:
    """Plan an operation that the actor may order. The caller has opened a transaction.

    Raises:
        NoSuchQueue: the target does not exist, or is hidden from the actor.
        NotAuthorized: an authority is missing.
        NothingChosen, …: as ``operations.plan``.
    """
    require_target(actor, order)
    planned = operations.plan(actor, order, chosen, scope=scope, reason=reason)
    require_sight(actor, ledger_of(planned))
    require_ways(actor, planned)
    return planned
