"""Prepared units of work: ending one in place of its coordinator."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext, gettext_noop
from django.views.decorators.http import require_http_methods

from broker import acts
from broker.acts import DeclaredAct
from broker.acts.objects import find_prepared
from broker.acts.units_of_work import back_out_prepared_unit, commit_prepared_unit
from broker.errors.units_of_work import NoSuchUnitOfWork
from broker.security import authorities
from console.edges import denials
from console.edges.web.forms import form_of

WHY = gettext_noop("Say why. Whoever compares both sides later will read it.")
FORMS = {
    one.name: form_of(one, "uow", shown=(NoSuchUnitOfWork,), reason=WHY)
    for one in (commit_prepared_unit, back_out_prepared_unit)
}


@require_http_methods(["GET", "POST"])
def commit(request: HttpRequest, uow: int) -> HttpResponse:
    """Explain the commit, and do it when it is confirmed."""
    return decide(request, uow, commit_prepared_unit)


@require_http_methods(["GET", "POST"])
def back_out(request: HttpRequest, uow: int) -> HttpResponse:
    """Explain the backout, and do it when it is confirmed."""
    return decide(request, uow, back_out_prepared_unit)


def decide(request: HttpRequest, uow: int, one: DeclaredAct) -> HttpResponse:
    """On GET ask for a confirmation; on POST end the unit of work."""
    try:
        acts.require(request.user, one.request(uow))
        found = find_prepared(authorities.held_by(request.user), uow)
    except NoSuchUnitOfWork as error:
        denials.note(request, error)
        text = gettext(
            "Unit of work %(number)s is not prepared any more: it was committed or"
            " backed out meanwhile. Nothing was done now."
        )
        messages.warning(request, text % {"number": uow})
        return redirect("console:health")
    form = FORMS[one.name](request.POST if request.method == "POST" else None)
    if form.is_valid() and (answer := form.carry_out(request, uow=uow)):
        messages.success(request, str(answer))
        return redirect("console:health")
    commits = one is commit_prepared_unit
    context = {"one": found, "commits": commits, "form": form}
    status = 422 if form.is_bound else 200
    return render(request, "console/home/health/decide.html", context, status=status)
