"""Plan an operation: select its entries and store them as items."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction

from broker import sql
from broker.errors import NoSuchQueue, NotResubmittable
from broker.errors.operations import NothingChosen, ReasonMissing
from broker.formats import filters
from broker.formats.filters import Filter
from broker.formats.selectors import Selector, parse
from broker.models import Act, Operation, OperationItem, Place, Queue
from broker.models.bridge_names import NOTICES, RESUBMITS
from broker.monitoring import search
from broker.monitoring.dead_letters import Selection
from broker.monitoring.numbers import copies_of
from broker.operations import approvals
from broker.operations.auditing import note
from broker.operations.commands import (
    EVERY_QUEUE,
    Chosen,
    Only,
    Order,
    Sought,
)
from broker.operations.scheduling import hold
from broker.security import redaction
from broker.sql import database_now

Kind, Status = Operation.Kind, OperationItem.Status

# States of entries that an operation can take.
CHOOSABLE = filters.parse("state:ready,delayed,dead")
SCAN = 2000  # most items that one statement reads
MOST_NAMED = 2000  # most entries of messages that were selected one by one


@transaction.atomic
def plan(
    user: Any,
    order: Order,
    chosen: Chosen | Sought,
    *,
    scope: str,
    reason: str = "",
    now: datetime | None = None,
) -> Operation:
    """Store the set of an operation; the entries are not touched yet.

    Args:
        user: the user who plans it.
        order: the action.
        chosen: the selection of entries.
        scope: the selection as text, for people.
        reason: text that the audit records.
        now: the current time, for expiry and the ages of messages; the database's clock
            when not given.

    Raises:
        NothingChosen: no entry is selected, or the limit is below 1.
        NotResubmittable: for a resubmit, no selected entry has an origin queue.
        NoSuchQueue: there is no such queue to select from, or to move or copy to.
        InvalidPriority: the new priority is not from 0 to 9.
        InvalidDueTime: the new due time is missing, past or too far away.
        InvalidSelector: the selector cannot be parsed.
        MaskedSearch: the selector names values that are masked for this user.
        SearchTooLong: the database took too long for one step of a filter.

    Source:
        ActiveMQ Artemis, QueueControl: a move to an unknown queue leaves the source as
        it is; without a filter, all messages are selected.
    """
    check(order, now)
    check_some(order.only, scope)
    check_selector(user, chosen)
    about = {"kind": order.kind, "argument": order.argument, "scope": scope}
    operation = Operation.objects.create(**about, reason=reason, created_by=user)
    parameters = {
        "operation_id": operation.pk,
        "resubmits": order.kind == Kind.RESUBMIT,
        "target": order.argument if order.kind in (Kind.MOVE, Kind.COPY) else "",
    }
    if isinstance(chosen, Sought):
        planned = freeze_found(parameters, chosen, now)
    else:
        planned = freeze_chosen(parameters, chosen, now)
    if not planned:
        raise (NotResubmittable if parameters["resubmits"] else NothingChosen)(scope)
    leave_out_notices(operation)
    if order.only:
        keep(operation.pk, order.only)
    approval = approvals.ask(operation, now)
    seal = {} if approval is None else {"seal": approval.seal}
    note(Act.PLAN, operation, by=user, **seal)
    return operation


def leave_out_notices(operation: Operation) -> None:
    """Leave notices of links out of a plan that sends its messages again: back to their
    queue, or through a link."""
    resends = operation.kind == Kind.RESUBMIT
    if operation.kind in (Kind.MOVE, Kind.COPY):
        to = Queue.objects.filter(name=operation.argument, kind=Queue.Kind.INTERNAL)
        resends = operation.argument.startswith(RESUBMITS) and to.exists()
    if resends:
        sql.fetch_one(
            "leave_out_notices", operation_id=operation.pk, notices=list(NOTICES)
        )


def check_selector(user: Any, chosen: Chosen | Sought) -> None:
    if isinstance(chosen, Chosen) and chosen.selector:
        redaction.require_selector(user, chosen.selector)


@transaction.atomic
def narrow(operation_id: int, only: Only) -> int:
    """Limit a plan to a number of items; return how many were removed.

    Raises:
        OperationNotPlanned: it was started or cancelled before.
        NothingChosen: the limit is below 1.
    """
    operation = hold(operation_id, Operation.State.PLANNED)
    check_some(only, operation.scope)
    taken_out = keep(operation_id, only)
    approvals.reseal(operation)
    note(
        Act.ALTER,
        operation,
        kept=only.messages,
        sampled=only.sampled,
        taken_out=taken_out,
    )
    return taken_out


def check_some(only: Only | None, scope: str) -> None:
    if only is not None and only.messages < 1:
        raise NothingChosen(scope)


def keep(operation_id: int, only: Only) -> int:
    (taken_out,) = sql.fetch_one(
        "narrow",
        operation_id=operation_id,
        limit=only.messages,
        sampled=only.sampled,
    )
    return int(taken_out)


@transaction.atomic
def take_in(operation_id: int, reason: str) -> int:
    """Add the items to a plan that were left out, because their messages had been
    resubmitted too often or are notices of links; return how many.

    Args:
        operation_id: id of the plan.
        reason: the reason for adding them, for the audit.

    Raises:
        OperationNotPlanned: it was started or cancelled before.
        ReasonMissing: the reason is empty.
    """
    operation = hold(operation_id, Operation.State.PLANNED)
    if not reason.strip():
        raise ReasonMissing("To take those that were left out, too,")
    left_out = OperationItem.objects.filter(
        operation=operation_id, status=Status.LEFT_OUT
    )
    taken_in = left_out.update(status=Status.PLANNED)
    approvals.reseal(operation)
    note(Act.ALTER, operation, above_the_ceiling=taken_in, why=reason)
    return taken_in


def freeze_chosen(
    parameters: dict[str, Any], chosen: Chosen, now: datetime | None
) -> int:
    """Create the items of a selection; return the number of items."""
    selector = parse(chosen.selector) if chosen.selector else None
    (planned,) = sql.fetch_one("plan_items", **parameters, **choice(chosen))
    if planned and selector:
        for status in (Status.PLANNED, Status.LEFT_OUT):
            planned -= leave_out(parameters["operation_id"], status, selector, now)
    return int(planned)


def freeze_found(
    parameters: dict[str, Any], sought: Sought, now: datetime | None
) -> int:
    """Create the items of the entries that match a filter now; return the number of
    items."""
    wanted = choosable(sought)
    planned = 0
    with search.patiently(search.PATIENCE):
        for found in search.keys(wanted, within=sought.within, now=now):
            some = list(filter(sought.keeps, found))
            (added,) = sql.fetch_one(
                "plan_found",
                **parameters,
                ids=[message_id for message_id, _ in some],
                queue_ids=[queue_id for _, queue_id in some],
            )
            planned += added
    return planned


@dataclass(frozen=True, slots=True)
class PlanCount:
    """How many messages a plan would have."""

    messages: int
    is_exact: bool  # False: there may be more messages
    states: frozenset[str]  # states that the entries can have

    @property
    def in_words(self) -> str:
        return f"{self.messages:,}" if self.is_exact else f"{self.messages:,} or more"


def foresee(sought: Sought, now: datetime | None = None) -> PlanCount:
    """Count what a plan would select; nothing is stored.

    Raises:
        NothingChosen: no entry is selected, or the filter is empty.
        SearchTooLong: the database took too long for one step.
    """
    wanted = choosable(sought)
    if sought.only is None:
        counted = search.count(wanted, within=sought.within, now=now)
        states = search.states_of(wanted)
        seen = PlanCount(counted.messages, counted.is_exact, states)
    else:
        page = search.find(wanted, within=sought.within, limit=MOST_NAMED, now=now)
        kept = [one for one in page.rows if sought.keeps(one.key)]
        states = frozenset(one.state for one in kept)
        seen = PlanCount(len(kept), is_exact=True, states=states)
    if not seen.messages:
        raise NothingChosen(str(sought.filter))
    return seen


def present(message_ids: Iterable[int], within: Mapping[int, str]) -> tuple[int, ...]:
    """The ids of the entries that any ids of messages mean: an id itself if an entry
    has it, otherwise the copies of its message that are on a queue.

    Args:
        message_ids: the ids.
        within: the queues to look at: their names, by id.

    Raises:
        SearchTooLong: the database took too long for one step.
    """
    copies = copies_of(message_ids)
    there = on_queues(set().union(*copies.values()), within)
    meant = {
        copy
        for one, all_ids in copies.items()
        for copy in ({one} if one in there else all_ids & there or {one})
    }
    return tuple(sorted(meant))


def on_queues(message_ids: Iterable[int], within: Mapping[int, str]) -> set[int]:
    """The given ids whose message has an entry on these queues, in any state."""
    wanted = Sought.numbered(message_ids, within)
    with search.patiently(search.PATIENCE):
        steps = search.keys(wanted.filter, within=within)
        return {message_id for found in steps for message_id, _ in found}


def choosable(sought: Sought) -> Filter:
    """The filter, restricted to ready and delayed entries.

    Raises:
        NothingChosen: the filter is empty, so it would select everything.
    """
    if not sought.filter:
        raise NothingChosen("everything")
    return Filter((*sought.filter.terms, *CHOOSABLE.terms))


def check(order: Order, now: datetime | None) -> None:
    """Refuse an order that is invalid for every entry."""
    order.check_argument(now or database_now())
    if order.kind == Kind.RESUBMIT:
        assert order.argument in ("", EVERY_QUEUE)
    if order.kind in (Kind.MOVE, Kind.COPY):
        queue_id_of(order.argument)


def choice(chosen: Chosen) -> dict[str, Any]:
    """The parameters of plan_items.sql.

    Entries are read by the narrowest of dead letters, messages and queue; the other
    conditions only filter.
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


def leave_out(
    operation_id: int,
    status: OperationItem.Status,
    selector: Selector,
    now: datetime | None,
) -> int:
    """Delete items that a selector does not match; return the number deleted."""
    looked_at: dict[str, Any] = {
        "operation_id": operation_id,
        "status": status,
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
