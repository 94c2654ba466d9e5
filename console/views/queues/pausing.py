"""Pausing and resuming a queue."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from broker.errors.queues import PauseEndPassed
from broker.models import Queue
from broker.operations import queue_pause
from broker.security import authorities
from broker.sql import database_now
from console.queues.pause_end import pause_end
from console.templatetags.console import ago
from dashboards.live import depths

PAUSE = "broker.pause_queue"


class PauseForm(forms.Form):
    """The reason, and when the queue resumes by itself."""

    until = forms.CharField(max_length=60, required=False, strip=True)
    reason = forms.CharField(max_length=200, required=False, strip=True)

    def clean_until(self) -> datetime | None:
        try:
            return pause_end(self.cleaned_data["until"], database_now())
        except ValueError as error:
            raise ValidationError(str(error)) from None


@require_http_methods(["GET", "POST"])
@permission_required(PAUSE, raise_exception=True)
def pause(request: HttpRequest, name: str) -> HttpResponse:
    """Explain the pause, and do it when it is confirmed."""
    queue = allowed(request, name)
    form = PauseForm(request.POST if request.method == "POST" else None)
    if request.method != "POST" or not form.is_valid():
        return shown(request, queue, form, paused=True)
    until = form.cleaned_data["until"]
    try:
        queue_pause.pause(
            name, until=until, user=request.user, reason=form.cleaned_data["reason"]
        )
    except PauseEndPassed as error:
        form.add_error("until", str(error))
        return shown(request, queue, form, paused=True)
    said = f"{name} is paused."
    if until is not None:
        local = timezone.localtime(until)
        said = f"{name} is paused until {local:%Y-%m-%d %H:%M} ({ago(until)})."
    messages.success(request, said)
    return redirect("console:queue", name=name)


@require_http_methods(["GET", "POST"])
@permission_required(PAUSE, raise_exception=True)
def resume(request: HttpRequest, name: str) -> HttpResponse:
    """Explain the resume, and do it when it is confirmed."""
    queue = allowed(request, name)
    form = PauseForm(request.POST if request.method == "POST" else None)
    if request.method != "POST" or not form.is_valid():
        return shown(request, queue, form, paused=False)
    queue_pause.resume(name, user=request.user, reason=form.cleaned_data["reason"])
    messages.success(request, f"{name} is resumed.")
    return redirect("console:queue", name=name)


def allowed(request: HttpRequest, name: str) -> Queue:
    queue = get_object_or_404(Queue, name=name)
    authorities.require(request.user, "set", name)
    return queue


def shown(
    request: HttpRequest, queue: Queue, form: PauseForm, *, paused: bool
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
