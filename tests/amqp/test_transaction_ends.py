"""Transactions of clients that end in another way than by their discharge."""

from __future__ import annotations

import pytest

from broker.amqp.protocol import performatives as p
from broker.models import Message
from broker.queueing.put import put
from tests.amqp.listening import listener
from tests.amqp.putting import (
    accept,
    command,
    condition,
    count_of,
    in_txn,
    message,
    speaking,
)
from tests.make import make_queue

pytestmark = pytest.mark.usefixtures("transactional_db")


def test_a_transaction_holds_no_more_than_it_may() -> None:
    make_queue("orders")
    with (
        listener(transaction_messages=2) as here,
        speaking(here) as client,
    ):
        sender, coordinator = client.sender("orders"), client.coordinator()
        txn = client.declare(coordinator)

        answers = client.ask(sender, *[message()] * 3, state=in_txn(txn))
        ended = client.discharge(coordinator, txn, fail=False)

        refused = answers[2].outcome
        assert condition(refused) == "amqp:resource-limit-exceeded"
        assert condition(ended) == "amqp:precondition-failed"
        assert not Message.objects.exists()


def test_a_transaction_holds_no_more_bytes_than_it_may() -> None:
    make_queue("orders")
    with listener(transaction_bytes=5000) as here, speaking(here) as client:
        sender, coordinator = client.sender("orders"), client.coordinator()
        txn = client.declare(coordinator)

        small = client.ask(sender, message(), state=in_txn(txn))
        large = client.ask(sender, message(b"x" * 5000), state=in_txn(txn))

        assert small.outcome == p.Accepted()
        assert condition(large.outcome) == "amqp:resource-limit-exceeded"


def test_a_transaction_that_takes_too_long_is_rolled_back() -> None:
    make_queue("orders")
    put("orders", b"1")
    with listener(transaction_age_s=60) as here, speaking(here) as client:
        receiver, coordinator = client.receiver(credit=1), client.coordinator()
        sender = client.sender("orders")
        got = client.get(receiver)
        txn = client.declare(coordinator)

        accept(client, got, txn)
        (served,) = here.listener.clients
        here.until(lambda: served.transactions[txn].retired)
        here.later(60)
        receiver.grant(1)
        (again,) = client.get(receiver)
        late = client.ask(sender, message(), state=in_txn(txn))
        ended = client.discharge(coordinator, txn, fail=False)

        assert count_of(again) == 1
        assert condition(late.outcome) == "amqp:transaction:timeout"
        assert condition(ended) == "amqp:transaction:timeout"


@pytest.mark.spec("SKIP-6")
def test_a_lost_connection_rolls_back() -> None:
    make_queue("orders")
    put("orders", b"1")
    with listener() as here:
        with pytest.raises(InterruptedError), speaking(here) as client:
            receiver, coordinator = client.receiver(credit=1), client.coordinator()
            sender = client.sender("orders")
            txn = client.declare(coordinator)
            accept(client, client.get(receiver), txn)
            client.ask(sender, message(), state=in_txn(txn))
            raise InterruptedError

        with speaking(here) as other:
            (again,) = other.get(other.receiver(credit=1))

            assert count_of(again) == 1
            assert Message.objects.count() == 1


def test_a_coordinator_that_goes_rolls_back() -> None:
    make_queue("orders")
    put("orders", b"1")
    with listener() as here, speaking(here) as client:
        receiver, coordinator = client.receiver(credit=1), client.coordinator()
        txn = client.declare(coordinator)
        accept(client, client.get(receiver), txn)

        client.detach(coordinator)
        receiver.grant(1)
        (again,) = client.get(receiver)

        assert count_of(again) == 1


def test_a_discharge_that_came_before_its_coordinator_went_is_carried_out() -> None:
    make_queue("orders")
    with listener() as here, speaking(here) as client:
        sender, coordinator = client.sender("orders"), client.coordinator()
        txn = client.declare(coordinator)
        client.ask(sender, message(), state=in_txn(txn))

        client.put(coordinator, command(p.Discharge(txn, fail=False)))
        client.detach(coordinator)
        client.ask(sender, message(b"behind"))

        stored = Message.objects.order_by("pk")
        assert [bytes(one.body) for one in stored] == [b"hello", b"behind"]


def test_many_transactions_hold_no_more_than_one() -> None:
    make_queue("orders")
    with listener(transaction_messages=3) as here, speaking(here) as client:
        sender, coordinator = client.sender("orders"), client.coordinator()
        first, second = client.declare(coordinator), client.declare(coordinator)

        client.ask(sender, message(), message(), state=in_txn(first))
        one, two = client.ask(sender, message(), message(), state=in_txn(second))

        assert one.outcome == p.Accepted()
        assert condition(two.outcome) == "amqp:resource-limit-exceeded"
        assert client.discharge(coordinator, first, fail=False) == p.Accepted()
        after = client.declare(coordinator)
        answered = client.ask(sender, message(), state=in_txn(after))
        assert answered.outcome == p.Accepted()
