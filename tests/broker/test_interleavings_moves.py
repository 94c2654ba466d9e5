"""Dead letters that are sent back while somebody else has a hand on them."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest
from django.db import transaction

from broker import operations
from broker.models import Kind, Operation, OperationItem, Ready
from broker.operations.executors import do
from broker.operations.items import Item, planned
from broker.settlement import expiry
from broker.settlement.outcomes import BackOut
from broker.transactions.scope import UnitOfWork, unit_of_work
from tests.broker.conftest import Explore
from tests.broker.dying import make_dead_letters, on, plan
from tests.broker.interleavings import Ending, Scene
from tests.broker.test_interleavings import done
from tests.broker.test_interleavings_ends import terminate
from tests.make import NOON, minutes

pytestmark = pytest.mark.thorough

LATER = NOON + minutes(10)


class Resubmit(Scene):
    """An operation is to send back one dead letter."""

    is_put_back = True
    settings: ClassVar[dict[str, Any]] = {"max_delivery_attempts": 1}
    # The map stays as it is, and each ledger has one writer, as has each schedule:
    # whoever holds the operation.
    alike = frozenset(
        {"hold_takers", "look", "note_items", "note_skipped"}
        | {"SELECT course", "INSERT course", "UPDATE course"}
    )

    def arrange(self) -> None:
        (self.letter,) = make_dead_letters(1)
        self.operation = plan()
        self.items = planned(self.operation.pk, limit=1)
        operations.change(
            self.operation.pk, Operation.State.PLANNED, state=Operation.State.RUNNING
        )

    def left(self) -> Any:
        return operations.step(self.operation.pk, now=LATER)

    def move(self, operation: Operation, items: list[Item]) -> None:
        """What a step does to one message and its ledger."""
        with transaction.atomic():
            do(operation, items, LATER)

    def sent_back(self) -> bool:
        """Whether it is on its old queue; the ledger and the journal have to agree."""
        (item,) = OperationItem.objects.all()
        back = on("orders")
        assert back == ([] if item.copy_id is None else [item.copy_id])
        assert len(back) == done(Kind.RESUBMIT, "DLQ")
        return bool(back)


class MoveAndAccept(Resubmit):
    """A consumer of the dead letters is quicker, or is not."""

    def left(self) -> None:
        self.move(self.operation, self.items)

    def right(self) -> int:
        with unit_of_work(now=LATER) as work:
            return len(work.get("DLQ"))

    def check(self, left: Ending, right: Ending) -> None:
        assert done(Kind.ACCEPT, "DLQ") == right.result
        assert self.sent_back() == (right.result == 0)
        assert not Ready.objects.filter(id=self.letter).exists()


def test_a_dead_letter_is_sent_back_or_accepted_and_never_both(
    explore: Explore,
) -> None:
    explore(MoveAndAccept)


class MoveAndBackOut(Resubmit):
    """A consumer of the dead letters raises."""

    def left(self) -> None:
        self.move(self.operation, self.items)

    def right(self) -> int:
        work = UnitOfWork(now=LATER)
        got = work.get("DLQ")
        work.back_out(BackOut("still wrong", spread=0))
        return len(got)

    def check(self, left: Ending, right: Ending) -> None:
        assert done(Kind.BACK_OUT, "DLQ") == right.result
        assert self.sent_back() != bool(on("DLQ"))


def test_a_dead_letter_that_is_backed_out_is_on_one_queue(explore: Explore) -> None:
    explore(MoveAndBackOut)


class TwoSteps(Resubmit):
    """Two workers step the same operation."""

    right = Resubmit.left

    def check(self, left: Ending, right: Ending) -> None:
        assert left.result + right.result == 1
        assert self.sent_back()


def test_two_steps_of_one_operation_send_a_dead_letter_back_once(
    explore: Explore,
) -> None:
    explore(TwoSteps)


class TwoMoves(Resubmit):
    """Two operators ordered the same."""

    def arrange(self) -> None:
        super().arrange()
        self.other = plan()
        self.others = planned(self.other.pk, limit=1)

    def left(self) -> None:
        self.move(self.operation, self.items)

    def right(self) -> None:
        self.move(self.other, self.others)

    def check(self, left: Ending, right: Ending) -> None:
        states = sorted(OperationItem.objects.values_list("status", flat=True))
        done_one, skipped_one = OperationItem.Status.DONE, OperationItem.Status.SKIPPED
        assert states == sorted([done_one, skipped_one])
        assert len(on("orders")) == done(Kind.RESUBMIT, "DLQ") == 1


def test_two_operations_send_a_dead_letter_back_once(explore: Explore) -> None:
    explore(TwoMoves)


class MoveAndExpire(Resubmit):
    """The dead letter is given a time to live, and it is over."""

    def arrange(self) -> None:
        super().arrange()
        Ready.objects.filter(id=self.letter).update(expires_at=NOON)

    def left(self) -> None:
        self.move(self.operation, self.items)

    def right(self) -> None:
        expiry.expire(limit=10, now=LATER)

    def check(self, left: Ending, right: Ending) -> None:
        assert self.sent_back() == (done(Kind.EXPIRE, "DLQ") == 0)


def test_a_dead_letter_is_sent_back_or_expires_and_never_both(
    explore: Explore,
) -> None:
    explore(MoveAndExpire)


class ResubmitAndKill(Resubmit):
    """The worker dies in its step, and another takes the next."""

    def right(self) -> int:
        terminate(self.left_pid)
        return operations.step(self.operation.pk, now=LATER)

    def check(self, left: Ending, right: Ending) -> None:
        assert self.sent_back()
        assert (left.result or 0) + right.result == 1


def test_a_step_that_is_killed_is_done_by_the_next(explore: Explore) -> None:
    explore(ResubmitAndKill)
