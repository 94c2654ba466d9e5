"""Prepared units of work: the list, and ending one in place of its coordinator."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from broker.security import authorities
from console.queues.prepared import DECIDE, end, waiting


class ReasonForm(forms.Form):
    reason = forms.CharField(
        max_length=500,
        error_messages={
            "required": "Say why. Whoever compares both sides later will read it."
        },
    )


@require_http_methods(["GET", "POST"])
@permission_required(DECIDE, raise_exception=True)
def commit(request: HttpRequest, uow: int) -> HttpResponse:
    """Explain the commit, and do it when it is confirmed."""
    return decide(request, uow, commits=True)


@require_http_methods(["GET", "POST"])
@permission_required(DECIDE, raise_exception=True)
def back_out(request: HttpRequest, uow: int) -> HttpResponse:
    """Explain the backout, and do it when it is confirmed."""
    return decide(request, uow, commits=False)


def decide(request: HttpRequest, uow: int, *, commits: bool) -> HttpResponse:
    """On GET ask for a confirmation; on POST end the unit of work, and record the user
    and the reason.
    """
    held = authorities.held_by(request.user)
    found = next((one for one in waiting(held) if one.work.uow == uow), None)
    if found is None:
        messages.warning(
            request,
            f"Unit of work {uow} is not prepared any more: it was committed or backed"
            " out meanwhile. Nothing was done now.",
        )
        return redirect("console:health")
    authorities.require(request.user, "set", *found.queues)
    form = ReasonForm(request.POST if request.method == "POST" else None)
    if not form.is_valid():
        context = {"one": found, "commits": commits, "form": form}
        status = 422 if form.is_bound else 200
        return render(request, "console/health/decide.html", context, status=status)
    reason, actor = form.cleaned_data["reason"], request.user.get_username()
    end(found, reason, actor=actor, commits=commits)
    messages.success(request, f"Unit of work {uow} is {ended(commits=commits)}.")
    return redirect("console:health")


def ended(*, commits: bool) -> str:
    return "committed" if commits else "backed out"
