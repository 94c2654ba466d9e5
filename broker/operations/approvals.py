"""What an operation needs to start: a reason, and approval (four-eyes principle).

An operation after which a message may be on no queue needs a reason, as does one of
more than a hundred messages. A queue defines above how many of its messages an
operation needs a reason, and above how many it needs the approval of a second person.

The plan is sealed: an approval is for a digest of these messages and what is done with
them, and it expires. An undo needs no approval: it only returns entries that nobody has
touched since.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Count

from broker import sql
from broker.errors.operations import (
    ApprovalExpired,
    ApprovalNeeded,
    NotApprovable,
    OwnApproval,
    ReasonMissing,
    ReasonNeeded,
)
from broker.models import (
    Act,
    Approval,
    Operation,
    OperationItem,
    OperationPatch,
    OperationSchedule,
    Queue,
)
from broker.operations.auditing import note
from broker.sql import database_now

Kind = Operation.Kind
# Operations after which a message may be on no queue any more.
HARD = frozenset({Kind.DEAD_LETTER, Kind.EXPIRE, Kind.REMOVE})
REASON_ABOVE = 100  # operations on more messages than this need a reason
# The permission to approve an operation as the second person.
MAY = "broker.approve_operation"
NOT_ASKED = "nobody has to approve it"
NOT_THEIRS = "whoever planned it says why"
NOT_PLANNED = "it was started or cancelled"
APPROVED = "it was approved already"
EXPIRED = "the time to approve it is over; plan it again"
OTHER = "it is not the plan that was looked at; look again"
LACKING = f"the permission {MAY} is missing"
WAITS = "Somebody else has to approve it first"
LATER = "That was set after it was planned; plan it again"
LOST = "Whoever approved it may no longer do so; plan it again"
ALTERED = "The plan was changed after its time was set. Set the time again."
CHANGED = "It is not the plan that was approved; plan it again"


def is_hard(operation: Operation) -> bool:
    """Whether a message may be on no queue after it; an undo puts messages back."""
    return operation.undoes_id is None and operation.kind in HARD


def needs_reason(operation: Operation, counts: Mapping[int, int] | None = None) -> bool:
    """Whether an operation needs a reason to start.

    Args:
        operation: the plan.
        counts: as in ``limits_passed``.
    """
    if is_hard(operation) or limits_passed(operation, "reason_above", counts):
        return True
    items = operation.items.exclude(status=OperationItem.Status.LEFT_OUT)
    return items[: REASON_ABOVE + 1].count() > REASON_ABOVE


def limits_passed(
    operation: Operation, limit: str, counts: Mapping[int, int] | None = None
) -> list[str]:
    """The names of the queues whose limit for operations without approval is
    exceeded.

    Args:
        operation: the operation.
        limit: the field of the queue with the limit.
        counts: the operation's messages by queue id, if the caller has counted them.
    """
    if operation.undoes_id is not None:
        return []
    limited = Queue.objects.filter(**{f"{limit}__isnull": False})
    limits = {
        pk: (name, most) for pk, name, most in limited.values_list("pk", "name", limit)
    }
    if not limits:
        return []
    if counts is None:
        counted = operation.items.filter(queue_id__in=limits).values_list("queue_id")
        counts = dict(counted.annotate(Count("pk")).order_by())
    return sorted(
        name for pk, (name, most) in limits.items() if counts.get(pk, 0) > most
    )


def seal_of(operation: Operation) -> str:
    """A digest of an operation's set of messages, and of what the operation does with
    it."""
    (items,) = sql.fetch_one("seal", operation_id=operation.pk)
    patch = OperationPatch.objects.filter(pk=operation.pk).first()
    document, body = (patch.document, patch.body) if patch else ("", None)
    said = f"{operation.pk}:{operation.kind}:{operation.argument}:{items}:{document}"
    return hashlib.sha256(said.encode() + b":" + bytes(body or b"")).hexdigest()


def ask(operation: Operation, now: datetime | None) -> Approval | None:
    """Request an approval of a plan and seal it; None if the plan needs no approval."""
    if not limits_passed(operation, "approval_above"):
        return None
    window = timedelta(seconds=settings.BROKER_APPROVAL_WINDOW_S)
    return Approval.objects.create(
        operation=operation,
        seal=seal_of(operation),
        expires_at=(now or database_now()) + window,
    )


def reseal(operation: Operation) -> None:
    """Seal a changed plan again; this cancels the approval of the old plan, and the
    time that was set for it to start."""
    waiting = OperationSchedule.objects.filter(pk=operation.pk, start_at__isnull=False)
    waiting.update(start_problem=ALTERED)
    asked = Approval.objects.filter(pk=operation.pk)
    if asked.exists():
        asked.update(seal=seal_of(operation), approved_by=None, approved_at=None)


@transaction.atomic
def explain(operation_id: int, user: Any, reason: str) -> None:
    """Give the reason of a plan, for the second person.

    Args:
        operation_id: id of the plan.
        user: the user who planned it.
        reason: the reason, for the second person and the audit.

    Raises:
        NotApprovable: another user made the plan, or the plan needs no approval, or it
            is approved already.
    """
    found = locked(operation_id)
    rules = [
        (found.operation.created_by_id != user.pk, NOT_THEIRS),
        (found.operation.state != Operation.State.PLANNED, NOT_PLANNED),
        (found.approved_by_id is not None, APPROVED),
    ]
    refuse_by(rules, operation_id)
    Operation.objects.filter(pk=operation_id).update(reason=reason)
    note(Act.EXPLAIN, found.operation, reason, by=user)


@transaction.atomic
def approve(
    operation_id: int,
    user: Any,
    seal: str,
    *,
    reason: str = "",
    now: datetime | None = None,
) -> Approval:
    """Approve a plan with the given seal.

    Args:
        operation_id: id of the plan.
        user: the user who approves it; not the user who planned it.
        seal: the seal of the plan that this user has seen.
        reason: text that the audit records.
        now: the current time; the database's clock when not given.

    Raises:
        OwnApproval: the user planned it.
        NotApprovable: the plan has changed (its seal differs), the time for approvals
            is over, the plan is approved already or needs no approval, or the user
            lacks the permission.
    """
    found = locked(operation_id)
    at = now or database_now()
    if found.operation.created_by_id == user.pk:
        raise OwnApproval(operation_id)
    rules = [
        (not user.has_perm(MAY), LACKING),
        (found.operation.state != Operation.State.PLANNED, NOT_PLANNED),
        (found.approved_by_id is not None, APPROVED),
        (at >= found.expires_at, EXPIRED),
        (seal != found.seal, OTHER),
    ]
    refuse_by(rules, operation_id)
    found.approved_by, found.approved_at = user, at
    found.save(update_fields=["approved_by", "approved_at"])
    note(Act.APPROVE, found.operation, reason, by=user, seal=seal)
    return found


def locked(operation_id: int) -> Approval:
    """The approval of a plan, locked, so that concurrent decisions are serialized."""
    approvals = Approval.objects.select_for_update().select_related("operation")
    found = approvals.filter(pk=operation_id).first()
    if found is None:
        raise NotApprovable(operation_id, NOT_ASKED)
    return found


def refuse_by(rules: Iterable[tuple[bool, str]], operation_id: int) -> None:
    for applies, why in rules:
        if applies:
            raise NotApprovable(operation_id, why)


def require_reason(operation: Operation) -> None:
    """Refuse the start of an operation without the reason that it needs now.

    Raises:
        ReasonMissing, ReasonNeeded: it has none.
    """
    if operation.reason:
        return
    if over := limits_passed(operation, "reason_above"):
        raise ReasonNeeded(operation.pk, over[0])
    if needs_reason(operation):
        raise ReasonMissing("This operation")


def require(operation: Operation, now: datetime | None) -> None:
    """Refuse the start of an operation without what it needs now.

    Raises:
        ReasonMissing, ReasonNeeded: it has no reason.
        ApprovalNeeded: it has no approval, or the approval is for another plan.
        ApprovalExpired: its approval is too old.
    """
    require_reason(operation)
    over = limits_passed(operation, "approval_above")
    if not over:
        return
    asked = Approval.objects.select_related("approved_by")
    found = asked.filter(pk=operation.pk).first()
    if found is None:
        raise ApprovalNeeded(operation.pk, over[0], LATER)
    if found.approved_by is None:
        raise ApprovalNeeded(operation.pk, over[0], WAITS)
    if (now or database_now()) >= found.expires_at:
        raise ApprovalExpired(operation.pk, found.expires_at)
    if found.seal != seal_of(operation):
        raise ApprovalNeeded(operation.pk, over[0], CHANGED)
    if not (found.approved_by.is_active and found.approved_by.has_perm(MAY)):
        raise ApprovalNeeded(operation.pk, over[0], LOST)
