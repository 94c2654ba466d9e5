"""Denied attempts in the audit, written after the attempt has been rolled back."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest

from broker.errors.operations import ApprovalNeeded, OwnApproval
from broker.errors.queues import NotAuthorized
from broker.models import Act
from broker.security import audit
from broker.security.audit import Thing

LACKING = "A permission for this is missing."


def note(request: HttpRequest, error: Exception) -> None:
    """Record a denial. Refusals for other reasons than a missing right are not
    recorded.
    """
    if isinstance(error, NotAuthorized):
        thing = Thing("queue", "", error.queue)
    elif isinstance(error, ApprovalNeeded | OwnApproval):
        number = error.operation_id
        thing = Thing("operation", number, f"operation {number}")
    elif isinstance(error, PermissionDenied):
        thing = Thing("page", "", request.path)
    else:
        return
    match = request.resolver_match
    detail = {
        "method": request.method or "",
        "path": request.path[: audit.LONGEST],
        "view": match.view_name if match else "",
    }
    audit.refuse(Act.REACH, thing, reason=str(error) or LACKING, detail=detail)
