"""The act that plans to send dead letters back, with a patch or without."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from django.utils.translation import gettext_noop

from broker.acts.declaring import Holds, Reason
from broker.acts.operations import rights
from broker.acts.operations.control import ordered
from broker.acts.operations.message_sets import (
    EveryQueue,
    Letters,
    MessageSet,
    find_by_filter,
    find_letters,
    find_letters_by_id,
    require_one_way,
)
from broker.acts.operations.patches import ResubmitPlan, give_patch, read_plan
from broker.models import Act, Operation
from broker.operations import EVERY_QUEUE, Order
from broker.security.authorities import Principal


@dataclass(frozen=True, slots=True)
class PlanResubmit:
    """The dead letters to resubmit, and the patch. One of ids, f and letters."""

    ids: Annotated[
        tuple[int, ...],
        Holds(
            gettext_noop("Messages, each by its number or the id of a copy."), most=1000
        ),
    ] = ()
    f: Annotated[
        tuple[str, ...],
        Holds(
            gettext_noop("Filters, as for searching messages; all have to be met."),
            most=32,
        ),
    ] = ()
    letters: Letters = None
    reason: Reason = ""
    patch: Annotated[
        str | None,
        Holds(gettext_noop("The patch of each message."), is_file=True, is_json=True),
    ] = None
    every_queue: EveryQueue = False


@ordered(recorded_as=Act.PLAN)
def plan_resubmit(actor: Principal, request: PlanResubmit) -> ResubmitPlan:
    """Plan to resubmit dead letters, with a patch or without.

    Freezes the set and previews the patch on each message. Nothing is sent before the
    plan is started. Needs the authority `get` where the messages are, and `put` where
    they go; a patch needs the permission `broker.browse_queue` and the authority
    `browse`, too.
    """
    messages = find_messages(actor, request)
    order = Order(Operation.Kind.RESUBMIT, EVERY_QUEUE if request.every_queue else "")
    plan = rights.plan(
        actor,
        order,
        messages.chosen,
        scope=messages.scope,
        reason=request.reason.strip(),
    )
    if request.patch is not None:
        give_patch(actor, plan, request.patch)
    return read_plan(actor, plan)


def find_messages(actor: Principal, request: PlanResubmit) -> MessageSet:
    require_one_way(ids=request.ids, f=request.f, letters=request.letters)
    if request.letters is not None:
        return find_letters(actor, request.letters)
    if request.f:
        return find_by_filter(actor, ["state:dead", *request.f])
    return find_letters_by_id(actor, request.ids)
