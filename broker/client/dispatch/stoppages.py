"""Stoppages: queues whose delivery to ConnectionConsumers is stopped.

If a persistent message must be moved but can be put nowhere, it is neither lost nor
redelivered for ever: delivery from its queue to all ConnectionConsumers stops. An
operator removes the cause and starts it again. Other consumers and queues go on.
"""

from __future__ import annotations

import logging
from datetime import datetime
from functools import partial
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from broker.client.dispatch.undeliverable import Blocked, dispose, selectors_on, unfit
from broker.config.names import local_queue
from broker.errors.queues import CauseRemains
from broker.models import Act, ConnectionConsumer, Queue, Ready, Stoppage
from broker.queueing import notifications, processes
from broker.queueing.get import CAME_BACK, Delivery, Lanes, get
from broker.security import audit, authorities
from broker.settlement.poison import attributes_of
from broker.sql import database_now

logger = logging.getLogger(__name__)

STOPPED = "Delivery from queue %s to ConnectionConsumers has stopped. %s"
STARTED = "Delivery from queue %s to ConnectionConsumers starts again."


def standing() -> QuerySet[Stoppage]:
    """The current stoppages, the oldest first."""
    found = Stoppage.objects.filter(cleared_at=None).select_related("queue")
    return found.order_by("stopped_at", "pk")


@transaction.atomic
def stop(delivery: Delivery, blocked: Blocked, *, user: Any = None) -> None:
    """Stop delivery from the queue of this message to all ConnectionConsumers.

    Args:
        delivery: the message that could be put nowhere.
        blocked: the reason.
        user: the ConnectionConsumer's user; None is the application itself.
    """
    stoppage = Stoppage(
        queue_id=delivery.queue_id,
        message_id=delivery.message_id,
        reason=blocked.reason,
        why=blocked.why,
        user=user,
    )
    Stoppage.objects.bulk_create([stoppage], ignore_conflicts=True)
    running = Queue.objects.filter(pk=delivery.queue_id, stopped=False)
    name = running.values_list("name", flat=True).first()
    if running.update(stopped=True):
        transaction.on_commit(partial(logger.error, STOPPED, name, blocked.why))
        notifications.announce_on_commit({delivery.queue_id})


@transaction.atomic
def clear(queue: str, *, user: Any = None, now: datetime | None = None) -> bool:
    """Start delivery again, if the cause of the stoppage is removed.

    The stopped ConnectionConsumers are closed; their processes open new ones, which
    read the queue's attributes anew.

    Args:
        queue: the name of the queue.
        user: the user who starts it; None is the application itself.
        now: the time; by default that of the database's clock.

    Returns:
        Whether it was stopped.

    Raises:
        NoSuchQueue: there is none of that name.
        NotAuthorized: the user lacks the authority to set the queue.
        CauseRemains: the message can still be put nowhere.
    """
    found = local_queue(queue)
    authorities.require(user, "set", found.name)
    stoppage = standing().select_for_update(of=("self",)).filter(queue=found).first()
    if stoppage is not None:
        blocked = obstacle(found, stoppage, now)
        if blocked is not None:
            raise CauseRemains(found.name, blocked.why)
        stoppage.cleared_at = now or database_now()
        stoppage.cleared_by = user
        stoppage.save(update_fields=["cleared_at", "cleared_by"])
    ConnectionConsumer.objects.filter(queue=found, queue__stopped=True).delete()
    stopped = Queue.objects.filter(pk=found.pk, stopped=True).update(stopped=False)
    if stopped:
        audit.record(Act.START_DELIVERY, found, by=user)
        transaction.on_commit(partial(logger.info, STARTED, found.name))
        notifications.announce_on_commit({found.pk})
    return bool(stopped)


def obstacle(queue: Queue, stoppage: Stoppage, now: datetime | None) -> Blocked | None:
    """The obstacle that would stop delivery again; to find it, the disposal is tried
    and undone.

    None if there is no obstacle, or the message is gone or claimed.
    """
    unwanting = ConnectionConsumer.objects.filter(queue=queue, retains_unwanted=False)
    selectors = selectors_on(queue) if unwanting.exists() else None
    outcome = None
    with transaction.atomic():
        delivery = take(queue, stoppage.message_id, now)
        if delivery is not None:
            removing = unfit(delivery, partial(attributes_of, queue.name), selectors)
            outcome = removing and dispose(removing, user=stoppage.user, now=now)
        transaction.set_rollback(True)
    return outcome if isinstance(outcome, Blocked) else None


def take(queue: Queue, message_id: int, now: datetime | None) -> Delivery | None:
    """Get one ready message, even from a paused queue."""
    # The caller rolls this change back.
    Queue.objects.filter(pk=queue.pk).update(paused=False, paused_until=None)
    positions = [message_id, message_id - CAME_BACK]
    entry = Ready.objects.filter(
        queue_id=queue.pk, priority__in=range(10), pos__in=positions
    ).first()
    if entry is None:
        return None
    lane = Lanes([entry.priority], [entry.pos], [entry.pos + 1])
    got = get(queue.name, owner=processes.current(), lanes=lane, now=now)
    return got[0] if got else None
