"""Pause and resume a queue. A paused queue accepts puts but no gets."""

from __future__ import annotations

from django.db import transaction

from broker.config.names import local_queue
from broker.models import Act, Queue
from broker.queueing import notifications
from broker.security import audit, authorities


@transaction.atomic
def pause(queue: str, *, user: authorities.Principal = None, reason: str = "") -> bool:
    """Pause a queue; return False if it was paused already.

    Args:
        queue: name of the queue.
        user: the user who pauses it; None is the application itself.
        reason: text that the audit records.

    Raises:
        NoSuchQueue: there is no queue of that name.
        NotAuthorized: the user lacks the authority to set the queue.
    """
    return switch(queue, user, reason, paused=True)


@transaction.atomic
def resume(queue: str, *, user: authorities.Principal = None, reason: str = "") -> bool:
    """Resume a queue; return False if it was not paused. See ``pause``."""
    return switch(queue, user, reason, paused=False)


def switch(
    name: str, user: authorities.Principal, reason: str, *, paused: bool
) -> bool:
    found = local_queue(name)
    authorities.require(user, "set", found.name)
    others = Queue.objects.filter(pk=found.pk, paused=not paused)
    is_new = bool(others.update(paused=paused))
    changed = {"paused": {"before": paused ^ is_new, "after": paused}}
    act = Act.PAUSE if paused else Act.RESUME
    audit.record(act, found, by=user, reason=reason, detail={"changed": changed})
    if is_new and not paused:
        notifications.announce_on_commit({found.pk})
    return is_new
