"""Operations and what they do to each message, for REST and commands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from django.http import Http404

from broker.acts.declaring import Holds
from broker.acts.operations.ledgers import Ledger, counts_of, ledger_of
from broker.acts.operations.patches import PatchPreview, preview_patch
from broker.acts.operations.rights import (
    require_reading,
    require_sight,
    visible_operations,
)
from broker.acts.operations.states import ABOUT, OperationState, brief_state, state_of
from broker.errors.operations import NoSuchOperation
from broker.models import Operation, OperationItem
from broker.monitoring.dead_letters import NEWEST
from broker.monitoring.numbers import public_numbers
from broker.monitoring.visible_search import BROWSE
from broker.security.authorities import Principal
from console.edges.queries import (
    After,
    Limit,
    Number,
    build_answer,
    declared_query,
    page_of,
)
from console.operations import results

VIEW = "broker.view_queue"
Outcome = OperationItem.Outcome


@dataclass(frozen=True, slots=True)
class Operations:
    """A page of operations, the newest first; the next page is before ``next``."""

    empty: ClassVar = "There is no operation."

    operations: list[OperationState]
    next: int | None


@dataclass(frozen=True, slots=True)
class ListOperations:
    """Where the page begins, and its size."""

    before: Annotated[
        int, Holds("The number before which the page begins.", least=1, most=NEWEST)
    ] = NEWEST
    limit: Limit = 50


@declared_query(VIEW)
def list_operations(actor: Principal, request: ListOperations) -> Operations:
    """The operations.

    Those on queues that the caller may inquire, the newest first.
    """
    every = visible_operations(actor).select_related(*ABOUT).order_by("-pk")
    rows = list(every.filter(pk__lt=request.before)[: request.limit + 1])
    part, following = page_of(rows, request.limit, lambda one: one.pk)
    counts = counts_of([one.pk for one in part])
    return Operations(
        [brief_state(one, counts[one.pk]) for one in part],
        following,
    )


@dataclass(frozen=True, slots=True)
class ReadOperation:
    """The operation."""

    operation: Number


@declared_query(VIEW)
def read_operation(actor: Principal, request: ReadOperation) -> OperationState:
    """An operation.

    Its kind and person, where its messages go, and how far it has come.
    """
    return state_of(actor, *visible_operation(actor, request.operation))


@dataclass(frozen=True, slots=True)
class Item:
    """One entry of the frozen set and its result."""

    columns: ClassVar[Sequence[str]] = (
        *("id", "number", "queue", "target", "status", "note", "copy_id", "outcome"),
    )

    id: int
    message_id: int  # the id of this copy: a dead letter or a resubmit has another
    number: int  # the number that pages show, which all copies of the message share
    queue: str  # empty after the queue is deleted
    target: str
    status: str
    note: str  # why the item was skipped
    copy_id: int | None  # the id of the copy that the operation put
    outcome: str  # the outcome of the copy; empty: not known yet


@dataclass(frozen=True, slots=True)
class Items:
    """A page of items; the next page begins after ``next``."""

    empty: ClassVar = "There is no such item."

    items: list[Item]
    next: int | None


@dataclass(frozen=True, slots=True)
class ReadItems:
    """Which items, and the size of the page."""

    operation: Number
    status: Annotated[
        Literal["planned", "done", "skipped", "left_out"] | None,
        Holds("Those with this result."),
    ] = None
    after: After = 0
    limit: Annotated[int, Holds("The most items to return.", least=1, most=500)] = 50


@declared_query(VIEW)
def read_items(actor: Principal, request: ReadItems) -> Items:
    """The items of an operation, in the order of processing."""
    found, ledger = visible_operation(actor, request.operation)
    rows = results.items_after(found, request.status, request.after, request.limit + 1)
    part, following = page_of(rows, request.limit, lambda one: one.pk)
    numbers = public_numbers(one.message_id for one in part)
    return Items(
        [
            build_answer(
                Item,
                one,
                number=numbers[one.message_id],
                queue=ledger.names.get(one.queue_id, ""),
                outcome=""
                if one.outcome is None
                else Outcome(one.outcome).name.lower(),
            )
            for one in part
        ],
        following,
    )


@declared_query(VIEW, BROWSE)
def read_preview(actor: Principal, request: ReadOperation) -> PatchPreview:
    """What the patch of a plan would change.

    Values are shown to callers who may read the messages.
    """
    plan, _ = visible_operation(actor, request.operation)
    require_reading(actor, plan)
    preview = preview_patch(actor, plan)
    if preview is None:
        raise Http404(f"patch of operation {request.operation}")
    return preview


def visible_operation(actor: Principal, number: int) -> tuple[Operation, Ledger]:
    """An operation and its counts.

    Raises:
        NoSuchOperation: it does not exist.
        NotAuthorized: the actor may not inquire all its queues.
    """
    found = Operation.objects.select_related(*ABOUT).filter(pk=number).first()
    if found is None:
        raise NoSuchOperation(number)
    ledger = ledger_of(found)
    require_sight(actor, ledger)
    return found, ledger
