"""Dead letters for commands, alone and in groups."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError

from broker.models import DeadLetter, Queue
from broker.monitoring import dead_letters
from broker.monitoring.dead_letters import Selection
from broker.security.users import User
from console.edges.commands import actors
from console.edges.commands.actors import USAGE
from console.messages.dead_letter_query import matches, names_for


def selection(
    user: User | None, queue: str | None, origin: str | None, cause: str | None
) -> Selection:
    """The chosen dead letters that the user may see."""
    actors.require(user, "broker.view_queue")
    if cause is not None and cause not in DeadLetter.Cause.values:
        raise CommandError(f"There is no cause {cause}.", returncode=USAGE)
    on = None if queue is None else actors.queue(user, queue).pk
    return Selection(None, origin, cause, on, tuple(names_for(user)))


def groups(which: Selection) -> list[dict[str, Any]]:
    names = dict(Queue.objects.values_list("pk", "name"))
    return [
        {
            "messages": one.messages,
            "from": one.origin_queue,
            "on": names.get(one.queue_id, ""),
            "cause": one.cause,
            "error": one.pattern,
            "fingerprint": one.fingerprint,
            "last_died_at": one.last_died_at,
        }
        for one in dead_letters.groups()
        if matches(one, which)
    ]


def letters(which: Selection, limit: int) -> list[dict[str, Any]]:
    names = dict(Queue.objects.values_list("pk", "name"))
    return [
        {
            "message_id": one.message_id,
            "from": one.origin_queue,
            "on": names.get(one.queue_id, ""),
            "died_at": one.died_at,
            "cause": one.cause,
            "error": one.error,
            "fingerprint": one.fingerprint,
            "resubmit_count": one.resubmit_count,
        }
        for one in dead_letters.letters(which, limit=limit)
    ]
