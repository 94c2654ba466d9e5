"""Transactions of proton: all of it or nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from broker.models import Message, Queue
from broker.queueing.put import put
from tests.amqp.clients.protons import Got, Proton, connected, proton
from tests.amqp.listening import Listening, listener

TRANSACTIONAL_STATE = 0x34


class Unit:
    """A transaction of a client, and what is done in it; each call is answered."""

    def __init__(self, client: Proton) -> None:
        self.client = client
        self.heard: list[str] = []
        container, connection = client.blocking.container, client.connection
        self.transaction = container.declare_transaction(connection, handler=self)
        self.wait("declared")

    def __getattr__(self, name: str) -> Callable[[Any], None]:
        """Proton calls ``on_transaction_committed`` and so on, as they come."""
        if not name.startswith("on_transaction_"):
            raise AttributeError(name)
        return lambda _: self.heard.append(name.removeprefix("on_transaction_"))

    def put(self, sender: Any, body: object) -> None:
        delivery = self.transaction.send(sender.link, proton.Message(body=body))
        self.client.until(lambda: delivery.remote_state)
        assert delivery.remote_state == TRANSACTIONAL_STATE

    def accept(self, got: Got) -> None:
        self.transaction.accept(got.delivery)

    def commit(self) -> None:
        self.transaction.commit()
        self.wait("committed")

    def abort(self) -> None:
        self.transaction.abort()
        self.wait("aborted")

    def wait(self, for_what: str) -> None:
        count = len(self.heard)
        self.client.until(lambda: len(self.heard) > count)
        assert self.heard[count:] == [for_what]


@pytest.mark.case(7)
def test_what_is_put_is_seen_after_the_commit(here: Listening) -> None:
    with connected(here) as client:
        sender, unit = client.sender(), Unit(client)
        unit.put(sender, 1)
        unit.put(sender, 2)
        assert client.seen() == []

        unit.commit()

        assert client.seen() == [1, 2]


@pytest.mark.case(7)
def test_what_is_put_is_gone_after_a_rollback(here: Listening) -> None:
    with connected(here) as client:
        sender, unit = client.sender(), Unit(client)
        unit.put(sender, 1)

        unit.abort()

        assert client.seen() == []
        again = Unit(client)
        again.put(sender, 2)
        again.commit()
        assert client.seen() == [2]


@pytest.mark.case(8)
def test_a_rollback_gives_back_in_order_and_counts(here: Listening) -> None:
    with connected(here) as client:
        client.put(*range(5))
        receiver, unit = client.receiver(credit=3), Unit(client)
        taken = [client.get(receiver) for _ in range(3)]
        for one in taken[:2]:
            unit.accept(one)

        unit.abort()
        receiver.close()

        again = client.all()
        assert [one.body for one in again] == list(range(5))
        assert [one.delivery_count for one in again] == [1, 1, 0, 0, 0]


@pytest.mark.case(8)
def test_what_a_commit_accepts_is_gone(here: Listening) -> None:
    with connected(here) as client:
        client.put(1, 2)
        receiver, unit = client.receiver(credit=1), Unit(client)
        unit.accept(client.get(receiver))

        unit.commit()
        receiver.close()

        assert client.seen() == [2]


@pytest.mark.case(9)
@pytest.mark.parametrize("commits", [True, False])
def test_getting_and_putting_are_one(here: Listening, commits: bool) -> None:
    with connected(here) as client:
        client.put("order")
        receiver, sender = client.receiver(credit=1), client.sender("answers")
        unit = Unit(client)
        unit.put(sender, "answer")
        unit.accept(client.get(receiver))

        unit.commit() if commits else unit.abort()
        receiver.close()

        assert client.seen() == ([] if commits else ["order"])
        assert client.seen("answers") == (["answer"] if commits else [])


@pytest.mark.case(10)
@pytest.mark.parametrize("in_order", [True, False])
def test_a_transaction_ends_with_its_client(
    transactional_db: None, in_order: bool
) -> None:
    put("orders", b"order")
    with listener() as here:
        try:
            with connected(here) as client:
                receiver, sender = client.receiver(credit=1), client.sender("answers")
                unit = Unit(client)
                unit.put(sender, "answer")
                unit.accept(client.get(receiver))
                if not in_order:
                    raise InterruptedError
        except InterruptedError:
            pass
        here.until(lambda: not here.listener.clients)
        here.until(lambda: not here.listener.endings)
        with connected(here) as client:
            assert client.seen("answers") == []
            (order,) = client.all()
            assert (order.body, order.delivery_count) == (b"order", 1)


@pytest.mark.case(11)
def test_a_commit_that_fails_is_told_and_the_client_goes_on(here: Listening) -> None:
    with connected(here) as client:
        client.put("order")
        receiver, sender = client.receiver(credit=1), client.sender("answers")
        unit = Unit(client)
        unit.put(sender, "answer")
        unit.accept(client.get(receiver))
        put("answers", b"another's")
        Queue.objects.filter(name="answers").update(max_depth=1)

        unit.transaction.commit()
        unit.wait("commit_failed")

        assert Message.objects.filter(address="answers").count() == 1
        receiver.close()
        (order,) = client.all()
        assert order.body == "order"
        next_one = Unit(client)
        next_one.put(client.sender(), "next")
        next_one.commit()
        assert client.seen() == ["next"]
