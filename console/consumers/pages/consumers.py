"""ConnectionConsumers: those that run, stopped delivery, and starting it again."""

from __future__ import annotations

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from broker.acts import act
from broker.acts.queues import StartDelivery
from broker.models import Queue
from broker.monitoring.numbers import public_numbers
from broker.security import authorities
from console.consumers import consumer_list
from console.consumers.consumer_list import START
from console.queues import over_time


@require_safe
@permission_required("broker.view_queue", raise_exception=True)
def consumers(request: HttpRequest) -> HttpResponse:
    """Stopped queues first, with what to do; then all ConnectionConsumers."""
    held = authorities.held_by(request.user)
    found = consumer_list.listed(held, has_permission=request.user.has_perm(START))
    stoppages = (*(one.stoppage for one in found.stopped), *found.over)
    context = {
        "stopped": found.stopped,
        "running": found.running,
        "over": found.over,
        "numbers": public_numbers(one.message_id for one in stoppages),
        "dead_letter_queue": dead_letter_queue(held),
        "over_time": over_time.of_consumers(request),
    }
    return render(request, "console/consumers/consumers.html", context)


def dead_letter_queue(held: authorities.GrantedAuthorities) -> Queue | None:
    """The broker's dead letter queue, if it exists and the user may see it."""
    found = Queue.objects.filter(name=settings.BROKER_DEAD_LETTER_QUEUE).first()
    return found if found is not None and held.on("inquire", found.name) else None


@require_POST
def start(request: HttpRequest, name: str) -> HttpResponse:
    """Start delivery again, and record who did it; refused while the cause remains."""
    answer = act(request.user, StartDelivery(name))
    tell = messages.success if answer.changed else messages.info
    tell(request, str(answer))
    return redirect("console:consumers")
