"""Settlement: outcomes of deliveries, from the client to the database and back.

A delivery is settled on our side only after the commit. Outcomes of many Senders are
committed together (``Listener.settlements``), in order for each Sender.
"""

from __future__ import annotations

import logging
from collections import OrderedDict, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING

from broker.amqp.protocol import performatives as p
from broker.amqp.protocol.delivery import Delivery
from broker.amqp.senders.fetch import InFlightEntry
from broker.amqp.senders.outcomes import (
    NO_OUTCOME,
    ROLLED_BACK,
    Circumstances,
    Verdict,
    bare,
    decide,
)
from broker.amqp.transactions import state as transactions
from broker.amqp.transactions.commit import Ending
from broker.settlement.batch import Settlement
from broker.settlement.confirmations import places_of
from broker.settlement.outcomes import Accept, BackOut, Release

if TYPE_CHECKING:
    from broker.amqp.senders.sender import Gets

logger = logging.getLogger(__name__)

RELEASED = Verdict(Release())
BACKED_OUT = Verdict(BackOut(ROLLED_BACK, at_once=True))
MOST_REMEMBERED = 1000  # most entries whose releases are counted
QUIET_S = 60.0  # seconds without a release of the entry, after which its count is reset


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


@dataclass(slots=True)
class Gathered:
    """Entries of one unit of work with the same outcome."""

    verdict: Verdict
    answer: p.Outcome | None
    entries: list[InFlightEntry]


class Settling:
    """The outcomes of one Sender."""

    def __init__(self, gets: Gets) -> None:
        self.gets = gets
        self.client = gets.client
        self.held = gets.held
        self.releases = Releases()
        # Outcomes that are not sent yet.
        self.gathered: dict[tuple[int, Verdict, str], Gathered] = {}
        self.pending = 0  # settlements not committed yet
        # Pending or gathered outcomes whose entries go back to the queue.
        self.returning = 0

    @property
    def is_busy(self) -> bool:
        """Whether outcomes are on their way to the database."""
        return bool(self.pending or self.gathered)

    def disposed(
        self,
        deliveries: Sequence[Delivery],
        state: p.DeliveryState | None,
        *,
        is_settled: bool,
    ) -> None:
        """Handle an outcome from the client, or a settlement without one.

        Only the first outcome of a delivery counts.
        """
        fresh = [one for one in deliveries if is_open(one)]
        if not fresh:
            return
        if isinstance(state, p.TransactionalState):
            self.enlist(fresh, state, is_settled=is_settled)
            return
        answer = None if is_settled else bare(state)
        if isinstance(state, p.Accepted):
            self.settle(ACCEPTED, [one.context for one in fresh], answer)
            return
        groups: dict[Verdict, list[InFlightEntry]] = defaultdict(list)
        for one in fresh:
            verdict = self.verdict(one.context, state, is_settled=is_settled)
            if verdict is not None:
                groups[verdict].append(one.context)
        for verdict, entries in groups.items():
            self.settle(verdict, entries, answer)

    def verdict(
        self, entry: InFlightEntry, state: p.DeliveryState | None, *, is_settled: bool
    ) -> Verdict | None:
        """See ``outcomes.decide``."""
        loop, listener = self.client.listener.loop, self.client.listener
        now, message_id = listener.now(), entry.got.message_id
        expires_at = entry.got.expires_at
        attach = self.gets.endpoint.attach
        source = attach.source if attach is not None else None
        about = Circumstances(
            now=now,
            default=source.default_outcome if source is not None else None,
            is_dead_letter=bool(self.gets.taker.is_of_dead_letters),
            is_expired=expires_at is not None and expires_at <= now,
            was_rolled_back=entry.was_rolled_back,
            releases=self.releases.of(message_id, loop.time()),
        )
        verdict = decide(state, about, is_settled=is_settled)
        if verdict is not None and is_release(state):
            self.releases.note(message_id, loop.time())
        return verdict

    def settle(
        self,
        verdict: Verdict,
        entries: Sequence[InFlightEntry],
        answer: p.Outcome | None,
    ) -> None:
        """Commit the outcome of entries, from the end of this iteration of the loop.

        Args:
            verdict: the verdict on all of them.
            entries: the entries.
            answer: the outcome to settle with afterwards; None if the client has
                settled.
        """
        if verdict.hides:  # hide the entry before it can be fetched again
            self.gets.hide([entry.got for entry in entries])
        if entries and not self.gathered:
            self.client.listener.loop.call_soon(self.client.guard, self.send)
        for uow, of_one in groupby(entries, lambda entry: entry.got.uow):
            alike = uow, verdict, repr(answer)
            if alike not in self.gathered:
                self.gathered[alike] = Gathered(verdict, answer, [])
                self.returning += goes_back(verdict)
            self.gathered[alike].entries += of_one
        for entry in entries:
            entry.is_ending = True

    def send(self) -> None:
        gathered, self.gathered = self.gathered, {}
        for one in gathered.values():
            self.pending += 1
            self.client.listener.settlements.add(
                [self.one(one.entries[0].got.uow, one.verdict, one.entries)],
                partial(self.client.guard, self.settled, one),
            )

    def one(
        self, uow: int, verdict: Verdict, entries: Sequence[InFlightEntry]
    ) -> Settlement:
        ids = [entry.got.message_id for entry in entries]
        outcome, actor = verdict.outcome, self.client.actor
        if verdict.hides and isinstance(outcome, Release | BackOut):
            outcome = replace(outcome, hidden=True)
        asks = bool(places_of(entry.got for entry in entries))
        return Settlement(uow, self.gets.queue_id, ids, outcome, actor, asks)

    def settled(
        self, gathered: Gathered, told: list[tuple[Ending, Exception | None]]
    ) -> None:
        """Handle the result of a settlement."""
        ((_, result),) = told
        self.pending -= 1
        self.returning -= goes_back(gathered.verdict)
        self.held.drop(gathered.entries)
        if result is not None:
            logger.warning("Outcomes on %s have no effect: %s", self.gets.node, result)
            self.gets.failed(result)
        else:
            self.end(gathered.entries, gathered.answer)
            self.gets.go_on()

    def end(self, entries: Sequence[InFlightEntry], answer: p.Outcome | None) -> None:
        """Settle deliveries on our side; an answer of None sends nothing."""
        sent = [entry.sent for entry in entries if entry.sent is not None]
        self.held.settled += len(sent)
        if answer is not None and sent:
            self.gets.endpoint.session.settle(sent, answer)
            self.client.flush()

    def release(self, entries: Sequence[InFlightEntry]) -> None:
        """Give back entries that the client has not seen; this is not counted as a
        backout."""
        self.settle(RELEASED, entries, None)

    # Deliveries in transactions.

    def enlist(
        self,
        deliveries: list[Delivery],
        state: p.TransactionalState,
        *,
        is_settled: bool,
    ) -> None:
        if state.outcome is None and not is_settled:
            return
        for entry in entries_of(deliveries):
            entry.is_enlisted = True
        transactions.enlist(
            self.client, self.gets, deliveries, state, settled=is_settled
        )

    def settlement(
        self, deliveries: Sequence[Delivery], outcome: p.Outcome | None
    ) -> list[Settlement]:
        """The settlements by which a commit ends enlisted deliveries."""
        groups: dict[tuple[int, Verdict], list[InFlightEntry]] = defaultdict(list)
        for entry in entries_of(deliveries):
            verdict = self.verdict(entry, outcome, is_settled=True) or FAILED
            if verdict.hides:
                self.gets.hide([entry.got])
            groups[entry.got.uow, verdict].append(entry)
        return [
            self.one(uow, verdict, entries)
            for (uow, verdict), entries in groups.items()
        ]

    def discharged(
        self, deliveries: Sequence[Delivery], outcome: p.Outcome | None
    ) -> None:
        """Settle deliveries after the commit of their transaction."""
        entries = entries_of(deliveries)
        self.held.drop(entries)
        self.end(entries, bare(outcome))
        self.gets.go_on()

    def rolled_back(self, deliveries: Sequence[Delivery], *, is_settled: bool) -> None:
        """Handle the rollback of the transaction of deliveries.

        Args:
            deliveries: the deliveries.
            is_settled: whether the client has settled them: then they were backed out.
                Otherwise the client still has them, and a release will count.
        """
        entries = entries_of(deliveries)
        for entry in entries:
            entry.is_enlisted = False
            entry.was_rolled_back = True
        if is_settled:
            self.held.drop(entries)
        self.gets.go_on()

    def end_badly(
        self, deliveries: Sequence[Delivery], why: str, *, is_settled: bool
    ) -> None:
        """Back out deliveries whose outcome could not be carried out."""
        entries = entries_of(deliveries)
        for entry in entries:
            entry.is_enlisted = False
        answer = None if is_settled else p.Modified(delivery_failed=True)
        self.settle(Verdict(BackOut(why)), entries, answer)


ACCEPTED = Verdict(Accept())
FAILED = Verdict(BackOut(NO_OUTCOME))


def goes_back(verdict: Verdict) -> bool:
    """Whether entries of this verdict return to the queue, before entries not fetched
    yet."""
    return isinstance(verdict.outcome, Release | BackOut)


def is_open(delivery: Delivery) -> bool:
    """Whether a delivery has no outcome yet."""
    entry = delivery.context
    return (
        isinstance(entry, InFlightEntry)
        and not entry.is_ending
        and not entry.is_enlisted
    )


def is_release(state: p.DeliveryState | None) -> bool:
    if isinstance(state, p.Modified):
        return not state.delivery_failed
    return isinstance(state, p.Released)


def entries_of(deliveries: Sequence[Delivery]) -> list[InFlightEntry]:
    return [one.context for one in deliveries if isinstance(one.context, InFlightEntry)]
