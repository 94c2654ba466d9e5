"""Reset of the counters of a queue, after a confirmation."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods

from broker.models import Queue
from broker.monitoring import counters
from broker.security import authorities
from console.accounts.permissions import RESET
from console.templatetags.console_counters import WORDS, counters_of

CHOICES = [(name, WORDS[name][0]) for name in counters.RESETTABLE]


class ResetForm(forms.Form):
    """The counters to reset, and the reason."""

    counters = forms.MultipleChoiceField(
        choices=CHOICES,
        error_messages={"required": "Choose at least one counter."},
    )
    reason = forms.CharField(max_length=200, required=False)


@require_http_methods(["GET", "POST"])
@permission_required(RESET, raise_exception=True)
def reset(request: HttpRequest, name: str) -> HttpResponse:
    """Show the value of each counter; on POST reset the chosen ones to 0."""
    queue = get_object_or_404(Queue, name=name)
    authorities.require(request.user, "set", name)
    form = ResetForm(request.POST if request.method == "POST" else None)
    if not form.is_valid():
        wanted = request.GET.get("counter", "")
        chosen = [wanted] if wanted in counters.RESETTABLE else counters.RESETTABLE
        if form.is_bound:
            chosen = request.POST.getlist("counters")
        context = {
            "queue": queue,
            "form": form,
            "chosen": chosen,
            "rows": [row for row in counters_of(queue.pk) if row.is_resettable],
        }
        status = 422 if form.is_bound else 200
        return render(request, "console/queues/reset.html", context, status=status)
    said = form.cleaned_data
    had = counters.reset(queue, said["counters"], reason=said["reason"])
    words = ", ".join(WORDS[one][0].lower() for one in had)
    messages.success(request, f"Counters of {name} are reset: {words}.")
    return redirect("console:queue", name=name)
