"""What ought to be on the queues: a dictionary, and what each step does to it.

It knows units of work by numbers of its own, not by the broker's fence.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import count

from broker.models import Message
from broker.transactions.scope import UnitOfWork

DELAY = timedelta(seconds=10)
LONG = timedelta(seconds=300)  # a unit of work's time


@dataclass(frozen=True)
class Place:
    """Where one message ought to be."""

    number: int  # in order of arrival, over all queues
    priority: int
    queue: str = "orders"
    state: str = "ready"
    backouts: int = 0
    returned: bool = False  # it stands before what is new
    until: datetime | None = None  # when its delay ends
    unit: int | None = None  # the model's number of the unit of work that has it
    expires: datetime | None = None


class Unit:
    """A unit of work, and what the model knows of it."""

    def __init__(self, number: int, work: UnitOfWork, began: datetime) -> None:
        self.number, self.work, self.began = number, work, began
        self.open = True

    @property
    def uow(self) -> int:
        return self.work.id or 0


class Model:
    """Where every message ought to be, by its id."""

    def __init__(self, now: datetime, *, attempts: int, delayed: bool) -> None:
        self.now = now
        self.attempts, self.delayed = attempts, delayed
        self.numbers = count(1)
        self.places: dict[int, Place] = {}
        self.units: dict[int, Unit] = {}

    # What the model does.

    def returns(self, unit: Unit) -> None:
        self.returns_of(unit.number)

    def returns_of(self, number: int) -> None:
        dead = []
        for k, place in self.sorted():
            if place.unit != number:
                continue
            if self.is_expired(place):
                del self.places[k]
                continue
            back = self.backed_out(place)
            self.places[k] = back
            if back.queue == "orders" and back.backouts == self.attempts:
                dead.append(k)
        self.became(dead, "DLQ")
        self.units[number].open = False

    def backed_out(self, place: Place) -> Place:
        later = self.delayed and place.queue == "orders"
        return replace(
            place,
            unit=None,
            backouts=place.backouts + 1,
            state="delayed" if later else "ready",
            until=self.now + DELAY if later else None,
            returned=True,
        )

    def became(self, ids: list[int], queue: str) -> None:
        """Each of these messages is now a copy on another queue, in the same order."""
        copied = Message.objects.filter(copied_from__in=ids)
        copies = {one.copied_from or 0: one.pk for one in copied}
        assert sorted(copies) == sorted(ids), "one copy of each"
        assert [copies[one] for one in ids] == sorted(copies.values()), "in their order"
        for one in ids:
            place = self.places.pop(one)
            self.places[copies[one]] = Place(
                next(self.numbers), place.priority, queue=queue
            )

    def due(self, queue: str | None = None, limit: int = 100) -> None:
        waiting = sorted(
            (p.until.timestamp(), k)
            for k, p in self.places.items()
            if p.until is not None and p.until <= self.now and queue in (None, p.queue)
        )
        for _, k in waiting[:limit]:
            self.places[k] = replace(
                self.places[k], state="ready", until=None, returned=True
            )

    # What the model knows.

    def sorted(self) -> list[tuple[int, Place]]:
        return sorted(self.places.items())

    def of(self, unit: Unit) -> list[int]:
        return [k for k, p in self.places.items() if p.unit == unit.number]

    def overdue(self) -> set[int]:
        return {
            n for n, u in self.units.items() if u.open and u.began + LONG <= self.now
        }

    def is_expired(self, place: Place) -> bool:
        return place.expires is not None and place.expires <= self.now

    def some(self, state: str) -> bool:
        return any(p.state == state for p in self.places.values())

    def next_ready(self, queue: str, limit: int) -> list[int]:
        ready = [
            (-p.priority, not p.returned, k)
            for k, p in self.places.items()
            if (p.queue, p.state) == (queue, "ready") and not self.is_expired(p)
        ]
        return [k for *_, k in sorted(ready)[:limit]]
