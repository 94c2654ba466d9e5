"""Orders to an operation that return to its page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext, gettext_noop
from django.views.decorators.http import require_POST

from broker import acts
from broker.acts import DeclaredAct
from broker.acts.operations import control, plans
from console.edges.web.forms import form_of


def ordering(
    one: DeclaredAct, done: str = "", **least: Any
) -> Callable[[HttpRequest, int], HttpResponse]:
    """A view that orders an act, and returns to the operation, or to the new plan.

    Args:
        one: the act.
        done: what is said afterwards.
        least: valid values of required fields: who may not order it is refused before
            the form is read.
    """
    form_class = form_of(one, "operation")

    @require_POST
    def view(request: HttpRequest, operation_id: int) -> HttpResponse:
        acts.require(request.user, one.request(operation_id, **least))
        form = form_class(request.POST)
        answer = None
        if form.is_valid():
            answer = form.carry_out(request, operation=operation_id)
        for sentences in form.errors.values():
            messages.error(request, str(sentences[0]))
        if answer and done:
            messages.success(request, gettext(done) % {"number": operation_id})
        return redirect("console:operation", answer.id if answer else operation_id)

    return view


schedule = ordering(control.schedule_operation)
undo = ordering(control.undo_operation)
pause = ordering(control.pause_operation)
carry_on = ordering(control.continue_operation)
pace = ordering(control.pace_operation)
explain = ordering(plans.explain_operation)
narrow = ordering(plans.narrow_operation, messages=1)
take_in = ordering(plans.take_in_messages)
approve = ordering(
    plans.approve_operation,
    gettext_noop("Operation %(number)s is approved: it can be started."),
    seal="",
)
