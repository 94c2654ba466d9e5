"""What names lead to: queues, aliases, addresses, and models that make queues."""

from __future__ import annotations

import pytest

from broker.client.mqget import OpenQueue, get_message
from broker.config.names import address_of, local_queue, open_model
from broker.errors import NoSuchAddress, NoSuchQueue
from broker.errors.mq_codes import GetOptions
from broker.models import Address, ModelQueue, Queue, QueueAlias
from broker.queueing import processes, subscriptions
from broker.queueing.put import put
from broker.settlement import poison
from broker.transactions.scope import unit_of_work
from tests.broker.receiving import consumer, received, session
from tests.make import make_queue

pytestmark = pytest.mark.django_db


@pytest.mark.spec("POISON-11")
def test_a_name_leads_to_its_queue_and_an_alias_to_its_target() -> None:
    orders = make_queue("orders", address="trade")
    QueueAlias.objects.create(name="in", target="orders")
    QueueAlias.objects.create(name="topic", target="trade")

    assert local_queue("orders") == orders
    assert local_queue("in") == orders
    assert local_queue("topic") == orders


@pytest.mark.spec("POISON-11")
def test_attributes_read_through_an_alias_are_those_of_its_queue() -> None:
    make_queue("orders", backout_threshold=3, backout_queue="orders.back")
    QueueAlias.objects.create(name="in", target="orders")

    assert poison.attributes_of("in") == poison.Attributes("orders", 3, "orders.back")


@pytest.mark.parametrize("target", ["second", "trade", "nowhere"])
def test_an_alias_leads_to_one_queue_or_to_none(target: str) -> None:
    """Not to an alias, not to an address with two queues, not to nothing."""
    make_queue("orders", address="trade")
    make_queue("copies", address="trade")
    QueueAlias.objects.create(name="second", target="orders")
    QueueAlias.objects.create(name="first", target=target)

    with pytest.raises(NoSuchQueue):
        local_queue("first")


def test_an_address_is_no_queue_unless_an_alias_says_so() -> None:
    make_queue("orders", address="trade")

    with pytest.raises(NoSuchQueue):
        local_queue("trade")


def test_producers_send_to_the_address_that_a_name_leads_to() -> None:
    make_queue("orders", address="trade")
    QueueAlias.objects.create(name="in", target="orders")
    QueueAlias.objects.create(name="topic", target="trade")
    QueueAlias.objects.create(name="second", target="in")

    names = ("trade", "orders", "in", "topic")
    assert {address_of(name) for name in names} == {"trade"}
    for name in ("second", "nothing"):
        with pytest.raises(NoSuchAddress):
            address_of(name)


def test_a_model_makes_a_queue_with_its_attributes_as_they_were() -> None:
    model = ModelQueue.objects.create(
        name="replies",
        backout_threshold=4,
        backout_queue="back",
        max_depth=10,
        max_message_bytes=1000,
    )
    one, other = (open_model("replies", owner=processes.current()) for _ in range(2))
    model.backout_threshold = 9
    model.save()

    one.refresh_from_db()
    assert one.kind == Queue.Kind.TEMPORARY
    assert one.name.startswith("AMQ.")
    assert one.name != other.name
    assert (one.backout_threshold, one.backout_queue) == (4, "back")
    assert (one.max_depth, one.max_message_bytes) == (10, 1000)
    assert poison.attributes_of(one.name).threshold == 4


def test_what_is_sent_to_a_temporary_queue_arrives() -> None:
    ModelQueue.objects.create(name="replies")
    queue = open_model("replies", owner=processes.current())

    put(queue.address.name, b"yes")

    with unit_of_work() as work:
        (delivery,) = work.get(queue.name)
    assert delivery.body == b"yes"


def test_nothing_is_made_from_a_model_that_does_not_exist() -> None:
    make_queue("orders")

    with pytest.raises(NoSuchQueue):
        open_model("orders", owner=processes.current())


@pytest.mark.parametrize("permanent", [False, True])
def test_a_temporary_queue_goes_with_its_owner_and_a_permanent_one_stays(
    permanent: bool,
) -> None:
    ModelQueue.objects.create(name="replies", permanent=permanent)
    queue = open_model("replies", owner=processes.current())

    assert not subscriptions.end_dead(limit=10)
    nobody = 2**31 - 1
    queue = open_model("replies", owner=nobody)

    while subscriptions.end_dead(limit=10):
        pass
    assert Queue.objects.filter(pk=queue.pk).exists() is permanent
    assert Address.objects.filter(name=queue.name).exists() is permanent
    assert Queue.objects.count() == 1 + permanent


@pytest.mark.spec("AUTODL-6")
def test_a_queue_can_be_called_by_its_address_s_name_and_its_own() -> None:
    queue = make_queue("DLQ.orders", address="DLA")
    make_queue("DLQ.stocks", address="DLA")
    make_queue("orders")
    QueueAlias.objects.create(name="dead orders", target="DLA::DLQ.orders")

    for name in ("DLQ.orders", "DLA::DLQ.orders", "dead orders"):
        assert local_queue(name) == queue
    for wrong in ("orders::DLQ.orders", "DLA::orders", "DLA::", "::DLQ.orders", "::"):
        with pytest.raises(NoSuchQueue):
            local_queue(wrong)


@pytest.mark.spec("AUTODL-6")
def test_consumers_of_all_kinds_can_call_it_so() -> None:
    make_queue("DLQ.orders", address="DLA")
    put("DLA", b"one")
    put("DLA", b"two")
    named = "DLA::DLQ.orders"

    with session().browser(named) as browser:
        assert [message.body for message in browser] == [b"one", b"two"]
    assert received(consumer(queue=named), 1) == [b"one"]
    with unit_of_work() as work:
        got = get_message(OpenQueue(named), GetOptions.SYNCPOINT, work=work)
        assert got is not None
        assert got.body == b"two"
