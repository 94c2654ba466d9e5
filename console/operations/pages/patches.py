"""The patch of a plan: begun, tried on one message, set, removed."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_POST

from broker.acts import act, require
from broker.acts.operations.patches import DropPatch, SetPatch
from broker.acts.operations.plans import PlanAgain, PlanRest
from broker.models import Operation
from broker.security import redaction
from console.operations.pages.operations import HtmxRequest, render_operation
from console.operations.patch_example import example_for
from console.operations.patch_form import PatchForm, begun


@require_POST
def repair(request: HtmxRequest, operation_id: int) -> HttpResponse:
    """Set, try or remove the patch of a plan."""
    if "drop" in request.POST:
        act(request.user, DropPatch(operation_id))
        return redirect("console:operation", operation_id)
    require(request.user, SetPatch(operation_id, ""))
    if request.POST.keys() & {"begin", "begin_header", "try"}:
        return typing(request, operation_id)
    form = PatchForm(request.POST)
    if not form.is_valid():
        return render_operation(request, operation_id, status=422, patch_form=form)
    act(request.user, SetPatch(operation_id, form.cleaned_data["document"]))
    return redirect(reverse("console:operation", args=[operation_id]) + "#repair")


def typing(request: HtmxRequest, operation_id: int) -> HttpResponse:
    """Show a patch that is being written: the form with one more value of the example,
    or the effect on the example. Nothing is stored."""
    found = Operation.objects.get(pk=operation_id)
    example = example_for(found, redaction.sight_of(request.user))
    if "try" not in request.POST:
        form = begun(request.POST, example)
        return render_operation(request, operation_id, patch_form=form)
    form = PatchForm(request.POST)
    context: dict[str, Any] = {"form": form, "example": example}
    if form.is_valid() and example is not None:
        tried = example.tried(form.cleaned_data["document"])
        context["unfit" if isinstance(tried, str) else "changed"] = tried
    return render(request, "console/operations/_repair_tried.html", context)


@require_POST
def rest(request: HtmxRequest, operation_id: int) -> HttpResponse:
    """Stop an operation, and plan the rest of it; the form has its patch."""
    plan = act(request.user, PlanRest(operation_id))
    return redirect(page_with_patch(plan.id, operation_id))


@require_POST
def again(request: HttpRequest, operation_id: int) -> HttpResponse:
    """Plan again what was undone; the form has the patch of the undone operation."""
    plan = act(request.user, PlanAgain(operation_id))
    undone = Operation.objects.get(undone_by=operation_id)
    return redirect(page_with_patch(plan.id, undone.pk))


def page_with_patch(plan_id: int, operation_id: int) -> str:
    """The page of a plan, whose form has the patch of another operation."""
    page = reverse("console:operation", args=[plan_id])
    return f"{page}?{urlencode({'patch': operation_id})}"
