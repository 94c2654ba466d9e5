"""Acts on operations: start, start later, pause, continue, cancel, undo."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Annotated

from django.utils.translation import gettext_noop

from broker import operations
from broker.acts.declaring import Holds, OperationNumber, Reason, Rule, declared
from broker.acts.operations.rights import require_ways
from broker.acts.operations.states import OperationState, read_state, schedule_of
from broker.models import Act, Operation
from broker.operations import canary, rate_limit
from broker.security.authorities import Principal
from broker.security.permissions import CHANGE

LOOK = "broker.view_queue"  # needed as the answer shows the operation
WAYS = Rule("the authorities of the operation on its queues", require_ways)
OPERATE = {"operation": WAYS}
ordered = partial(declared, permission=CHANGE, also=(LOOK,), needs_person=True)


@dataclass(frozen=True, slots=True)
class StartOperation:
    """The reason, and how it begins."""

    operation: OperationNumber
    reason: Reason = ""
    pace: Annotated[
        int | None,
        Holds(
            gettext_noop("Messages a second; 0: no limit; without it, as planned."),
            least=0,
            most=rate_limit.FASTEST,
        ),
    ] = None
    canary: Annotated[
        int | None,
        Holds(
            gettext_noop(
                "Messages of the canary; 0: no canary; if it is left out, as planned."
            ),
            least=0,
            most=canary.WATCHED,
        ),
    ] = None


@ordered(recorded_as=Act.START, rules=OPERATE, is_confirmed=True)
def start_operation(actor: Principal, request: StartOperation) -> OperationState:
    """Start a planned operation.

    Processes the first 100 messages; housekeeping processes the rest. A large
    operation, and one that cannot be undone, needs a reason, unless its plan has one.
    If its queues require approval, a second person must approve it first.
    """
    prepare(request)
    operations.start(request.operation)
    return read_state(actor, request.operation)


def prepare(request: StartOperation) -> None:
    """Store how a plan begins, and its reason."""
    if request.pace is not None or request.canary is not None:
        arrange(request)
    if reason := request.reason.strip():
        plans = Operation.objects.filter(state=Operation.State.PLANNED)
        plans.filter(pk=request.operation).update(reason=reason)


def arrange(request: StartOperation) -> None:
    """Set the pace and the trial of a plan; a value that is not given stays as
    planned."""
    plan = Operation.objects.select_related("schedule").get(pk=request.operation)
    planned, pace, trial = schedule_of(plan), request.pace, request.canary
    if trial is None:
        trial = planned.canaries or operations.usual_canary(plan)
    pace = planned.pace if pace is None else pace
    operations.arrange(plan.pk, pace=pace or None, canary=trial)


@dataclass(frozen=True, slots=True)
class ScheduleOperation(StartOperation):
    """The time, the reason, and how it begins."""

    start_at: Annotated[
        datetime | None,
        Holds(
            gettext_noop(
                "When it starts by itself; without it, when somebody starts it."
            )
        ),
    ] = None


@ordered(recorded_as=Act.ALTER, rules=OPERATE, is_confirmed=True)
def schedule_operation(actor: Principal, request: ScheduleOperation) -> OperationState:
    """Start a planned operation later.

    Sets the time at which it starts by itself, another time, or none. It then starts on
    behalf of who set the time, whose permissions and authorities are checked again. It
    does not start if they are missing, if it is not approved, or if the plan was
    changed; the operation then says why.
    """
    prepare(request)
    operations.set_start(request.operation, request.start_at, actor)
    return read_state(actor, request.operation)


@dataclass(frozen=True, slots=True)
class CancelOperation:
    """The operation."""

    operation: OperationNumber


@ordered(recorded_as=Act.CANCEL)
def cancel_operation(actor: Principal, request: CancelOperation) -> OperationState:
    """Cancel an operation.

    Stops the operation. Messages already processed stay as they are; the rest is left
    unchanged.
    """
    operations.cancel(request.operation)
    return read_state(actor, request.operation)


@dataclass(frozen=True, slots=True)
class UndoOperation:
    """The operation."""

    operation: OperationNumber


@ordered(recorded_as=Act.UNDO)
def undo_operation(actor: Principal, request: UndoOperation) -> OperationState:
    """Plan the undo of an operation.

    Returns the plan of the undo, which is an operation like any other: start it to undo
    the first. An operation that stopped itself is cancelled first. Needs the
    authorities of the undo on its queues.
    """
    plan = operations.stop_and_plan_undo(actor, request.operation)
    require_ways(actor, plan)
    return read_state(actor, plan.pk)


@dataclass(frozen=True, slots=True)
class PauseOperation:
    """The operation."""

    operation: OperationNumber


@ordered(recorded_as=Act.HALT)
def pause_operation(actor: Principal, request: PauseOperation) -> OperationState:
    """Pause an operation until it is continued."""
    operations.pause(request.operation)
    return read_state(actor, request.operation)


@dataclass(frozen=True, slots=True)
class ContinueOperation:
    """How the operation continues."""

    operation: OperationNumber
    at_once: Annotated[
        bool, Holds(gettext_noop("All the rest at once, without further parts."))
    ] = False


@ordered(recorded_as=Act.CARRY_ON, rules=OPERATE)
def continue_operation(actor: Principal, request: ContinueOperation) -> OperationState:
    """Continue an operation after a pause, or after it stopped itself."""
    operations.carry_on(request.operation, at_once=request.at_once)
    return read_state(actor, request.operation)


@dataclass(frozen=True, slots=True)
class PaceOperation:
    """The new rate limit."""

    operation: OperationNumber
    pace: Annotated[
        int | None,
        Holds(
            gettext_noop("Messages a second; without it, no limit."),
            least=1,
            most=rate_limit.FASTEST,
        ),
    ] = None


@ordered(recorded_as=Act.ALTER)
def pace_operation(actor: Principal, request: PaceOperation) -> OperationState:
    """Change the rate limit of an operation, or remove it.

    Of a plan, from its start.
    """
    operations.set_pace(request.operation, request.pace)
    return read_state(actor, request.operation)
