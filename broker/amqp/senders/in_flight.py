"""In-flight entries of a Sender: from the fetch until their outcome is committed."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from broker.amqp.interfaces import ClientContext
from broker.amqp.protocol.delivery import Delivery
from broker.queueing.get import Delivery as Got

MOST_HIDDEN = 1000  # most entries that one Sender remembers not to send again
MOST_REMEMBERED = 1000  # most entries whose releases are counted
QUIET_S = 60.0  # seconds without a release of the entry, after which its count is reset


@dataclass(slots=True, eq=False)
class InFlightEntry:
    """One entry that a Sender or its client holds."""

    got: Got  # the entry without its body, which is in the payload
    payload: bytes  # encoded message; empty after it was sent
    size: int  # size of the payload, in bytes
    sent: Delivery | None = None  # None until it was sent, or if it was sent settled
    is_enlisted: bool = False  # part of an open transaction
    is_ending: bool = False  # its outcome is on its way to the database
    # Its transaction was rolled back, but it is unsettled at the client.
    was_rolled_back: bool = False


class InFlight:
    """The entries of one Sender, in the order of their fetches."""

    def __init__(self, client: ClientContext) -> None:
        self.client = client
        self.entries: dict[InFlightEntry, None] = {}
        # Entries not sent yet, in the order of the queue.
        self.unsent: deque[InFlightEntry] = deque()
        self.hidden: OrderedDict[tuple[int, int], None] = OrderedDict()
        self.size = 0  # size of all entries, in bytes
        self.settled = 0  # entries settled since the attach

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[InFlightEntry]:
        return iter(self.entries)

    def take(self, entries: Iterable[InFlightEntry]) -> None:
        for entry in entries:
            self.entries[entry] = None
            self.unsent.append(entry)
            self.count(entry.size)

    def drop(self, entries: Iterable[InFlightEntry]) -> None:
        """Remove entries that are no longer held; others are ignored."""
        for entry in entries:
            if entry in self.entries:
                del self.entries[entry]
                self.count(-entry.size)

    def hide(self, deliveries: Iterable[Got]) -> None:
        """Do not send these entries again after they were given back."""
        for one in deliveries:
            self.hidden[one.priority, one.message_id] = None
        while len(self.hidden) > MOST_HIDDEN:
            self.hidden.popitem(last=False)

    def pass_by(self) -> list[InFlightEntry]:
        """Remove and return fetched entries that were hidden during the fetch."""
        hidden = [one for one in self.unsent if is_among(self.hidden, one)]
        if hidden:
            self.unsent = deque(one for one in self.unsent if one not in hidden)
        return hidden

    def clear(self) -> None:
        self.unsent.clear()
        self.drop(list(self.entries))

    def count(self, size: int) -> None:
        self.size += size
        self.client.in_flight_bytes += size

    def idle(self) -> list[InFlightEntry]:
        """The entries that have no outcome yet."""
        return [one for one in self.entries if not (one.is_ending or one.is_enlisted)]

    def is_busy(self) -> bool:
        """Whether an outcome is on its way, or is part of an open transaction."""
        return any(one.is_ending or one.is_enlisted for one in self.entries)


def is_among(hidden: Collection[tuple[int, int]], entry: InFlightEntry) -> bool:
    return bool(hidden) and (entry.got.priority, entry.got.message_id) in hidden


class Releases:
    """Counts of quick repeated releases by a Sender's client, by entry."""

    def __init__(self) -> None:
        # By message: the count of releases, and the time of the last.
        self.counts: OrderedDict[int, tuple[int, float]] = OrderedDict()

    def of(self, message_id: int, now_s: float) -> int:
        count, at = self.counts.get(message_id, (0, now_s))
        return count if now_s - at < QUIET_S else 0

    def note(self, message_id: int, now_s: float) -> None:
        self.counts[message_id] = (self.of(message_id, now_s) + 1, now_s)
        self.counts.move_to_end(message_id)
        if len(self.counts) > MOST_REMEMBERED:
            self.counts.popitem(last=False)
