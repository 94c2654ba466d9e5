"""The repair of a plan: given, looked at over its whole set, taken away again."""

from __future__ import annotations

import time

from django.contrib.auth.decorators import permission_required
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from broker import operations
from broker.models import Operation
from broker.security import authorities
from console.accounts import permissions
from console.operations import results
from console.operations.patch_form import PatchForm
from console.operations.permissions import require_ways
from console.views.operations.operations import HtmxRequest, seen, shown

# What is looked at before the page answers; the worker has the rest.
AT_ONCE, AT_ONCE_S = 3, 1.0  # chunks, and for how long


@require_POST
@permission_required(permissions.CHANGE, raise_exception=True)
@permission_required("broker.browse_queue", raise_exception=True)
@transaction.atomic
def repair(request: HtmxRequest, operation_id: int) -> HttpResponse:
    """Give a plan a patch, or take it away."""
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


def require(request: HttpRequest, plan: Operation) -> None:
    """Go on only if a person may send these messages, and read them: what a patch
    tests for tells what is in them.

    Raises:
        NotAuthorized: nothing is changed.
    """
    require_ways(request.user, plan, results.ledger_of(plan))
    require_reading(request, plan)


def require_reading(request: HttpRequest, plan: Operation) -> None:
    """The same of who only looks."""
    sources = results.ledger_of(plan).sources
    authorities.require(request.user, "browse", *(one or "#" for one in sources))


def give(request: HttpRequest, plan: Operation, document: str) -> None:
    """Give a plan a patch; of a small set it is known then what it would change."""
    operations.set_patch(plan.pk, document, by=request.user)
    ends = time.monotonic() + AT_ONCE_S
    for _ in range(AT_ONCE):
        if not operations.look(plan.pk) or time.monotonic() > ends:
            break


def drop(request: HttpRequest, plan: Operation) -> None:
    operations.drop_patch(plan.pk)
