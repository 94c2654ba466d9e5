"""What was resubmitted too often stays behind, until somebody says why it may go."""

from __future__ import annotations

import pytest

from broker import operations
from broker.errors import OperationNotPlanned
from broker.errors.operations import NothingChosen, ReasonMissing
from broker.formats.filters import parse
from broker.models import DeadLetter, Operation, OperationItem, Queue
from broker.monitoring.dead_letters import Selection
from broker.operations import Chosen, Only, Order, Sought
from tests.broker.dying import back_out, make_dead_letters, on, operator, plan, start
from tests.broker.ordering import make_orders, order, plan_of
from tests.make import NOON

pytestmark = pytest.mark.django_db

Do, Status = Operation.Kind, OperationItem.Status
RESUBMIT = Order(Do.RESUBMIT)


def die_again(times: int) -> None:
    """All dead letters are resubmitted, and die again of the same."""
    for _ in range(times):
        planned = plan()
        operations.take_in(planned.pk, "to see it die")
        start(planned)
        assert back_out(limit=100)


def statuses(operation: Operation) -> list[str]:
    items = operation.items.order_by("message_id")
    return list(items.values_list("status", flat=True))


@pytest.mark.parametrize(("times", "status"), [(2, "planned"), (3, "left_out")])
def test_the_third_time_is_the_last(times: int, status: str) -> None:
    make_dead_letters(1)
    die_again(times)

    assert DeadLetter.objects.latest("message_id").resubmit_count == times
    assert statuses(plan()) == [status]


@pytest.mark.parametrize(("ceiling", "status"), [(1, "left_out"), (0, "planned")])
def test_each_queue_has_its_ceiling(ceiling: int, status: str) -> None:
    make_dead_letters(1)
    Queue.objects.filter(name="orders").update(max_resubmits=ceiling)
    die_again(4)
    assert statuses(plan()) == [status]


def test_what_is_left_out_stays_where_it_is() -> None:
    make_dead_letters(1)
    die_again(3)
    (stays,) = on("DLQ")
    (goes,) = make_dead_letters(1)

    operation = start(plan())

    assert statuses(operation) == [Status.LEFT_OUT, Status.DONE]
    assert on("DLQ") == [stays]
    assert goes not in on("DLQ")
    assert operation.state == Operation.State.DONE


def test_it_goes_if_somebody_says_why() -> None:
    make_dead_letters(2)
    die_again(3)
    planned = plan()

    with pytest.raises(ReasonMissing):
        operations.take_in(planned.pk, "  ")
    assert operations.take_in(planned.pk, "the consumer was mended") == 2
    start(planned)

    assert statuses(planned) == [Status.DONE] * 2
    with pytest.raises(OperationNotPlanned):
        operations.take_in(planned.pk, "again")


def test_a_move_in_between_does_not_hide_how_often_it_was() -> None:
    make_dead_letters(1)
    make_orders(0)
    die_again(3)
    Queue.objects.create(name="review", address=Queue.objects.get(name="DLQ").address)
    order(Do.MOVE, "review", Chosen(queue="DLQ"))
    Queue.objects.create(name="back", address=Queue.objects.get(name="orders").address)

    again = operations.plan(operator(), RESUBMIT, Chosen(queue="review"), scope="it")

    assert statuses(again) == [Status.LEFT_OUT]


def test_what_is_found_obeys_the_ceiling_too() -> None:
    make_dead_letters(1)
    die_again(3)
    found = Sought(parse("state:dead"), dict(Queue.objects.values_list("pk", "name")))

    planned = operations.plan(operator(), RESUBMIT, found, scope="it", now=NOON)

    assert statuses(planned) == [Status.LEFT_OUT]


def test_a_selector_chooses_among_those_above_the_ceiling_too() -> None:
    make_dead_letters(1, subject="refund")
    make_dead_letters(1, subject="order")
    die_again(3)
    chosen = Chosen(queue="DLQ", selector="JMSType = 'refund'")

    planned = operations.plan(operator(), RESUBMIT, chosen, scope="refunds", now=NOON)

    assert statuses(planned) == [Status.LEFT_OUT]


def test_other_operations_have_no_ceiling() -> None:
    make_dead_letters(1)
    die_again(3)
    moved = operations.plan(
        operator(), Order(Do.MOVE, "orders"), Chosen(queue="DLQ"), scope="all"
    )
    assert statuses(moved) == [Status.PLANNED]


def test_the_first_of_what_was_chosen() -> None:
    died = make_dead_letters(5)
    planned = operations.plan(
        operator(),
        Order(Do.RESUBMIT, only=Only(2)),
        Chosen(letters=Selection()),
        scope="two",
    )
    ids = planned.items.order_by("id").values_list("message_id", flat=True)
    assert list(ids) == died[:2]


def test_a_sample_of_what_was_chosen() -> None:
    ids = set(make_orders(50))
    drawn = set()
    for _ in range(5):
        planned = plan_of(Do.REMOVE)
        assert operations.narrow(planned.pk, Only(3, sampled=True)) == 47
        some = frozenset(planned.items.values_list("message_id", flat=True))
        assert len(some) == 3
        assert some < ids
        drawn.add(some)
    assert len(drawn) > 1


def test_more_than_there_are_is_all() -> None:
    make_orders(3)
    planned = plan_of(Do.REMOVE)
    assert operations.narrow(planned.pk, Only(10)) == 0
    assert planned.items.count() == 3


def test_none_of_them_is_no_plan() -> None:
    make_orders(3)
    with pytest.raises(NothingChosen):
        operations.narrow(plan_of(Do.REMOVE).pk, Only(0))
    with pytest.raises(OperationNotPlanned):
        operations.narrow(order(Do.REMOVE).pk, Only(1))
