"""Warnings before an operation is started."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from django.db.models import Count

from broker.models import Kind, Operation, Queue, RoutingType
from broker.operations import OperationPreview, error_history
from broker.operations.error_history import Cause
from broker.queueing import journal
from broker.settlement.discards import retentions_s
from console.operations.results import Ledger
from console.operations.wording import ADDRESSES, dropped, messages, words_of
from dashboards.live import cache

NO_TEXT = "no error text"
KEPT_S = 15  # the causes of a large plan's messages


def warnings_of(
    operation: Operation, ledger: Ledger, seen: OperationPreview | None
) -> Iterator[str]:
    """The warnings for a plan.

    Args:
        operation: the plan.
        ledger: its items.
        seen: the expected result, if known.
    """
    if seen is not None:
        yield from warnings_of_outlook(operation, seen)
    if operation.kind == Operation.Kind.RESUBMIT and not operation.argument:
        yield from warnings_of_siblings(ledger)
    if operation.kind == Operation.Kind.DEAD_LETTER and seen is not None:
        yield from warnings_of_guards({part.target for part in seen.parts})
    if words_of(operation).is_followed:
        yield from warnings_of_goals(operation, ledger)
    if operation.kind == Operation.Kind.REMOVE and operation.undoes_id is None:
        yield from warnings_of_the_bin(operation)


def warnings_of_the_bin(operation: Operation) -> Iterator[str]:
    """Warn of queues without discard retention: messages removed there are deleted."""
    items = operation.items.order_by("queue_id").values_list("queue_id")
    counts = dict(items.annotate(Count("pk")))
    kept_s = retentions_s(set(counts))
    for queue in Queue.objects.filter(pk__in=counts).order_by("name"):
        if not kept_s[queue.pk]:
            yield (
                f"{queue} archives nothing: {messages(counts[queue.pk])} would be lost."
                " Set a discard retention for its address under Settings"
                " first to keep them."
            )


def warnings_of_outlook(operation: Operation, seen: OperationPreview) -> Iterator[str]:
    """Warn if nothing would be done, or if messages would be on no queue."""
    if not seen.will_go:
        yield f"None of them can be {words_of(operation).nothing} now."
    for queue, count in dropped(operation, seen).items():
        yield (
            f"{queue} has no {ADDRESSES[operation.kind]}: {messages(count)} would be on"
            " no queue any more. Set the address under Settings first to keep them."
        )


def warnings_of_siblings(ledger: Ledger) -> Iterator[str]:
    """Count the messages that other queues of an address get, too: those of a queue
    that is named as its address."""
    sent: Counter[str] = Counter()
    for way in ledger.ways:
        sent[way.to] += way.messages
    every = Queue.objects.filter(address__name__in=sent).order_by("name")
    siblings = list(every.select_related("address"))
    wholes = {one.name for one in siblings if one.name == one.address.name}
    for name in sorted(wholes):
        others = [
            reach_of(one, sent[name])
            for one in siblings
            if one.address.name == name and one.name != name
        ]
        if others and sent[name]:
            yield (
                f"{name} is named as its address, so all queues of the address are"
                f" reached, beside {name}: {', '.join(others)}. To reach only the queue"
                " where each message died, choose that when you choose to resubmit."
            )


def reach_of(queue: Queue, count: int) -> str:
    """How many copies a queue of an address gets."""
    if queue.routing_type == RoutingType.ANYCAST:
        return f"{queue.name} (one of the anycast queues gets each message)"
    return f"up to {messages(count)} to {queue.name}"


def warnings_of_guards(addresses: Collection[str]) -> Iterator[str]:
    """Tell that dead letters ignore the limits of their queue."""
    guarded = Queue.objects.filter(address__name__in=addresses, guarded=True)
    for queue in guarded.order_by("name"):
        if queue.put_inhibited or queue.max_depth is not None:
            yield (
                f"{queue} is put-inhibited or has a limit. Dead letters are put there"
                " all the same: they have no other place."
            )


def warnings_of_goals(operation: Operation, ledger: Ledger) -> Iterator[str]:
    """Warn of target queues that are paused, or where no consumer gets messages."""
    names = {way.to for way in ledger.ways}
    queues = list(Queue.objects.filter(name__in=names).order_by("name"))
    depths = journal.depths(queue.pk for queue in queues)
    for queue in queues:
        depth = depths.get(queue.pk, journal.Depth())
        if queue.paused:
            yield f"{queue} is paused. Messages wait there until it is resumed."
        elif not depth.done[Kind.GET]:
            yield f"No consumer has ever taken a message from {queue}."
        elif depth.ready and not depth.claimed:
            entries = (
                "1 entry is" if depth.ready == 1 else f"{depth.ready:,} entries are"
            )
            yield (
                f"{entries} ready on {queue}, and no consumer holds any. Does one run?"
            )
    if operation.kind == Operation.Kind.RESUBMIT:
        yield from warnings_of_causes(causes_of(operation, ledger))


def causes_of(operation: Operation, ledger: Ledger) -> list[Cause]:
    """The causes of the plan's dead letters; for large plans up to some seconds old.
    The plan's set is frozen, so the number of its messages identifies it.
    """
    key = f"console.causes.{operation.pk}.{ledger.planned}.{ledger.left_out}"
    return cache.newest(key, lambda: error_history.planned(operation.pk), KEPT_S)


def warnings_of_causes(found: Sequence[Cause]) -> Iterator[str]:
    """Warn of messages that were resubmitted before, with the outcomes."""
    again = sum(one.again for one in found)
    if again:
        were = "was" if again == 1 else "were"
        yield (
            f"{again:,} of them {were} resubmitted before and died again. Has the cause"
            " been fixed?"
        )
    for one in found:
        if one.since is not None:
            yield (
                f"Of {messages(one.attempts)} that died of “{one.pattern or NO_TEXT}”"
                f" and {'was' if one.attempts == 1 else 'were'} resubmitted since"
                f" {one.since:%Y-%m-%d %H:%M} UTC, {one.processed:,}"
                f" {'was' if one.processed == 1 else 'were'} processed."
            )
