"""Explains why a message is not delivered, and what to do. Read-only, at most seven
queries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from django.utils.translation import gettext_noop

from broker import sql
from broker.formats.sentences import say
from broker.models import Message, Place
from broker.monitoring.entry_locations import Consumer, EntryLocation
from broker.monitoring.explain_consumers import by_consumers, by_refusal
from broker.monitoring.outcomes import NOTHING, Explanation, endings, gone
from broker.queueing import journal, processes
from broker.queueing.journal import LifelineEvent

COUNTED = 1000  # most entries before the message that are counted
BY_ITSELF = gettext_noop(
    "Nothing: its attempt is counted, and it comes back by itself within seconds. If it"
    " does not, see whether the worker runs."
)


def explain(message_id: int, *, now: datetime | None = None) -> list[Explanation]:
    """Why a message is not delivered from each queue it is on, and its outcome on the
    others. The obstacles of a queue are in the order in which to remove them.

    Args:
        message_id: the broker's number.
        now: the current time; the database's clock when not given.

    Returns:
        At least one for each queue; none if the broker does not know the message.
    """
    entries = sql.fetch(
        "explain",
        EntryLocation,
        message_id=message_id,
        limit=COUNTED + 1,
        lock_class=processes.LOCK_CLASS,
        now=now,
    )
    events = journal.events_of(message_id)
    consumers = consumers_of(entries)
    found = [
        one
        for entry in entries
        for one in list(of_entry(entry, message_id, events, consumers)) or [free(entry)]
    ]
    found += endings(events, {entry.queue_id for entry in entries})
    if not found and Message.objects.filter(pk=message_id).exists():
        found.append(gone(""))
    return found


def consumers_of(entries: Sequence[EntryLocation]) -> list[Consumer]:
    """The known consumers of the queues on which the message is not claimed."""
    waits_on = {entry.queue_id for entry in entries if not entry.is_held}
    if not waits_on:
        return []
    return sql.fetch(
        "explain_consumers",
        Consumer,
        queue_ids=sorted(waits_on),
        lock_class=processes.LOCK_CLASS,
    )


def of_entry(
    entry: EntryLocation,
    message_id: int,
    events: Sequence[LifelineEvent],
    consumers: Sequence[Consumer],
) -> Iterator[Explanation]:
    """Reasons why one entry is not delivered; for a claimed entry, only the claim."""
    if entry.xid is not None:
        yield prepared(entry)
    elif entry.place == Place.CLAIMED:
        yield claimed(entry, events)
    elif entry.is_held:
        yield entry.say(
            "locked",
            say(
                gettext_noop(
                    "A consumer of %(label)s has it, in a database transaction"
                    " that is still open."
                ),
                label=entry.label,
            ),
            gettext_noop(
                "Nothing: it is accepted, or comes back, when that transaction ends."
            ),
            holder=entry.holder,
            started_at=entry.started_at,
        )
    else:
        yield from by_policy(entry)
        yield from by_time(entry)
        stands = list(by_consumers(entry, message_id, consumers))
        yield from stands
        yield from by_refusal(entry, events)
        if not any(one.code == "dead-letter" for one in stands):
            yield from by_order(entry)


def prepared(entry: EntryLocation) -> Explanation:
    return entry.say(
        "prepared",
        say(
            gettext_noop(
                "It is part of unit of work %(uow)s on %(label)s, which is"
                " prepared and waits for its coordinator."
            ),
            uow=str(entry.uow),
            label=entry.label,
        ),
        gettext_noop(
            "Let the coordinator decide. If it is gone for good, commit the unit of"
            " work or back it out under Health."
        ),
        uow=entry.uow,
        xid=entry.xid,
        started_at=entry.started_at,
    )


def claimed(entry: EntryLocation, events: Sequence[LifelineEvent]) -> Explanation:
    """The unit of work that holds the entry: open, overdue, or of a dead process."""
    actors = [one.actor for one in events if one.uow == entry.uow and one.actor]
    sentence = say(
        gettext_noop("A consumer of %(label)s has it, in unit of work %(uow)s."),
        label=entry.label,
        uow=str(entry.uow),
    )
    remedy = gettext_noop(
        "Nothing. If the consumer dies or is late, the attempt is counted and backed"
        " out by itself."
    )
    if not entry.is_held:
        sentence = say(
            gettext_noop(
                "The process that had it on %(label)s has ended before its"
                " unit of work %(uow)s did."
            ),
            label=entry.label,
            uow=str(entry.uow),
        )
        remedy = BY_ITSELF
    elif entry.deadline is not None and entry.deadline <= entry.at:
        sentence = say(
            gettext_noop(
                "A consumer of %(label)s has it, in unit of work %(uow)s, for"
                " longer than it may."
            ),
            label=entry.label,
            uow=str(entry.uow),
        )
        remedy = BY_ITSELF
    return entry.say(
        "locked",
        sentence,
        remedy,
        uow=entry.uow,
        holder=entry.holder,
        actor=actors[-1] if actors else None,
        started_at=entry.started_at,
        until=entry.deadline,
    )


def by_policy(entry: EntryLocation) -> Iterator[Explanation]:
    """Reasons that hold for every entry of the queue: it is paused, or delivery
    stopped."""
    if entry.is_paused:
        yield entry.say(
            "paused",
            say(
                gettext_noop(
                    "Queue %(label)s is paused: it accepts messages and delivers none."
                ),
                label=entry.label,
            ),
            gettext_noop("Resume it under Queues."),
        )
    if entry.stopped is not None:
        yield entry.say(
            "stopped",
            stopped_for(entry),
            gettext_noop(
                "Remove the cause, then start delivery again under Consumers. Other"
                " consumers can still get it."
            ),
        )


def stopped_for(entry: EntryLocation) -> str:
    text = gettext_noop("Delivery from %(queue)s to ConnectionConsumers has stopped.")
    if entry.stopped:
        text = gettext_noop(
            "Delivery from %(queue)s to ConnectionConsumers has stopped. %(why)s"
        )
    return say(text, queue=entry.label, why=entry.stopped)


def by_time(entry: EntryLocation) -> Iterator[Explanation]:
    if entry.expires_at is not None and entry.expires_at <= entry.at:
        yield entry.say(
            "expired",
            say(
                gettext_noop(
                    "Its time to live is over: no consumer of %(label)s gets it."
                ),
                label=entry.label,
            ),
            gettext_noop(
                "Nothing: it is taken from its queue within seconds. To keep such"
                " messages, set an expiry address under Settings."
            ),
            expired_at=entry.expires_at,
        )
    if entry.due_at is None:
        return
    before: str = ""
    if entry.backout_count == 1:
        before = say(gettext_noop("It was backed out once."))
    elif entry.backout_count:
        times = gettext_noop("It was backed out %(n)s times.")
        before = say(times, n=entry.backout_count)
    if entry.due_at > entry.at:
        sentence = say(
            gettext_noop("It waits on %(label)s until it is due."), label=entry.label
        )
        remedy = gettext_noop("Nothing: it becomes ready by itself.")
    else:
        sentence = say(
            gettext_noop("It waited on %(label)s, and is due."), label=entry.label
        )
        remedy = gettext_noop(
            "Nothing: it becomes ready at the next look of a consumer."
        )
    if before:
        sentence = say("%(before)s %(then)s", before=before, then=sentence)
    yield entry.say("due-later", sentence, remedy, until=entry.due_at)


def by_order(entry: EntryLocation) -> Iterator[Explanation]:
    if not entry.earlier:
        return
    if entry.earlier > COUNTED:
        text = gettext_noop(
            "More than %(n)s messages stand before it on %(queue)s, of a higher"
            " priority or put earlier."
        )
    elif entry.earlier == 1:
        text = gettext_noop(
            "%(n)s message stands before it on %(queue)s, of a higher priority or put"
            " earlier."
        )
    else:
        text = gettext_noop(
            "%(n)s messages stand before it on %(queue)s, of a higher priority or put"
            " earlier."
        )
    count = min(entry.earlier, COUNTED)
    yield entry.say(
        "put-behind",
        say(text, n=count, queue=entry.label),
        gettext_noop("Nothing, if they move on; otherwise start more consumers."),
        before=min(entry.earlier, COUNTED),
        is_more=entry.earlier > COUNTED,
    )


def free(entry: EntryLocation) -> Explanation:
    why = say(
        gettext_noop("Nothing stands in its way on %(label)s: the next get takes it."),
        label=entry.label,
    )
    return entry.say("next", why, NOTHING)
