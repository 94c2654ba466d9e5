"""The counters of a queue, as its page shows them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext, gettext_noop

from broker.monitoring import counters

WORDS = {  # the title of each counter, and the events that it counts
    "messages_added": (
        gettext_noop("Messages added"),
        gettext_noop("put, copied or restored here"),
    ),
    "messages_acknowledged": (
        gettext_noop("Messages acknowledged"),
        gettext_noop("accepted, and committed"),
    ),
    "acknowledge_attempts": (
        gettext_noop("Acknowledge attempts"),
        gettext_noop("those backed out included"),
    ),
    "messages_expired": (
        gettext_noop("Messages expired"),
        gettext_noop("before they were delivered"),
    ),
    "messages_killed": (
        gettext_noop("Messages killed"),
        gettext_noop("dead letters, and what was dropped"),
    ),
    "delivering": (gettext_noop("Delivering"), gettext_noop("held by consumers")),
    "scheduled": (gettext_noop("Scheduled"), gettext_noop("delayed")),
    "message_count": (
        gettext_noop("Message count"),
        gettext_noop("here now, in total"),
    ),
}


@dataclass(frozen=True, slots=True)
class CounterRow:
    """One counter, as a page shows it."""

    name: str
    label: str
    what: str
    value: int
    is_resettable: bool
    since: datetime | None  # the time of the last reset; None: never reset


def counters_of(queue_id: int) -> list[CounterRow]:
    """All counters of a queue, in their order. Two queries."""
    counted, since = counters.read_counters(queue_id)
    return [
        CounterRow(
            name,
            gettext(WORDS[name][0]),
            gettext(WORDS[name][1]),
            getattr(counted, name),
            name in counters.RESETTABLE,
            since.get(name),
        )
        for name in counters.ALL
    ]
