"""Start a plan, for the page, the API and the command line."""

from __future__ import annotations

from broker import operations
from broker.models import Operation
from broker.security.authorities import Principal
from console.operations.permissions import require_ways
from console.operations.results import Ledger


def start(user: Principal, planned: Operation, ledger: Ledger, reason: str) -> None:
    """Start a plan, with a reason or with that of the plan.

    Raises:
        NotAuthorized: an authority is missing at a source or a target.
        OperationNotPlanned, ReasonMissing, ApprovalNeeded: as ``operations.start``.
    """
    require_ways(user, planned, ledger)
    known = Operation.objects.filter(pk=planned.pk, state=Operation.State.PLANNED)
    known.update(reason=reason or planned.reason)
    operations.start(planned.pk)
