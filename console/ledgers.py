"""What an operation has done so far, what is left, and what should give one pause.

Everything here is counted on its frozen set: what came later has no part in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, Exists, Max, Min, OuterRef
from django.utils import timezone

from broker import journal
from broker.models import (
    Claim,
    DeadLetter,
    Delayed,
    Kind,
    Operation,
    OperationItem,
    Queue,
    Ready,
)

State, Status = Operation.State, OperationItem.Status

ASKS_WHY = 100  # messages; above that, a reason must be given
SHORTEST = timedelta(seconds=1)  # that somebody waits for
TRACED = 1000  # copies at most whose further way is looked up
LOWERED = 2**62  # by so much stands what came back before what is new
PRIORITIES = range(10)


@dataclass(frozen=True, slots=True)
class Way:
    """Where some of the messages lie, and where they go."""

    on: str
    to: str
    messages: int


@dataclass(frozen=True, slots=True)
class Ledger:
    """The items of one operation by what became of them."""

    planned: int
    done: int
    skipped: int
    ways: list[Way]
    names: dict[int, str]  # of the queues where the messages lie, by id

    @property
    def total(self) -> int:
        return self.planned + self.done + self.skipped

    @property
    def handled(self) -> int:
        return self.done + self.skipped

    @property
    def asks_why(self) -> bool:
        return self.total > ASKS_WHY

    def left(self, started_at: datetime | None) -> timedelta | None:
        """How long the rest will take at the pace so far, if it is worth saying."""
        if started_at is None or not self.handled:
            return None
        left = (timezone.now() - started_at) / self.handled * self.planned
        return left if left >= SHORTEST else None


@dataclass(frozen=True, slots=True)
class Aftermath:
    """What became of the copies that an operation made."""

    waiting: int
    dead: int
    ended: int


def ledger_of(operation: Operation) -> Ledger:
    """Two queries, one of them over the items."""
    rows = list(
        operation.items.values_list("queue_id", "target", "status")
        .annotate(messages=Count("id"))
        .order_by("-messages", "target", "queue_id")
    )
    names = dict(
        Queue.objects.filter(pk__in={row[0] for row in rows}).values_list("pk", "name")
    )
    ways: dict[tuple[str, str], int] = {}
    counts = dict.fromkeys(Status.values, 0)
    for queue_id, target, status, messages in rows:
        counts[status] += messages
        way = (names.get(queue_id, ""), target)
        ways[way] = ways.get(way, 0) + messages
    return Ledger(
        counts[Status.PLANNED],
        counts[Status.DONE],
        counts[Status.SKIPPED],
        [Way(*way, messages) for way, messages in ways.items()],
        names,
    )


def counts_of(operations: Sequence[Operation]) -> list[dict[str, int]]:
    """How many items of each operation have each status. One query."""
    counts = {
        operation.pk: dict.fromkeys(["total", *Status.values], 0)
        for operation in operations
    }
    rows = (
        OperationItem.objects.filter(operation__in=counts)
        .values_list("operation_id", "status")
        .annotate(messages=Count("id"))
        .order_by()
    )
    for operation_id, status, messages in rows:
        counts[operation_id][status] = messages
        counts[operation_id]["total"] += messages
    return list(counts.values())


def warnings_of(operation: Operation, ledger: Ledger) -> Iterator[str]:
    """What a person should know before these messages go back."""
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


def aftermath_of(operation: Operation) -> Aftermath | None:
    """Where the copies are by now; None of more than can be looked up quickly."""
    done = operation.items.filter(status=Status.DONE)
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
