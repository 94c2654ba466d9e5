"""Consumers that take ahead against a model: a dictionary of where each entry is.

Hypothesis gets, settles in batches of any outcomes, of what is held and of what is not
any more, commits, gives back, hides, loses clients and processes. After every step the
tables and the model must agree: every entry in one place, counted as often as it ought
to be.
"""

from __future__ import annotations

from dataclasses import replace

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

from broker.errors import LockLost, UnitOfWorkEnded
from broker.models import Claim, CountsWhenLost, DeadLetter, Delayed, Ready
from broker.models import UnitOfWork as UnitRow
from broker.monitoring import fsck
from broker.queueing import delayed
from broker.queueing.put import NewMessage, put_many
from broker.settlement import batch as settlements
from broker.settlement import settle
from broker.settlement.batch import Settlement
from broker.settlement.outcomes import Accept, BackOut, Outcome, Reject, Release
from broker.transactions.prefetch import Prefetched
from tests.broker.ahead_model import AheadModel, Place, Taker
from tests.broker.test_queue_machine import vacuum_now_and_then
from tests.examples import examples
from tests.make import NOON, make_messages, make_queue, make_setting, seconds

WHY = "no such customer"
OUTCOMES: list[Outcome] = [
    Accept(),
    Accept(),
    Release(),
    Release(seconds(5)),
    BackOut(WHY),
    BackOut(WHY, at_once=True),
    BackOut(WHY, delay=seconds(20)),
    Reject(WHY),
]


class SettlementsMachine(RuleBasedStateMachine):
    takers = Bundle("takers")

    @initialize(
        attempts=st.sampled_from([-1, 1, 2]),
        delay_s=st.sampled_from([0, 10]),
        counts=st.sampled_from(CountsWhenLost.values),
    )
    def one_queue(self, attempts: int, delay_s: int, counts: str) -> None:
        vacuum_now_and_then()
        self.rollback = transaction.atomic()
        self.rollback.__enter__()
        self.queue = make_queue("orders", counts_when_lost=counts)
        self.answers = make_queue("answers")
        make_queue("DLQ", address="DLA")
        make_setting(
            "orders",
            max_delivery_attempts=attempts,
            redelivery_delay_ms=delay_s * 1000,
            dead_letter_address="DLA",
        )
        self.model = AheadModel(
            NOON, attempts=attempts, delay=seconds(delay_s), counts=counts
        )
        self.sent = 0
        self.is_ready = True

    def teardown(self) -> None:
        if hasattr(self, "rollback"):
            if hasattr(self, "is_ready") and not connection.needs_rollback:
                assert fsck.violations() == []
                assert fsck.sums().balance == 0
            transaction.set_rollback(True)
            self.rollback.__exit__(None, None, None)

    # What consumers do.

    @rule(count=st.integers(1, 4))
    def put(self, count: int) -> None:
        for receipt in put_many(make_messages(count), now=self.model.now):
            self.model.places[receipt.message_id] = Place()

    @rule(target=takers, count=st.integers(1, 3))
    def attach(self, count: int) -> Taker:
        return self.begin(count)

    def begin(self, count: int) -> Taker:
        taker = Taker(Prefetched(self.queue))
        if count:
            self.get(taker, count)
        return taker

    @rule(taker=takers, limit=st.integers(1, 4))
    def get(self, taker: Taker, limit: int) -> None:
        if taker.prefetched.ended:
            with pytest.raises(UnitOfWorkEnded):
                taker.prefetched.get(limit, now=self.model.now)
            return
        if taker.gone:
            with pytest.raises(LockLost):
                taker.prefetched.get(limit, now=self.model.now)
            self.model.fall_due(100)
            return
        expected = self.model.next_ready(taker, limit)
        while not expected and self.model.fall_due(limit):
            expected = self.model.next_ready(taker, limit)
        got = taker.prefetched.get(limit, now=self.model.now)
        assert [one.message_id for one in got] == expected
        for one in got:
            place = self.model.places[one.message_id]
            assert one.backout_count == place.backouts
            self.model.places[one.message_id] = replace(
                place, state="claimed", holder=one.uow, returned=False
            )
            assert taker.unit in (None, one.uow), "one unit of work"
            taker.unit = one.uow
        taker.got += got

    @rule(data=st.data(), one=takers, other=takers)
    def settle(self, data: st.DataObject, one: Taker, other: Taker) -> None:
        batch = self.some(data, [one, other])
        are_held = [
            all(self.model.holds(each.uow, one) for one in each.ids) for each in batch
        ]

        results = settlements.settle(batch, now=self.model.now)

        named: set[tuple[int, int]] = set()
        for settlement, result, held in zip(batch, results, are_held, strict=True):
            entries = {(settlement.uow, one) for one in settlement.ids}
            if held and named.isdisjoint(entries):
                assert result is None
                self.model.ended(settlement)
            else:
                assert isinstance(result, LockLost)
            if named.isdisjoint(entries):
                named |= entries

    @rule(data=st.data(), one=takers, other=takers, puts=st.integers(0, 2))
    def commit(self, data: st.DataObject, one: Taker, other: Taker, puts: int) -> None:
        batch = self.some(data, [one, other])
        entries = [(each.uow, one) for each in batch for one in set(each.ids)]
        messages = [NewMessage("answers", b"done")] * puts

        if len(set(entries)) == len(entries) and all(
            self.model.holds(*entry) for entry in entries
        ):
            settlements.commit(batch, messages, now=self.model.now)
            self.sent += puts
            for settlement in batch:
                self.model.ended(settlement)
        else:
            with pytest.raises(LockLost):
                settlements.commit(batch, messages, now=self.model.now)

    @rule(data=st.data(), taker=takers)
    def give_some_back(self, data: st.DataObject, taker: Taker) -> None:
        if not taker.got:
            return
        some = data.draw(st.lists(st.sampled_from(taker.got), max_size=3))
        entries = {(one.uow, one.message_id) for one in some}
        if len({uow for uow, _ in entries}) > 1:
            return
        if all(self.model.holds(*entry) for entry in entries):
            taker.prefetched.give_back(some, now=self.model.now)
            for _, message_id in entries:
                self.model.back(message_id, counted=False)
        else:
            with pytest.raises(LockLost):
                taker.prefetched.give_back(some, now=self.model.now)

    @rule(taker=takers, ends=st.booleans())
    def give_all_back(self, taker: Taker, *, ends: bool) -> None:
        if ends:
            taker.prefetched.end(now=self.model.now)
        else:
            taker.prefetched.give_back(now=self.model.now)
        self.model.all_back(taker, lambda _: False)
        taker.gone = False

    @rule(data=st.data(), outcome=st.sampled_from(OUTCOMES))
    def client_is_lost_at_work(self, data: st.DataObject, outcome: Outcome) -> None:
        self.put(3)
        taker = self.begin(3)
        ids = [one.message_id for one in taker.got[:1]]
        batch = [Settlement(taker.unit or 0, self.queue.pk, ids, outcome)]
        assert settlements.settle(batch, now=self.model.now) == [None]
        self.model.ended(batch[0])
        self.client_is_lost(taker, data)

    @rule(outcome=st.sampled_from(OUTCOMES), theirs=st.booleans())
    def one_of_several_is_held_no_more(self, outcome: Outcome, *, theirs: bool) -> None:
        """Settled alike, of one consumer; the other entry may have another's now."""
        self.put(3)
        taker, other = self.begin(2), self.begin(0)
        assert len(taker.got) == 2
        one, two = taker.got
        taker.prefetched.give_back([two], now=self.model.now)
        self.model.back(two.message_id, counted=False)
        if theirs:
            self.get(other, 2)
        batch = [
            Settlement(one.uow, self.queue.pk, [each.message_id], outcome)
            for each in (two, one)
        ]
        batch += [
            Settlement(each.uow, self.queue.pk, [each.message_id], Release())
            for each in other.got
            if each.message_id != two.message_id
        ]

        results = settlements.settle(batch, now=self.model.now)

        assert isinstance(results[0], LockLost)
        assert results[1:] == [None] * (len(batch) - 1)
        for settlement in batch[1:]:
            self.model.ended(settlement)

    @rule(limit=st.integers(1, 3))
    def the_next_is_hidden(self, limit: int) -> None:
        self.put(2)
        taker = self.begin(0)
        taker.prefetched.hidden = {
            (4, one) for one in self.model.next_ready(taker, limit)
        }
        self.get(taker, 2)

    @rule(taker=takers, data=st.data())
    def client_is_lost(self, taker: Taker, data: st.DataObject) -> None:
        held = self.model.of(taker)
        first = data.draw(st.sampled_from([None, *held]))
        taker.prefetched.lose(WHY, first=first, now=self.model.now)
        oldest = first or min(held, default=None)
        self.model.all_back(taker, lambda one: self.model.counts_lost(one, oldest))

    @rule(taker=takers)
    def process_dies(self, taker: Taker) -> None:
        """Its own, with nobody else's unit of work in it."""
        own = UnitRow.objects.filter(pk=taker.prefetched.uow or 0)
        dying = own.update(owner_id=-1)
        assert settle.back_out_overdue(limit=9, now=self.model.now) == dying
        oldest = min(self.model.of(taker), default=None)
        self.model.all_back(taker, lambda one: self.model.counts_lost(one, oldest))
        taker.gone = taker.prefetched.uow is not None

    @rule(taker=takers, data=st.data())
    def some_are_hidden(self, taker: Taker, data: st.DataObject) -> None:
        ids = data.draw(st.sets(st.sampled_from([0, *self.model.places]), max_size=2))
        taker.prefetched.hidden = {(4, one) for one in ids}

    @rule(wait=st.sampled_from([5, 10, 20]))
    def time_passes(self, wait: int) -> None:
        self.model.now += seconds(wait)

    @rule()
    def delays_run(self) -> None:
        delayed.wake_due(limit=100, now=self.model.now)
        self.model.fall_due(100)

    # What must always be.

    @invariant()
    def every_entry_is_where_it_ought_to_be(self) -> None:
        if not hasattr(self, "is_ready"):
            return
        assert self.stored() == {
            one: (place.state, place.backouts)
            for one, place in self.model.places.items()
        }
        letters = DeadLetter.objects.values_list("origin_id", "backout_count")
        assert sorted(letters) == sorted(self.model.dead.items())
        assert Ready.objects.filter(queue_id=self.answers.pk).count() == self.sent

    def stored(self) -> dict[int, tuple[str, int]]:
        found: list[tuple[int, tuple[str, int]]] = []
        mine = {"queue_id": self.queue.pk}
        for row in Ready.objects.filter(**mine):
            found.append((row.id, ("ready", row.backout_count)))
        for late in Delayed.objects.filter(**mine):
            found.append((late.id, ("delayed", late.backout_count)))
        for claim in Claim.objects.filter(**mine):
            assert claim.ids == sorted(claim.ids)
            for one, count in zip(claim.ids, claim.backout_counts, strict=True):
                found.append((one, ("claimed", count)))
        assert len(dict(found)) == len(found), "no entry is in two places"
        return dict(found)

    # What the machine asks.

    def some(self, data: st.DataObject, takers: list[Taker]) -> list[Settlement]:
        got = [one for taker in takers for one in taker.got]
        held = [one for one in got if self.model.holds(one.uow, one.message_id)]
        if not got:
            return []
        which = st.sampled_from(got)
        some = st.lists(which, min_size=1, max_size=3)
        if held:
            some = st.lists(st.sampled_from(held), min_size=1, max_size=2) | some
        pairs = st.tuples(some, st.sampled_from(OUTCOMES))
        drawn = data.draw(st.lists(pairs, min_size=1, max_size=4))
        return [
            Settlement(uow, self.queue.pk, ids, outcome)
            for deliveries, outcome in drawn
            for uow in sorted({one.uow for one in deliveries})
            for ids in [[one.message_id for one in deliveries if one.uow == uow]]
        ]


@pytest.mark.thorough
@pytest.mark.django_db
@pytest.mark.spec("UOW-1", "UOW-2", "UOW-4", "DLA-2")
class TestSettlementsMachine(SettlementsMachine.TestCase):  # type: ignore[valid-type, misc]
    settings = settings(
        max_examples=examples(60), stateful_step_count=40, deadline=None
    )
