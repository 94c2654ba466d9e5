"""A dry run says what would become of each item, and changes nothing."""

from __future__ import annotations

import pytest

from broker import operations
from broker.models import Event, Operation, OperationItem, Queue
from broker.operations import Chosen, Outcome, PreviewPart
from broker.transactions.scope import UnitOfWork
from tests.broker.dying import operator
from tests.broker.ordering import (
    ORDERS,
    make_map,
    make_orders,
    notes,
    order,
    plan_of,
)
from tests.make import NOON, make_setting, minutes

pytestmark = pytest.mark.django_db

Do, Status = Operation.Kind, OperationItem.Status


def counts(operation: Operation) -> dict[str, int]:
    before = Event.objects.count()
    counted = operations.preview(operation.pk, now=NOON + minutes(2)).counts
    assert Event.objects.count() == before, "looking changes nothing"
    return {outcome.value: n for outcome, n in counted.items()}


@pytest.mark.spec("ADMIN-7")
@pytest.mark.parametrize(("kind", "argument"), ORDERS)
def test_what_is_foreseen_is_what_happens(kind: Operation.Kind, argument: str) -> None:
    make_map()
    make_orders(3, delayed=1)
    make_orders(1, expires_at=NOON + minutes(1.5))
    operation = plan_of(kind, argument)
    consumer = UnitOfWork(now=NOON)
    consumer.get("orders", 2)
    consumer.commit()
    UnitOfWork(now=NOON).get("orders")

    foreseen = operations.preview(operation.pk, now=NOON + minutes(2))
    done = operations.start(operation.pk, now=NOON + minutes(2))

    became = sorted(notes(done))
    sentences = {
        outcome: Status.DONE.value if outcome is Outcome.WILL_GO else outcome.sentence
        for outcome in Outcome
    }
    assert (
        sorted(sentences[outcome] for outcome in foreseen.counts.elements()) == became
    )
    assert foreseen.total == 5


@pytest.mark.spec("ADMIN-7")
def test_a_preview_says_where_messages_go() -> None:
    make_map()
    make_orders(2)
    cases = {
        (Do.MOVE, "review"): "review",
        (Do.DEAD_LETTER, ""): "DLA",
        (Do.EXPIRE, ""): "EXPIRY",
        (Do.REMOVE, ""): "",
    }
    for (kind, argument), target in cases.items():
        found = operations.preview(plan_of(kind, argument).pk)
        assert found.parts == [PreviewPart(Outcome.WILL_GO, "orders", target, 2)]
        assert found.will_go == 2


@pytest.mark.parametrize(("kind", "argument"), ORDERS)
def test_an_undo_of_what_nobody_touched_is_foreseen_whole(
    kind: Operation.Kind, argument: str
) -> None:
    make_map()
    make_orders(2, delayed=1)
    operation = order(kind, argument)
    undone = operations.plan_undo(operator(), operation.pk)

    done = operation.items.filter(status=Status.DONE).count()
    assert counts(undone) == {"will_go": done}


def test_an_undo_foresees_what_cannot_come_back() -> None:
    make_map()
    make_setting("#", discard_retention_s=0)
    make_orders(4)
    operation = order(Do.MOVE, "review")
    consumer = UnitOfWork(now=NOON)
    consumer.get("review")
    consumer.commit()
    UnitOfWork(now=NOON).get("review")
    UnitOfWork(now=NOON).get("review")
    undone = operations.plan_undo(operator(), operation.pk)

    assert counts(undone) == {
        "already_processed": 1,
        "held_by_consumer": 2,
        "will_go": 1,
    }


def test_a_goal_that_is_gone_is_foreseen() -> None:
    make_map()
    make_orders(1)
    operation = plan_of(Do.MOVE, "review")
    Queue.objects.filter(name="review").delete()

    assert counts(operation) == {"no_way_back": 1}
    assert counts(plan_of(Do.DEAD_LETTER)) == {"will_go": 1}


def test_only_what_is_left_is_foreseen() -> None:
    make_map()
    make_orders(3)
    operation = plan_of(Do.MOVE, "review", Chosen(queue="orders"))
    operations.start(operation.pk, limit=2, now=NOON)

    assert counts(operation) == {"will_go": 1}
