"""What a client receives and browses."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from broker.client import Message, SessionMode
from broker.errors.messages import (
    InvalidSelector,
)
from broker.errors.mq_codes import MsgType, Persistence, Report
from broker.errors.queues import NoSuchSubscription, NotAuthorized
from broker.formats.mq.rfh2 import Rfh2
from broker.models import Queue, RoutingType
from broker.queueing.put import put
from tests.broker.receiving import (
    AUTO,
    CLIENT,
    MODES,
    TRANSACTED,
    client,
    consumer,
    counts,
    put_again,
    put_orders,
    received,
    session,
)
from tests.make import NOON, make_queue, make_setting, make_user, seconds

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def orders() -> Queue:
    return make_queue("orders")


def sent(body: Any = b"x", **options: Any) -> Message:
    """What a consumer is given of a message that was sent so."""
    one = session()
    one.producer("orders").send(body, **options)
    message = one.consumer("orders").receive_nowait()
    assert message is not None
    return message


@pytest.mark.spec("MD-1")
def test_headers_and_properties_arrive_as_they_were_sent() -> None:
    make_queue("answers")
    message = sent(
        "grün",
        priority=7,
        delivery_mode=Persistence.NOT_PERSISTENT,
        correlation_id="order 17",
        reply_to="answers",
        subject="order",
        group_id="customer 3",
        properties={"colour": "green", "size": 3},
        report=Report.EXCEPTION,
        msg_type=MsgType.REQUEST,
        descriptor={"user_identifier": "omar"},
    )
    assert (message.priority, message.delivery_mode) == (7, Persistence.NOT_PERSISTENT)
    assert (message.correlation_id, message.reply_to) == ("order 17", "answers")
    assert (message.subject, message.group_id) == ("order", "customer 3")
    assert message.properties == {"colour": "green", "size": 3}
    assert (message.timestamp, message.expiration) == (NOON, None)
    assert (message.delivery_count, message.redelivered) == (1, False)
    assert message.destination == "orders"
    assert message.text == "grün"
    descriptor = message.descriptor
    assert (descriptor.report, descriptor.msg_type) == (Report.EXCEPTION, 1)
    assert (descriptor.user_identifier, descriptor.reply_to_q) == ("omar", "answers")
    assert (descriptor.priority, descriptor.persistence) == (7, 0)


def test_a_message_does_not_change() -> None:
    message = sent()
    with pytest.raises(FrozenInstanceError):
        message.received_at = None  # type: ignore[misc]


def test_send_returns_the_id_that_the_message_has() -> None:
    one = session()
    sender = one.producer("orders")
    ids = [sender.send(), sender.send()]
    first = one.consumer("orders").receive_nowait()
    assert first is not None
    assert first.message_id == ids[0] != ids[1]
    assert first.descriptor.jms_message_id == ids[0]
    assert first.descriptor.msg_id.startswith(b"AMQ BACKOUT")


def test_a_message_without_an_id_of_its_sender_s_has_the_broker_s() -> None:
    put("orders", now=NOON)
    message = consumer().receive_nowait()
    assert message is not None
    assert message.message_id == message.descriptor.jms_message_id
    assert message.message_id.startswith("ID:414d5120")


@pytest.mark.parametrize(
    ("body", "kind"),
    [(b"\0\xff", bytes), ("grün", str), ({"a": [1]}, dict), ([1, 2], list)],
)
def test_a_body_is_what_was_sent(body: Any, kind: type) -> None:
    one = session()
    one.producer("orders").send(body)
    assert one.consumer("orders").receive_body_nowait(kind) == body
    assert one.consumer("orders").receive_body(kind, timeout_s=0) is None


def test_text_is_read_in_the_characters_of_its_type() -> None:
    raw = "grün".encode("latin-1")
    assert sent(raw, content_type="text/plain; charset=iso-8859-1").text == "grün"
    for content_type in ("text/plain; charset=klingon", "text/plain"):
        with pytest.raises(ValueError, match=r"character set|decode"):
            _ = sent(raw, content_type=content_type).text
    assert sent(b"x", content_type="\x01;;=charset").text == "x"


@pytest.mark.parametrize("body", [b"\xff", b"{", b'"text"', b"[" * 100_000])
def test_a_body_that_is_nothing_of_the_kind_is_refused(body: bytes) -> None:
    message = sent(body)
    with pytest.raises(ValueError, match=r"."):
        message.body_as(dict)


@pytest.mark.spec("UOW-6")
@pytest.mark.parametrize("mode", MODES)
def test_a_body_of_the_wrong_kind_is_not_received_by_an_auto_session(
    mode: SessionMode,
) -> None:
    put_orders(2)
    receiving = consumer(mode)
    put("orders", b"\xff", priority=9, now=NOON)
    with pytest.raises(ValueError, match="decode"):
        receiving.receive_body_nowait(str)
    if mode is AUTO:
        assert counts()[0] == (b"\xff", 0)
        assert receiving.receive_body_nowait(bytes) == b"\xff"
    else:  # it was received, and can be given back
        assert receiving.receive_body_nowait(str) == "1"


def test_headers_arrive_as_bytes_and_decoded() -> None:
    header = Rfh2(encoding=273, coded_char_set_id=1208, format="MQSTR")
    message = sent(b"hello", headers=header.to_bytes(), descriptor={"format": "MQHRF2"})
    assert message.header_bytes == header.to_bytes()
    assert message.chain.headers == (header,)
    assert message.chain.is_whole
    inside = sent(header.to_bytes() + b"hello", descriptor={"format": "MQHRF2"})
    assert (inside.chain, inside.header_bytes) == (message.chain, b"")
    broken = sent(b"hello", headers=b"RFH ", descriptor={"format": "MQHRF2"})
    assert broken.chain.error is not None
    assert broken.body == b"hello"


def test_a_selector_chooses_and_leaves_the_rest() -> None:
    for number, colour in enumerate(["red", "blue", "red"]):
        put("orders", str(number).encode(), properties={"colour": colour}, now=NOON)
    one = session(TRANSACTED, prefetch=9)
    assert received(one.consumer("orders", "colour = 'red'")) == [b"0", b"2"]
    one.rollback()
    assert received(one.consumer("orders", "JMSXDeliveryCount = 1")) == [b"1"]
    with pytest.raises(InvalidSelector):
        one.consumer("orders", "colour =")


def test_a_browser_sees_what_a_get_could_have_and_takes_nothing() -> None:
    put_again(1, properties={"colour": "red"})
    put_orders(1, expires_at=NOON + seconds(1), priority=9)
    put_orders(60, properties={"colour": "blue"})
    one = client(now=NOON + seconds(1)).session()
    browser = one.browser("orders")
    for _ in range(2):
        seen = [(message.body, message.backout_count) for message in browser]
        assert seen == [
            (b"poison", 1),
            *((str(n).encode(), 0) for n in range(1, 61)),
        ]
    with one.browser("orders", "colour = 'red'") as chosen:
        assert [message.body for message in chosen] == [b"poison"]
    assert len(list(one.browser("orders", "colour = 'blue'"))) == 60
    assert counts()[1] == (b"poison", 1)  # behind what has expired since noon


@pytest.mark.spec("UOW-2")
def test_browsing_never_counts() -> None:
    make_setting("orders", max_delivery_attempts=1)
    put_again(0)
    browser = session().browser("orders")
    for _ in range(3):
        (message,) = browser
        assert message.delivery_count == 1


def test_a_subscription_gets_what_is_sent_while_it_is_open() -> None:
    make_queue("anything", address="news", routing_type=RoutingType.MULTICAST)
    one = client(client_id="till 3").session()
    sender = one.producer("news")
    sender.send(b"before")
    receiving = one.subscribe("news", "colour = 'red'")
    sender.send(b"red", properties={"colour": "red"})
    sender.send(b"blue", properties={"colour": "blue"})
    assert received(receiving) == [b"red"]
    managed = receiving.queue.name
    receiving.close()
    assert not Queue.objects.filter(name=managed).exists()


def test_a_durable_subscription_keeps_what_is_sent_while_it_is_closed() -> None:
    make_queue("anything", address="news", routing_type=RoutingType.MULTICAST)
    one = client(client_id="till 3").session(CLIENT)
    sender = one.producer("news")
    one.subscribe_durable("news", "mine").close()
    sender.send(b"1")
    receiving = one.subscribe_durable("news", "mine")
    assert received(receiving) == [b"1"]
    one.acknowledge()
    receiving.close()
    one.unsubscribe("mine")
    with pytest.raises(NoSuchSubscription):
        one.unsubscribe("mine")


def test_who_may_not_get_may_not_subscribe() -> None:
    make_queue("anything", address="news", routing_type=RoutingType.MULTICAST)
    with pytest.raises(NotAuthorized):
        client(user=make_user(granted=("put",))).session().subscribe("news")


def test_a_consumer_takes_one_message_at_least() -> None:
    with pytest.raises(ValueError, match="one message"):
        session(prefetch=0)
