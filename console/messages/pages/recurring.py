"""Recurring messages: the list, and putting one at once."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from broker.acts.recurring import put_recurring_message
from broker.monitoring.numbers import public_numbers
from broker.security import authorities
from console.edges.web.forms import form_of
from console.messages import recurring_list

PutForm = form_of(put_recurring_message, "recurring")


@require_safe
@permission_required("broker.view_queue", raise_exception=True)
def recurring(request: HttpRequest) -> HttpResponse:
    """The recurring messages whose addresses the user may inquire, by name."""
    held = authorities.held_by(request.user)
    found = recurring_list.visible_recurring(request.user)
    may_put = request.user.has_perm(put_recurring_message.permission)
    last = [one.last_message_id for one in found if one.last_message_id is not None]
    context = {
        "rows": [(one, may_put and held.on("put", one.address)) for one in found],
        "numbers": public_numbers(last),
    }
    return render(request, "console/messages/scheduled/recurring.html", context)


@require_POST
def put_recurring(request: HttpRequest, recurring: str) -> HttpResponse:
    """Put one recurring message now."""
    answer = PutForm(request.POST).order(request, recurring=recurring)
    tell = messages.success if answer.queues else messages.warning
    tell(request, f"{recurring}: {answer}")
    return redirect("console:recurring")
