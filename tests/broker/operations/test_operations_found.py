"""Operations on what a filter finds: what is done is what was seen."""

from __future__ import annotations

import pytest

from broker import operations
from broker.errors import NoSuchQueue, NotResubmittable
from broker.errors.operations import NothingChosen
from broker.formats.filters import parse
from broker.models import Message, Operation, Queue, Ready, RoutingType
from broker.monitoring import search
from broker.operations import Order, Sought
from broker.queueing.put import put, put_many
from broker.transactions.scope import UnitOfWork
from tests.broker.dying import make_dead_letters, on, operator
from tests.broker.found import NOW, make_scene
from tests.broker.ordering import make_orders
from tests.make import NOON, make_messages, make_queue, minutes

pytestmark = pytest.mark.django_db

Do = Operation.Kind


def every_queue() -> dict[int, str]:
    return dict(Queue.objects.values_list("pk", "name"))


def plan_of(
    text: str,
    kind: Operation.Kind = Do.REMOVE,
    argument: str = "",
    within: dict[int, str] | None = None,
) -> Operation:
    sought = Sought(parse(text), every_queue() if within is None else within)
    order = Order(kind, argument)
    return operations.plan(
        operator(), order, sought, scope=text, reason="a test", now=NOW
    )


def keys_of(operation: Operation) -> list[tuple[int, int]]:
    items = operation.items.order_by("pk")
    return list(items.values_list("message_id", "queue_id"))


@pytest.mark.parametrize(
    "text", ["queue:*", "state:dead", "priority:9", "body:needle", "error:row,no"]
)
def test_what_is_planned_is_what_was_seen(text: str) -> None:
    make_scene()
    rows = search.find(parse(text), within=every_queue(), limit=200, now=NOW).rows
    at_hand = [one for one in rows if one.state in ("ready", "delayed", "dead")]

    planned = plan_of(text)

    assert at_hand
    assert keys_of(planned) == [(one.message_id, one.queue_id) for one in at_hand]


def test_what_comes_later_is_not_part_of_the_plan() -> None:
    make_queue("orders")
    first = put("orders").message_id
    planned = plan_of("queue:orders")
    later = put("orders").message_id

    operations.start(planned.pk, now=NOON + minutes(1))
    while operations.step(planned.pk, limit=10):
        pass

    assert on("orders") == [later]
    assert first != later


def test_messages_are_planned_on_the_queues_where_they_were_found() -> None:
    for name in ("one", "two"):
        make_queue(name, address="news", routing_type=RoutingType.MULTICAST)
    put_many(make_messages(2, "news"))
    one = Queue.objects.get(name="one")

    assert {queue for _, queue in keys_of(plan_of("queue:one"))} == {one.pk}
    seen = keys_of(plan_of("queue:*", within={one.pk: "one"}))
    assert [queue for _, queue in seen] == [one.pk, one.pk]


def test_named_entries_are_planned_each_on_its_queue_alone() -> None:
    for name in ("one", "two"):
        make_queue(name, address="news", routing_type=RoutingType.MULTICAST)
    first, second = (one.message_id for one in put_many(make_messages(2, "news")))
    one, two = Queue.objects.order_by("name")
    named = Sought.named([(first, one.pk), (second, two.pk)], every_queue())

    seen = operations.foresee(named)
    order = Order(Do.REMOVE)
    planned = operations.plan(operator(), order, named, scope="two", reason="x")

    assert seen.messages == 2
    assert seen.states == {"ready"}
    assert keys_of(planned) == [(second, two.pk), (first, one.pk)]
    hidden = Sought.named([(first, one.pk)], {two.pk: "two"})
    with pytest.raises(NothingChosen):
        operations.foresee(hidden)


def test_a_look_tells_what_a_plan_would_freeze() -> None:
    make_scene()
    sought = Sought(parse("queue:*"), every_queue())

    seen = operations.foresee(sought, now=NOW)

    assert seen.messages == len(keys_of(plan_of("queue:*")))
    assert seen.states == {"ready", "delayed", "dead"}
    assert not Operation.objects.exclude(scope="queue:*").exists()
    with pytest.raises(NothingChosen):
        operations.foresee(Sought(parse(""), every_queue()))


def test_what_a_consumer_holds_is_not_planned() -> None:
    held, free = make_orders(2)
    UnitOfWork(now=NOON).get("orders")

    assert [pk for pk, _ in keys_of(plan_of("queue:orders"))] == [free]
    with pytest.raises(NothingChosen):
        plan_of(f"id:{held}")


def test_dead_letters_go_back_to_where_they_came_from() -> None:
    letters = make_dead_letters(3)
    planned = plan_of("state:dead error:customer", Do.RESUBMIT)

    assert [pk for pk, _ in keys_of(planned)] == letters[::-1]
    assert set(planned.items.values_list("target", flat=True)) == {"orders"}


def test_a_copy_that_was_moved_knows_its_way_back_by_its_properties() -> None:
    make_queue("orders")
    make_queue("aside")
    put("aside")
    Message.objects.update(
        properties={"_AMQ_ORIG_ADDRESS": "orders", "_AMQ_ORIG_QUEUE": "orders"}
    )

    planned = plan_of("queue:aside", Do.RESUBMIT)

    assert list(planned.items.values_list("target", flat=True)) == ["orders"]


def test_what_cannot_be_done_is_refused_and_leaves_no_plan() -> None:
    make_orders(1)
    with pytest.raises(NotResubmittable):
        plan_of("queue:orders", Do.RESUBMIT)
    with pytest.raises(NothingChosen):
        plan_of("queue:nowhere")
    with pytest.raises(NothingChosen):
        plan_of("")
    with pytest.raises(NothingChosen):
        plan_of("queue:orders", within={})
    with pytest.raises(NoSuchQueue):
        plan_of("queue:orders", Do.MOVE, "nowhere")

    assert not Operation.objects.exists()
    assert Ready.objects.count() == 1
