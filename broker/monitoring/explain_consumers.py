"""Why no consumer gets a message: reasons that concern the consumers of its queue."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from django.utils.translation import gettext_noop

from broker.formats.selectors import parse
from broker.formats.selectors.documents import document, milliseconds
from broker.formats.sentences import say
from broker.models import DeadLetter, Kind, Message
from broker.monitoring import links_as_consumers
from broker.monitoring.entry_locations import Consumer, EntryLocation
from broker.monitoring.outcomes import Explanation
from broker.queueing.journal import LifelineEvent

NAMED = 5  # most handlers that a sentence names


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
            say(
                gettext_noop(
                    "It is a dead letter on %(label)s, and no consumer reads it."
                ),
                label=entry.label,
            ),
            gettext_noop("Fix the cause, then resubmit it through its link.")
            if is_of_link
            else say(
                gettext_noop("Fix the cause, then resubmit it to %(queue)s."),
                queue=entry.origin_queue,
            ),
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
    sentence = say(
        gettext_noop(
            "No consumer of %(label)s is known. No dispatcher runs, and"
            " no other process holds a message of it."
        ),
        label=entry.label,
    )
    if dispatchers:
        sentence = say(
            gettext_noop(
                "No consumer of %(label)s is known. A dispatcher runs, but no"
                " handler for %(label)s, and no other process holds a message"
                " of it."
            ),
            label=entry.label,
        )
    yield entry.say(
        "no-consumer",
        sentence,
        say(
            gettext_noop(
                "Start what consumes %(label)s. A client that asks from time"
                " to time is known only while it holds a message."
            ),
            label=entry.label,
        ),
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
    words: str = "; ".join(named)
    if more:
        words = say(gettext_noop("%(named)s; and %(n)s more"), named=words, n=more)
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
        say(
            gettext_noop(
                "No selector of a handler of %(label)s matches it: %(words)s."
            ),
            label=entry.label,
            words=words,
        ),
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
        say(
            gettext_noop(
                "%(consumer)s had it from %(queue)s, and gave it back: %(error)s That"
                " consumer is not offered it again."
            ),
            consumer=last.actor or say(gettext_noop("A consumer")),
            queue=entry.label,
            error=last.detail["error"],
        ),
        gettext_noop(
            "Nothing, if others consume the queue. Attach another consumer, or let that"
            " one detach and attach anew; or move the message to another queue."
        ),
        actor=last.actor or None,
        at=last.at,
    )
