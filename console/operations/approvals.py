"""Approval of a plan by a second person."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.utils import timezone

from broker.acts.operations.ledgers import Ledger
from broker.models import Approval, Operation
from broker.operations.approvals import limits_passed, needs_reason
from broker.security.authorities import Principal


@dataclass(frozen=True, slots=True)
class Consent:
    """The approval that a plan needs, and its state."""

    queues: list[str]  # queues with more messages than one person may handle
    # None: the plan was made before the queues required an approval
    approval: Approval | None
    is_own: bool  # whether the reader planned the operation
    is_over: bool  # the deadline has passed

    @property
    def is_given(self) -> bool:
        has_one = self.approval is not None and self.approval.approved_at is not None
        return has_one and not self.is_over

    @property
    def is_requested(self) -> bool:
        return self.approval is not None and not self.is_given and not self.is_over


def consent_to(
    operation: Operation, user: Principal, counts: Mapping[int, int] | None = None
) -> Consent | None:
    """The approval that a plan needs; None if it needs none.

    Args:
        operation: the plan.
        user: the reader.
        counts: its messages by queue id, if the caller has counted them.
    """
    queues = limits_passed(operation, "approval_above", counts)
    if not queues:
        return None
    approval: Approval | None = getattr(operation, "approval", None)
    is_over = approval is not None and approval.expires_at <= timezone.now()
    is_own = user is not None and operation.created_by_id == user.pk
    return Consent(queues, approval, is_own, is_over)


def asks_why(operation: Operation, ledger: Ledger) -> bool:
    """Whether a plan needs a reason to start."""
    if operation.state != Operation.State.PLANNED:
        return False
    return needs_reason(operation, ledger.on)
