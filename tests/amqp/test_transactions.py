"""Transactions of clients: all of it, or nothing, and what is counted."""

from __future__ import annotations

import pytest

from broker.amqp.protocol import performatives as p
from broker.amqp.protocol.events import Detached
from broker.models import Message, Place
from broker.queueing.browse import where_is
from broker.queueing.put import put
from tests.amqp.listening import listener
from tests.amqp.putting import (
    accept,
    body_of,
    condition,
    count_of,
    in_txn,
    message,
    speaking,
)
from tests.make import make_queue, make_setting

pytestmark = pytest.mark.usefixtures("transactional_db")


@pytest.mark.spec("UOW-1")
def test_what_is_put_is_there_after_the_commit_and_not_before() -> None:
    make_queue("orders")
    with listener() as here, speaking(here) as client:
        sender, coordinator = client.sender("orders"), client.coordinator()
        txn = client.declare(coordinator)

        enlisted = client.ask(sender, message(), message(), state=in_txn(txn))
        before = Message.objects.count()
        ended = client.discharge(coordinator, txn, fail=False)

        assert enlisted == [in_txn(txn, p.Accepted())] * 2
        assert before == 0
        assert ended == p.Accepted()
        assert Message.objects.count() == 2


@pytest.mark.spec("UOW-1")
def test_what_is_put_is_forgotten_by_a_rollback() -> None:
    make_queue("orders")
    with listener() as here, speaking(here) as client:
        sender, coordinator = client.sender("orders"), client.coordinator()
        txn = client.declare(coordinator)

        client.ask(sender, message(), state=in_txn(txn))
        ended = client.discharge(coordinator, txn, fail=True)

        assert ended == p.Accepted()
        assert not Message.objects.exists()


def test_getting_and_putting_are_one_commit() -> None:
    make_queue("orders")
    make_queue("bills")
    order = put("orders", b"an order")
    with listener() as here, speaking(here) as client:
        receiver, sender = client.receiver("orders", credit=1), client.sender("bills")
        coordinator = client.coordinator()
        txn = client.declare(coordinator)

        (got,) = client.get(receiver)
        client.ask(sender, message(b"a bill"), state=in_txn(txn))
        accept(client, [got], txn)
        ended = client.discharge(coordinator, txn, fail=False)

        assert ended == p.Accepted()
        (bill,) = Message.objects.filter(address="bills")
        assert where_is(order.message_id) == []
        assert [one.place for one in where_is(bill.pk)] == [Place.READY]


@pytest.mark.spec("UOW-2")
def test_a_rollback_counts_what_was_accepted_in_it_and_nothing_else() -> None:
    make_queue("orders")
    for body in (b"1", b"2", b"3", b"4"):
        put("orders", body)
    with listener() as here, speaking(here) as client:
        receiver, coordinator = client.receiver(credit=4), client.coordinator()
        txn = client.declare(coordinator)
        got = client.get(receiver, 4)

        accept(client, got[:2], txn)
        ended = client.discharge(coordinator, txn, fail=True)
        receiver.grant(2)
        again = client.get(receiver, 2)

        assert ended == p.Accepted()
        assert [count_of(one) for one in again] == [1, 1]
        assert [body_of(one) for one in again] == [body_of(one) for one in got[:2]]
        client.session.settle(again + got[2:], p.Accepted())


def test_what_its_client_has_not_settled_stays_with_it_and_can_be_accepted() -> None:
    make_queue("orders")
    receipt = put("orders", b"1")
    with listener() as here, speaking(here) as client:
        receiver, coordinator = client.receiver(credit=1), client.coordinator()
        txn = client.declare(coordinator)
        got = client.get(receiver)

        accept(client, got, txn, settled=False)
        client.discharge(coordinator, txn, fail=True)
        after = client.declare(coordinator)
        accept(client, got, after)
        ended = client.discharge(coordinator, after, fail=False)

        assert ended == p.Accepted()
        assert where_is(receipt.message_id) == []


def test_what_stayed_with_its_client_is_counted_when_it_is_released() -> None:
    make_queue("orders")
    put("orders", b"1")
    with listener() as here, speaking(here) as client:
        receiver, coordinator = client.receiver(credit=1), client.coordinator()
        txn = client.declare(coordinator)
        got = client.get(receiver)

        accept(client, got, txn, settled=False)
        client.discharge(coordinator, txn, fail=True)
        client.session.settle(got, p.Released())
        receiver.grant(1)
        (again,) = client.get(receiver)

        assert count_of(again) == 1


@pytest.mark.spec("UOW-8")
def test_a_commit_that_cannot_be_made_is_rejected_and_counted() -> None:
    make_queue("orders")
    make_queue("bills", max_depth=1)
    put("orders", b"an order")
    put("bills", b"the first")
    with listener() as here, speaking(here) as client:
        receiver, sender = client.receiver("orders", credit=1), client.sender("bills")
        coordinator = client.coordinator()
        txn = client.declare(coordinator)
        got = client.get(receiver)

        client.ask(sender, message(), state=in_txn(txn))
        accept(client, got, txn)
        ended = client.discharge(coordinator, txn, fail=False)
        receiver.grant(1)
        (again,) = client.get(receiver)

        assert condition(ended) == "amqp:precondition-failed"
        assert ended.error.info["code"] == "queue-full"
        assert count_of(again) == 1
        assert Message.objects.filter(address="bills").count() == 1
        after = client.declare(coordinator)
        assert client.discharge(coordinator, after, fail=False) == p.Accepted()


def test_a_message_that_is_refused_is_no_part_of_its_transaction() -> None:
    make_queue("orders")
    with listener() as here, speaking(here) as client:
        relay, coordinator = client.sender(None), client.coordinator()
        txn = client.declare(coordinator)

        good, bad = client.ask(
            relay, message(to="orders"), message(to="nowhere"), state=in_txn(txn)
        )
        ended = client.discharge(coordinator, txn, fail=False)

        assert good == in_txn(txn, p.Accepted())
        assert isinstance(bad, p.TransactionalState)
        assert condition(bad.outcome) == "amqp:not-found"
        assert ended == p.Accepted()
        assert Message.objects.get().address == "orders"


def test_messages_on_their_way_belong_to_the_discharge_behind_them() -> None:
    make_queue("orders")
    with listener() as here, speaking(here) as client:
        relay, coordinator = client.sender(None), client.coordinator()
        txn = client.declare(coordinator)

        client.put(relay, *[message(to="orders")] * 5, state=in_txn(txn))
        ended = client.discharge(coordinator, txn, fail=False)

        assert ended == p.Accepted()
        assert Message.objects.count() == 5


def test_a_settled_message_that_is_refused_spoils_its_transaction() -> None:
    make_queue("orders")
    with listener() as here, speaking(here) as client:
        relay, coordinator = client.sender(None), client.coordinator()
        sender = client.sender("orders")
        txn = client.declare(coordinator)

        client.ask(sender, message(), state=in_txn(txn))
        client.put(relay, message(to="nowhere"), settled=True, state=in_txn(txn))
        client.wire.expect(Detached, endpoint=relay)
        ended = client.discharge(coordinator, txn, fail=False)

        assert condition(ended) == "amqp:precondition-failed"
        assert not Message.objects.exists()


def test_a_transaction_that_nobody_declared_takes_nothing() -> None:
    make_queue("orders")
    put("orders", b"1")
    with listener() as here, speaking(here) as client:
        sender, coordinator = client.sender("orders"), client.coordinator()
        receiver = client.receiver("orders", credit=1)
        got = client.get(receiver)

        answered = client.ask(sender, message(), state=in_txn(b"none"))
        accept(client, got, b"none")
        ended = client.discharge(coordinator, b"none", fail=False)
        receiver.grant(1)
        (again,) = client.get(receiver)

        assert condition(answered.outcome) == "amqp:transaction:unknown-id"
        assert condition(ended) == "amqp:transaction:unknown-id"
        assert count_of(again) == 1


def test_a_transaction_is_discharged_once() -> None:
    with listener() as here, speaking(here) as client:
        coordinator = client.coordinator()
        txn = client.declare(coordinator)

        first = client.discharge(coordinator, txn, fail=False)
        second = client.discharge(coordinator, txn, fail=False)

        assert first == p.Accepted()
        assert condition(second) == "amqp:transaction:unknown-id"


def test_two_transactions_of_a_connection_end_each_for_itself() -> None:
    make_queue("orders")
    with listener() as here, speaking(here) as client:
        sender, coordinator = client.sender("orders"), client.coordinator()
        one, two = client.declare(coordinator), client.declare(coordinator)

        client.ask(sender, message(b"one"), state=in_txn(one))
        client.ask(sender, message(b"two"), state=in_txn(two))
        client.discharge(coordinator, one, fail=True)
        client.discharge(coordinator, two, fail=False)

        assert bytes(Message.objects.get().body) == b"two"


def test_a_rejection_in_a_transaction_is_a_dead_letter_after_its_commit() -> None:
    make_queue("orders")
    make_queue("DLQ", address="DLA")
    make_setting("orders", dead_letter_address="DLA")
    receipt = put("orders", b"1")
    with listener() as here, speaking(here) as client:
        receiver, coordinator = client.receiver(credit=1), client.coordinator()
        txn = client.declare(coordinator)
        got = client.get(receiver)

        client.session.settle(got, in_txn(txn, p.Rejected()))
        client.wire.send()
        before = where_is(receipt.message_id)[0].place
        client.discharge(coordinator, txn, fail=False)
        (letter,) = client.get(client.receiver("DLQ", credit=1))

        assert before is Place.CLAIMED
        assert letter.payload
