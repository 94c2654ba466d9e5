"""The patch of a plan: set, checked against all messages, removed."""

from __future__ import annotations

from django.contrib.auth.decorators import permission_required
from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from console.accounts import permissions
from console.operations.patch_changes import drop, give, require
from console.operations.patch_form import PatchForm
from console.views.operations.operations import HtmxRequest, seen, shown


@require_POST
@permission_required(permissions.CHANGE, raise_exception=True)
@permission_required("broker.browse_queue", raise_exception=True)
@transaction.atomic
def repair(request: HtmxRequest, operation_id: int) -> HttpResponse:
    """Set or remove the patch of a plan."""
    plan, _ = seen(request, operation_id)
    require(request, plan)
    if "drop" in request.POST:
        drop(request, plan)
        return redirect("console:operation", operation_id)
    form = PatchForm(request.POST)
    if not form.is_valid():
        return shown(request, operation_id, status=422, patch_form=form)
    give(request, plan, form.cleaned_data["document"])
    return redirect(reverse("console:operation", args=[operation_id]) + "#repair")
