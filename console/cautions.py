"""What should give one pause before an operation is started."""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import Exists, Max, Min, OuterRef

from broker import journal
from broker.models import DeadLetter, Kind, Operation, Queue
from broker.operations import Preview
from console.ledgers import Ledger
from console.wording import ADDRESSES, dropped, messages, words_of


def warnings_of(
    operation: Operation, ledger: Ledger, seen: Preview | None
) -> Iterator[str]:
    """What a person should know before these messages go.

    Args:
        operation: that is planned.
        ledger: its items.
        seen: what it would come to now, if that is known.
    """
    if seen is not None:
        yield from warnings_of_outlook(operation, seen)
    if words_of(operation).is_followed:
        yield from warnings_of_goals(operation, ledger)


def warnings_of_outlook(operation: Operation, seen: Preview) -> Iterator[str]:
    """That nothing would be done, or that messages would be on no queue."""
    if not seen.will_go:
        yield f"None of them can be {words_of(operation).nothing} now."
    for queue, count in dropped(operation, seen).items():
        yield (
            f"{queue} has no {ADDRESSES[operation.kind]}: {messages(count)} would be on"
            " no queue any more. Set the address under Settings first to keep them."
        )


def warnings_of_goals(operation: Operation, ledger: Ledger) -> Iterator[str]:
    """What waits for messages where they go."""
    depths = journal.depths()
    names = {way.to for way in ledger.ways}
    for queue in Queue.objects.filter(name__in=names).order_by("name"):
        depth = depths.get(queue.pk, journal.Depth())
        if queue.paused:
            yield f"{queue} is paused. Messages wait there until it is resumed."
        elif not depth.done[Kind.GET]:
            yield f"Nobody has ever taken a message from {queue}."
        elif depth.ready and not depth.claimed:
            entries = (
                "1 entry is" if depth.ready == 1 else f"{depth.ready:,} entries are"
            )
            yield (
                f"{entries} ready on {queue}, and no consumer holds any. Does one run?"
            )
    again = dead_before(operation)
    if again:
        were = "was" if again == 1 else "were"
        yield (
            f"{again:,} of them {were} resubmitted before and died again. Has the cause"
            " been mended?"
        )


def dead_before(operation: Operation) -> int:
    if operation.kind != Operation.Kind.RESUBMIT:
        return 0
    frozen = operation.items.filter(
        queue_id=OuterRef("queue_id"), message_id=OuterRef("message_id")
    )
    first_and_last = operation.items.aggregate(Min("message_id"), Max("message_id"))
    letters = DeadLetter.objects.filter(
        Exists(frozen),
        message_id__range=tuple(first_and_last.values()),
        resubmit_count__gt=0,
    )
    return letters.count()
