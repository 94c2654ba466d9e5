"""Approval of plans of other users."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from broker import operations
from console.accounts.permissions import CHANGE
from console.operations.approvals import MAY, agree
from console.views.operations.operations import seen


@require_POST
@permission_required(MAY, raise_exception=True)
@transaction.atomic
def approve(request: HttpRequest, operation_id: int) -> HttpResponse:
    """Approve exactly the plan that was shown."""
    found, _ = seen(request, operation_id)
    said = request.POST
    agree(
        request.user, found, said.get("seal", ""), said.get("reason", "")[:500].strip()
    )
    messages.success(
        request, f"Operation {operation_id} is approved: it can be started."
    )
    return redirect("console:operation", operation_id)


@require_POST
@permission_required(CHANGE, raise_exception=True)
def explain(request: HttpRequest, operation_id: int) -> HttpResponse:
    """Save the reason why a plan should be approved."""
    seen(request, operation_id)
    reason = request.POST.get("reason", "")[:500].strip()
    operations.explain(operation_id, request.user, reason)
    return redirect("console:operation", operation_id)
