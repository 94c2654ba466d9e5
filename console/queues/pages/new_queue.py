"""Create a queue."""

from __future__ import annotations

from typing import cast

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods

from console.queues.new_queue import ADD, NewQueueForm, create
from dashboards.live import depths


@require_http_methods(["GET", "POST"])
@permission_required(ADD, raise_exception=True)
def new_queue(request: HttpRequest) -> HttpResponse:
    """Show the form; on POST create the queue and its address."""
    user = cast("User", request.user)  # the permission implies a sign-in
    form = NewQueueForm(request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid() and create(form, user):
        name = form.cleaned_data["name"]
        text = gettext("%(queue)s is created, with an address of this name.")
        messages.success(request, text % {"queue": name})
        for one in form.warnings:
            messages.warning(request, one)
        return redirect("console:queue", name)
    context = {"form": form, "queues": depths.queues(user=user)}
    status = 422 if form.is_bound else 200
    return render(request, "console/queues/new.html", context, status=status)
