"""Settlements one by one, while somebody sweeps, loses, takes more or settles, too."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from broker.errors import LockLost
from broker.models import Claim, CountsWhenLost, Kind, Queue, Ready
from broker.models import UnitOfWork as UnitRow
from broker.queueing.get import Delivery
from broker.queueing.put import NewMessage, put_many
from broker.settlement import batch as settlements
from broker.settlement import settle
from broker.settlement.batch import Settlement
from broker.settlement.outcomes import Accept, BackOut, Outcome, Release
from broker.transactions.prefetch import Prefetched
from tests.broker.conftest import Explore
from tests.broker.interleavings import Ending, Scene
from tests.broker.test_interleavings import done
from tests.broker.test_interleavings_ends import terminate_owner
from tests.make import NOON, make_messages

pytestmark = pytest.mark.thorough

WHY = "no such customer"
SPEC = pytest.mark.spec("UOW-1", "UOW-2")


class TakenAhead(Scene):
    """Two consumers have two entries each; then their process is taken for dead."""

    counts: ClassVar[CountsWhenLost] = CountsWhenLost.ALL
    takes: ClassVar[int] = 2  # consumers

    def arrange(self) -> None:
        Queue.objects.filter(name="orders").update(counts_when_lost=self.counts)
        put_many(make_messages(4), now=NOON)
        orders = Queue.objects.get(name="orders")
        self.takers = [Prefetched(orders) for _ in range(self.takes)]
        self.got = [taker.get(2, now=NOON) for taker in self.takers]

    def right(self) -> Any:
        terminate_owner()
        return settle.back_out_overdue(limit=10, now=NOON)

    def sweep_again(self) -> None:
        """A sweep lets be what is just being settled; the next has it."""
        settle.back_out_overdue(limit=10, now=NOON)

    def of(self, taker: int, entry: int, outcome: Outcome) -> Settlement:
        one = self.got[taker][entry]
        return Settlement(one.uow, one.queue_id, [one.message_id], outcome)

    def all_of(self, outcome: Outcome) -> list[Settlement]:
        return [self.of(taker, entry, outcome) for taker in (0, 1) for entry in (0, 1)]

    def settle(self, *batch: Settlement) -> list[Exception | None]:
        return settlements.settle(batch, now=NOON)


class Accepts(TakenAhead):
    """All is accepted in one batch, or swept; of each consumer by itself."""

    def left(self) -> object:
        return self.settle(*self.all_of(Accept()))

    def check(self, left: Ending, right: Ending) -> None:
        lost = [isinstance(one, LockLost) for one in left.result]
        assert lost[0] == lost[1]
        assert lost[2] == lost[3]
        assert done(Kind.ACCEPT) == lost.count(False)
        assert done(Kind.BACK_OUT) == lost.count(True)
        assert not UnitRow.objects.exists()
        assert not Claim.objects.exists()


@SPEC
def test_a_batch_of_accepts_and_a_sweep_end_each_entry_once(explore: Explore) -> None:
    explore(Accepts)


class MixedOutcomes(TakenAhead):
    """One statement cannot do it: what is taken has to be put somewhere."""

    takes = 1

    def left(self) -> object:
        return self.settle(self.of(0, 0, BackOut(WHY)), self.of(0, 1, Release()))

    def check(self, left: Ending, right: Ending) -> None:
        self.sweep_again()
        assert left.result[0] is None or isinstance(left.result[0], LockLost)
        lost = [one is not None for one in left.result]
        assert lost[0] == lost[1]
        settled = not lost[0]
        assert done(Kind.RELEASE) == settled
        assert done(Kind.BACK_OUT) == (1 if settled else 2)
        orders = Ready.objects.filter(queue_id=self.got[0][0].queue_id)
        counts = [one.backout_count for one in orders.order_by("id")]
        assert counts == ([1, 0, 0, 0] if settled else [1, 1, 0, 0])
        assert not UnitRow.objects.exists()


@SPEC
@pytest.mark.long
def test_other_outcomes_and_a_sweep_count_once(explore: Explore) -> None:
    explore(MixedOutcomes)


class Commits(TakenAhead):
    """A transaction of AMQP's: accepts and puts, or nothing of it."""

    def left(self) -> None:
        settlements.commit(
            self.all_of(Accept()), [NewMessage("answers", b"done")], now=NOON
        )

    def check(self, left: Ending, right: Ending) -> None:
        self.sweep_again()
        assert left.error is None or isinstance(left.error, LockLost)
        made = left.error is None
        assert done(Kind.ACCEPT) == (4 if made else 0)
        assert done(Kind.PUT, "answers") == (1 if made else 0)
        assert done(Kind.BACK_OUT) == (0 if made else 4)


@SPEC
def test_a_commit_is_made_whole_or_swept_whole(explore: Explore) -> None:
    explore(Commits)


class Loses(TakenAhead):
    """The client of one is lost while the sweep takes its process for dead."""

    counts = CountsWhenLost.OLDEST
    takes = 1

    def left(self) -> None:
        self.takers[0].lose(WHY, now=NOON)

    def check(self, left: Ending, right: Ending) -> None:
        assert left.error is None
        assert done(Kind.BACK_OUT) == done(Kind.RELEASE) == 1
        first, second, *_ = Ready.objects.order_by("id")
        assert (first.backout_count, second.backout_count) == (1, 0)
        assert not UnitRow.objects.exists()


@SPEC
@pytest.mark.long
def test_a_lost_client_and_a_sweep_count_once(explore: Explore) -> None:
    explore(Loses)


class AcceptsAndLoses(TakenAhead):
    """The last outcomes of a client come while it is found to be lost."""

    takes = 1

    def left(self) -> object:
        return self.settle(self.of(0, 0, Accept()), self.of(0, 1, BackOut(WHY)))

    def right(self) -> None:
        self.takers[0].lose(WHY, now=NOON)

    def check(self, left: Ending, right: Ending) -> None:
        assert right.error is None
        lost = {isinstance(one, LockLost) for one in left.result}
        assert len(lost) == 1
        assert done(Kind.ACCEPT) == (0 if lost == {True} else 1)
        assert done(Kind.ACCEPT) + done(Kind.BACK_OUT) == 2


@SPEC
def test_an_outcome_of_a_lost_client_counts_once(explore: Explore) -> None:
    explore(AcceptsAndLoses)


class TwoSettle(TakenAhead):
    """Two threads settle the same entries, in opposite order."""

    def left(self) -> object:
        return self.settle(*self.all_of(Accept()))

    def right(self) -> object:
        return self.settle(*reversed(self.all_of(BackOut(WHY))))

    def check(self, left: Ending, right: Ending) -> None:
        assert {type(one) for one in left.result + right.result} == {
            type(None),
            LockLost,
        }
        assert left.result.count(None) == done(Kind.ACCEPT)
        assert right.result.count(None) == done(Kind.BACK_OUT)
        assert done(Kind.ACCEPT) + done(Kind.BACK_OUT) == 4


@SPEC
def test_of_two_who_settle_one_does_and_none_waits_for_ever(explore: Explore) -> None:
    explore(TwoSettle)


class TwoSettleParts(TakenAhead):
    """Two threads settle different entries of the same claims."""

    def left(self) -> object:
        return self.settle(self.of(0, 0, Accept()), self.of(1, 0, Accept()))

    def right(self) -> object:
        return self.settle(self.of(1, 1, Accept()), self.of(0, 1, Release()))

    def check(self, left: Ending, right: Ending) -> None:
        assert left.result == right.result == [None, None]
        assert not Claim.objects.exists()
        assert (done(Kind.ACCEPT), done(Kind.RELEASE)) == (3, 1)
        assert UnitRow.objects.count() == 2


@SPEC
def test_who_settles_other_entries_of_a_claim_settles_them(explore: Explore) -> None:
    explore(TwoSettleParts)


class GetsMore(TakenAhead):
    """A consumer takes more while outcomes of what it has are settled."""

    takes = 1

    def arrange(self) -> None:
        super().arrange()
        put_many(make_messages(2), now=NOON)

    def left(self) -> list[Delivery]:
        return self.takers[0].get(9, now=NOON)

    def right(self) -> object:
        return self.settle(self.of(0, 0, Accept()), self.of(0, 1, Release()))

    def check(self, left: Ending, right: Ending) -> None:
        assert right.result == [None, None]
        ids = [one.message_id for one in left.result]
        new = [one.id for one in Ready.objects.all()]
        released = self.got[0][1].message_id
        assert len(ids) == (5 if released in ids else 4)
        assert new == ([] if released in ids else [released])
        assert self.settle(
            *(
                Settlement(one.uow, one.queue_id, [one.message_id], Accept())
                for one in left.result
            )
        ) == [None] * len(ids)


@SPEC
def test_taking_more_and_settling_do_not_cross(explore: Explore) -> None:
    explore(GetsMore)


class GetsMoreWhileSwept(GetsMore):
    """The consumer learns of the end, or gets what is then given back."""

    right = TakenAhead.right

    def check(self, left: Ending, right: Ending) -> None:
        self.sweep_again()
        assert left.error is None or isinstance(left.error, LockLost)
        taken = len(left.result or [])
        assert taken in ((4,) if left.error is None else (0,))
        assert not Claim.objects.exists()
        assert done(Kind.BACK_OUT) == 2 + taken


@SPEC
def test_what_is_taken_while_the_process_dies_is_swept_too(explore: Explore) -> None:
    explore(GetsMoreWhileSwept)


class GivesBack(TakenAhead):
    """A consumer ends in order while its last outcome is settled."""

    takes = 1

    def left(self) -> None:
        self.takers[0].end(now=NOON)

    def right(self) -> object:
        return self.settle(self.of(0, 0, Accept()))

    def check(self, left: Ending, right: Ending) -> None:
        assert left.error is None
        accepted = right.result == [None]
        assert done(Kind.ACCEPT) == accepted
        assert done(Kind.RELEASE) == 2 - accepted


@SPEC
def test_an_end_in_order_and_a_settlement_do_not_cross(explore: Explore) -> None:
    explore(GivesBack)
