"""A batch: messages that a link settles together, and the outcome of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from broker.bridges.books import Counts, Outcome
from broker.bridges.providers.interface import Destination, Received
from broker.queueing.store import NewMessage

MILLISECOND = timedelta(milliseconds=1)
FIRST_NO_TRANSFER = "FIRST_TRANSFORMER_NOTRANSFER"
FIRST_BRANCH = "FIRST_TRANSFORMER_BRANCHTO"
LOOPED = "MESSAGE_LOOPED"


@dataclass(slots=True)
class Sending:
    """One message on its way to the target."""

    received: Received
    message: NewMessage
    destination: Destination
    outcome: Outcome
    transformed: bool


class Notice(StrEnum):
    """What has happened to a message for which a dead message queue gets only a notice.
    Sending the notice to the target could double the message."""

    DELIVERED = "delivered"  # the target has the message
    IN_DOUBT = "in doubt"  # the target has the message, or the link will send it
    AT_SOURCE = "at its source"  # the link will try to send the message again
    NOT_WANTED = "not to be sent"  # a transformer has decided not to send it


@dataclass(slots=True)
class Dead:
    """One message, or a notice about one, for the dead message queues."""

    received: Received
    reason: str  # the reason, with the names of Open MQ
    error: str
    message: NewMessage  # the copy for the dead message queues
    at: datetime
    is_notice: bool  # only a notice: the message itself is not lost
    is_elsewhere: bool = False  # a configured dead message queue has the copy


@dataclass(slots=True)
class Batch:
    """The messages received in one turn."""

    received: list[Received]
    now: datetime
    sends: list[Sending] = field(default_factory=list)
    dead: list[Dead] = field(default_factory=list)
    # Outcomes of the messages handled so far, in the order of ``received``.
    outcomes: list[Outcome] = field(default_factory=list)
    # The last messages of ``received``, which the link leaves at the source.
    left: list[Received] = field(default_factory=list)
    counts: Counts = field(default_factory=Counts)

    @property
    def taken(self) -> list[Received]:
        """The messages of the batch that leave the source."""
        return self.received[: len(self.outcomes)]

    def leave(self, first: Received) -> None:
        """Keep this message and all later messages of the batch at the source."""
        place = self.received.index(first)
        self.left = self.received[place:]

    def send(self, sending: Sending) -> None:
        self.sends.append(sending)
        self.outcomes.append(sending.outcome)
        self.counts.transformed += sending.transformed
        self.counts.branched += sending.outcome is Outcome.BRANCHED

    def end(self, outcome: Outcome) -> None:
        """Remove the next message from the source without sending it."""
        self.outcomes.append(outcome)

    def refuse(self, sending: Sending, dead: Dead) -> None:
        """Turn a message that the target refused into a dead message."""
        self.sends.remove(sending)
        self.outcomes[self.received.index(sending.received)] = Outcome.SEND_FAILURE
        self.dead.append(dead)

    def final_counts(self) -> Counts:
        """The counts of the batch, once all outcomes are known."""
        counts = self.counts
        counts.received = len(self.outcomes)
        counts.sent = len(self.sends)
        counts.dead = len(self.dead)
        counts.expired = self.outcomes.count(Outcome.MESSAGE_EXPIRED)
        counts.not_transferred = self.outcomes.count(Outcome.NOT_TRANSFERRED)
        counts.duplicates = self.outcomes.count(Outcome.DUPLICATE)
        counts.looped = self.outcomes.count(Outcome.LOOPED)
        return counts

    def latency_ms(self, received: Received) -> int | None:
        """Time from the put at the source until now; None if the put time is
        unknown."""
        if received.sent_at is None:
            return None
        took = self.now - received.sent_at
        if took.days:
            return max(0, took // MILLISECOND)
        return took.seconds * 1000 + took.microseconds // 1000

    def runs(self) -> Iterator[list[Sending]]:
        """The messages to send, grouped into runs with the same destination."""
        run: list[Sending] = []
        for one in self.sends:
            if run and run[-1].destination != one.destination:
                yield run
                run = []
            run.append(one)
        if run:
            yield run
