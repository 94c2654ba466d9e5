"""Denied attempts in the audit, written after the attempt has been rolled back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest

from broker.acts.refusals import record_refusal
from broker.errors.acts import NotPermitted
from broker.errors.operations import ApprovalNeeded, OwnApproval
from broker.errors.queues import NotAuthorized
from broker.models import Act
from broker.security import audit
from broker.security.audit import Thing

HELD = "held_refusals"  # attribute of a request: refusals that are recorded after it
LOOKING = ("GET", "HEAD")
DENIALS = (NotAuthorized, NotPermitted, ApprovalNeeded, OwnApproval, PermissionDenied)
LACKING = "A permission for this is missing."


@contextmanager
def after_rollback(request: HttpRequest) -> Iterator[None]:
    """Write what the block notes after it, as its transaction may be rolled back."""
    held: list[Callable[[], None]] = []
    setattr(request, HELD, held)
    try:
        yield
    finally:
        delattr(request, HELD)
        for record in held:
            record()


def note(request: HttpRequest, error: Exception) -> None:
    """Record a refused act, or a denial. Other refusals are not recorded, and of those
    of a page that is only looked at, none but denials."""
    if request.method in LOOKING and not isinstance(error, DENIALS):
        return
    if HELD in vars(request):
        getattr(request, HELD).append(partial(record, request, error))
    else:
        record(request, error)


def record(request: HttpRequest, error: Exception) -> None:
    match = request.resolver_match
    detail = {
        "method": request.method or "",
        "path": request.path[: audit.LONGEST],
        "view": match.view_name if match else "",
    }
    if record_refusal(error, detail):
        return
    if isinstance(error, NotAuthorized):
        thing = Thing("queue", "", error.queue)
    elif isinstance(error, ApprovalNeeded | OwnApproval):
        number = error.operation_id
        thing = Thing("operation", number, f"operation {number}")
    elif isinstance(error, NotPermitted | PermissionDenied):
        thing = Thing("page", "", request.path)
    else:
        return
    audit.refuse(Act.REACH, thing, reason=str(error) or LACKING, detail=detail)
