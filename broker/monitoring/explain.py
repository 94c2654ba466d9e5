"""Explains why a message is not delivered, and what to do. Read-only, at most seven
queries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from django.utils.translation import gettext_noop

from broker import sql
from broker.formats.selectors import parse
from broker.formats.selectors.documents import document, milliseconds
from broker.models import DeadLetter, Kind, Message, Place
from broker.monitoring import links_as_consumers
from broker.monitoring.entry_locations import Consumer, EntryLocation
from broker.monitoring.outcomes import NOTHING, Explanation, endings, gone
from broker.queueing import journal, processes
from broker.queueing.journal import LifelineEvent

COUNTED = 1000  # most entries before the message that are counted
NAMED = 5  # most handlers that a sentence names
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
            f"A consumer of {entry.label} has it, in a database transaction that is"
            " still open.",
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
        f"It is part of unit of work {entry.uow} on {entry.label}, which is prepared"
        " and waits for its coordinator.",
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
    sentence = f"A consumer of {entry.label} has it, in unit of work {entry.uow}."
    remedy = gettext_noop(
        "Nothing. If the consumer dies or is late, the attempt is counted and backed"
        " out by itself."
    )
    if not entry.is_held:
        sentence = (
            f"The process that had it on {entry.label} has ended before its unit of"
            f" work {entry.uow} did."
        )
        remedy = BY_ITSELF
    elif entry.deadline is not None and entry.deadline <= entry.at:
        sentence = (
            f"A consumer of {entry.label} has it, in unit of work {entry.uow}, for"
            " longer than it may."
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
            f"Queue {entry.label} is paused: it accepts messages and delivers none.",
            gettext_noop("Resume it under Queues."),
        )
    if entry.stopped is not None:
        yield entry.say(
            "stopped",
            f"Delivery from {entry.label} to ConnectionConsumers has stopped."
            f" {entry.stopped}".strip(),
            gettext_noop(
                "Remove the cause, then start delivery again under Consumers. Other"
                " consumers can still get it."
            ),
        )


def by_time(entry: EntryLocation) -> Iterator[Explanation]:
    if entry.expires_at is not None and entry.expires_at <= entry.at:
        yield entry.say(
            "expired",
            f"Its time to live is over: no consumer of {entry.label} gets it.",
            gettext_noop(
                "Nothing: it is taken from its queue within seconds. To keep such"
                " messages, set an expiry address under Settings."
            ),
            expired_at=entry.expires_at,
        )
    if entry.due_at is None:
        return
    times = "once" if entry.backout_count == 1 else f"{entry.backout_count:,} times"
    before = f"It was backed out {times}. " if entry.backout_count else ""
    if entry.due_at > entry.at:
        sentence = f"{before}It waits on {entry.label} until it is due."
        remedy = gettext_noop("Nothing: it becomes ready by itself.")
    else:
        sentence = f"{before}It waited on {entry.label}, and is due."
        remedy = gettext_noop(
            "Nothing: it becomes ready at the next look of a consumer."
        )
    yield entry.say("due-later", sentence, remedy, until=entry.due_at)


def by_consumers(
    entry: EntryLocation, message_id: int, consumers: Sequence[Consumer]
) -> Iterator[Explanation]:
    """Reasons that concern consumers: none is known, or none accepts this message."""
    known = [one for one in consumers if one.queue_id == entry.queue_id]
    handlers = [one for one in known if one.handler]
    others = {one.process for one in known} - {one.process for one in handlers}
    if entry.origin_queue is not None and not known:
        is_of_link = entry.cause == DeadLetter.Cause.LINK
        yield entry.say(
            "dead-letter",
            f"It is a dead letter on {entry.label}, and no consumer reads it.",
            "Fix the cause, then resubmit it"
            + (" through its link." if is_of_link else f" to {entry.origin_queue}."),
            origin_queue=entry.origin_queue,
        )
    elif not known:
        yield from nobody(entry, dispatchers=any(not one.queue_id for one in consumers))
    elif not others and not is_selected(entry, message_id, handlers):
        yield unwanted(entry, handlers)


def nobody(entry: EntryLocation, *, dispatchers: bool) -> Iterator[Explanation]:
    """The reason if no consumer is known, or only bridge links that take nothing."""
    if links := links_as_consumers.taking_from(entry.queue):
        if still := links_as_consumers.standstill(links, entry.label):
            link = str(still.link)
            yield entry.say("no-consumer", still.sentence, still.remedy, link=link)
        return
    also = (
        f"A dispatcher runs, but no handler for {entry.label}"
        if dispatchers
        else "No dispatcher runs"
    )
    yield entry.say(
        "no-consumer",
        f"No consumer of {entry.label} is known. {also}, and no other process holds a"
        " message of it.",
        f"Start what consumes {entry.label}. A client that asks from time to time is"
        " known only while it holds a message.",
    )


def is_selected(
    entry: EntryLocation, message_id: int, handlers: Sequence[Consumer]
) -> bool:
    """Whether a handler's selector matches; also true if the message is gone."""
    if any(not one.selector for one in handlers):
        return True
    row = Message.objects.defer("body", "headers").filter(pk=message_id).first()
    if row is None:
        return True
    known = {
        "JMSPriority": entry.priority,
        "JMSExpiration": milliseconds(entry.expires_at) or 0,
        "JMSXDeliveryCount": entry.backout_count + 1,
        "JMSRedelivered": entry.backout_count > 0,
    }
    message = document(row, known)
    return any(parse(one.selector).matches(message) for one in handlers)


def unwanted(entry: EntryLocation, handlers: Sequence[Consumer]) -> Explanation:
    selectors = {one.handler: one.selector for one in handlers}
    named = [f"{name} ({text})" for name, text in list(selectors.items())[:NAMED]]
    more = len(selectors) - len(named)
    words = "; ".join(named) + (f"; and {more:,} more" if more else "")
    puts_away = not all(one.retains_unwanted for one in handlers)
    remedy = (
        gettext_noop(
            "One of them dead-letters unwanted messages: look under Dead letters next."
        )
        if puts_away
        else gettext_noop(
            "Start a handler for such messages, or move it to another queue."
        )
    )
    return entry.say(
        "no-matching-selector",
        f"No selector of a handler of {entry.label} matches it: {words}.",
        remedy,
        selectors=selectors,
    )


def by_refusal(
    entry: EntryLocation, events: Sequence[LifelineEvent]
) -> Iterator[Explanation]:
    """The last consumer gave the entry back for others, and none took it since."""
    here = [one for one in events if one.queue_id == entry.queue_id]
    last = next((one for one in reversed(here) if one.kind != Kind.WAKE), None)
    if last is None or not last.detail.get("hidden"):
        return
    yield entry.say(
        "undeliverable-here",
        f"{last.actor or 'A consumer'} had it from {entry.label}, and gave it back:"
        f" {last.detail['error']}"
        " That consumer is not offered it again.",
        gettext_noop(
            "Nothing, if others consume the queue. Attach another consumer, or let that"
            " one detach and attach anew; or move the message to another queue."
        ),
        actor=last.actor or None,
        at=last.at,
    )


def by_order(entry: EntryLocation) -> Iterator[Explanation]:
    if not entry.earlier:
        return
    count = f"{entry.earlier:,} messages stand"
    if entry.earlier > COUNTED:
        count = f"More than {COUNTED:,} messages stand"
    elif entry.earlier == 1:
        count = "1 message stands"
    yield entry.say(
        "put-behind",
        f"{count} before it on {entry.label}, of a higher priority or put earlier.",
        gettext_noop("Nothing, if they move on; otherwise start more consumers."),
        before=min(entry.earlier, COUNTED),
        is_more=entry.earlier > COUNTED,
    )


def free(entry: EntryLocation) -> Explanation:
    why = f"Nothing stands in its way on {entry.label}: the next get takes it."
    return entry.say("next", why, NOTHING)
