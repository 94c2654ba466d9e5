"""Open units of work: their holders, their messages, and the expected outcomes."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext, gettext_noop
from django.views.decorators.http import require_http_methods, require_safe

from broker import acts
from broker.acts.objects import find_unit
from broker.acts.units_of_work import BackOutUnitOfWork, back_out_unit_of_work
from broker.errors.units_of_work import NoSuchUnitOfWork
from broker.monitoring.backout_preview import rehearse
from broker.monitoring.numbers import public_numbers
from broker.security import authorities
from console.consumers import units_of_work as shared
from console.consumers.units_of_work import (
    ENDINGS,
    can_force,
    queues_of,
    visible_queues,
)
from console.edges import denials
from console.edges.web.forms import form_of
from console.layout import pagination
from console.queues import backout_preview

PAGE = 50

ForceForm = form_of(
    back_out_unit_of_work,
    uow=gettext_noop("Type its number to confirm that you mean this one."),
    reason=gettext_noop("Say why. Others read it with each message."),
)


@require_safe
@permission_required("broker.view_queue", raise_exception=True)
def units(request: HttpRequest) -> HttpResponse:
    """The units of work that hold messages, the oldest first."""
    held = authorities.held_by(request.user)
    page = pagination.Trail.of(request)
    after = int(page.after) if page.after.isdecimal() else 0
    names = visible_queues(held)
    after = min(after, pagination.LARGEST - 1)
    found = shared.listed(held, names, after=after, limit=PAGE + 1)
    shown = found[:PAGE]
    context = {
        "rows": [(unit, queues_of(unit, names)) for unit in shown],
        "page": page,
        "sees_all": held.everywhere("inquire"),
        "next": page.then(str(shown[-1].id)) if len(found) > PAGE else None,
    }
    return render(request, "console/consumers/units_of_work/units.html", context)


@require_safe
@permission_required("broker.view_queue", raise_exception=True)
def unit(request: HttpRequest, uow: int) -> HttpResponse:
    """One unit of work, and the expected outcome of each message it holds."""
    held = authorities.held_by(request.user)
    names = visible_queues(held)
    try:
        found = find_unit(held, uow)
    except NoSuchUnitOfWork:
        return render(
            request,
            "console/consumers/units_of_work/ended.html",
            {"uow": uow},
            status=404,
        )
    visible, hidden = shared.visible_entries(held, uow, names)
    offered = ENDINGS[found.nature]
    said = request.GET.get("if", "")
    ending = next((one for one in offered if one.value == said), offered[0])
    foreseen = rehearse([one.held for one in visible], uow, ending)
    known = list(map(backout_preview.forecast_of, foreseen))
    context = {
        "unit": found,
        "queues": queues_of(found, names),
        "ending": ending.value,
        "endings": [one.value for one in offered],
        "rows": list(zip(visible, known, strict=True)),
        "numbers": backout_preview.in_numbers(known),
        "public": public_numbers(one.held.id for one in visible),
        "more": found.entries - len(visible) - hidden,
        "hidden": hidden,
        "can_force": can_force(found),
        "may_force": acts.may(request.user, BackOutUnitOfWork(uow)) is None,
    }
    return render(request, "console/consumers/units_of_work/unit.html", context)


@require_http_methods(["GET", "POST"])
def back_out(request: HttpRequest, uow: int) -> HttpResponse:
    """Explain the forced backout, and do it when its number and a reason are given."""
    try:
        acts.require(request.user, BackOutUnitOfWork(uow))
    except NoSuchUnitOfWork as error:
        denials.note(request, error)
        text = gettext("Unit of work %(number)s has ended. Nothing was done now.")
        messages.warning(request, text % {"number": uow})
        return redirect("console:units")
    form = ForceForm(request.POST if request.method == "POST" else None)
    typed = form.cleaned_data.get("uow", uow) if form.is_valid() else uow
    if typed != uow:
        text = gettext("This is unit of work %(number)s, not %(typed)s.")
        form.add_error("uow", text % {"number": uow, "typed": typed})
    if form.is_valid() and form.carry_out(request):
        text = gettext("Unit of work %(number)s is backed out.")
        messages.success(request, text % {"number": uow})
        return redirect("console:units")
    held = authorities.held_by(request.user)
    found = find_unit(held, uow)
    queues = queues_of(found, visible_queues(held))
    context = {"unit": found, "queues": queues, "form": form}
    status = 422 if form.is_bound else 200
    return render(
        request, "console/consumers/units_of_work/back_out.html", context, status=status
    )
