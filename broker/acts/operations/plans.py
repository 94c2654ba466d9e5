"""Acts on plans of operations: approve, explain, narrow, include, plan the rest."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from django.utils.translation import gettext_noop

from broker import operations
from broker.acts.declaring import (
    Holds,
    OperationNumber,
    Reason,
    Rule,
    declared,
)
from broker.acts.operations.control import LOOK, OPERATE, ordered
from broker.acts.operations.rights import require_reading, require_ways
from broker.acts.operations.states import OperationState, read_state
from broker.errors.operations import NotUndone, ReasonMissing
from broker.models import Act, Operation
from broker.operations import Only
from broker.operations.approvals import MAY
from broker.security.authorities import Principal
from broker.security.permissions import CHANGE

BROWSE = "broker.browse_queue"
repaired = partial(
    declared,
    permission=CHANGE,
    also=(LOOK, BROWSE),
    recorded_as=Act.PLAN,
    needs_person=True,
)


def require_repair(actor: Principal, operation: Operation) -> None:
    """Refuse an actor that may not send the messages of an operation, or may not read
    them: the tests of a patch reveal their content.

    Raises:
        NotAuthorized: an authority is missing.
    """
    require_ways(actor, operation)
    require_reading(actor, operation)


REPAIR = Rule(
    "the authorities of the operation on its queues, and `browse`", require_repair
)


def require_repair_of_undone(actor: Principal, undo: Operation) -> None:
    """As ``require_repair``, for the operation that an undo undoes.

    Raises:
        NotUndone: it undoes none.
        NotAuthorized: an authority is missing.
    """
    if undo.undoes is None:
        raise NotUndone(undo.pk)
    require_repair(actor, undo.undoes)


REPAIR_OF_UNDONE = Rule(
    "the authorities of the undone operation on its queues, and `browse`",
    require_repair_of_undone,
)


@dataclass(frozen=True, slots=True)
class ApproveOperation:
    """The seal of the plan, and the reason."""

    operation: OperationNumber
    seal: Annotated[
        str,
        Holds(
            gettext_noop(
                "The seal of the plan that was read, which is a digest of it; if the"
                " plan has changed since, nothing is done."
            ),
            most=64,
        ),
    ]
    reason: Reason = ""


@declared(
    permission=MAY,
    also=(LOOK,),
    recorded_as=Act.APPROVE,
    rules=OPERATE,
    needs_person=True,
)
def approve_operation(actor: Principal, request: ApproveOperation) -> OperationState:
    """Approve an operation that somebody else planned.

    Approves exactly the plan with this seal, so that it can be started. The person who
    planned it cannot approve it.
    """
    reason = request.reason.strip()
    operations.approve(request.operation, actor, request.seal, reason=reason)
    return read_state(actor, request.operation)


@dataclass(frozen=True, slots=True)
class ExplainOperation:
    """The reason why the plan should be approved."""

    operation: OperationNumber
    reason: Reason = ""


@ordered(recorded_as=Act.EXPLAIN)
def explain_operation(actor: Principal, request: ExplainOperation) -> OperationState:
    """Explain a plan to its approver.

    Stores the reason of a plan that waits for approval; only who planned it may do
    that.
    """
    reason = request.reason.strip()
    if not reason:
        raise ReasonMissing("An explanation")
    operations.explain(request.operation, actor, reason)
    return read_state(actor, request.operation)


@dataclass(frozen=True, slots=True)
class NarrowOperation:
    """How many messages a plan keeps."""

    operation: OperationNumber
    messages: Annotated[
        int,
        Holds(
            gettext_noop("How many messages the plan keeps."), least=1, most=2**31 - 1
        ),
    ]
    sample: Annotated[
        bool, Holds(gettext_noop("A random sample, not the first messages."))
    ] = False


@ordered(recorded_as=Act.ALTER)
def narrow_operation(actor: Principal, request: NarrowOperation) -> OperationState:
    """Keep a part of a plan.

    Keeps only the first messages of a plan, or a random sample; the others are taken
    out of it, and stay as they are.
    """
    operations.narrow(request.operation, Only(request.messages, sampled=request.sample))
    return read_state(actor, request.operation)


@dataclass(frozen=True, slots=True)
class TakeInMessages:
    """The reason, for the audit."""

    operation: OperationNumber
    reason: Reason = ""


@ordered(recorded_as=Act.ALTER)
def take_in_messages(actor: Principal, request: TakeInMessages) -> OperationState:
    """Include messages that were left out of a plan.

    They were resubmitted too often, or are notices of links. Needs a reason, and the
    authorities of the operation on the queues of these messages, too.
    """
    operations.take_in(request.operation, request.reason.strip())
    require_ways(actor, Operation.objects.get(pk=request.operation))
    return read_state(actor, request.operation)


@dataclass(frozen=True, slots=True)
class PlanRest:
    """The operation."""

    operation: OperationNumber


@repaired(rules={"operation": REPAIR})
def plan_rest(actor: Principal, request: PlanRest) -> OperationState:
    """Plan the rest of a stopped operation.

    Cancels a repair that stopped itself, and plans the messages that are left, for a
    new patch.
    Returns that plan.
    """
    plan = operations.plan_rest(actor, request.operation)
    return read_state(actor, plan.pk)


@dataclass(frozen=True, slots=True)
class PlanAgain:
    """The undo of the operation that is planned again."""

    operation: Annotated[
        int, Holds(gettext_noop("The number of the undo."), names="operation")
    ]


@repaired(rules={"operation": REPAIR_OF_UNDONE})
def plan_again(actor: Principal, request: PlanAgain) -> OperationState:
    """Plan an operation again that was undone.

    Plans those of its messages that are where they were, to be patched anew. Returns
    that plan, which has the old reason and no patch.
    """
    undone = Operation.objects.get(undone_by=request.operation)
    plan = operations.plan_again(actor, undone.pk)
    return read_state(actor, plan.pk)
