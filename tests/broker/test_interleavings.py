"""Gets against each other and against sweeps; and that no schedule is missed."""

from __future__ import annotations

from math import comb

import pytest
from django.db import DatabaseError, connection, transaction

from broker.models import Claim, Delayed, Kind, Owner, Queue, Ready
from broker.queueing import delayed, journal, processes
from broker.queueing.put import put, put_many
from broker.settlement import expiry, settle
from broker.transactions.scope import UnitOfWork, unit_of_work
from tests.broker.conftest import Explore
from tests.broker.dying import on
from tests.broker.interleavings import Ending, Explorer, Scene
from tests.make import NOON, make_messages, minutes, seconds

OVERDUE = NOON + minutes(6)


def bodies(work: UnitOfWork, limit: int = 1, queue: str = "orders") -> list[bytes]:
    return [delivery.body for delivery in work.get(queue, limit)]


def rest(queue: str = "orders") -> list[bytes]:
    """What a consumer that comes later still gets."""
    processes.renew()
    return bodies(UnitOfWork(now=NOON), 100, queue)


def done(kind: Kind, queue: str = "orders") -> int:
    """How many entries of a queue the journal says this was done to."""
    depth = journal.depths().get(Queue.objects.get(name=queue).pk, journal.Depth())
    return depth.done[kind]


class Get(Scene):
    """Two take two of three."""

    def arrange(self) -> None:
        put_many(make_messages(3), now=NOON)

    def left(self) -> list[bytes]:
        return bodies(UnitOfWork(now=NOON), 2)

    right = left

    def check(self, left: Ending, right: Ending) -> None:
        assert sorted(left.result + right.result) == [b"1", b"2", b"3"]
        assert Claim.objects.count() == 2


@pytest.mark.spec("UOW-1")
def test_two_gets_never_take_the_same_entry(explore: Explore) -> None:
    explore(Get)


class JoinedGet(Get):
    """The same, locked by transactions until they end."""

    def left(self) -> list[bytes]:
        with unit_of_work(join=True, now=NOON) as work:
            return bodies(work, 2)

    right = left

    def check(self, left: Ending, right: Ending) -> None:
        assert sorted(left.result + right.result) == [b"1", b"2", b"3"]
        assert not Ready.objects.exists()


@pytest.mark.thorough
@pytest.mark.spec("UOW-1")
def test_two_joined_gets_never_take_the_same_entry_and_never_wait(
    explore: Explore,
) -> None:
    assert not any(schedule.waited for schedule in explore(JoinedGet))


class GetAndBackOut(Scene):
    """One consumer raises, so that its entry comes back while the other gets."""

    def arrange(self) -> None:
        put_many(make_messages(2), now=NOON)

    def left(self) -> None:
        with (
            pytest.raises(ValueError, match="not yet"),
            unit_of_work(join=True, now=NOON) as work,
        ):
            bodies(work)
            raise ValueError("not yet")

    def right(self) -> list[bytes]:
        return bodies(UnitOfWork(now=NOON))

    def check(self, left: Ending, right: Ending) -> None:
        assert sorted(right.result + rest()) == [b"1", b"2"]
        assert done(Kind.BACK_OUT) == 1


@pytest.mark.spec("UOW-1", "UOW-2")
def test_what_comes_back_beside_a_get_is_never_lost(explore: Explore) -> None:
    explore(GetAndBackOut)


class PutAndGet(Scene):
    """Puts that commit late, past a consumer that has looked already."""

    def left(self) -> None:
        with transaction.atomic():
            put("orders", b"1", now=NOON)
            put("orders", b"2", now=NOON)

    def right(self) -> list[bytes]:
        put("orders", b"3", now=NOON)
        return bodies(UnitOfWork(now=NOON)) + bodies(UnitOfWork(now=NOON))

    def check(self, left: Ending, right: Ending) -> None:
        assert sorted(right.result + rest()) == [b"1", b"2", b"3"]


@pytest.mark.spec("UOW-1")
def test_no_floor_rises_above_a_put_that_commits_late(explore: Explore) -> None:
    explore(PutAndGet)


class GetAndSweep(Scene):
    """An overdue unit of work gives back what a consumer is about to look for."""

    def arrange(self) -> None:
        put_many(make_messages(3), now=NOON)
        UnitOfWork(now=NOON).get("orders", 2)

    def left(self) -> list[bytes]:
        return bodies(UnitOfWork(now=OVERDUE), 3)

    def right(self) -> int:
        return settle.back_out_overdue(limit=10, now=OVERDUE)

    def check(self, left: Ending, right: Ending) -> None:
        assert right.result == 1
        assert left.result in ([b"3"], [b"1", b"2", b"3"])
        assert sorted(left.result + rest()) == [b"1", b"2", b"3"]
        assert done(Kind.BACK_OUT) == 2


@pytest.mark.spec("UOW-2", "UOW-3", "UOW-7")
def test_a_get_sees_all_or_nothing_of_what_a_sweep_brings_back(
    explore: Explore,
) -> None:
    explore(GetAndSweep)


class GetMoreAndSweep(Scene):
    """The overdue unit of work itself gets more while it is swept."""

    def arrange(self) -> None:
        put_many(make_messages(2), now=NOON)
        self.work = UnitOfWork(now=NOON)
        self.work.get("orders")

    def left(self) -> list[bytes]:
        return bodies(self.work)

    def right(self) -> int:
        return settle.back_out_overdue(limit=10, now=OVERDUE)

    def check(self, left: Ending, right: Ending) -> None:
        held = Claim.objects.count()
        if right.result:
            assert held == 0
            assert done(Kind.BACK_OUT) == 1 + len(left.result)
        else:  # it was skipped while it got
            assert held == 2
            self.work.commit()
            assert done(Kind.ACCEPT) == 2


@pytest.mark.spec("UOW-1", "UOW-7")
def test_a_unit_of_work_that_is_swept_keeps_nothing_it_gets_then(
    explore: Explore,
) -> None:
    explore(GetMoreAndSweep)


class GetAndExpire(Scene):
    """A consumer whose clock is behind, and the reaper."""

    def arrange(self) -> None:
        put("orders", now=NOON, expires_at=NOON + minutes(1))

    def left(self) -> int:
        with transaction.atomic():
            work = UnitOfWork(now=NOON)
            got = work.get("orders")
            work.commit()
            return len(got)

    def right(self) -> None:
        expiry.expire(limit=10, now=NOON + minutes(2))

    def check(self, left: Ending, right: Ending) -> None:
        assert done(Kind.ACCEPT) == left.result
        assert done(Kind.EXPIRE) == len(on("late")) == 1 - left.result


@pytest.mark.thorough
def test_an_entry_is_got_or_expires_and_never_both(explore: Explore) -> None:
    explore(GetAndExpire)


class GetAndWake(Scene):
    """A consumer wakes what is due by itself, and so does the worker."""

    def arrange(self) -> None:
        put("orders", b"1", now=NOON, deliver_at=NOON + seconds(5))

    def left(self) -> list[bytes]:
        return bodies(UnitOfWork(now=NOON + minutes(1)))

    def right(self) -> int:
        return delayed.wake_due(limit=10, now=NOON + minutes(1))

    def check(self, left: Ending, right: Ending) -> None:
        assert left.result + rest() == [b"1"]
        assert done(Kind.WAKE) == 1
        assert not Delayed.objects.exists()


def test_what_is_due_wakes_once(explore: Explore) -> None:
    explore(GetAndWake)


class GetAndFold(Scene):
    """The journal is added up while entries move."""

    def arrange(self) -> None:
        put_many(make_messages(2), now=NOON)

    def left(self) -> None:
        with unit_of_work(join=True, now=NOON) as work:
            work.get("orders")
            work.put("answers")

    def right(self) -> None:
        journal.fold()
        with transaction.atomic():
            journal.fold()
            journal.depths()
        journal.fold()

    def check(self, left: Ending, right: Ending) -> None:
        journal.fold()
        assert (done(Kind.PUT), done(Kind.ACCEPT), done(Kind.PUT, "answers")) == (
            2,
            1,
            1,
        )


@pytest.mark.thorough
def test_depths_stay_exact_while_the_journal_is_added_up(explore: Explore) -> None:
    explore(GetAndFold)


class Steps(Scene):
    """Three steps and two: statements that have nothing to do with each other."""

    def left(self) -> None:
        with transaction.atomic():
            Owner.objects.count()
            with transaction.atomic():
                Owner.objects.count()

    def right(self) -> None:
        with transaction.atomic():
            Owner.objects.count()


class Steal(Scene):
    """Both lock both rows, in opposite order."""

    def arrange(self) -> None:
        put_many(make_messages(2), now=NOON)
        self.first, self.second = on("orders")

    def lock(self, *ids: int) -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            for one in ids:
                text = "UPDATE broker_ready SET priority = 4 WHERE id = %s"
                cursor.execute(text, [one])

    def left(self) -> None:
        self.lock(self.first, self.second)

    def right(self) -> None:
        self.lock(self.second, self.first)

    def check(self, left: Ending, right: Ending) -> None:
        assert not (left.error and right.error)


def test_every_order_of_independent_steps_is_run_once(explore: Explore) -> None:
    schedules = explore(Steps)
    assert len(schedules) == comb(3 + 2, 2)
    assert len({tuple(one.steps) for one in schedules}) == len(schedules)


def test_a_deadlock_is_an_ending_of_one_and_the_other_goes_on(explore: Explore) -> None:
    schedules = explore(Steal)
    errors = [e.error for one in schedules for e in one.endings if e.error]
    assert errors
    assert all(isinstance(error, DatabaseError) for error in errors)
    assert "deadlock detected" in str(errors[0])


@pytest.mark.thorough
def test_the_place_of_what_is_no_step_changes_no_ending(explore: Explore) -> None:
    few = explore(GetMoreAndSweep)
    closer = Explorer(every=True)
    try:
        many = closer.explore(GetMoreAndSweep)
    finally:
        closer.close()
    assert len(many) > len(few)
    assert {str(one.endings) for one in many} == {str(one.endings) for one in few}


class Broken(GetMoreAndSweep):
    def check(self, left: Ending, right: Ending) -> None:
        assert not right.result


def test_what_breaks_in_one_schedule_is_told_with_its_order(explore: Explore) -> None:
    with pytest.raises(AssertionError) as caught:
        explore(Broken)
    assert caught.value.__notes__[0].startswith("In this order: left ")
