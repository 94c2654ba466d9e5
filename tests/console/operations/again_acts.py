"""Plans that a page makes of the messages of another operation, for ``acts``."""

from __future__ import annotations

from collections.abc import Callable

from django.test import Client

from broker import operations
from broker.models import Act, Operation
from tests.console.letters import die, make_places
from tests.console.own_acts import Case, at, planner
from tests.make import plan_resubmit


def one_of_two() -> Operation:
    """A resubmit that has sent one of two letters."""
    make_places()
    die()
    die()
    operation = plan_resubmit(planner(), "all dead letters")
    operations.arrange(operation.pk, pace=None, canary=1)
    return operations.start(operation.pk)


def rest(_: Client) -> Case:
    operation = one_of_two()
    operations.cancel(operation.pk)
    return at("console:rest", operation.pk), {}, Act.PLAN


def undo_of_one() -> Operation:
    """The undo, done, of a resubmit of one of two letters."""
    operation = one_of_two()
    operations.cancel(operation.pk)
    undo = operations.plan_undo(planner(), operation.pk)
    return operations.start(undo.pk)


def again(_: Client) -> Case:
    return at("console:again", undo_of_one().pk), {}, Act.PLAN


AGAIN: dict[str, Callable[[Client], Case]] = {
    "console:rest": rest,
    "console:again": again,
}
