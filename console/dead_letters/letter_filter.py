"""Which dead letters a request means."""

from __future__ import annotations

from dataclasses import replace

from pydantic import Field

from broker.models import DeadLetter, Queue
from broker.monitoring.dead_letters import Selection
from console.edges.rest.problems import NO_NUL
from console.edges.rest.requests import RequestBody


class Which(RequestBody):
    """Filters for dead letters; an empty field does not filter."""

    fingerprint: str | None = Field(default=None, pattern="^[0-9a-f]{12}$")
    origin_queue: str | None = Field(default=None, max_length=255, pattern=NO_NUL)
    queue: str | None = Field(default=None, max_length=255, pattern=NO_NUL)
    cause: DeadLetter.Cause | None = None


def selection_of(which: Which, names: dict[int, str]) -> Selection:
    """The dead letters of a filter that the caller may see."""
    wanted = Selection(
        which.fingerprint,
        which.origin_queue,
        None if which.cause is None else str(which.cause),
        within=tuple(names),
    )
    if which.queue is None:
        return wanted
    on = Queue.objects.filter(name=which.queue).values_list("pk", flat=True).first()
    return replace(wanted, queue_id=on or 0)
