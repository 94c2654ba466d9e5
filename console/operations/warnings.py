"""Warnings before an operation is started."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby

from django.db.models import Count
from django.utils.translation import gettext, gettext_noop, ngettext

from broker.acts.operations.ledgers import Ledger
from broker.acts.operations.siblings import Sibling, siblings_in
from broker.formats import moments
from broker.formats.quantities import write_count
from broker.models import Kind, Operation, Queue
from broker.operations import OperationPreview, canary, error_history
from broker.operations.error_history import Cause
from broker.queueing import journal
from broker.security import authorities
from broker.settlement.discards import retentions_s
from console.operations.wording import ADDRESSES, dropped, words_of
from dashboards.live import cache

NO_TEXT = gettext_noop("no error text")
KEPT_S = 15  # how long the causes of a large plan's messages are cached


def warnings_of(
    operation: Operation,
    ledger: Ledger,
    seen: OperationPreview | None,
    user: authorities.Principal,
) -> Iterator[str]:
    """The warnings for a plan.

    Args:
        operation: the plan.
        ledger: its items.
        seen: the expected result, if known.
        user: who reads them.
    """
    if seen is not None:
        yield from warnings_of_outlook(operation, seen)
    yield from warnings_of_siblings(siblings_in(operation, ledger, user))
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
            lost = counts[queue.pk]
            text = ngettext(
                "%(queue)s archives nothing: %(n)s message would be lost. Set a discard"
                " retention for its address under Settings first to keep them.",
                "%(queue)s archives nothing: %(n)s messages would be lost. Set a"
                " discard retention for its address under Settings first to keep them.",
                lost,
            )
            yield text % {"queue": queue, "n": write_count(lost)}


def warnings_of_outlook(operation: Operation, seen: OperationPreview) -> Iterator[str]:
    """Warn if nothing would be done, or if messages would be on no queue."""
    if not seen.will_go:
        done = gettext(words_of(operation).nothing)
        yield gettext("None of them can be %(done)s now.") % {"done": done}
    for queue, count in dropped(operation, seen).items():
        text = ADDRESSES[operation.kind](count)
        yield text % {"queue": queue, "n": write_count(count)}


def warnings_of_siblings(siblings: Iterable[Sibling]) -> Iterator[str]:
    """Name the other queues of an address that get copies, too."""
    for name, some in groupby(siblings, key=lambda one: one.of):
        yield gettext(
            "%(queue)s is named as its address, and all queues of the address are"
            " reached, beside %(queue)s: %(others)s. They have had these messages once."
        ) % {"queue": name, "others": ", ".join(map(reach_of, some))}


def reach_of(one: Sibling) -> str:
    """How many copies a queue of an address gets."""
    queue = one.queue or gettext("a queue that you may not see")
    if one.is_anycast:
        text = gettext("%(queue)s (one of the anycast queues gets each message)")
        return text % {"queue": queue}
    text = ngettext(
        "up to %(n)s message to %(queue)s",
        "up to %(n)s messages to %(queue)s",
        one.messages,
    )
    return text % {"n": write_count(one.messages), "queue": queue}


def warnings_of_guards(addresses: Collection[str]) -> Iterator[str]:
    """Tell that dead letters ignore the limits of their queue."""
    guarded = Queue.objects.filter(address__name__in=addresses, guarded=True)
    for queue in guarded.order_by("name"):
        if queue.put_inhibited or queue.max_depth is not None:
            yield gettext(
                "%(queue)s is put-inhibited or has a limit. Dead letters are put there"
                " all the same: they have no other place."
            ) % {"queue": queue}


def warnings_of_goals(operation: Operation, ledger: Ledger) -> Iterator[str]:
    """Warn of target queues that are paused, or where no consumer gets messages."""
    names = {way.to for way in ledger.ways}
    queues = list(Queue.objects.filter(name__in=names).order_by("name"))
    depths = journal.depths(queue.pk for queue in queues)
    for queue in queues:
        depth = depths.get(queue.pk, journal.Depth())
        text = ""
        if queue.paused:
            text = gettext(
                "%(queue)s is paused. Messages wait there until it is resumed."
            )
        elif not depth.done[Kind.GET]:
            text = gettext("No consumer has ever taken a message from %(queue)s.")
        elif depth.ready and not depth.claimed:
            text = ngettext(
                "%(n)s message is ready on %(queue)s, and no consumer holds any. Does"
                " one run?",
                "%(n)s messages are ready on %(queue)s, and no consumer holds any. Does"
                " one run?",
                depth.ready,
            )
        if text:
            yield text % {"queue": queue, "n": write_count(depth.ready)}
    if operation.kind == Operation.Kind.RESUBMIT:
        yield from warnings_of_causes(causes_of(operation, ledger))


def causes_of(operation: Operation, ledger: Ledger) -> list[Cause]:
    """The causes of the plan's dead letters; for large plans up to some seconds old.
    The plan's set is frozen, so the number of its messages identifies it.
    """
    key = f"console.causes.{operation.pk}.{ledger.planned}.{ledger.left_out}"
    return cache.newest(key, lambda: error_history.planned(operation.pk), KEPT_S)


def warnings_of_causes(found: Sequence[Cause]) -> Iterator[str]:
    """Warn of messages that were resubmitted before."""
    again = sum(one.again for one in found)
    if again:
        text = ngettext(
            "%(n)s of them was resubmitted before and dead-lettered again. Has the"
            " cause been fixed?",
            "%(n)s of them were resubmitted before and dead-lettered again. Has the"
            " cause been fixed?",
            again,
        )
        yield text % {"n": write_count(again)}


def experience_of(operation: Operation, ledger: Ledger) -> list[str]:
    """The results of earlier resubmits of the plan's causes, a sentence for each."""
    if operation.kind not in canary.TRIED_FIRST:
        return []
    return list(experience(causes_of(operation, ledger)))


def experience(found: Sequence[Cause]) -> Iterator[str]:
    for one in found:
        if one.since is not None:
            messages = ngettext("%(n)s message", "%(n)s messages", one.attempts)
            text = ngettext(
                "Of %(messages)s dead-lettered with “%(pattern)s” and resubmitted since"
                " %(time)s, %(n)s was processed.",
                "Of %(messages)s dead-lettered with “%(pattern)s” and resubmitted since"
                " %(time)s, %(n)s were processed.",
                one.processed,
            )
            yield text % {
                "messages": messages % {"n": write_count(one.attempts)},
                "pattern": one.pattern or gettext(NO_TEXT),
                "time": moments.in_utc(one.since, moments.MINUTE),
                "n": write_count(one.processed),
            }
