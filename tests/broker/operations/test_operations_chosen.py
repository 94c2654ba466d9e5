"""Which entries an operation is about: those chosen when it was planned."""

from __future__ import annotations

import pytest

from broker import operations
from broker.errors import NoSuchQueue, NotResubmittable
from broker.errors.messages import InvalidSelector
from broker.errors.operations import NothingChosen
from broker.formats.selectors import parse
from broker.models import Operation, OperationItem, Place, Queue, RoutingType
from broker.monitoring.dead_letters import Selection
from broker.operations import Chosen, Order
from broker.queueing.put import NewMessage, put_many
from broker.transactions.scope import UnitOfWork
from tests.broker.dying import make_dead_letters, operator
from tests.broker.ordering import make_orders, plan_of
from tests.make import NOON, make_messages, make_queue, minutes

pytestmark = pytest.mark.django_db

Do = Operation.Kind


def chosen_by(chosen: Chosen, kind: Operation.Kind = Do.REMOVE) -> list[int]:
    """The messages of a plan, by id."""
    order = Order(kind)
    planned = operations.plan(
        operator(), order, chosen, scope="", reason="a test", now=NOON
    )
    return sorted(planned.items.values_list("message_id", flat=True))


def test_a_queue_chooses_what_lies_there_ready_or_delayed() -> None:
    make_queue("other")
    put_many(make_messages(2, "other"), now=NOON)
    ids = make_orders(2, delayed=2)

    assert chosen_by(Chosen(queue="orders")) == ids
    assert chosen_by(Chosen(queue="orders", place=Place.READY)) == ids[:2]
    assert chosen_by(Chosen(queue="orders", place=Place.DELAYED)) == ids[2:]


def test_messages_are_chosen_on_all_their_queues_or_on_one() -> None:
    for name in ("one", "two"):
        make_queue(name, address="news", routing_type=RoutingType.MULTICAST)
    first, second, _ = (m.message_id for m in put_many(make_messages(3, "news")))

    assert chosen_by(Chosen(ids=(second, first))) == [first, first, second, second]
    assert chosen_by(Chosen(queue="one", ids=(second,))) == [second]


def test_what_a_consumer_holds_is_not_chosen() -> None:
    held, free = make_orders(2)
    UnitOfWork(now=NOON).get("orders")

    assert chosen_by(Chosen(queue="orders")) == [free]
    assert held != free


SELECTORS = [
    "region = 'EU' AND JMSPriority > 3",
    "size * 3 / 2 = 3 AND region = 'EU' AND JMSPriority > 3",  # by Python alone
]


@pytest.mark.spec("ADMIN-3")
@pytest.mark.parametrize("selector", SELECTORS)
def test_a_selector_chooses_among_ready_and_delayed(selector: str) -> None:
    assert (parse(selector).path is None) == (selector == SELECTORS[1])
    make_queue("orders")
    properties = {"region": "EU", "size": 2}
    later = NOON + minutes(5)
    messages = [
        NewMessage("orders", properties=properties, priority=9),
        NewMessage("orders", properties=properties | {"region": "US"}, priority=9),
        NewMessage("orders", properties=properties, priority=0),
        NewMessage("orders", properties=properties, deliver_at=later),
        NewMessage("orders", properties=properties | {"region": 1}, deliver_at=later),
        NewMessage("orders", properties=properties, expires_at=NOON),
    ]
    ids = [one.message_id for one in put_many(messages, now=NOON - minutes(1))]

    found = chosen_by(Chosen(queue="orders", selector=selector))

    assert found == [ids[0], ids[3]]


def test_a_selector_chooses_in_more_than_one_look(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(operations.planning, "SCAN", 2)
    make_queue("orders")
    messages = [NewMessage("orders", properties={"n": n}) for n in range(7)]
    ids = [one.message_id for one in put_many(messages, now=NOON)]

    found = chosen_by(Chosen(queue="orders", selector="n IN ('x') OR n > 2"))

    assert found == ids[3:]


def test_dead_letters_are_chosen_as_triage_has_them() -> None:
    wanted = make_dead_letters(2, error="no such customer 17")
    others = make_dead_letters(1, error="the disk is full")
    on_dlq = Queue.objects.get(name="DLQ").pk

    assert chosen_by(Chosen(letters=Selection(), ids=tuple(others))) == others
    assert chosen_by(Chosen(letters=Selection(within=(on_dlq,)))) == wanted + others
    with pytest.raises(NothingChosen):
        chosen_by(Chosen(letters=Selection(within=(on_dlq + 1,))))
    with pytest.raises(NothingChosen):
        chosen_by(Chosen(queue="orders", letters=Selection()))


@pytest.mark.parametrize("chosen", [Chosen(), Chosen(selector="TRUE = TRUE")])
def test_nothing_that_is_named_chooses_nothing(chosen: Chosen) -> None:
    make_orders(1)
    with pytest.raises(NothingChosen):
        chosen_by(chosen)


def test_what_chooses_nothing_is_refused_and_leaves_no_plan() -> None:
    make_orders(1)
    make_queue("empty")
    for chosen in (
        Chosen(queue="empty"),
        Chosen(ids=(17,)),
        Chosen(queue="orders", selector="size = 1"),
    ):
        with pytest.raises(NothingChosen):
            chosen_by(chosen)
    with pytest.raises(NotResubmittable):
        chosen_by(Chosen(queue="orders"), Do.RESUBMIT)
    with pytest.raises(NoSuchQueue):
        chosen_by(Chosen(queue="nowhere"))
    with pytest.raises(InvalidSelector):
        chosen_by(Chosen(queue="orders", selector="size ="))
    assert not Operation.objects.exists()
    assert not OperationItem.objects.exists()


@pytest.mark.spec("ADMIN-7")
def test_the_plan_says_who_wants_what_and_why() -> None:
    make_orders(1)
    planned = operations.plan(
        operator(),
        Order(Do.PRIORITY, "9"),
        Chosen(queue="orders"),
        scope="all of orders",
        reason="they are late",
    )
    assert (planned.created_by.username, planned.scope, planned.reason) == (
        "omar",
        "all of orders",
        "they are late",
    )
    assert (planned.kind, planned.argument) == (Do.PRIORITY, "9")
    assert plan_of(Do.REMOVE).argument == ""
