"""The outcome of a message on a queue, in a sentence, and what can still be done."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext_noop

from broker.formats.sentences import say
from broker.models import DeadLetter, Kind, Queue
from broker.queueing.hops import Hop, hop_of
from broker.queueing.journal import LifelineEvent

ENDS = {
    Kind.ACCEPT: "accepted",
    Kind.DEAD_LETTER: "dead-lettered",
    Kind.EXPIRE: "expired",
    Kind.DISCARD: "discarded",
    Kind.RESUBMIT: "resubmitted",
    Kind.MOVE: "moved",
    Kind.REMOVE: "removed",
    Kind.UNDO: "taken-back",
}
AFTERWARDS = {  # the remedy, for outcomes that left no copy
    "accepted": gettext_noop("Nothing: it was processed."),
    "expired": gettext_noop(
        "To keep such messages, set an expiry address under Settings."
    ),
    "discarded": gettext_noop("Restore it from the discard bin, if that still has it."),
    "removed": gettext_noop("Nothing: an operator has removed it."),
}
NOTHING = gettext_noop("Nothing.")
BARE, CONTINUES, EXPLAINED = range(3)
EXPIRED = (
    gettext_noop("It expired on %(queue)s."),
    gettext_noop("It expired on %(queue)s and continues as a copy."),
    gettext_noop("It expired on %(queue)s: %(why)s."),
)
ENDED = (
    gettext_noop("It was %(what)s on %(queue)s."),
    gettext_noop("It was %(what)s on %(queue)s and continues as a copy."),
    gettext_noop("It was %(what)s on %(queue)s: %(why)s."),
)


@dataclass(frozen=True, slots=True)
class Explanation:
    """One fact about a message on a queue, or about its outcome there."""

    queue: str  # name of the queue; empty if the queue is gone
    code: str  # a stable code that programs may compare
    sentence: str
    remedy: str  # what to do
    details: Mapping[str, Any] = field(default_factory=dict)


def endings(
    events: Sequence[LifelineEvent], elsewhere: set[int]
) -> Iterator[Explanation]:
    """The outcome of a message on each queue that it has left.

    Args:
        events: the events of the message, in order.
        elsewhere: ids of the queues that it is still on.
    """
    last = {one.queue_id: one for one in events if one.queue_id not in elsewhere}
    names = dict(Queue.objects.filter(pk__in=last).values_list("pk", "name"))
    left = departures(events)
    for queue_id, event in sorted(last.items()):
        if event.kind == Kind.ACCEPT and queue_id in left:
            yield taken(event, names.get(queue_id, ""), left[queue_id])
        else:
            yield end(event, names.get(queue_id, ""))


def departures(events: Sequence[LifelineEvent]) -> dict[int, Hop]:
    """The transfers by bridge links away from each queue, by queue."""
    hops = [
        (event.queue_id, hop_of(event.detail))
        for event in events
        if event.kind == Kind.TRANSFER
    ]
    return {queue_id: hop for queue_id, hop in hops if hop.is_departure}


def taken(event: LifelineEvent, queue: str, hop: Hop) -> Explanation:
    """The fact that a bridge link took the message from a queue."""
    where = queue or f"queue {event.queue_id} (gone)"
    told = {
        "at": event.at,
        "link": hop.link,
        "outcome": hop.outcome,
        "other": hop.other or None,
        "became": hop.copy,
    }
    details = {name: value for name, value in told.items() if value is not None}
    sentence = say(
        gettext_noop("It left %(queue)s: %(how)s."), queue=where, how=str(hop)
    )
    return Explanation(queue, "taken-by-link", sentence, hop.remedy, details)


def end(event: LifelineEvent, queue: str) -> Explanation:
    code = ENDS.get(event.kind)
    if code is None or event.went_to is not None:
        return gone(queue)
    copy, why = event.detail.get("copy"), str(event.detail.get("why", ""))
    word: object = event.kind.label
    if event.kind == Kind.EXPIRE:
        text = EXPIRED
    else:
        text = ENDED
        if event.detail.get("cause") in DeadLetter.IBM_CAUSES and copy:
            code, word = "moved", say(gettext_noop("moved"))
    sentence = say(
        text[CONTINUES if copy else EXPLAINED if why else BARE],
        what=word,
        queue=queue or f"queue {event.queue_id} (gone)",
        why=why.rstrip("."),
    )
    told = {
        "at": event.at,
        "actor": event.actor or None,
        "became": copy,
        "error": event.detail.get("error") or None,
    }
    remedy = (
        gettext_noop("See its newest copy.") if copy else AFTERWARDS.get(code, NOTHING)
    )
    details = {name: value for name, value in told.items() if value is not None}
    return Explanation(queue, code, sentence, remedy, details)


def gone(queue: str) -> Explanation:
    return Explanation(
        queue,
        "gone",
        gettext_noop("It is on no queue, and how it ended is no longer known."),
        gettext_noop("Nothing can be done: the journal does not go back so far."),
    )
