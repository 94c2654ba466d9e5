"""Operations that are taken back while somebody else has a hand on the messages."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest
from django.db import transaction

from broker import operations
from broker.models import Kind, Operation, OperationItem
from broker.operations.items import planned
from broker.operations.undoing import take_back
from broker.transactions.scope import unit_of_work
from tests.broker.conftest import Explore
from tests.broker.dying import make_dead_letters, on, operator, plan
from tests.broker.interleavings import Ending, Scene
from tests.broker.test_interleavings import done
from tests.broker.test_interleavings_ends import terminate
from tests.make import NOON, minutes

pytestmark = pytest.mark.thorough

LATER = NOON + minutes(10)
State = Operation.State


class Undo(Scene):
    """A resubmitted dead letter is to be taken back."""

    is_put_back = True
    settings: ClassVar[dict[str, Any]] = {"max_delivery_attempts": 1}

    # Each ledger has one writer, as has each schedule: whoever holds the operation.
    # What was put stays written.
    alike = frozenset(
        {"note_items", "note_skipped", "puts_of"}
        | {"SELECT course", "INSERT course", "UPDATE course"}
    )

    def arrange(self) -> None:
        (self.letter,) = make_dead_letters(1)
        resubmitted = operations.start(plan().pk, now=NOON)
        self.undo = operations.plan_undo(operator(), resubmitted.pk)
        operations.change(self.undo.pk, State.PLANNED, state=State.RUNNING)

    def left(self) -> Any:
        return operations.step(self.undo.pk, now=LATER)

    def right(self) -> Any:
        return operations.step(self.undo.pk, now=LATER)

    def came_back(self) -> bool:
        """Whether it is a dead letter again; ledger and journal have to agree."""
        back = on("DLQ") == [self.letter]
        item = self.undo.items.get()
        assert (item.status == OperationItem.Status.DONE) == back
        assert done(Kind.UNDO) == done(Kind.REINSTATE, "DLQ") == int(back)
        return back

    def check(self, left: Ending, right: Ending) -> None:
        assert self.came_back()
        assert left.result + right.result == 1


def test_two_steps_of_one_undo_take_a_message_back_once(explore: Explore) -> None:
    explore(Undo)


class UndoAndConsume(Undo):
    """A consumer is quicker, or is not."""

    def left(self) -> None:
        """What a step does to one message and its ledger."""
        with transaction.atomic():
            take_back(self.undo, planned(self.undo.pk, limit=1), LATER)

    def right(self) -> int:
        with unit_of_work(now=LATER) as work:
            return len(work.get("orders"))

    def check(self, left: Ending, right: Ending) -> None:
        assert done(Kind.ACCEPT) == right.result
        assert self.came_back() == (right.result == 0)
        assert on("orders") == []


def test_a_message_is_consumed_or_taken_back_and_never_both(explore: Explore) -> None:
    explore(UndoAndConsume)


class UndoAndKill(Undo):
    """The worker dies in its step, and another takes the next."""

    def right(self) -> int:
        terminate(self.left_pid)
        return operations.step(self.undo.pk, now=LATER)

    def check(self, left: Ending, right: Ending) -> None:
        assert self.came_back()
        assert (left.result or 0) + right.result == 1


def test_an_undo_that_is_killed_is_done_by_the_next(explore: Explore) -> None:
    explore(UndoAndKill)
