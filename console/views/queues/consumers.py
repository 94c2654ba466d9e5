"""ConnectionConsumers: those that run, stopped delivery, and starting it again."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from broker.client.dispatch import stoppages
from broker.config.names import local_queue
from broker.errors.mq_codes import Reason
from broker.models import ConnectionConsumer, Owner, Queue, Stoppage
from broker.monitoring.numbers import public_numbers
from broker.queueing.journal import Depth, depths
from broker.security import authorities
from console.queues import over_time

EARLIER = 20  # ended stoppages shown
# the permission to stop a queue is the permission to start it
START = "broker.pause_queue"
# what to do when the dead letter queue refused a message, by reason
REMEDIES: dict[int, str] = {
    Reason.UNKNOWN_OBJECT_NAME: "Create the queue {} with an address of that name.",
    Reason.Q_FULL: "Make room on {}: resubmit or discard messages there, or raise its"
    " max depth.",
    Reason.PUT_INHIBITED: "Allow puts on {} again: switch “put inhibited” off.",
    Reason.MSG_TOO_BIG_FOR_Q: "Let {} take larger messages: raise its max message bytes"
    " to those of this queue and 172 for the dead letter header.",
    Reason.MSG_TOO_BIG_FOR_Q_MGR: "Let the broker take larger messages"
    " (BROKER_MAX_MESSAGE_BYTES), so that this one and a header go on {}.",
    Reason.NOT_AUTHORIZED: "Grant the handler’s user the authorities put and passall"
    " on {}.",
}
OTHERWISE = "Remove the obstacle named above, so that {} accepts the message."


@dataclass(frozen=True, slots=True)
class Stopped:
    """A queue with stopped delivery to ConnectionConsumers, as the page shows it."""

    stoppage: Stoppage
    waiting: int
    may_start: bool

    @property
    def remedy(self) -> str:
        words = REMEDIES.get(self.stoppage.reason, OTHERWISE)
        return words.format(settings.BROKER_DEAD_LETTER_QUEUE)


@dataclass(frozen=True, slots=True)
class Running:
    """One ConnectionConsumer, and its process."""

    consumer: ConnectionConsumer
    owner: Owner | None

    @property
    def process(self) -> str:
        if self.owner is None:
            return "a process that has ended"
        return f"{self.owner.kind} {self.owner.pid} on {self.owner.host}"


@require_safe
@permission_required("broker.view_queue", raise_exception=True)
def consumers(request: HttpRequest) -> HttpResponse:
    """Stopped queues first, with what to do; then all ConnectionConsumers."""
    held = authorities.held_by(request.user)
    counts = depths()
    rows = ConnectionConsumer.objects.select_related("queue").order_by(
        "queue__name", "selector", "pk"
    )
    owners = Owner.objects.in_bulk()
    over = (
        Stoppage.objects.exclude(cleared_at=None)
        .select_related("queue", "cleared_by")
        .order_by("-cleared_at", "-pk")
    )
    standing, ended = stoppages.standing(), over[:EARLIER]
    may_start = request.user.has_perm(START)
    context = {
        "stopped": [
            Stopped(
                one,
                counts.get(one.queue_id, Depth()).ready,
                may_start and held.on("set", one.queue.name),
            )
            for one in standing
            if held.on("inquire", one.queue.name)
        ],
        "running": [
            Running(one, owners.get(one.owner_id))
            for one in rows
            if held.on("inquire", one.queue.name)
        ],
        "over": [one for one in ended if held.on("inquire", one.queue.name)],
        "numbers": public_numbers(one.message_id for one in (*standing, *ended)),
        "dead_letter_queue": dead_letter_queue(held),
        "over_time": over_time.of_consumers(request),
    }
    return render(request, "console/consumers/consumers.html", context)


def dead_letter_queue(held: authorities.GrantedAuthorities) -> Queue | None:
    """The broker's dead letter queue, if it exists and the user may see it."""
    found = Queue.objects.filter(name=settings.BROKER_DEAD_LETTER_QUEUE).first()
    return found if found is not None and held.on("inquire", found.name) else None


@require_POST
@permission_required(START, raise_exception=True)
def start(request: HttpRequest, name: str) -> HttpResponse:
    """Start delivery again, and record who did it; refused while the cause remains."""
    assert request.user.pk, "only those who have signed in get here"
    chosen = local_queue(name)
    authorities.require(request.user, "inquire", chosen.name)
    with transaction.atomic():
        was_stopped = stoppages.clear(name, user=request.user)
    if was_stopped:
        messages.success(request, f"Delivery from {name} starts again.")
    else:
        messages.info(request, f"Delivery from {name} had been started already.")
    return redirect("console:consumers")
