"""Start a plan, for the page, the API and the command line."""

from __future__ import annotations

from broker import operations
from broker.errors.operations import ReasonMissing
from broker.models import Operation
from broker.security.authorities import Principal
from console.operations import approvals
from console.operations.permissions import require_ways
from console.operations.results import Ledger


def start(user: Principal, planned: Operation, ledger: Ledger, reason: str) -> None:
    """Start a plan, with a reason or with that of the plan.

    Raises:
        ReasonMissing: it needs a reason, and has none.
        NotAuthorized: an authority is missing at a source or a target.
        OperationNotPlanned, ApprovalNeeded: as ``operations.start``.
    """
    why = reason or planned.reason
    if approvals.asks_why(planned, ledger) and not why:
        raise ReasonMissing("This operation")
    require_ways(user, planned, ledger)
    known = Operation.objects.filter(pk=planned.pk, state=Operation.State.PLANNED)
    known.update(reason=why)
    operations.start(planned.pk)
