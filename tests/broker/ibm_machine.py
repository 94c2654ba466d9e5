"""Steps of consumers that handle poison messages as IBM MQ's, by broker and model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from django.conf import settings as configured
from django.db import connection, transaction
from hypothesis import assume
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
)

from broker.client.dispatch.undeliverable import Blocked, dispose, unfit
from broker.errors import LockLost
from broker.errors.units_of_work import BackedOut, SecondMark
from broker.models import Claim, Delayed, Discarded, Queue, Ready
from broker.models import UnitOfWork as UnitOfWorkRow
from broker.monitoring import fsck
from broker.queueing import delayed as delays
from broker.queueing import processes
from broker.queueing.get import Delivery
from broker.queueing.put import put
from broker.settlement import expiry, poison, settle
from broker.settlement.outcomes import BackOut
from broker.settlement.poison import Last, Removing
from broker.settlement.redelivery_policy import NoPlace
from broker.transactions.scope import UnitOfWork
from tests.broker.ibm_model import WISHES, IbmModel, Sent, Session, report_of
from tests.broker.model import DELAY, LONG, Place
from tests.broker.test_queue_machine import vacuum_now_and_then
from tests.make import NOON, make_queue, make_setting

TTL = timedelta(seconds=25)
NAMES = {name: name for name in ("orders", "BOQ", "answers", "reports")}
NAMES["DEAD"] = configured.BROKER_DEAD_LETTER_QUEUE


class IbmSteps(RuleBasedStateMachine):
    sessions = Bundle("sessions")

    @initialize(
        threshold=st.integers(0, 3),
        delayed=st.booleans(),
        backout_room=st.integers(0, 2),
        dead_room=st.integers(0, 2),
    )
    def the_queues(
        self, threshold: int, *, delayed: bool, backout_room: int, dead_room: int
    ) -> None:
        vacuum_now_and_then()
        self.rollback = transaction.atomic()
        self.rollback.__enter__()
        room = {"BOQ": backout_room, "DEAD": dead_room, "answers": 2, "reports": 1}
        make_queue("orders", backout_threshold=threshold, backout_queue="BOQ")
        for name, limit in room.items():
            make_queue(NAMES[name], max_depth=limit)
        make_setting(
            "orders",
            poison_policy="ibm",
            redelivery_delay_ms=10_000 if delayed else 0,
        )
        self.attributes = poison.attributes_of("orders")
        self.queues = {
            queue.pk: short
            for short, name in NAMES.items()
            for queue in Queue.objects.filter(name=name)
        }
        self.model = IbmModel(NOON, threshold=threshold, delayed=delayed, room=room)

    def teardown(self) -> None:
        if hasattr(self, "rollback"):
            if hasattr(self, "model") and not connection.needs_rollback:
                self.the_broker_s_own_check_finds_nothing()
            transaction.set_rollback(True)
            self.rollback.__exit__(None, None, None)
            processes.resign()

    # What producers and consumers do.

    @rule(priority=st.integers(4, 5), expires=st.booleans(), wish=WISHES)
    def put(self, priority: int, *, expires: bool, wish: Sent) -> None:
        until = self.model.now + TTL if expires else None
        receipt = put(
            "orders",
            b"x",
            priority=priority,
            expires_at=until,
            durable=wish.durable,
            descriptor={"report": report_of(wish)},
            reply_to="reports",
            now=self.model.now,
        )
        self.model.wishes[receipt.message_id] = wish
        self.model.places[receipt.message_id] = Place(
            next(self.model.numbers), priority, expires=until
        )

    @rule(target=sessions)
    def open(self) -> Session:
        return self.opened()

    @rule(session=sessions)
    def receive(self, session: Session) -> None:
        """As a consumer that moves poison messages in its own unit of work."""
        assume(session.open)
        while found := self.take(session):
            if not self.attributes.is_poison(found.backout_count):
                assert not self.model.is_poison(found.message_id)
                return
            assert self.model.is_poison(found.message_id)
            session.work.remove(Removing(found, self.attributes.backout_queue))
            session.removing.append(found.message_id)

    @rule(session=sessions)
    def listen(self, session: Session) -> None:
        """As a listener: what is poison goes at once, or waits if it has no place."""
        assume(session.open)
        found = self.take(session)
        if found is None or not self.model.is_poison(found.message_id):
            return
        one = found.message_id
        removal = session.work.remove_now(
            Removing(found, self.attributes.backout_queue), last=Last.RETURN
        )
        wish = self.model.wishes[one]
        if isinstance(removal, NoPlace):
            assert not wish.discard
            assert not self.model.has_room("BOQ")
            assert not self.model.has_room("DEAD")
            self.model.places[one] = replace(
                self.model.places[one],
                state="delayed",
                unit=None,
                until=self.model.now + timedelta(milliseconds=poison.RETRY_AFTER_MS),
                returned=True,
            )
        else:
            self.model.remove(one)

    @rule(session=sessions)
    def serve(self, session: Session) -> None:
        """As a ConnectionConsumer: poison goes at once, and its sender may be told."""
        assume(session.open)
        found = self.take(session)
        removing = unfit(found, lambda: self.attributes) if found else None
        if found is None or removing is None:
            return  # it is handed out, or there is none
        one = found.message_id
        assert self.model.is_poison(one)
        known = set(self.model.places)
        outcome = dispose(removing, now=self.model.now)
        report_to = self.model.dispose(one)
        assert isinstance(outcome, Blocked) is (report_to == "stuck")
        if report_to == "stuck":
            session.work.release(found)
            self.model.places[one] = replace(
                self.model.places[one], state="ready", unit=None, returned=True
            )
            return
        session.work.forget(found)
        if report_to is not None:
            self.appeared(report_to, 1, known | set(self.model.places))

    @rule(session=sessions)
    def get_marked(self, session: Session) -> None:
        assume(session.open)
        if session.marked:
            with pytest.raises(SecondMark):
                session.work.get("orders", mark=True)
            return
        found = self.take(session, mark=True)
        if found is not None:
            session.marked, session.mark = True, found.message_id

    @rule(session=sessions)
    def put_an_answer(self, session: Session) -> None:
        assume(session.open)
        session.put_answer(self.model.now)

    @rule(session=sessions)
    def commit(self, session: Session) -> None:
        work = self.again(session)
        if not session.open:
            self.refused(session, work.commit)
        elif self.model.depth("answers") + session.answers > 2 and session.answers:
            with pytest.raises(BackedOut):
                work.commit()
            self.model.returns(self.known(session))
            assert work.skipped is None
        else:
            work.commit()
            self.appeared("answers", session.answers, set(self.model.places))
            self.model.commit(session)

    @rule(target=sessions, session=sessions)
    def roll_back(self, session: Session) -> Session:
        return self.rolled_back(session)

    def rolled_back(self, session: Session) -> Session:
        after, work = self.opened(), self.again(session)
        if not session.open:
            self.refused(session, lambda: work.back_out("too late"))
            after.open = False
            return after
        work.back_out(BackOut("no", spread=0))
        self.model.skipped(self.known(session), after)
        assert after.open is (work.skipped is not None)
        after.work = work.skipped or after.work
        return after

    @rule(queue=st.sampled_from(["BOQ", "DEAD", "answers", "reports"]))
    def somebody_makes_room(self, queue: str) -> None:
        work = UnitOfWork(now=self.model.now)
        got = {one.message_id for one in work.get(NAMES[queue], 10)}
        work.commit()
        expected = self.model.next_ready(queue, 10)
        assert got == set(expected)
        for one in expected:
            del self.model.places[one]

    # What time does, and what kills.

    @rule(span=st.sampled_from([DELAY / 2, DELAY, TTL]))
    def wait(self, span: timedelta) -> None:
        self.model.wait(span)
        delays.wake_due(limit=100, now=self.model.now)
        self.model.due()

    @rule()
    def the_process_is_killed(self) -> None:
        """Its connection ends; whatever it held is backed out by the system."""
        dead = processes.current()
        processes.resign()
        held = UnitOfWorkRow.objects.filter(owner_id=dead)
        for _ in range(10_000):  # the server takes a moment to free its lock
            settle.back_out_overdue(limit=100, now=self.model.now)
            if not held.exists():
                break
        for number, unit in self.model.units.items():
            if unit.open and unit.work.id is not None:  # if it holds nothing, too
                self.model.returns_of(number)

    @rule()
    def consumers_hang(self) -> None:
        self.model.wait(LONG)
        settle.back_out_overdue(limit=100, now=self.model.now)
        for number in sorted(self.model.overdue()):
            self.model.returns_of(number)

    @rule()
    def expired_are_swept(self) -> None:
        expiry.expire(limit=100, now=self.model.now)
        self.model.places = {
            k: p
            for k, p in self.model.places.items()
            if p.unit or not self.model.is_expired(p)
        }

    # What must always be.

    @invariant()
    def every_message_is_where_it_ought_to_be(self) -> None:
        if hasattr(self, "model"):
            assert self.stored() == {
                k: (p.queue, p.state, p.priority, p.backouts)
                for k, p in self.model.places.items()
            }
            binned = set(Discarded.objects.values_list("message_id", flat=True))
            assert binned == self.model.bin

    @rule()
    def the_broker_s_own_check_finds_nothing(self) -> None:
        assert fsck.violations() == []
        assert fsck.sums().balance == 0

    # What the machine asks.

    def opened(self) -> Session:
        return self.model.opened(UnitOfWork(now=self.model.now))

    def take(self, session: Session, *, mark: bool = False) -> Delivery | None:
        """Get one; it must be the one that the model says."""
        session.work.now = self.model.now
        ready = self.model.next_ready("orders", 1)
        if not ready:
            self.model.due("orders", 1)
            ready = self.model.next_ready("orders", 1)
        got = session.work.get("orders", mark=mark)
        assert [delivery.message_id for delivery in got] == ready
        for one in ready:
            place = self.model.places[one]
            assert got[0].backout_count == place.backouts
            if not self.model.of(session) and session.number not in self.model.units:
                session.began = self.model.now
            self.model.units[session.number] = session
            self.model.places[one] = replace(
                place, state="claimed", unit=session.number, returned=False
            )
        return got[0] if got else None

    def known(self, session: Session) -> Session:
        self.model.units.setdefault(session.number, session)
        return session

    def appeared(self, short: str, number: int, known: set[int]) -> None:
        """So many new messages are on a queue, and no more."""
        (queue_id,) = [pk for pk, name in self.queues.items() if name == short]
        new = Ready.objects.filter(queue_id=queue_id).exclude(id__in=known)
        assert new.count() == number
        for row in new:
            self.model.wishes[row.id] = Sent()
            self.model.places[row.id] = Place(
                next(self.model.numbers), row.priority, queue=short
            )

    def refused(self, session: Session, call: Callable[[], object]) -> None:
        """For the end it has had, or for the answers, which are put first."""
        if session.work.id is not None or session.is_late:
            with pytest.raises((LockLost, BackedOut)), transaction.atomic():
                call()
        session.work.ended = True

    def again(self, session: Session) -> UnitOfWork:
        """A consumer that does not know of an end tries whatever it likes."""
        session.work.now, session.work.ended = self.model.now, False
        return session.work

    def stored(self) -> dict[int, tuple[str, str, int, int]]:
        found = {}
        for state, model in (("ready", Ready), ("delayed", Delayed)):
            for row in model.objects.all():
                short = self.queues[row.queue_id]
                found[row.id] = (short, state, row.priority, row.backout_count)
        for claim in Claim.objects.all():
            for one in zip(
                claim.ids, claim.priorities, claim.backout_counts, strict=True
            ):
                found[one[0]] = (self.queues[claim.queue_id], "claimed", *one[1:])
        return found
