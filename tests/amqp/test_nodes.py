"""What names, capabilities and flags of an attach mean."""

from __future__ import annotations

from typing import Any

import pytest

from broker.amqp.protocol import performatives as p
from broker.amqp.protocol.conditions import AmqpError
from broker.amqp.protocol.events import Detached
from broker.amqp.protocol.sections import encode_header, encode_section
from broker.amqp.protocol.types.types import Byte, Described, Symbol, ULong
from broker.models import Message, QueueAlias, RoutingType
from broker.queueing.put import put
from tests.amqp.listening import PASSWORD, listener
from tests.amqp.putting import (
    body_of,
    condition,
    message,
    refused,
    speaking,
)
from tests.make import make_queue, make_user

pytestmark = pytest.mark.usefixtures("transactional_db")

SELECTOR = Symbol("apache.org:selector-filter:string")


def test_a_queue_is_found_by_each_of_its_names() -> None:
    make_queue("orders.q", address="orders")
    QueueAlias.objects.create(name="buy", target="orders.q")
    with listener() as here, speaking(here) as client:
        url = "amqps://broker.example:5671/orders.q"
        for name in ("orders.q", "orders", "buy", "orders::orders.q", url):
            put("orders", name.encode())
            receiver = client.receiver(name, credit=1)

            (got,) = client.get(receiver)

            assert body_of(got) == name.encode()
            assert receiver.source is not None
            assert receiver.source.address == name
            client.session.settle([got], p.Accepted())
            client.detach(receiver)


def test_what_is_not_there_is_refused_and_the_connection_goes_on() -> None:
    make_queue("orders")
    with listener() as here, speaking(here) as client:
        conditions = [
            refused(client, "nowhere"),
            refused(client, "nowhere", capabilities=("queue",)),
            refused(client, "nowhere", capabilities=("topic",)),
            refused(client, "nowhere", capabilities=("topic",), durable=2),
        ]

        assert conditions == ["amqp:not-found"] * 4
        assert refused(client, None) == "amqp:invalid-field"
        assert client.receiver("orders").attached


def test_an_address_with_two_queues_to_choose_from_is_no_queue() -> None:
    make_queue("a", address="orders")
    make_queue("b", address="orders")
    with listener() as here, speaking(here) as client:
        assert refused(client, "orders") == "amqp:not-found"
        assert client.receiver("orders::b").attached


def test_who_may_not_get_or_browse_is_refused() -> None:
    make_queue("orders")
    make_queue("bills")
    user = make_user("omar", granted=("get",), pattern="bills")
    user.set_password(PASSWORD)
    user.save()
    with listener(user=user) as here, speaking(here) as client:
        assert refused(client, "orders") == "amqp:not-found"
        browse = refused(client, "bills", distribution_mode="copy")
        assert browse == "amqp:unauthorized-access"
        topic = refused(client, "orders", capabilities=("topic",))
        assert topic == "amqp:not-found"
        assert client.receiver("bills").attached


def test_filters_are_answered_with_those_that_are_applied() -> None:
    make_queue("orders")
    put("orders", b"no", properties={"color": "blue"})
    put("orders", b"yes", properties={"color": "red"})
    wanted = {
        Symbol("jms-selector"): Described(SELECTOR, "color = 'red'"),
        Symbol("unheard-of"): Described(Symbol("example:filter"), "x"),
    }
    with listener() as here, speaking(here) as client:
        receiver = client.receiver("orders", credit=1, filter=wanted)

        (got,) = client.get(receiver)

        assert body_of(got) == b"yes"
        assert receiver.source is not None
        assert set(receiver.source.filter or {}) == {"jms-selector"}


def test_a_selector_can_be_named_by_its_code() -> None:
    make_queue("orders")
    put("orders", b"no", properties={"color": "blue"})
    put("orders", b"yes", properties={"color": "red"})
    wanted = {Symbol("s"): Described(ULong(0x0000468C00000004), "color = 'red'")}
    with listener() as here, speaking(here) as client:
        (got,) = client.get(client.receiver("orders", credit=1, filter=wanted))

        assert body_of(got) == b"yes"


HEADER = encode_header()


@pytest.mark.parametrize("selector", ["color =", 5, "a" * 20_000])
def test_a_selector_that_cannot_be_read_is_refused(selector: object) -> None:
    make_queue("orders")
    bad = {Symbol("s"): Described(SELECTOR, selector)}
    with listener() as here, speaking(here) as client:
        assert refused(client, "orders", filter=bad) == "amqp:invalid-field"
        topic: dict[str, Any] = {"filter": bad, "capabilities": ("topic",)}
        assert refused(client, "orders", **topic) == "amqp:invalid-field"


def test_no_local_leaves_out_what_the_same_client_has_put() -> None:
    make_queue("orders")
    no_local = {Symbol("n"): Described(Symbol("apache.org:no-local-filter:list"), [])}
    with listener() as here, speaking(here, container_id="me") as client:
        topic: dict[str, Any] = {"capabilities": ("topic",), "filter": no_local}
        receiver = client.receiver("orders", credit=10, **topic)
        client.ask(client.sender("orders"), message(b"mine"))
        put("orders", b"another's")

        (got,) = client.get(receiver)

        assert body_of(got) == b"another's"


def test_a_copy_is_a_browse_and_takes_nothing() -> None:
    make_queue("orders")
    put("orders", b"1")
    with listener() as here, speaking(here) as client:
        browser = client.receiver("orders", credit=5, distribution_mode="copy")
        (seen,) = client.get(browser)
        (got,) = client.get(client.receiver("orders", credit=1))

        assert body_of(seen) == body_of(got) == b"1"


# Exclusive consumers.


def test_an_exclusive_consumer_refuses_others_until_it_is_gone() -> None:
    make_queue("orders")
    with listener() as here, speaking(here) as client, speaking(here) as other:
        alone = client.receiver("orders", capabilities=("exclusive",))

        assert refused(other, "orders") == "amqp:resource-locked"
        assert refused(client, "orders") == "amqp:resource-locked"
        client.detach(alone)
        assert other.receiver("orders").attached


def test_an_exclusive_consumer_is_refused_while_there_are_others() -> None:
    make_queue("orders")
    with listener() as here, speaking(here) as client, speaking(here) as other:
        shared = client.receiver("orders")

        alone: dict[str, Any] = {"properties": {Symbol("exclusive"): True}}
        assert refused(other, "orders", **alone) == "amqp:resource-locked"
        client.detach(shared)
        assert other.receiver("orders", **alone).attached


def test_a_target_is_needed() -> None:
    with listener() as here, speaking(here) as client:
        sender = client.session.sender("puts", p.Source(), None)
        gone = client.wire.expect(Detached, endpoint=sender)

        assert gone.error is not None
        assert gone.error.condition == "amqp:invalid-field"


def test_all_queues_of_an_address_get_what_is_sent_to_a_topic() -> None:
    make_queue("audit", address="orders", routing_type=RoutingType.MULTICAST)
    with listener() as here, speaking(here) as client:
        topic = client.receiver("orders", credit=1, capabilities=("topic",))
        audit = client.receiver("audit", credit=1)

        client.ask(client.sender("orders"), message(b"news"))

        assert body_of(client.get(topic)[0]) == body_of(client.get(audit)[0]) == b"news"
        assert Message.objects.count() == 1


def test_a_queue_and_a_topic_of_one_name_have_nothing_in_common() -> None:
    make_queue("orders")
    with listener() as here, speaking(here) as client:
        topic = client.receiver("orders", credit=9, capabilities=("topic",))
        queue = client.receiver("orders", credit=9, capabilities=("queue",))
        for kind in ("topic", "queue"):
            target = p.Target(address="orders", capabilities=(kind,))
            client.ask(client.sender(target=target), message(kind.encode()))
        client.ask(client.sender("orders"), message(b"both"))

        assert [body_of(one) for one in client.get(topic, 2)] == [b"topic", b"both"]
        assert [body_of(one) for one in client.get(queue, 2)] == [b"queue", b"both"]


def test_a_relay_knows_topics_from_queues_by_the_annotation_of_jms() -> None:
    make_queue("orders")
    with listener() as here, speaking(here) as client:
        topic = client.receiver("orders", credit=9, capabilities=("topic",))
        queue = client.receiver("orders", credit=9, capabilities=("queue",))
        relay = client.sender(None)
        for kind in (0, 1):
            named = encode_section(0x72, {Symbol("x-opt-jms-dest"): Byte(kind)})
            rest = message(b"%d" % kind, to="orders", durable=False)
            client.ask(relay, HEADER + named + rest.removeprefix(HEADER))

        assert [body_of(one) for one in client.get(topic)] == [b"1"]
        assert [body_of(one) for one in client.get(queue)] == [b"0"]


@pytest.mark.parametrize("name", ["a\0b", "x" * 5000])
def test_names_that_nothing_can_have_are_not_found(name: str) -> None:
    with listener() as here, speaking(here) as client:
        with pytest.raises(AmqpError) as error:
            client.sender(name)
        relayed = client.ask(client.sender(None), message(to=name))

        assert refused(client, name) == "amqp:not-found"
        assert error.value.condition == "amqp:not-found"
        assert condition(relayed) == "amqp:not-found"


@pytest.mark.parametrize("name", ["a\0b", "x" * 300])
def test_a_subscription_needs_a_name_that_can_be_kept(name: str) -> None:
    make_queue("news")
    with listener() as here, speaking(here) as client:
        durable: dict[str, Any] = {"capabilities": ("topic",), "durable": 2}

        assert refused(client, "news", name=name, **durable) == "amqp:invalid-field"
        assert refused(client, name=name, no_source=True) == "amqp:invalid-field"
