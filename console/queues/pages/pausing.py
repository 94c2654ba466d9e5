"""Pausing and resuming a queue."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods

from broker import acts
from broker.acts.queues import PauseQueue, ResumeQueue, pause_queue, resume_queue
from broker.errors.queues import PauseEndPassed
from broker.models import Queue
from console.edges.times import ago
from console.edges.web.forms import ActForm, form_of
from dashboards.live import depths

PauseForm = form_of(pause_queue, "queue")
ResumeForm = form_of(resume_queue, "queue")


@require_http_methods(["GET", "POST"])
def pause(request: HttpRequest, name: str) -> HttpResponse:
    """Explain the pause, and do it when it is confirmed."""
    acts.require(request.user, PauseQueue(name))
    queue = get_object_or_404(Queue, name=name)
    form = PauseForm(request.POST if request.method == "POST" else None)
    if not form.is_valid():
        return confirm(request, queue, form, paused=True)
    try:
        answer = form.carry_out(request, queue=name)
    except PauseEndPassed as error:
        form.add_error("until", str(error))
        answer = None
    if answer is None:
        return confirm(request, queue, form, paused=True)
    said = gettext("%(queue)s is paused.") % {"queue": name}
    if answer.paused_until is not None:
        local = timezone.localtime(answer.paused_until)
        said = gettext("%(queue)s is paused until %(end)s (%(ago)s).") % {
            "queue": name,
            "end": f"{local:%Y-%m-%d %H:%M}",
            "ago": ago(local),
        }
    messages.success(request, said)
    return redirect("console:queue", name=name)


@require_http_methods(["GET", "POST"])
def resume(request: HttpRequest, name: str) -> HttpResponse:
    """Explain the resume, and do it when it is confirmed."""
    acts.require(request.user, ResumeQueue(name))
    queue = get_object_or_404(Queue, name=name)
    form = ResumeForm(request.POST if request.method == "POST" else None)
    if not (form.is_valid() and form.carry_out(request, queue=name)):
        return confirm(request, queue, form, paused=False)
    messages.success(request, gettext("%(queue)s is resumed.") % {"queue": name})
    return redirect("console:queue", name=name)


def confirm(
    request: HttpRequest, queue: Queue, form: ActForm, *, paused: bool
) -> HttpResponse:
    """Ask for a confirmation, with what was wrong with the last one."""
    (depth,) = depths.queues(queue.name)
    context: dict[str, Any] = {
        "queue": depth,
        "about": queue,
        "paused": paused,
        "form": form,
    }
    status = 422 if form.errors else 200
    return render(request, "console/queues/pause.html", context, status=status)
