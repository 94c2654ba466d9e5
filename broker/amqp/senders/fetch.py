"""Entries of a Sender: fetched in a database thread, then held until they are settled.

Messages are encoded in the thread. An entry that cannot be encoded, or that is too
large for the client, is given back uncounted, and this Sender does not fetch it again.
"""

from __future__ import annotations

import logging
from collections import OrderedDict, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from django.conf import settings

from broker.amqp.messages.convert import NONE, to_send
from broker.amqp.messages.modified_annotations import Annotated, added_to
from broker.amqp.protocol.delivery import Delivery as Sent
from broker.errors import LockLost
from broker.models import AddressSetting, Queue
from broker.queueing.get import Delivery
from broker.settlement.batch import Settlement, settle
from broker.settlement.confirmations import places_of
from broker.settlement.outcomes import Accept
from broker.transactions.prefetch import Prefetched

if TYPE_CHECKING:
    from broker.amqp.clients.client import Client

logger = logging.getLogger(__name__)

MOST_HIDDEN = 1000  # most entries that one Sender remembers not to send again

Hidden = set[tuple[int, int]]  # priority and id of each entry that was given back

UNREADABLE = "Message %d of %s cannot be sent to a client of AMQP; it stays there."
TOO_LARGE = "Message %d of %s has %d bytes; a client takes at most %d. It stays there."


@dataclass(slots=True, eq=False)
class InFlightEntry:
    """One entry that a Sender or its client holds."""

    got: Delivery  # the entry without its body, which is in the payload
    payload: bytes  # encoded message; empty after it was sent
    size: int  # size of the payload, in bytes
    sent: Sent | None = None  # None until it was sent, or if it was sent settled
    is_enlisted: bool = False  # part of an open transaction
    is_ending: bool = False  # its outcome is on its way to the database
    # Its transaction was rolled back, but it is unsettled at the client.
    was_rolled_back: bool = False


@dataclass(frozen=True, slots=True)
class Taken:
    """The result of one fetch."""

    entries: list[InFlightEntry]  # entries to send to the client
    count: int  # number of all fetched entries, including those not for the client
    # Deliveries that were given back and must not be fetched again.
    unfit: list[Delivery]


@dataclass(slots=True)
class Wishes:
    """Options of the client for its entries."""

    # Accept entries before they are sent: at-most-once delivery.
    is_settled: bool = False
    not_from: str | None = None  # accept messages of this producer without sending
    largest: int | None = None  # largest message for the client, in bytes
    is_azure: bool = False  # it is a client of Azure Service Bus


class Taker:
    """Fetches for one Sender; one call at a time."""

    def __init__(self, queue: Queue, prefetched: Prefetched, wishes: Wishes) -> None:
        self.queue = queue
        self.prefetched = prefetched
        self.wishes = wishes
        # Whether the queue is a dead letter queue; None until the first fetch.
        self.is_of_dead_letters: bool | None = None
        # Deliveries that were fetched, but not handed over.
        self.stranded: list[Delivery] = []

    def take(self, limit: int, now: datetime, hidden: Hidden) -> Taken:
        """Fetch and encode entries.

        Args:
            limit: entries at most.
            now: the time, for the remaining time to live.
            hidden: messages that must not be fetched.

        Raises:
            LockLost: the unit of work was ended by others.
            BrokerError: see ``Prefetched.get``.
        """
        if self.is_of_dead_letters is None:
            self.is_of_dead_letters = keeps_dead_letters(self.queue)
        self.prefetched.hidden = hidden
        if self.stranded:
            self.give_back(self.stranded)
        got = self.stranded = self.prefetched.get(limit)
        own: list[Delivery] = []
        unfit: list[Delivery] = []
        entries: list[InFlightEntry] = []
        annotations = added_to(got)
        for one in got:
            if one.producer == self.wishes.not_from:
                own.append(one)
            elif (entry := self.encoded(one, now, annotations)) is None:
                unfit.append(one)
            else:
                entries.append(entry)
        self.accept(own)
        if unfit:
            self.prefetched.give_back(unfit)
        if self.wishes.is_settled:
            self.accept([entry.got for entry in entries])
        self.stranded = []
        return Taken(entries, len(got), unfit)

    def encoded(
        self, got: Delivery, now: datetime, annotations: Mapping[int, Annotated]
    ) -> InFlightEntry | None:
        """An encoded entry; None if it cannot be sent."""
        added, is_azure = annotations.get(got.message_id, NONE), self.wishes.is_azure
        try:
            payload = to_send(got, now=now, as_azure=is_azure, annotations=added)
        except Exception:
            # An error in one message must not stop the messages behind it.
            logger.exception(UNREADABLE, got.message_id, self.queue.name)
            return None
        largest = self.wishes.largest
        if largest is not None and len(payload) > largest:
            size = len(payload)
            logger.error(TOO_LARGE, got.message_id, self.queue.name, size, largest)
            return None
        got.body, got.headers, got.envelope = b"", None, None
        return InFlightEntry(got, payload, len(payload))

    def accept(self, deliveries: Sequence[Delivery]) -> None:
        """Accept deliveries that the client will not settle.

        Raises:
            LockLost: the unit of work was ended meanwhile.
        """
        if not deliveries:
            return
        uow, queue_id = deliveries[0].uow, deliveries[0].queue_id
        ids = [one.message_id for one in deliveries]
        asks = bool(places_of(deliveries))
        accepted = Settlement(uow, queue_id, ids, Accept(), self.actor, asks)
        (error,) = settle([accepted])
        if error is not None:
            raise error

    @property
    def actor(self) -> str:
        return self.prefetched.actor

    def give_back(self, deliveries: Sequence[Delivery]) -> None:
        """Give back deliveries that the client has not seen, if still held."""
        try:
            self.prefetched.give_back(deliveries)
        except LockLost:
            logger.info("Deliveries of %s were lost before.", self.queue.name)


def keeps_dead_letters(queue: Queue) -> bool:
    """Whether a queue is a dead letter queue: a rejected entry must stay on such a
    queue."""
    if queue.name == settings.BROKER_DEAD_LETTER_QUEUE:
        return True
    to = queue.address.name
    return AddressSetting.objects.filter(dead_letter_address=to).exists()


class InFlight:
    """The entries of one Sender, in the order of their fetches."""

    def __init__(self, client: Client) -> None:
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

    def hide(self, deliveries: Iterable[Delivery]) -> None:
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
