"""Recurring messages: the list, and putting one at once."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from broker.models import RecurringMessage
from broker.monitoring.numbers import public_numbers
from broker.operations import recurring as engine
from broker.security import authorities
from console.messages import recurring_list
from console.messages.recurring_list import PUT


@require_safe
@permission_required("broker.view_queue", raise_exception=True)
def recurring(request: HttpRequest) -> HttpResponse:
    """Those whose addresses the user may inquire, by name."""
    held = authorities.held_by(request.user)
    found = recurring_list.visible_recurring(request.user)
    may_put = request.user.has_perm(PUT)
    last = [one.last_message_id for one in found if one.last_message_id is not None]
    context = {
        "rows": [(one, may_put and held.on("put", one.address)) for one in found],
        "numbers": public_numbers(last),
    }
    return render(request, "console/scheduled/recurring.html", context)


@require_POST
@permission_required(PUT, raise_exception=True)
def put_recurring(request: HttpRequest, recurring_id: int) -> HttpResponse:
    """Put one now."""
    one = get_object_or_404(RecurringMessage, pk=recurring_id)
    if not authorities.may(request.user, "inquire", one.address):
        raise Http404
    authorities.require(request.user, "put", one.address)
    receipt = engine.put_now(one.name, user=request.user)
    if receipt.queue_ids:
        messages.success(request, f"{one.name}: message {receipt.message_id} is put.")
    else:
        messages.warning(request, f"{one.name}: no queue took the message.")
    return redirect("console:recurring")
