"""Where entries of consumers that take ahead ought to be: a dictionary."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from broker.models import CountsWhenLost
from broker.queueing.get import Delivery
from broker.settlement.batch import Settlement
from broker.settlement.outcomes import Accept, BackOut, Reject, Release
from broker.transactions.prefetch import Prefetched


@dataclass(frozen=True)
class Place:
    """Where one entry of "orders" ought to be."""

    state: str = "ready"  # claimed, delayed
    backouts: int = 0
    returned: bool = False  # it stands before what is new
    until: datetime | None = None  # when its delay ends
    holder: int | None = None  # the unit of work that has it


@dataclass
class Taker:
    """A consumer, and all that it ever got."""

    prefetched: Prefetched
    got: list[Delivery] = field(default_factory=list)
    unit: int | None = None  # of work, that holds what it has
    gone: bool = False  # somebody ended that


class AheadModel:
    """What each step does to the entries of "orders"."""

    def __init__(
        self, now: datetime, *, attempts: int, delay: timedelta, counts: str
    ) -> None:
        self.now = now
        self.attempts, self.delay, self.counts = attempts, delay, counts
        self.places: dict[int, Place] = {}
        self.dead: dict[int, int] = {}  # backouts, by what it was

    # What the model knows.

    def holds(self, uow: int, message_id: int) -> bool:
        place = self.places.get(message_id)
        return place is not None and place.holder == uow

    def of(self, taker: Taker) -> list[int]:
        return [
            one
            for one, place in self.places.items()
            if place.holder is not None and place.holder == taker.unit
        ]

    def next_ready(self, taker: Taker, limit: int) -> list[int]:
        ready = sorted(
            (not place.returned, one)
            for one, place in self.places.items()
            if place.state == "ready" and (4, one) not in taker.prefetched.hidden
        )
        return [one for _, one in ready[:limit]]

    def fall_due(self, limit: int) -> bool:
        """Make so many ready; return whether there were any."""
        due = sorted(
            (place.until, one)
            for one, place in self.places.items()
            if place.until is not None and place.until <= self.now
        )
        for _, one in due[:limit]:
            self.places[one] = replace(
                self.places[one], state="ready", until=None, returned=True
            )
        return bool(due)

    def counts_lost(self, message_id: int, oldest: int | None) -> bool:
        if self.counts == CountsWhenLost.OLDEST:
            return message_id == oldest
        return self.counts == CountsWhenLost.ALL

    # What becomes of entries.

    def ended(self, settlement: Settlement) -> None:
        for one in set(settlement.ids):
            match settlement.outcome:
                case Accept():
                    del self.places[one]
                case Release(delay):
                    self.back(one, counted=False, delay=delay or timedelta(0))
                case BackOut(_, delay, at_once):
                    own = self.delay if not at_once else timedelta(0)
                    self.back(one, delay=own if delay is None else delay)
                case Reject():
                    self.die(one)

    def back(
        self,
        message_id: int,
        *,
        counted: bool = True,
        delay: timedelta = timedelta(0),
    ) -> None:
        place = self.places[message_id]
        backouts = place.backouts + counted
        if counted and backouts == self.attempts:
            self.die(message_id)
            return
        until = self.now + delay if delay else None
        self.places[message_id] = Place(
            "delayed" if delay else "ready", backouts, not delay, until
        )

    def die(self, message_id: int) -> None:
        self.dead[message_id] = self.places.pop(message_id).backouts + 1

    def all_back(self, taker: Taker, counts: Callable[[int], bool]) -> None:
        for one in self.of(taker):
            if counts(one):
                self.back(one, delay=self.delay)
            else:
                self.back(one, counted=False)
        taker.unit = None
