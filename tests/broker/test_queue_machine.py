"""The broker against a model of itself: a dictionary, which cannot be wrong in SQL.

Hypothesis puts, gets, settles, waits and loses consumers, in any order it can think
of. After every step the two must agree on where every message is, and the broker's own
check must find nothing. The model knows units of work by numbers of its own, not by the
broker's fence: they must not be wrong together.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from itertools import count

import pytest
from django.db import connection, transaction
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
)

from broker import operations
from broker.errors import LockLost, NotResubmittable
from broker.models import Claim, Delayed, Queue, Ready
from broker.monitoring import fsck
from broker.queueing import delayed as delays
from broker.queueing import journal, processes
from broker.queueing.put import put
from broker.settlement import expiry, settle
from broker.settlement.outcomes import Accept, BackOut, Release
from broker.transactions.scope import UnitOfWork
from tests.broker.model import DELAY, LONG, Model, Place, Unit
from tests.examples import examples
from tests.make import NOON, make_queue, make_setting, make_user, plan_resubmit

TTL = timedelta(seconds=25)


class QueueMachine(RuleBasedStateMachine):
    units = Bundle("units")

    @initialize(attempts=st.integers(1, 3), delayed=st.booleans())
    def one_queue_and_its_dead_letters(self, attempts: int, delayed: bool) -> None:
        vacuum_now_and_then()
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
        self.model = Model(NOON, attempts=attempts, delayed=delayed)

    def teardown(self) -> None:
        if hasattr(self, "rollback"):
            if hasattr(self, "model") and not connection.needs_rollback:
                self.the_broker_s_own_check_finds_nothing()
            transaction.set_rollback(True)
            self.rollback.__exit__(None, None, None)

    # What producers and consumers do.

    @rule(priority=st.integers(3, 5), expires=st.booleans())
    def put(self, priority: int, *, expires: bool) -> None:
        until = self.model.now + TTL if expires else None
        receipt = put(
            "orders", b"x", priority=priority, expires_at=until, now=self.model.now
        )
        self.model.places[receipt.message_id] = Place(
            next(self.model.numbers), priority, expires=until
        )

    @rule(target=units, limit=st.integers(1, 3))
    def get(self, limit: int) -> Unit:
        return self.begin(limit)

    @rule(unit=units, limit=st.integers(1, 2), queue=st.sampled_from(["orders", "DLQ"]))
    def get_more(self, unit: Unit, limit: int, queue: str) -> None:
        if unit.open and unit.work.id is not None:
            self.take(unit, queue, limit)
        elif unit.work.id is not None and not unit.work.ended:
            unit.work.now = self.model.now
            assert unit.work.get(queue, limit) == []
            # It wakes what is due, and looks again, until nothing is due.
            self.model.due(queue, len(self.model.places))

    @rule(unit=units)
    def commit(self, unit: Unit) -> None:
        work = self.again(unit)
        if unit.open:
            work.commit()
            self.model.places = {
                k: p for k, p in self.model.places.items() if p.unit != unit.number
            }
            unit.open = False
        else:
            self.refused(unit, work.commit)

    @rule(unit=units)
    def back_out(self, unit: Unit) -> None:
        work = self.again(unit)
        if unit.open:
            work.back_out(BackOut("no such customer 17", spread=0))
            self.model.returns(unit)
        else:
            self.refused(unit, lambda: work.back_out("too late"))

    @rule(limit=st.integers(1, 2), well=st.booleans(), late=st.booleans())
    def consumer_ends_twice(self, limit: int, well: bool, late: bool) -> None:
        unit = self.begin(limit)
        (self.commit if well else self.back_out)(unit)
        (self.commit if late else self.back_out)(unit)

    @rule(
        limit=st.integers(1, 2),
        well=st.booleans(),
        away=st.sampled_from([LONG / 2, LONG]),
    )
    def consumer_comes_back(self, limit: int, well: bool, away: timedelta) -> None:
        unit = self.begin(limit)
        self.consumers_hang(away)
        self.get_more(unit, 1, "orders")
        (self.commit if well else self.back_out)(unit)

    @rule(target=units, limit=st.integers(1, 3), data=st.data(), well=st.booleans())
    def get_and_settle_one(self, limit: int, data: st.DataObject, well: bool) -> Unit:
        unit = self.begin(limit)
        if not self.model.of(unit):
            return unit
        one = data.draw(st.sampled_from(sorted(self.model.of(unit))))
        queue = self.queue_id(self.model.places[one].queue)
        outcome = Accept() if well else Release()
        settle.settle_some(unit.uow, queue, [one], outcome, now=self.model.now)
        unit.work.held -= 1
        if well:
            del self.model.places[one]
        else:
            self.model.places[one] = replace(
                self.model.places[one], state="ready", unit=None, returned=True
            )
        return unit

    @rule(well=st.booleans())
    def consumer_settles_what_another_has(self, well: bool) -> None:
        unit, other = self.begin(1), self.begin(1)
        for message_id in self.model.of(other):
            queue = self.queue_id(self.model.places[message_id].queue)
            outcome = Accept() if well else Release()
            with pytest.raises(LockLost), transaction.atomic():
                settle.settle_some(
                    unit.uow, queue, [message_id], outcome, now=self.model.now
                )
        self.back_out(other)
        self.commit(unit)

    @rule(well=st.booleans())
    def message_expires_under_its_holder(self, well: bool) -> None:
        self.put(9, expires=True)
        unit = self.begin(2)
        self.model.now += TTL
        (self.commit if well else self.back_out)(unit)

    @rule(limit=st.integers(1, 3))
    def heads_fail_until_they_are_dead(self, limit: int) -> None:
        for _ in range(3):
            self.put(4, expires=False)
        for _ in range(self.model.attempts):
            self.back_out(self.begin(limit))
            self.delays_run(DELAY / 2)  # too early
            self.delays_run(DELAY / 2)
        self.commit(self.begin(1))

    # What time and the broker's own processes do.

    @rule(wait=st.sampled_from([DELAY / 2, DELAY]))
    def time_passes(self, wait: timedelta) -> None:
        self.model.now += wait

    @rule(wait=st.sampled_from([timedelta(0), DELAY / 2, DELAY]))
    def delays_run(self, wait: timedelta) -> None:
        self.model.now += wait
        delays.wake_due(limit=100, now=self.model.now)
        self.model.due()
        self.every_message_is_where_it_ought_to_be()

    @rule(wait=st.sampled_from([LONG / 2, LONG]))
    def consumers_hang(self, wait: timedelta) -> None:
        self.model.now += wait
        settle.back_out_overdue(limit=100, now=self.model.now)
        for unit in sorted(self.model.overdue()):
            self.model.returns_of(unit)

    @rule()
    def expired_are_swept(self) -> None:
        expiry.expire(limit=100, now=self.model.now)
        self.model.places = {
            k: p
            for k, p in self.model.places.items()
            if p.unit or not self.model.is_expired(p)
        }

    @rule()
    def operator_resubmits_every_dead_letter(self) -> None:
        dead = [
            k for k, p in self.model.sorted() if (p.queue, p.state) == ("DLQ", "ready")
        ]
        if not dead:
            with pytest.raises(NotResubmittable), transaction.atomic():
                plan_resubmit(self.operator, "all")
            return
        operation = plan_resubmit(self.operator, "all")
        operations.take_in(operation.pk, "those that were sent back often, too")
        operations.start(operation.pk)
        self.model.became(dead, "orders")

    @rule(paused=st.booleans())
    def operator_pauses(self, paused: bool) -> None:
        Queue.objects.filter(name="orders").update(paused=paused)

    @rule()
    def journal_is_folded(self) -> None:
        journal.fold()

    # What must always be.

    @invariant()
    def every_message_is_where_it_ought_to_be(self) -> None:
        if hasattr(self, "model"):
            assert self.stored() == {
                k: (p.queue, p.state, p.priority, p.backouts)
                for k, p in self.model.places.items()
            }

    @rule()
    def the_broker_s_own_check_finds_nothing(self) -> None:
        assert fsck.violations() == []
        assert fsck.sums().balance == 0

    # What the machine asks.

    def begin(self, limit: int) -> Unit:
        unit = Unit(
            next(self.model.numbers), UnitOfWork(now=self.model.now), self.model.now
        )
        self.take(unit, "orders", limit)
        return unit

    def take(self, unit: Unit, queue: str, limit: int) -> None:
        unit.work.now = self.model.now
        paused = Queue.objects.get(name=queue).paused
        ready = self.model.next_ready(queue, limit)
        if paused or not ready:  # a get that finds nothing looks at what is due
            self.model.due(queue, limit)
            ready = self.model.next_ready(queue, limit)
        expected = [] if paused else ready
        got = unit.work.get(queue, limit)
        assert [delivery.message_id for delivery in got] == expected
        for delivery in got:
            place = self.model.places[delivery.message_id]
            assert delivery.backout_count == place.backouts
            self.model.places[delivery.message_id] = replace(
                place, state="claimed", unit=unit.number, returned=False
            )
        if got and unit.number not in self.model.units:
            unit.began = self.model.now
            self.model.units[unit.number] = unit
        if not got and unit.work.id is None:
            unit.open = False

    def refused(self, unit: Unit, call: object) -> None:
        if unit.work.id is not None:
            with pytest.raises(LockLost), transaction.atomic():
                call()  # type: ignore[operator]
        unit.work.ended = True

    def again(self, unit: Unit) -> UnitOfWork:
        """A consumer that does not know of an end tries whatever it likes."""
        unit.work.now, unit.work.ended = self.model.now, False
        return unit.work

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
            for one in zip(
                claim.ids, claim.priorities, claim.backout_counts, strict=True
            ):
                found[one[0]] = (names[claim.queue_id], "claimed", *one[1:])
        return found


EXAMPLES = count(1)


def vacuum_now_and_then() -> None:
    """Examples are rolled back, and what they leave slows down the later ones."""
    if next(EXAMPLES) % 20 == 1:
        with processes.connect() as session:
            for table in ("ready", "delayed", "claim", "message", "event"):
                session.execute(f"VACUUM broker_{table}")


@pytest.mark.django_db
@pytest.mark.spec("UOW-1", "UOW-2", "UOW-3", "DLA-2", "REDEL-1", "REDEL-4")
class TestQueueMachine(QueueMachine.TestCase):  # type: ignore[valid-type, misc]
    settings = settings(
        max_examples=examples(100), stateful_step_count=50, deadline=None
    )
