"""Open units of work: their holders, their messages, and the expected outcomes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from broker.monitoring.backout_preview import rehearse
from broker.monitoring.numbers import public_numbers
from broker.security import authorities
from broker.transactions.administration import OpenUnit
from console.layout import pagination
from console.queues import backout_preview
from console.queues import units as shared
from console.queues.units import (
    ENDINGS,
    FORCE,
    can_force,
    find_unit,
    queues_of,
    visible_queues,
)

PAGE = 50


class ForceForm(forms.Form):
    """The typed number of the unit of work, and the reason."""

    number = forms.IntegerField(
        error_messages={
            "required": "Type its number to confirm that you mean this one.",
            "invalid": "Type its number to confirm that you mean this one.",
        }
    )
    reason = forms.CharField(
        max_length=500,
        error_messages={"required": "Say why. Others read it with each message."},
    )

    def __init__(self, uow: int, *given: Any) -> None:
        super().__init__(*given)
        self.uow = uow

    def clean_number(self) -> int:
        number: int = self.cleaned_data["number"]
        if number != self.uow:
            raise forms.ValidationError(
                f"This is unit of work {self.uow}, not {number}."
            )
        return number


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
    return render(request, "console/units/units.html", context)


@require_safe
@permission_required("broker.view_queue", raise_exception=True)
def unit(request: HttpRequest, uow: int) -> HttpResponse:
    """One unit of work, and the expected outcome of each message it holds."""
    held = authorities.held_by(request.user)
    names = visible_queues(held)
    found = find_unit(held, uow, names)
    if found is None:
        return render(request, "console/units/ended.html", {"uow": uow}, status=404)
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
        "may_force": may_force(request, held, found, names),
    }
    return render(request, "console/units/unit.html", context)


@require_http_methods(["GET", "POST"])
@permission_required(FORCE, raise_exception=True)
def back_out(request: HttpRequest, uow: int) -> HttpResponse:
    """Explain the forced backout, and do it when its number and a reason are given."""
    held = authorities.held_by(request.user)
    names = visible_queues(held)
    found = find_unit(held, uow, names)
    if found is None:
        messages.warning(
            request, f"Unit of work {uow} has ended. Nothing was done now."
        )
        return redirect("console:units")
    shared.require_force(request.user, found)
    form = ForceForm(uow, request.POST if request.method == "POST" else None)
    if not form.is_valid():
        context = {"unit": found, "queues": queues_of(found, names), "form": form}
        status = 422 if form.is_bound else 200
        return render(request, "console/units/back_out.html", context, status=status)
    reason, actor = form.cleaned_data["reason"], request.user.get_username()
    shared.back_out(uow, reason=reason, actor=actor)
    messages.success(request, f"Unit of work {uow} is backed out.")
    return redirect("console:units")


def may_force(
    request: HttpRequest,
    held: authorities.GrantedAuthorities,
    unit: OpenUnit,
    names: Mapping[int, str],
) -> bool:
    return request.user.has_perm(FORCE) and all(
        one in names and held.on("set", names[one]) for one in unit.queue_ids
    )
