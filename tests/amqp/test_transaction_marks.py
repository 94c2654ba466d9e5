"""Deliveries that are marked to skip the rollback of a client's transaction."""

from __future__ import annotations

import pytest
from django.conf import LazySettings

from broker.amqp.nodes.source_request import MARK
from broker.amqp.protocol import performatives as p
from broker.amqp.protocol.conditions import AmqpError
from broker.amqp.protocol.endpoints import Receiver
from broker.queueing.browse import where_is
from broker.queueing.put import put
from tests.amqp.listening import listener
from tests.amqp.putting import (
    Speaker,
    accept,
    condition,
    count_of,
    speaking,
)
from tests.make import make_queue

pytestmark = pytest.mark.usefixtures("transactional_db")


def marked(client: Speaker, credit: int = 1) -> Receiver:
    return client.receiver("orders", credit=credit, capabilities=("queue", MARK))


@pytest.mark.spec("SKIP-3")
def test_a_marked_message_is_not_put_back_by_a_rollback_and_others_are() -> None:
    make_queue("orders")
    make_queue("bills")
    kept, other = put("orders", b"1"), put("bills", b"2")
    with listener() as here, speaking(here) as client:
        receiver, coordinator = marked(client), client.coordinator()
        second = client.receiver("bills", credit=1)
        txn = client.declare(coordinator)
        accept(client, client.get(receiver), txn)
        accept(client, client.get(second), txn)

        client.discharge(coordinator, txn, fail=True)
        second.grant(1)
        (again,) = client.get(second)

        assert count_of(again) == 1
        assert [one.backout_count for one in where_is(kept.message_id)] == [0]
        after = client.declare(coordinator)
        accept(client, [again], after)
        assert client.discharge(coordinator, after, fail=False) == p.Accepted()
        assert where_is(kept.message_id) == []
        assert where_is(other.message_id) == []


@pytest.mark.spec("SKIP-5")
def test_a_rollback_of_the_next_transaction_puts_it_back_and_counts() -> None:
    make_queue("orders")
    put("orders", b"1")
    with listener() as here, speaking(here) as client:
        receiver, coordinator = marked(client), client.coordinator()
        txn = client.declare(coordinator)
        accept(client, client.get(receiver), txn)
        client.discharge(coordinator, txn, fail=True)

        after = client.declare(coordinator)
        client.discharge(coordinator, after, fail=True)
        receiver.grant(1)
        (again,) = client.get(receiver)

        assert count_of(again) == 1


@pytest.mark.spec("SKIP-4")
def test_a_second_mark_fails_the_transaction_with_all_that_it_has() -> None:
    make_queue("orders")
    put("orders", b"1")
    put("orders", b"2")
    with listener() as here, speaking(here) as client:
        receiver, coordinator = marked(client, credit=2), client.coordinator()
        txn = client.declare(coordinator)
        first, second = client.get(receiver, 2)
        accept(client, [first], txn)
        accept(client, [second], txn)

        ended = client.discharge(coordinator, txn, fail=False)
        receiver.grant(2)
        again = client.get(receiver, 2)

        assert condition(ended) == "amqp:precondition-failed"
        assert ended.error.info["code"] == "second-mark-not-allowed"
        assert [count_of(one) for one in again] == [1, 1]


@pytest.mark.spec("SKIP-6")
def test_a_lost_connection_puts_a_marked_message_back() -> None:
    make_queue("orders")
    put("orders", b"1")
    with listener() as here:
        with pytest.raises(InterruptedError), speaking(here) as client:
            receiver, coordinator = marked(client), client.coordinator()
            txn = client.declare(coordinator)
            accept(client, client.get(receiver), txn)
            client.discharge(coordinator, txn, fail=True)
            raise InterruptedError

        with speaking(here) as other:
            (again,) = other.get(other.receiver("orders", credit=1))

            assert count_of(again) == 1


@pytest.mark.spec("SKIP-7")
def test_a_mark_is_refused_where_it_is_switched_off(
    settings: LazySettings,
) -> None:
    make_queue("orders")
    settings.BROKER_SKIP_BACKOUT = False
    with listener() as here, speaking(here) as client:
        with pytest.raises(AmqpError) as refused:
            marked(client)

        assert refused.value.condition == "amqp:not-implemented"
