"""Pausing a queue: it takes messages and gives none, until it is resumed."""

from __future__ import annotations

from django.db import transaction

from broker.config.names import local_queue
from broker.models import Act, Queue
from broker.queueing import notifications
from broker.security import audit, authorities


@transaction.atomic
def pause(queue: str, *, user: authorities.Principal = None, reason: str = "") -> bool:
    """Let nobody get from a queue; return whether it was not paused already.

    Args:
        queue: its name.
        user: who says so; None is the application itself.
        reason: why, for the audit.

    Raises:
        NoSuchQueue: there is none of that name.
        NotAuthorized: the user lacks the authority to set the queue.
    """
    return switch(queue, user, reason, paused=True)


@transaction.atomic
def resume(queue: str, *, user: authorities.Principal = None, reason: str = "") -> bool:
    """Let consumers get from a queue again; as ``pause``."""
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
