"""The second person that a plan needs: who may be it, and how far that is."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpRequest
from django.utils import timezone

from broker.models import Approval, Operation
from broker.operations.approvals import MAY, approve, limits_passed
from broker.security.authorities import Principal
from console.operations import results
from console.operations.permissions import require_ways
from console.operations.results import Ledger


@dataclass(frozen=True, slots=True)
class Consent:
    """What a plan needs of somebody else, and what it has."""

    queues: list[str]  # of which it is about more messages than one person may
    approval: Approval | None  # none: the queues ask for it since it was planned
    is_own: bool  # of whoever looks: they planned it
    is_over: bool  # the time for it

    @property
    def is_given(self) -> bool:
        has_one = self.approval is not None and self.approval.approved_at is not None
        return has_one and not self.is_over

    @property
    def is_asked(self) -> bool:
        return self.approval is not None and not self.is_given and not self.is_over


def consent_to(operation: Operation, user: Principal) -> Consent | None:
    """What a plan needs of a second person; None where one is enough."""
    queues = limits_passed(operation, "approval_above")
    if not queues:
        return None
    approval: Approval | None = getattr(operation, "approval", None)
    is_over = approval is not None and approval.expires_at <= timezone.now()
    is_own = user is not None and operation.created_by_id == user.pk
    return Consent(queues, approval, is_own, is_over)


def asks_why(operation: Operation, ledger: Ledger) -> bool:
    """Whether a plan may not be started without a reason."""
    if operation.state != Operation.State.PLANNED:
        return False
    asks = results.asks_why(operation, ledger)
    return asks or bool(limits_passed(operation, "reason_above"))


def agree(
    request: HttpRequest, operation: Operation, seal: str, reason: str
) -> Approval:
    """Let somebody agree to a plan that they could have made themselves.

    Raises:
        NotAuthorized: they may not do that on its queues.
        OwnApproval, NotApprovable: as ``approve``.
    """
    require_ways(request.user, operation, results.ledger_of(operation))
    return approve(operation.pk, request.user, seal, reason=reason)


__all__ = ["MAY", "Consent", "agree", "asks_why", "consent_to"]
