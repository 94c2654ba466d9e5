"""Reset of the counters of a queue, after a confirmation."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext, gettext_noop
from django.views.decorators.http import require_http_methods

from broker import acts
from broker.acts.queues import ResetCounters, reset_counters
from broker.models import Queue
from broker.monitoring import counters
from console.edges.web.forms import ActForm, form_of
from console.queues.counters import counters_of

ResetForm = form_of(
    reset_counters, "queue", counters=gettext_noop("Choose at least one counter.")
)
IN_SENTENCES = {  # names of counters within a sentence
    "messages_added": gettext_noop("messages added"),
    "messages_acknowledged": gettext_noop("messages acknowledged"),
    "acknowledge_attempts": gettext_noop("acknowledge attempts"),
    "messages_expired": gettext_noop("messages expired"),
    "messages_killed": gettext_noop("messages killed"),
}


@require_http_methods(["GET", "POST"])
def reset(request: HttpRequest, name: str) -> HttpResponse:
    """Show the value of each counter; on POST reset the chosen ones to 0."""
    acts.require(request.user, ResetCounters(name))
    queue = get_object_or_404(Queue, name=name)
    form = ResetForm(request.POST if request.method == "POST" else None)
    answer = form.carry_out(request, queue=name) if form.is_valid() else None
    if answer is None:
        return confirm(request, queue, form)
    text = gettext("Counters of %(queue)s are reset: %(counters)s.")
    words = ", ".join(gettext(IN_SENTENCES[one]) for one in answer.had)
    messages.success(request, text % {"queue": name, "counters": words})
    return redirect("console:queue", name=name)


def confirm(request: HttpRequest, queue: Queue, form: ActForm) -> HttpResponse:
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
