"""Open units of work: their holders, their messages, and the expected outcomes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from broker.models import Queue
from broker.monitoring.backout_preview import Ending, rehearse
from broker.monitoring.numbers import public_numbers
from broker.security import authorities
from broker.transactions import administration
from broker.transactions.administration import Nature, OpenUnit
from console.layout import pagination
from console.queues import backout_preview

PAGE = 50
# the permission to force a backout is the permission to resubmit
FORCE = "broker.resubmit_message"
FORCED = "An operator backed out its unit of work: "
# possible endings, the most likely first
ENDINGS: Mapping[Nature, Sequence[Ending]] = {
    Nature.LEASED: (Ending.BACK_OUT, Ending.LOST),
    Nature.AHEAD: (Ending.LOST, Ending.RELEASE),
    Nature.PREPARED: (Ending.BACK_OUT,),
}


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
    names = names_seen(held)
    within = None if held.everywhere("inquire") else list(names)
    first = min(after, pagination.LARGEST - 1) + 1
    found = administration.open_units(within=within, first=first, limit=PAGE + 1)
    shown = found[:PAGE]
    context = {
        "rows": [(unit, queues_of(unit, names)) for unit in shown],
        "page": page,
        "sees_all": within is None,
        "next": page.then(str(shown[-1].id)) if len(found) > PAGE else None,
    }
    return render(request, "console/units/units.html", context)


@require_safe
@permission_required("broker.view_queue", raise_exception=True)
def unit(request: HttpRequest, uow: int) -> HttpResponse:
    """One unit of work, and the expected outcome of each message it holds."""
    held = authorities.held_by(request.user)
    names = names_seen(held)
    found = seen(held, uow, names)
    if found is None:
        return render(request, "console/units/ended.html", {"uow": uow}, status=404)
    entries = administration.entries_of(uow)
    sees_all = held.everywhere("inquire")
    visible = [one for one in entries if sees_all or one.held.queue_id in names]
    offered = ENDINGS[found.nature]
    said = request.GET.get("if", "")
    ending = next((one for one in offered if one.value == said), offered[0])
    foreseen = rehearse([one.held for one in visible], uow, ending)
    known = list(map(backout_preview.fate_of, foreseen))
    context = {
        "unit": found,
        "queues": queues_of(found, names),
        "ending": ending.value,
        "endings": [one.value for one in offered],
        "rows": list(zip(visible, known, strict=True)),
        "numbers": backout_preview.in_numbers(known),
        "public": public_numbers(one.held.id for one in visible),
        "more": found.entries - len(entries),
        "hidden": len(entries) - len(visible),
        "can_force": can_force(found),
        "may_force": may_force(request, held, found, names),
    }
    return render(request, "console/units/unit.html", context)


@require_http_methods(["GET", "POST"])
@permission_required(FORCE, raise_exception=True)
def back_out(request: HttpRequest, uow: int) -> HttpResponse:
    """Explain the forced backout, and do it when its number and a reason are given."""
    held = authorities.held_by(request.user)
    names = names_seen(held)
    found = seen(held, uow, names)
    if found is None:
        messages.warning(
            request, f"Unit of work {uow} has ended. Nothing was done now."
        )
        return redirect("console:units")
    queues = Queue.objects.filter(pk__in=found.queue_ids).order_by("name")
    authorities.require_on_all(request.user, "set", *(one.name for one in queues))
    form = ForceForm(uow, request.POST if request.method == "POST" else None)
    if not form.is_valid():
        context = {"unit": found, "queues": queues_of(found, names), "form": form}
        status = 422 if form.is_bound else 200
        return render(request, "console/units/back_out.html", context, status=status)
    administration.force(
        uow,
        why=FORCED + form.cleaned_data["reason"],
        actor=request.user.get_username(),
    )
    messages.success(request, f"Unit of work {uow} is backed out.")
    return redirect("console:units")


def names_seen(held: authorities.GrantedAuthorities) -> dict[int, str]:
    """The queues that the user may inquire, by id."""
    rows = Queue.objects.values_list("pk", "name")
    return {pk: name for pk, name in rows if held.on("inquire", name)}


def seen(
    held: authorities.GrantedAuthorities, uow: int, names: Mapping[int, str]
) -> OpenUnit | None:
    """A unit of work, if the user may see one of its queues."""
    found = administration.open_unit(uow)
    if found is None or held.everywhere("inquire"):
        return found
    return found if any(one in names for one in found.queue_ids) else None


def queues_of(unit: OpenUnit, names: Mapping[int, str]) -> list[str]:
    """The names of the unit's queues; empty for those that the user may not inquire."""
    return sorted(names.get(one, "") for one in unit.queue_ids)


def can_force(unit: OpenUnit) -> bool:
    return unit.nature is Nature.LEASED or (
        unit.nature is Nature.AHEAD and not unit.is_alive
    )


def may_force(
    request: HttpRequest,
    held: authorities.GrantedAuthorities,
    unit: OpenUnit,
    names: Mapping[int, str],
) -> bool:
    return request.user.has_perm(FORCE) and all(
        one in names and held.on("set", names[one]) for one in unit.queue_ids
    )
