"""The counters of a queue, as its page shows them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from broker.monitoring import counters

WORDS = {  # the title of each counter, and the events that it counts
    "messages_added": ("Messages added", "put, copied or restored here"),
    "messages_acknowledged": ("Messages acknowledged", "accepted, and committed"),
    "acknowledge_attempts": ("Acknowledge attempts", "those backed out included"),
    "messages_expired": ("Messages expired", "before they were delivered"),
    "messages_killed": ("Messages killed", "dead letters, and what was dropped"),
    "delivering": ("Delivering", "held by consumers"),
    "scheduled": ("Scheduled", "delayed"),
    "message_count": ("Message count", "here now, in total"),
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
            *WORDS[name],
            getattr(counted, name),
            name in counters.RESETTABLE,
            since.get(name),
        )
        for name in counters.ALL
    ]
