"""The first page: the problems, with links to the pages where to act."""

from __future__ import annotations

from django.contrib.auth.decorators import permission_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from broker.alerts import notifications
from broker.security import authorities
from broker.sql import database_now
from console.home import needs
from console.queues import over_time
from console.queues.first_steps import first_steps
from dashboards.live import depths, problems

OF_THE_LIST = {"q", "sort", "page"}  # parameters in the URL of the list of queues


@require_safe
@permission_required("broker.view_queue", raise_exception=True)
def overview(request: HttpRequest) -> HttpResponse:
    """The problems that need attention now, those that can wait, and the rates.

    The list of queues had this URL once: its filters lead there.
    """
    if OF_THE_LIST & request.GET.keys():
        return redirect(f"{reverse('console:queues')}?{request.GET.urlencode()}")
    held = authorities.held_by(request.user)
    seen = problems.readings()
    queues = depths.queues(user=request.user, seen=seen)
    context = {
        "found": needs.overview(queues, held, request.user, seen=seen),
        "steps": first_steps(queues, held, request.user),
        "totals": depths.totals(queues),
        "silenced": list(notifications.silences_at(database_now())),
        "over_time": over_time.of_every_queue(
            request,
            frozenset(one.queue_id for one in queues if not one.takes_dead_letters),
        ),
        "arriving": rate([one.arriving for one in queues]),
        "accepted": rate([one.accepted for one in queues]),
    }
    return render(request, "console/home/overview/overview.html", context)


def rate(rates: list[float | None]) -> float | None:
    """The sum of the known rates; None if none is known."""
    known = [one for one in rates if one is not None]
    return sum(known) if known else None
