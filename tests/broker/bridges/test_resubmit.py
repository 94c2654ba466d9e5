"""The queue by which dead messages go through their link again."""

from __future__ import annotations

import pytest
from django.db import transaction

from broker import operations
from broker.acts.operations.ledgers import ledger_of
from broker.acts.operations.states import left_out
from broker.bridges import dead_messages
from broker.bridges.batch import Notice
from broker.bridges.carrier import Carrier
from broker.bridges.providers.interface import Destination, Received
from broker.bridges.resubmit import ensure, origin_of
from broker.models import BridgeDestination, DeadLetter, Link, Operation, Queue
from broker.models.bridge_names import BUILT_IN_QUEUE, LINK_PROPERTY, NOTICE_PROPERTY
from broker.monitoring.dead_letters import Selection
from broker.operations.commands import Chosen, Order
from broker.queueing.put import NewMessage
from tests.broker.dying import operator
from tests.console.bridging import make_link
from tests.make import NOON, make_queue

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


SENT = ("MESSAGE_EXPIRED", "TRANSFORMER_FAILURE", "SEND_FAILURE", "MESSAGE_LOOPED")


@pytest.mark.parametrize("through", ["the link", "its source"])
@pytest.mark.spec("BRIDGE-13")
def test_notices_are_left_out_of_a_plan_to_send_all_again(through: str) -> None:
    make_queue("orders")
    link = make_link("out", source="orders")
    dead_messages.ensure()
    lost = [letter(link, reason) for reason in SENT]
    known = [letter(link, "TRANSFORMER_FAILURE", one) for one in Notice]
    before_upgrade = [letter(link, one) for one in OLD_NOTICES]

    order = Order(Operation.Kind.RESUBMIT)
    if through == "the link":
        order = Order(Operation.Kind.MOVE, ensure(link).name)
    on = Queue.objects.get(name=BUILT_IN_QUEUE).pk
    chosen = Chosen(letters=Selection(queue_id=on, cause=DeadLetter.Cause.LINK))
    plan = operations.plan(operator(), order, chosen, scope="all")

    by_status = {
        status: set(plan.items.filter(status=status).values_list("message_id", "note"))
        for status in ("planned", "left_out")
    }
    assert by_status == {
        "planned": {(one, "") for one in lost},
        "left_out": {(one, "notice") for one in [*known, *before_upgrade]},
    }
    said = left_out(ledger_of(plan))
    assert said.startswith("8 messages were left out: notices of a link")


OLD_NOTICES = (
    *("ACK_FAILURE", "COMMIT_FAILURE"),
    *("FIRST_TRANSFORMER_NOTRANSFER", "FIRST_TRANSFORMER_BRANCHTO"),
)


def letter(link: Link, reason: str, notice: Notice | None = None) -> int:
    """A dead message of the link; its id."""
    received = Received(NewMessage("orders"), None, Destination("orders"), "ID:1")
    dead = Carrier(link, 1).dead(received, reason, "no", NOON, notice=notice)
    with transaction.atomic():
        (receipt,) = dead_messages.bury(link, [dead])
    return receipt.message_id


@pytest.mark.spec("BRIDGE-16")
def test_what_is_sent_again_has_no_property_of_a_notice() -> None:
    properties = {NOTICE_PROPERTY: "delivered", LINK_PROPERTY: "shop/out", "mine": 1}
    message = NewMessage("orders", properties=properties)

    assert dead_messages.as_it_was(message).properties == {"mine": 1}
