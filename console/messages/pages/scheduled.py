"""Delayed messages: until when, why, and the delays of later attempts."""

from __future__ import annotations

from django.contrib.auth.decorators import permission_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_safe

from broker.monitoring import delayed
from broker.monitoring.numbers import public_numbers
from console.edges import permissions
from console.layout import pagination
from console.messages import scheduled_list

PAGE = 50


@require_safe
@permission_required("broker.view_queue", raise_exception=True)
def scheduled(request: HttpRequest) -> HttpResponse:
    """The delayed messages of all visible queues, or of one; the next due first."""
    wanted = request.GET.get("queue", "")
    names = scheduled_list.visible_queues(request.user, wanted)
    page = pagination.Trail.of(request)
    try:
        found = delayed.scheduled(names, after=page.after, limit=PAGE + 1)
    except (ValueError, OverflowError):  # the cursor is not one of this list
        return redirect("console:scheduled")
    shown = found[:PAGE]
    context = {
        "rows": scheduled_list.rows_of(shown, names, timezone.now()),
        "numbers": public_numbers(one.message_id for one in shown),
        "wanted": wanted,
        "page": page,
        "next": page.then(shown[-1].cursor) if len(found) > PAGE else None,
        "may_act": request.user.has_perm(permissions.CHANGE),
    }
    return render(request, "console/messages/scheduled/scheduled.html", context)
