"""What became of messages after an operation sent them on."""

from __future__ import annotations

from dataclasses import dataclass

from broker.models import (
    Claim,
    DeadLetter,
    Delayed,
    Operation,
    OperationItem,
    Queue,
    Ready,
)
from console.ledgers import undoing_of
from console.wording import words_of

TRACED = 1000  # copies at most whose further way is looked up
LOWERED = 2**62  # by so much stands what came back before what is new
PRIORITIES = range(10)


@dataclass(frozen=True, slots=True)
class Aftermath:
    """What became of the copies that an operation made."""

    waiting: int
    dead: int
    ended: int


def aftermath_of(operation: Operation) -> Aftermath | None:
    """Where the copies are by now; None of more than can be looked up quickly."""
    undoing = undoing_of(operation)
    if not words_of(operation).is_followed or (undoing and undoing.started_at):
        return None  # what was taken back has not finished
    done = operation.items.filter(status=OperationItem.Status.DONE)
    ids = done.values_list("copy_id", flat=True)[: TRACED + 1]
    copies = [copy_id for copy_id in ids if copy_id is not None]
    if not copies or len(copies) > TRACED:
        return None
    waiting = waiting_of(copies)
    dead = DeadLetter.objects.filter(message_id__gt=min(copies), origin_id__in=copies)
    died = dead.values("origin_id").distinct().count()
    return Aftermath(waiting, died, max(len(copies) - waiting - died, 0))


def waiting_of(copies: list[int]) -> int:
    """How many messages are on a queue, in any place."""
    ready = Ready.objects.filter(
        queue_id__in=Queue.objects.values("pk"),
        priority__in=PRIORITIES,
        pos__in=[place for copy in copies for place in (copy, copy - LOWERED)],
    )
    delayed = Delayed.objects.filter(id__in=copies)
    claims = Claim.objects.filter(ids__overlap=copies).values_list("ids", flat=True)
    held = {message_id for ids in claims for message_id in ids}
    here = {*ready.values_list("id", flat=True), *delayed.values_list("id", flat=True)}
    return len((here | held).intersection(copies))
