"""The charts of a page alone, for pages that renew them."""

from __future__ import annotations

from django.contrib.auth.decorators import permission_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from broker.acts.objects import find_link
from broker.models import Queue
from broker.security import authorities
from console.edges.permissions import LINKS
from console.queues import over_time


@require_safe
@permission_required("broker.view_queue", raise_exception=True)
def history(request: HttpRequest) -> HttpResponse:
    """The charts of a queue, a link, the consumers' queues, or all queues."""
    context = {"over_time": requested_range(request)}
    return render(request, "console/queues/_over_time.html", context)


def requested_range(request: HttpRequest) -> over_time.OverTime:
    said = request.GET
    if "queue" in said:
        authorities.require(request.user, "inquire", said["queue"])
        chosen = get_object_or_404(Queue, name=said["queue"])
        return over_time.of_queue(request, chosen)
    if "link" in said:
        if not request.user.has_perm(LINKS):
            raise PermissionDenied
        held = authorities.held_by(request.user)
        link = find_link(held, said.get("bridge", ""), said["link"])
        return over_time.of_a_link(request, link)
    if said.get("of") == "consumers":
        return over_time.of_consumers(request)
    return over_time.of_every_queue(request)
