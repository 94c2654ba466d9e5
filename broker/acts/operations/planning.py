"""The act that plans an operation on messages, and which messages it takes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Literal

from django.utils.translation import gettext_noop

from broker import operations
from broker.acts.declaring import Holds, Reason
from broker.acts.operations import rights
from broker.acts.operations.control import ordered
from broker.acts.operations.message_sets import (
    EveryQueue,
    Letters,
    MessageSet,
    find_by_filter,
    find_by_id,
    find_entries,
    find_letters,
    find_on_queue,
    require_one_way,
)
from broker.acts.operations.states import OperationState, read_state
from broker.acts.visible_queues import find_queue
from broker.errors.acts import InvalidRequest
from broker.models import Act, Operation, Place
from broker.operations import EVERY_QUEUE, Only, Order, canary, rate_limit
from broker.security.authorities import Principal, held_by

Kind = Operation.Kind
PLACES = {"ready": Place.READY, "delayed": Place.DELAYED}
ONLY_OF_SOURCE = "It narrows the messages of a source: name that queue, too."
MOST = 500  # most messages that a request names one by one


@dataclass(frozen=True, slots=True)
class PlanOperation:
    """The kind of operation and its messages, chosen in one way: by filter, letters,
    messages, entries or source; a source may have messages, too.
    """

    kind: Annotated[Kind, Holds(gettext_noop("What is done with the messages."))]
    queue: Annotated[
        str, Holds(gettext_noop("The target of a move or copy."), most=255)
    ] = ""
    priority: Annotated[
        int | None,
        Holds(gettext_noop("The new priority, from 0 to 9."), least=0, most=9),
    ] = None
    due_at: Annotated[
        datetime | None,
        Holds(gettext_noop("The new time at which delayed messages are due.")),
    ] = None
    filter: Annotated[
        tuple[str, ...] | None,
        Holds(
            gettext_noop("Filters, as for a search; all have to be met."),
            least=1,
            most=32,
        ),
    ] = None
    letters: Letters = None
    messages: Annotated[
        tuple[int, ...] | None,
        Holds(
            gettext_noop(
                "Messages, each by its number or by the id of one of its copies. A copy"
                " that is no longer on a queue stands for those of its message that"
                " are."
            ),
            least=1,
            most=MOST,
        ),
    ] = None
    entries: Annotated[
        tuple[str, ...] | None,
        Holds(
            gettext_noop(
                "Messages, each as ID@QUEUE: the id of a copy, and the queue it is on."
            ),
            least=1,
            most=MOST,
        ),
    ] = None
    source: Annotated[
        str | None,
        Holds(
            gettext_noop("All messages on this queue, or those that are named."),
            names="queue",
        ),
    ] = None
    place: Annotated[
        Literal["ready", "delayed"] | None,
        Holds(gettext_noop("Of the source queue, only these messages.")),
    ] = None
    selector: Annotated[
        str,
        Holds(
            gettext_noop("Of the source queue, only what a JMS selector matches."),
            most=4000,
        ),
    ] = ""
    every_queue: EveryQueue = False
    first: Annotated[
        int | None,
        Holds(
            gettext_noop("Only the first messages, at most this many."),
            least=1,
            most=2**31 - 1,
        ),
    ] = None
    sample: Annotated[
        int | None,
        Holds(
            gettext_noop("Only a random sample, of at most this many messages."),
            least=1,
            most=2**31 - 1,
        ),
    ] = None
    pace: Annotated[
        int | None,
        Holds(
            gettext_noop("Messages a second; without it, no limit."),
            least=1,
            most=rate_limit.FASTEST,
        ),
    ] = None
    canary: Annotated[
        int | None,
        Holds(
            gettext_noop(
                "Messages of the canary; 0: no canary; if it is left out, the default."
            ),
            least=0,
            most=canary.WATCHED,
        ),
    ] = None
    reason: Reason = ""


@ordered(recorded_as=Act.PLAN)
def plan_operation(actor: Principal, request: PlanOperation) -> OperationState:
    """Plan an operation.

    Freezes the set of messages; changes nothing yet. The plan is then started or
    cancelled. Needs the authorities of the operation itself, on the queues where the
    messages are and on the target.
    """
    messages = find_messages(actor, request)
    plan = rights.plan(
        actor,
        order_of(request),
        messages.chosen,
        scope=messages.scope,
        reason=request.reason.strip(),
    )
    trial = request.canary
    if trial is None:
        trial = operations.usual_canary(plan)
    operations.arrange(plan.pk, pace=request.pace, canary=trial)
    return read_state(actor, plan.pk)


def order_of(request: PlanOperation) -> Order:
    kind, argument, only = Kind(request.kind), "", None
    if kind in (Kind.MOVE, Kind.COPY):
        argument = request.queue
    elif kind == Kind.PRIORITY and request.priority is not None:
        argument = str(request.priority)
    elif kind == Kind.RESCHEDULE and request.due_at is not None:
        argument = request.due_at.astimezone(UTC).isoformat(timespec="seconds")
    elif kind == Kind.RESUBMIT and request.every_queue:
        argument = EVERY_QUEUE
    if some := request.first or request.sample:
        only = Only(some, sampled=request.first is None)
    return Order(kind, argument, only)


def find_messages(actor: Principal, request: PlanOperation) -> MessageSet:
    """The chosen messages that the actor may see.

    Raises:
        InvalidRequest: they are chosen in no way, or in several.
        InvalidFilter, NothingChosen, …: as the functions of ``message_sets``.
    """
    of_source = request.source is not None
    require_one_way(
        filter=request.filter,
        letters=request.letters,
        messages=None if of_source else request.messages,
        entries=request.entries,
        source=request.source,
    )
    for name in ("place", "selector"):
        if getattr(request, name) and not of_source:
            raise InvalidRequest(((name, ONLY_OF_SOURCE),))
    if request.filter:
        return find_by_filter(actor, request.filter)
    if request.letters is not None:
        return find_letters(actor, request.letters)
    if request.entries:
        return find_entries(actor, request.entries)
    if request.source is None:
        return find_by_id(actor, request.messages or ())
    return find_on_queue(
        find_queue(held_by(actor), request.source),
        request.messages,
        place=PLACES[request.place] if request.place else None,
        selector=request.selector.strip(),
    )
