"""The queue by which dead messages go through their link again."""

from __future__ import annotations

import pytest

from broker.bridges.resubmit import ensure, origin_of
from broker.models import BridgeDestination, Queue
from tests.console.bridging import make_link

pytestmark = pytest.mark.django_db


def test_a_link_has_a_queue_of_its_own_which_the_broker_makes() -> None:
    link = make_link("out")

    queue = ensure(link)

    assert queue.name == link.resubmit_queue == "bridge.shop.out.resubmit"
    assert (queue.kind, queue.address.name) == (Queue.Kind.INTERNAL, queue.name)
    assert ensure(link) == queue


def test_links_whose_names_have_dots_do_not_share_one() -> None:
    one = make_link("b.c", bridge="a")
    other = make_link("c", bridge="a.b")

    assert one.resubmit_queue != other.resubmit_queue
    assert len(make_link("x." * 50, bridge="y." * 50).resubmit_queue) <= 255


def test_dead_messages_come_from_the_queue_here_or_else_from_the_link() -> None:
    here = make_link("out", source="orders")
    there = make_link("in", source="orders", source_at="amqp", target_at="this-broker")
    topic = make_link("prices", source="prices")
    BridgeDestination.objects.filter(ref_name="prices").update(kind="topic")
    topic.source.refresh_from_db()

    assert [origin_of(one) for one in (here, there, topic)] == [
        "orders",
        "shop/in",
        "shop/prices",
    ]
