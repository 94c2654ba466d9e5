"""The health of the broker: settings to fix, and transactions that need a decision."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.decorators import permission_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from broker.config.lint import FULL
from broker.formats.mq import mqdlh
from broker.security import audit, authorities
from broker.transactions import prepared_units
from console.edges.permissions import AUDIT
from console.layout import settings_problems

MOST = 200  # rows shown of each list; further rows are only counted


@require_safe
@permission_required("broker.view_queue", raise_exception=True)
def health(request: HttpRequest) -> HttpResponse:
    """All findings on the queues that the user may inquire."""
    held = authorities.held_by(request.user)
    found = settings_problems.all_for(request.user, held)
    waiting = prepared_units.waiting(held)
    context = {
        "findings": settings_problems.findings(request, found[:MOST]),
        "found": len(found),
        "more": max(0, len(found) - MOST),
        "waiting": waiting[:MOST],
        "more_waiting": max(0, len(waiting) - MOST),
        "dead_letter_queue": settings.BROKER_DEAD_LETTER_QUEUE,
        "full_percent": round(FULL * 100),
        "header_bytes": mqdlh.SIZE,
        "sees_audit": request.user.has_perm(AUDIT),
        "checked": audit.last_check(),
        "sees_all": held.everywhere("inquire"),
    }
    return render(request, "console/home/health/health.html", context)
