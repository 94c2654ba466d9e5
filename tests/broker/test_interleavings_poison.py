"""IBM MQ's rules in every order: moves by threshold, skipped backouts, two phases."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from broker.errors import BrokerError, LockLost
from broker.models import Kind, PreparedPut
from broker.models import UnitOfWork as UnitRow
from broker.queueing.put import put, put_many
from broker.settlement import settle
from broker.settlement.outcomes import Accept, BackOut
from broker.settlement.poison import Last, Removing
from broker.transactions import prepared
from broker.transactions.scope import UnitOfWork
from tests.broker.conftest import Explore
from tests.broker.dying import on
from tests.broker.interleavings import Ending, Scene
from tests.broker.test_interleavings import OVERDUE, done
from tests.broker.test_interleavings_ends import terminate, terminate_owner
from tests.make import NOON, make_messages

pytestmark = pytest.mark.thorough

DLQ = "SYSTEM.DEAD.LETTER.QUEUE"


class Poison(Scene):
    """A receiver met a poison message, and moves it away in its own unit of work."""

    queues: ClassVar[dict[str, dict[str, Any]]] = {"BOQ": {}, DLQ: {}}

    def arrange(self) -> None:
        put("orders", b"1", now=NOON)
        self.work = UnitOfWork(now=NOON)
        (self.delivery,) = self.work.get("orders")
        self.work.remove(Removing(self.delivery, "BOQ"))
        self.work.put("answers")

    def left(self) -> Any:
        self.work.commit()

    def moved(self) -> bool:
        """Whether it was moved, and the rest committed; or else nothing of that."""
        moves, puts = len(on("BOQ")), done(Kind.PUT, "answers")
        assert moves == puts == done(Kind.DEAD_LETTER)
        assert moves + done(Kind.BACK_OUT) == 1
        assert len(on("orders")) == done(Kind.BACK_OUT)
        assert not UnitRow.objects.exists()
        return moves == 1


class PoisonAndSweep(Poison):
    def right(self) -> int:
        return settle.back_out_overdue(limit=10, now=OVERDUE)

    def check(self, left: Ending, right: Ending) -> None:
        assert self.moved() == (left.error is None) == (right.result == 0)
        assert left.error is None or isinstance(left.error, LockLost)


@pytest.mark.spec("POISON-8")
def test_a_move_is_made_with_its_unit_of_work_or_swept_with_it(
    explore: Explore,
) -> None:
    explore(PoisonAndSweep)


class PoisonAndKill(Poison):
    loses_answers = True

    def right(self) -> int:
        terminate(self.left_pid)
        terminate_owner()
        return settle.back_out_overdue(limit=10, now=NOON)

    def check(self, left: Ending, right: Ending) -> None:
        moved = self.moved()
        if left.error is None:
            assert moved
        elif isinstance(left.error, BrokerError):  # which claims to know
            assert not moved


@pytest.mark.long  # minutes: each kill costs a reconnection, in each of many orders
@pytest.mark.spec("POISON-8")
def test_a_move_that_is_killed_is_made_with_its_unit_of_work_or_not_at_all(
    explore: Explore,
) -> None:
    explore(PoisonAndKill)


class PoisonAndAccept(Poison):
    """A listener moves at once what somebody else accepts in the same unit of work."""

    def left(self) -> None:
        self.work.remove_now(Removing(self.delivery, "BOQ"), last=Last.RETURN)

    def right(self) -> None:
        one = self.delivery
        settle.settle_some(one.uow, one.queue_id, [one.message_id], Accept())

    def check(self, left: Ending, right: Ending) -> None:
        assert {type(one.error) for one in (left, right)} == {type(None), LockLost}
        assert len(on("BOQ")) == (left.error is None)
        assert done(Kind.ACCEPT) == (right.error is None)


@pytest.mark.spec("POISON-9")
def test_a_message_is_moved_or_accepted_and_never_both(explore: Explore) -> None:
    explore(PoisonAndAccept)


class TwoIntoOne(Scene):
    """Two receivers move a message each to a queue that has room for one."""

    queues: ClassVar[dict[str, dict[str, Any]]] = {"BOQ": {"max_depth": 1}, DLQ: {}}

    def arrange(self) -> None:
        put_many(make_messages(2), now=NOON)
        self.works = [UnitOfWork(now=NOON) for _ in range(2)]
        for work in self.works:
            (delivery,) = work.get("orders")
            work.remove(Removing(delivery, "BOQ"))

    def left(self) -> None:
        self.works[0].commit()

    def right(self) -> None:
        self.works[1].commit()

    def check(self, left: Ending, right: Ending) -> None:
        assert left.error is right.error is None
        assert len(on("BOQ")) == len(on(DLQ)) == 1


@pytest.mark.spec("POISON-7")
def test_two_moves_do_not_overfill_a_queue(explore: Explore) -> None:
    explore(TwoIntoOne)


class SkipAndSweep(Scene):
    """An application backs out all but the marked message, and accepts that after."""

    def arrange(self) -> None:
        put_many(make_messages(2), now=NOON)
        self.work = UnitOfWork(now=NOON)
        self.work.get("orders", mark=True)
        self.work.get("orders")

    def left(self) -> None:
        self.work.back_out(BackOut("no", spread=0))
        assert self.work.skipped is not None
        self.work.skipped.commit()

    def right(self) -> int:
        return settle.back_out_overdue(limit=10, now=OVERDUE)

    def check(self, left: Ending, right: Ending) -> None:
        accepted = done(Kind.ACCEPT)
        assert accepted == (left.error is None)
        assert accepted + done(Kind.BACK_OUT) == 2
        assert len(on("orders")) == done(Kind.BACK_OUT)
        assert left.error is None or isinstance(left.error, LockLost)


@pytest.mark.spec("SKIP-3", "SKIP-6", "UOW-2")
def test_a_sweep_counts_the_marked_message_once_or_leaves_it(explore: Explore) -> None:
    explore(SkipAndSweep)


class SkipAndKill(SkipAndSweep):
    loses_answers = True

    def right(self) -> int:
        terminate(self.left_pid)
        terminate_owner()
        return settle.back_out_overdue(limit=10, now=NOON)

    def check(self, left: Ending, right: Ending) -> None:
        accepted = done(Kind.ACCEPT)
        assert accepted or left.error
        assert accepted + done(Kind.BACK_OUT) == 2
        assert len(on("orders")) == done(Kind.BACK_OUT)


@pytest.mark.spec("SKIP-3", "SKIP-6", "UOW-2")
def test_a_killed_application_has_skipped_a_backout_or_has_not(
    explore: Explore,
) -> None:
    explore(SkipAndKill)


class PrepareAndKill(Scene):
    """A coordinator's unit of work dies while it is prepared."""

    loses_answers = True

    def arrange(self) -> None:
        put("orders", b"1", now=NOON)
        self.work = UnitOfWork(now=NOON, coordinated=True)
        self.work.get("orders")
        self.work.put("answers")

    def left(self) -> None:
        prepared.prepare(self.work, "transfer 1")

    def right(self) -> int:
        terminate(self.left_pid)
        terminate_owner()
        return settle.back_out_overdue(limit=10, now=NOON)

    def check(self, left: Ending, right: Ending) -> None:
        known = [one.xid for one in prepared.prepared()]
        if left.error is None:
            assert known
        elif isinstance(left.error, BrokerError):
            assert not known
        for xid in known:
            prepared.commit_prepared(xid, now=OVERDUE)
        assert done(Kind.ACCEPT) == done(Kind.PUT, "answers") == len(known)
        assert done(Kind.BACK_OUT) == 1 - len(known)
        assert not PreparedPut.objects.exists()


@pytest.mark.spec("UOW-7", "UOW-8")
def test_a_unit_of_work_is_prepared_or_swept_and_its_coordinator_told_no_lie(
    explore: Explore,
) -> None:
    explore(PrepareAndKill)
