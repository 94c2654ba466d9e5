"""The broker against a model of itself: a dictionary, which cannot be wrong in SQL.

Hypothesis puts, gets, settles, waits and loses consumers, in any order it can think
of. After every step the two must agree on where every message is, and the broker's own
check must find nothing. The model knows units of work by numbers of its own, not by the
broker's fence: they must not be wrong together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import count

import pytest
from django.db import transaction
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from broker import delays, expiry, fsck, journal, operations, settle
from broker.errors import LockLost, NotResubmittable
from broker.models import Claim, Delayed, Message, Queue, Ready
from broker.put import put
from broker.unit_of_work import UnitOfWork
from tests.make import NOON, make_queue, make_setting, make_user

DELAY = timedelta(seconds=10)
LONG = timedelta(seconds=300)  # a unit of work's time
TTL = timedelta(seconds=25)


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


class QueueMachine(RuleBasedStateMachine):
    units = Bundle("units")

    @initialize(attempts=st.integers(1, 3), delayed=st.booleans())
    def one_queue_and_its_dead_letters(self, attempts: int, delayed: bool) -> None:
        self.rollback = transaction.atomic()
        self.rollback.__enter__()
        self.orders, self.dead = make_queue("orders"), make_queue("DLQ", address="DLA")
        make_setting(
            "orders",
            max_delivery_attempts=attempts,
            redelivery_delay_ms=10_000 if delayed else 0,
            dead_letter_address="DLA",
        )
        make_setting("DLA", max_delivery_attempts=-1)
        self.operator = make_user()
        self.attempts, self.delayed = attempts, delayed
        self.now = NOON
        self.numbers = count(1)
        self.places: dict[int, Place] = {}  # by message id
        self.accepted = 0

    def teardown(self) -> None:
        if hasattr(self, "rollback"):
            transaction.set_rollback(True)
            self.rollback.__exit__(None, None, None)

    # What producers and consumers do.

    @rule(priority=st.integers(3, 5), expires=st.booleans())
    def put(self, priority: int, expires: bool) -> None:
        until = self.now + TTL if expires else None
        receipt = put("orders", b"x", priority=priority, expires_at=until, now=self.now)
        self.places[receipt.message_id] = Place(
            next(self.numbers), priority, expires=until
        )

    @rule(target=units, limit=st.integers(1, 3))
    def get(self, limit: int) -> Unit:
        unit = Unit(next(self.numbers), UnitOfWork(now=self.now), self.now)
        self.take(unit, "orders", limit)
        return unit

    @rule(unit=units, limit=st.integers(1, 2), queue=st.sampled_from(["orders", "DLQ"]))
    def get_more(self, unit: Unit, limit: int, queue: str) -> None:
        if unit.open and unit.work.id is not None:
            self.take(unit, queue, limit)
        elif unit.work.id is not None and not unit.work.ended:
            unit.work.now = self.now
            assert unit.work.get(queue, limit) == []
            self.due(queue, limit)

    @rule(unit=units)
    def commit(self, unit: Unit) -> None:
        work = self.again(unit)
        if unit.open:
            work.commit()
            self.accepted += len(self.of(unit))
            self.places = {
                k: p for k, p in self.places.items() if p.unit != unit.number
            }
            unit.open = False
        else:
            self.refused(unit, work.commit)

    @rule(unit=units)
    def back_out(self, unit: Unit) -> None:
        work = self.again(unit)
        if unit.open:
            work.back_out("no such customer 17", spread=0)
            self.returns(unit)
        else:
            self.refused(unit, lambda: work.back_out("too late"))

    @rule(limit=st.integers(1, 2), well=st.booleans(), late=st.booleans())
    def consumer_ends_twice(self, limit: int, well: bool, late: bool) -> None:
        unit = self.get(limit)
        (self.commit if well else self.back_out)(unit)
        (self.commit if late else self.back_out)(unit)

    @rule(limit=st.integers(1, 2), well=st.booleans())
    def consumer_comes_back_too_late(self, limit: int, well: bool) -> None:
        unit = self.get(limit)
        self.consumers_hang(LONG)
        self.get_more(unit, 1, "orders")
        (self.commit if well else self.back_out)(unit)

    @rule(unit=units, data=st.data(), well=st.booleans())
    def settle_one(self, unit: Unit, data: st.DataObject, well: bool) -> None:
        if not self.of(unit):
            return
        one = data.draw(st.sampled_from(sorted(self.of(unit))))
        queue = self.queue_id(self.places[one].queue)
        end = settle.accept_some if well else settle.release_some
        end(unit.work.id, queue, [one], now=self.now)
        unit.work.held -= 1
        if well:
            del self.places[one]
            self.accepted += 1
        else:
            self.places[one] = replace(
                self.places[one], state="ready", unit=None, returned=True
            )

    @rule(unit=units)
    def settle_one_that_was_lost(self, unit: Unit) -> None:
        held = self.of(unit)
        others = [k for k, p in self.places.items() if p.unit and k not in held]
        for message_id in others:
            queue = self.queue_id(self.places[message_id].queue)
            with pytest.raises(LockLost), transaction.atomic():
                settle.accept_some(unit.work.id, queue, [message_id], now=self.now)

    @rule()
    def head_fails_until_it_is_dead(self) -> None:
        for _ in range(self.attempts):
            self.back_out(self.get(1))
            self.delays_run(DELAY)

    # What time and the broker's own processes do.

    @rule(wait=st.sampled_from([DELAY / 2, DELAY]))
    def time_passes(self, wait: timedelta) -> None:
        self.now += wait

    @rule(wait=st.sampled_from([timedelta(0), DELAY / 2, DELAY]))
    def delays_run(self, wait: timedelta) -> None:
        self.now += wait
        delays.wake_due(limit=100, now=self.now)
        self.due()

    @rule(wait=st.sampled_from([LONG / 2, LONG]))
    def consumers_hang(self, wait: timedelta) -> None:
        self.now += wait
        settle.back_out_overdue(limit=100, now=self.now)
        late = {p.unit for p in self.places.values() if p.unit}
        for unit in sorted(late & self.overdue()):
            self.returns_of(unit)

    @rule()
    def expired_are_swept(self) -> None:
        expiry.expire(limit=100, now=self.now)
        self.places = {
            k: p for k, p in self.places.items() if p.unit or not self.is_expired(p)
        }

    @rule()
    def operator_resubmits_every_dead_letter(self) -> None:
        dead = [k for k, p in self.sorted() if (p.queue, p.state) == ("DLQ", "ready")]
        if not dead:
            with pytest.raises(NotResubmittable), transaction.atomic():
                operations.plan_resubmit(self.operator, "all")
            return
        operation = operations.plan_resubmit(self.operator, "all")
        operations.start(operation.pk)
        self.became(dead, "orders")

    @rule(paused=st.booleans())
    def operator_pauses(self, paused: bool) -> None:
        Queue.objects.filter(name="orders").update(paused=paused)

    @rule()
    def journal_is_folded(self) -> None:
        journal.fold()

    # What must always be.

    @invariant()
    def every_message_is_where_it_ought_to_be(self) -> None:
        if hasattr(self, "places"):
            assert self.stored() == {
                k: (p.queue, p.state, p.priority, p.backouts)
                for k, p in self.places.items()
            }

    @rule()
    def the_broker_s_own_check_finds_nothing(self) -> None:
        assert fsck.violations() == []
        assert fsck.sums().balance == 0

    # What the model does.

    def take(self, unit: Unit, queue: str, limit: int) -> None:
        unit.work.now = self.now
        paused = Queue.objects.get(name=queue).paused
        ready = self.next_ready(queue, limit)
        if paused or not ready:  # a get that finds nothing looks at what is due
            self.due(queue, limit)
            ready = self.next_ready(queue, limit)
        expected = [] if paused else ready
        got = unit.work.get(queue, limit)
        assert [delivery.message_id for delivery in got] == expected
        for delivery in got:
            place = self.places[delivery.message_id]
            assert delivery.backout_count == place.backouts
            self.places[delivery.message_id] = replace(
                place, state="claimed", unit=unit.number, returned=False
            )
        if got and len(self.of(unit)) == len(got):
            unit.began = self.now
            UNITS[unit.number] = unit
        if not got and unit.work.id is None:
            unit.open = False

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
        UNITS[number].open = False

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
        copies = dict(
            Message.objects.filter(copied_from__in=ids).values_list("copied_from", "id")
        )
        assert sorted(copies) == sorted(ids), "one copy of each"
        for one in ids:
            place = self.places.pop(one)
            self.places[copies[one]] = Place(
                next(self.numbers), place.priority, queue=queue
            )

    def due(self, queue: str | None = None, limit: int = 100) -> None:
        waiting = sorted(
            (p.until, k)
            for k, p in self.places.items()
            if p.until and p.until <= self.now and queue in (None, p.queue)
        )
        for _, k in waiting[:limit]:
            self.places[k] = replace(
                self.places[k], state="ready", until=None, returned=True
            )

    def refused(self, unit: Unit, call: object) -> None:
        if unit.work.id is not None and unit.work.held:
            with pytest.raises(LockLost), transaction.atomic():
                call()  # type: ignore[operator]
        unit.work.ended = True

    # What the model knows.

    def again(self, unit: Unit) -> UnitOfWork:
        """A consumer that does not know of an end tries whatever it likes."""
        unit.work.now, unit.work.ended = self.now, False
        return unit.work

    def sorted(self) -> list[tuple[int, Place]]:
        return sorted(self.places.items())

    def of(self, unit: Unit) -> list[int]:
        return [k for k, p in self.places.items() if p.unit == unit.number]

    def overdue(self) -> set[int]:
        return {n for n, u in UNITS.items() if u.open and u.began + LONG <= self.now}

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

    def queue_id(self, name: str) -> int:
        return {"orders": self.orders.pk, "DLQ": self.dead.pk}[name]

    def stored(self) -> dict[int, tuple[str, str, int, int]]:
        names = {self.orders.pk: "orders", self.dead.pk: "DLQ"}
        found = {}
        for state, model in (("ready", Ready), ("delayed", Delayed)):
            for row in model.objects.all():
                found[row.id] = (
                    names[row.queue_id],
                    state,
                    row.priority,
                    row.backout_count,
                )
        for claim in Claim.objects.all():
            for one in zip(claim.ids, claim.priorities, claim.backout_counts):
                found[one[0]] = (names[claim.queue_id], "claimed", *one[1:])
        return found


UNITS: dict[int, Unit] = {}


@pytest.mark.django_db
@pytest.mark.spec("UOW-1", "UOW-2", "UOW-3", "DLA-2", "REDEL-1", "REDEL-4")
class TestQueueMachine(QueueMachine.TestCase):
    settings = settings(max_examples=100, stateful_step_count=50, deadline=None)
