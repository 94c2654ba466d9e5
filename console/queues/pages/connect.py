"""Programs to copy, which send a message to a queue and receive it."""

from __future__ import annotations

from django.contrib.auth.decorators import permission_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from broker.models import Queue
from broker.security import authorities
from console.layout import listeners, snippets


@require_safe
@permission_required("broker.view_queue", raise_exception=True)
def connect(request: HttpRequest, name: str) -> HttpResponse:
    """The programs, with the addresses and names of this installation."""
    authorities.require(request.user, "inquire", name)
    queue = get_object_or_404(Queue.objects.select_related("address"), name=name)
    context = {
        "queue": queue,
        "target": snippets.target_for(request, queue),
        "is_listening": listeners.is_open(),
        "none": snippets.NO_CREDENTIAL,
    }
    return render(request, "console/layout/connect/connect.html", context)
