"""Operations: plan on a frozen set of messages, start, cancel, undo.

As on the pages, a plan changes nothing. It gives the number of messages, the queues
they are on and the target. It is then started or cancelled.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.db import transaction
from django.http import HttpRequest
from ninja import Query, Router, Schema
from ninja.errors import ValidationError
from pydantic import Field

from broker import operations as orders
from broker.acts.operations import rights
from broker.acts.operations.ledgers import counts_of
from broker.acts.operations.rights import visible_operations
from broker.acts.operations.states import (
    ABOUT,
    OperationState,
    brief_state,
    read_state,
)
from broker.models import Operation
from broker.monitoring import visible_search
from broker.monitoring.dead_letters import NEWEST
from broker.operations import Chosen, Only, Order, Sought, canary, rate_limit
from broker.operations.scopes import describe_letters, describe_message
from console.dead_letters.letter_filter import Which, selection_of
from console.edges import permissions
from console.edges.rest.problems import NO_NUL, REFUSED, require
from console.edges.rest.requests import RequestBody
from console.messages.dead_letter_query import names_for

router = Router(tags=["operations"])

VIEW = "broker.view_queue"


class NewOperation(RequestBody):
    """The kind of operation and its messages, chosen by exactly one of: a filter, dead
    letters, or message numbers.
    """

    kind: Operation.Kind
    # the target queue of a move or copy
    queue: str = Field(default="", max_length=255, pattern=NO_NUL)
    priority: int | None = Field(default=None, ge=0, le=9)  # the new priority
    filter: list[str] | None = Field(default=None, min_length=1, max_length=32)
    letters: Which | None = None
    # each by its number or by the id of a copy; a copy that is on no queue any more
    # means those copies of its message that are
    messages: list[int] | None = Field(default=None, min_length=1, max_length=500)
    # of a resubmit: also the other queues of the address, where a queue is named as its
    # address
    every_queue: bool = False
    # plan only the first messages, at most this many
    first: int | None = Field(default=None, ge=1)
    # plan only a random sample of at most this many messages
    sample: int | None = Field(default=None, ge=1)
    pace: int | None = Field(
        default=None, ge=1, le=rate_limit.FASTEST
    )  # messages a second; null: no limit
    canary: int | None = Field(
        default=None, ge=0, le=canary.WATCHED
    )  # messages of the trial; null: the default
    # recorded with the operation
    reason: str = Field(default="", max_length=500, pattern=NO_NUL)


class OperationsPage(Schema):
    """Where the page begins (an operation's number, descending), and its size."""

    before: int = Field(default=NEWEST, ge=1, le=NEWEST)
    limit: int = Field(default=50, ge=1, le=200)


class Operations(Schema):
    """A page of operations, the newest first; the next page is before ``next``."""

    operations: list[OperationState]
    next: int | None


@router.get(
    "/operations", response={200: Operations, **REFUSED}, summary="The operations"
)
def list_operations(
    request: HttpRequest, page: Query[OperationsPage]
) -> dict[str, Any]:
    """Operations on queues that the caller may inquire."""
    require(request, VIEW)
    every = visible_operations(request.user).select_related(*ABOUT)
    rows = list(every.filter(pk__lt=page.before).order_by("-pk")[: page.limit + 1])
    part = rows[: page.limit]
    counts = counts_of([one.pk for one in part])
    return {
        "operations": [brief_state(one, counts[one.pk]) for one in part],
        "next": part[-1].pk if len(rows) > page.limit else None,
    }


@router.post(
    "/operations",
    response={200: OperationState, **REFUSED},
    summary="Plan an operation",
)
def plan_operation(request: HttpRequest, wanted: NewOperation) -> OperationState:
    """Freezes the set of messages; changes nothing yet. Needs the authorities of the
    operation itself, on the queues where the messages are and on the target.
    """
    require(request, permissions.CHANGE)
    with transaction.atomic():
        chosen, scope = chosen_by(request, wanted)
        order = order_of(wanted)
        plan = rights.plan(
            request.user, order, chosen, scope=scope, reason=wanted.reason.strip()
        )
        usual = wanted.canary is None
        trial = orders.usual_canary(plan) if usual else wanted.canary or 0
        orders.arrange(plan.pk, pace=wanted.pace, canary=trial)
    return read_state(request.user, plan.pk)


def order_of(wanted: NewOperation) -> Order:
    kind, argument = Operation.Kind(wanted.kind), wanted.queue
    if kind == Operation.Kind.PRIORITY:
        argument = "" if wanted.priority is None else str(wanted.priority)
    if kind == Operation.Kind.RESUBMIT:
        argument = orders.EVERY_QUEUE if wanted.every_queue else ""
    only = None
    if some := wanted.first or wanted.sample:
        only = Only(some, sampled=wanted.first is None)
    return Order(kind, argument, only)


def chosen_by(
    request: HttpRequest, wanted: NewOperation
) -> tuple[Chosen | Sought, str]:
    """The chosen messages that the caller may see, and a description of the set.

    Raises:
        ValidationError: not exactly one of the ways to choose is used.
    """
    ways = (wanted.filter, wanted.letters, wanted.messages)
    if sum(one is not None for one in ways) != 1:
        why = "Choose by filter, by letters or by messages: one of them."
        raise ValidationError([{"loc": ["body", "wanted"], "msg": why}])
    if wanted.filter is not None:
        search = visible_search.search(request.user, wanted.filter)
        return Sought(search.filter, search.within), f"messages by “{search.filter}”"
    if wanted.letters is not None:
        names = names_for(request.user)
        meant = selection_of(wanted.letters, names)
        scope = describe_letters(replace(meant, within=None), names)
        return Chosen(letters=meant), scope
    ids = tuple(one for one in wanted.messages or () if 0 < one <= NEWEST)
    names = names_for(request.user)
    few = describe_message(ids[0], names) if len(ids) == 1 else ""
    scope = few or f"{len(ids)} chosen messages"
    return Sought.numbered(orders.present(ids, names), names), scope
