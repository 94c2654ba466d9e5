"""Tasks by name: what waits, runs, and failed."""

from __future__ import annotations

from django.contrib.auth.decorators import permission_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from console.messages import task_list


@require_safe
@permission_required("broker.view_queue", raise_exception=True)
def tasks(request: HttpRequest) -> HttpResponse:
    """The tasks on all queues that the user may see."""
    context = {"rows": task_list.rows_for(request.user)}
    return render(request, "console/messages/tasks/tasks.html", context)
