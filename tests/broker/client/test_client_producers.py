"""What a client sends, and what is refused."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from broker.client import SessionMode
from broker.errors import InvalidMessage, MessageTooLarge, NoSuchAddress, NoSuchQueue
from broker.errors.messages import (
    MissingReplyTo,
    WrongExpiry,
    WrongPersistence,
    WrongReportOptions,
)
from broker.errors.mq_codes import MsgType, Persistence, Report
from broker.errors.queues import NotAuthorized, PutInhibited
from broker.errors.units_of_work import BackedOut
from broker.models import Message, Queue, QueueAlias
from tests.broker.receiving import AUTO, MODES, TRANSACTED, client, received, session
from tests.make import NOON, make_queue, make_user, minutes, seconds

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def orders() -> Queue:
    return make_queue("orders")


@pytest.mark.spec("MD-3")
@pytest.mark.parametrize("mode", [AUTO, TRANSACTED])
def test_time_to_live_begins_with_the_put_not_with_the_commit(
    mode: SessionMode,
) -> None:
    connection = client()
    one = connection.session(mode)
    one.producer("orders", time_to_live=seconds(60)).send()
    connection.now = NOON + seconds(20)
    if mode is TRANSACTED:
        one.commit()
    message = one.consumer("orders").receive_nowait()
    assert message is not None
    assert message.expiration == NOON + seconds(60)
    assert message.descriptor.expiry == 400  # tenths of a second that remain


@pytest.mark.spec("MD-3")
def test_what_expires_before_its_commit_is_never_received() -> None:
    connection = client()
    one = connection.session(TRANSACTED)
    one.producer("orders").send(time_to_live=seconds(1))
    connection.now = NOON + seconds(1)
    one.commit()
    assert received(one.consumer("orders")) == []


@pytest.mark.spec("MD-3")
@pytest.mark.parametrize(
    "span",
    [
        *(seconds(-1), timedelta(microseconds=-1)),
        *(timedelta(days=1158), timedelta(days=9999)),
    ],
)
def test_a_time_to_live_that_is_none_is_refused(span: timedelta) -> None:
    with pytest.raises(WrongExpiry) as refused:
        session(TRANSACTED).producer("orders").send(time_to_live=span)

    assert refused.value.reason == 2013
    assert "An expiry of -0" not in str(refused.value)


@pytest.mark.parametrize("span", [timedelta(0), 0, None])
@pytest.mark.parametrize("mode", MODES)
def test_a_time_to_live_of_zero_never_ends(mode: SessionMode, span: Any) -> None:
    connection = client()
    one = connection.session(mode)
    one.producer("orders", time_to_live=seconds(1)).send(b"kept", time_to_live=span)
    one.producer("orders", time_to_live=span).send(b"kept too")
    if mode is TRANSACTED:
        one.commit()
    connection.now = NOON + timedelta(days=5000)

    consumer = one.consumer("orders")
    for body in (b"kept", b"kept too"):
        message = consumer.receive_nowait()
        assert message is not None
        assert (message.body, message.expiration) == (body, None)
        assert message.descriptor.expiry == -1


@pytest.mark.spec("MD-1")
@pytest.mark.parametrize(
    ("mode", "persistence"), [(0, 0), (1, 1), (2, 1), (Persistence.NOT_PERSISTENT, 0)]
)
def test_a_delivery_mode_is_a_number_or_its_name(mode: Any, persistence: int) -> None:
    one = session()
    one.producer("orders", delivery_mode=mode).send()

    message = one.consumer("orders").receive_nowait()

    assert message is not None
    assert message.delivery_mode == persistence
    assert message.descriptor.persistence == persistence


@pytest.mark.parametrize("mode", [3, -1, "0", None, "NON_PERSISTENT"])
@pytest.mark.parametrize("kind", MODES)
def test_a_delivery_mode_that_does_not_exist_is_refused(
    kind: SessionMode, mode: Any
) -> None:
    with pytest.raises(WrongPersistence) as refused:
        session(kind).producer("orders").send(delivery_mode=mode)

    assert refused.value.reason == 2047
    assert str(refused.value) == (
        f"A delivery mode of {mode!r} does not exist. Give 0 for not persistent, 1 for"
        " persistent, or 2 for persistence as the queue defines it."
    )
    assert not Message.objects.exists()


@pytest.mark.parametrize("mode", [AUTO, TRANSACTED])
def test_a_delivery_delay_holds_a_message_back(mode: SessionMode) -> None:
    connection = client()
    one = connection.session(mode)
    one.producer("orders", delivery_delay=minutes(1)).send(b"later")
    if mode is TRANSACTED:
        one.commit()
    assert received(one.consumer("orders")) == []
    connection.now = NOON + minutes(1)
    assert received(one.consumer("orders")) == [b"later"]


def test_what_a_message_says_comes_before_what_its_producer_says() -> None:
    one = session()
    sender = one.producer("orders", priority=1, subject="order")
    sender.send(b"1")
    sender.send(b"2", priority=9)
    receiving = one.consumer("orders")
    first = receiving.receive_nowait()
    assert first is not None
    assert (first.body, first.subject) == (b"2", "order")


@pytest.mark.parametrize("mode", MODES)
def test_what_no_queue_can_take_is_refused_at_once(mode: SessionMode) -> None:
    sender = session(mode).producer("orders")
    with pytest.raises(WrongReportOptions):
        sender.send(descriptor={"report": 512})
    with pytest.raises(MissingReplyTo):
        sender.send(report=Report.EXCEPTION)
    with pytest.raises(MissingReplyTo):
        sender.send(msg_type=MsgType.REQUEST)


def test_a_body_that_is_no_json_is_refused() -> None:
    producer = session().producer("orders")
    with pytest.raises(InvalidMessage, match=r"price\[0\] is nan"):
        producer.send({"price": [float("nan")]})


def test_a_body_that_is_too_large_is_refused(settings: Any) -> None:
    settings.BROKER_MAX_MESSAGE_BYTES = 3
    with pytest.raises(MessageTooLarge):
        session(TRANSACTED).producer("orders").send(b"four")


def test_a_queue_that_takes_nothing_refuses_at_once_or_at_the_commit() -> None:
    make_queue("closed", put_inhibited=True)
    with pytest.raises(PutInhibited):
        session().producer("closed").send()
    one = session(TRANSACTED)
    one.producer("closed").send()
    with pytest.raises(BackedOut):
        one.commit()


def test_a_destination_is_opened_when_its_producer_is_made() -> None:
    with pytest.raises(NoSuchAddress):
        session().producer("nowhere")
    with pytest.raises(NoSuchQueue):
        session().consumer("nowhere")
    user = make_user(granted=("get",))
    with pytest.raises(NotAuthorized):
        client(user=user).session().producer("orders")
    with pytest.raises(NotAuthorized):
        client(user=user).session().browser("orders")


def test_a_producer_may_name_an_address_a_queue_or_an_alias() -> None:
    make_queue("bills", address="billing")
    QueueAlias.objects.create(name="rechnungen", target="bills")
    one = session()
    for name in ("billing", "bills", "rechnungen"):
        with one.producer(name) as sender:
            sender.send(name)
    assert received(one.consumer("rechnungen")) == [b"billing", b"bills", b"rechnungen"]


def test_the_journal_knows_who_it_was() -> None:
    user = make_user("noor")
    for connection, actor in (
        (client(user=user), "noor"),
        (client(user=user, client_id="till 3"), "till 3"),
        (client(), ""),
    ):
        one = connection.session()
        one.producer("orders").send()
        message = one.consumer("orders").receive_nowait()
        assert message is not None
        assert message.delivery.producer == actor
