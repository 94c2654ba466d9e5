"""Ways in which proton puts, and what it is told when that goes wrong."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

import pytest
from django.db.models.functions import Now
from django.utils import timezone

from broker.models import Delayed, Queue
from broker.settlement import expiry
from tests.amqp.clients.protons import condition, connected, nothing_is_held, proton
from tests.amqp.listening import PASSWORD, Listening, listener
from tests.console.until import until
from tests.make import make_user


@pytest.mark.case(20)
def test_the_relay_answers_for_each_message(here: Listening) -> None:
    Queue.objects.filter(name="answers").update(max_depth=0)
    with connected(here) as client:
        sender = client.sender(None)

        told = [
            client.ask(sender, proton.Message(address=address, body=1))
            for address in ("orders", "nowhere", None, "answers", "orders")
        ]

        assert told[0].remote_state == told[4].remote_state == proton.Delivery.ACCEPTED
        assert [condition(one) for one in told[1:4]] == [
            "amqp:not-found",
            "amqp:precondition-failed",
            "amqp:resource-limit-exceeded",
        ]
        assert client.seen() == [1, 1]


@pytest.mark.case(20, 23)
def test_the_relay_checks_the_authority_for_each_message(
    transactional_db: None,
) -> None:
    user = omar()
    with listener(user=user) as here, connected(here) as client:
        sender = client.sender(None)

        told = [
            client.ask(sender, proton.Message(address=address, body=1))
            for address in ("orders", "answers")
        ]

        assert told[0].remote_state == proton.Delivery.ACCEPTED
        assert condition(told[1]) == "amqp:not-found"


def omar() -> Any:
    """May do everything on the orders, and nothing else."""
    user = make_user("omar", pattern="orders")
    user.set_password(PASSWORD)
    user.save()
    return user


@pytest.mark.case(23)
def test_what_is_refused_leaves_the_connection_in_order(
    transactional_db: None,
) -> None:
    with listener(user=omar()) as here, connected(here) as client:
        assert client.refused(client.sender, "nowhere") == "amqp:not-found"
        assert client.refused(client.receiver, "nowhere") == "amqp:not-found"
        assert client.refused(client.sender, "answers") == "amqp:not-found"
        assert client.refused(client.receiver, "answers") == "amqp:not-found"

        client.put("still here")
        assert client.seen() == ["still here"]


@pytest.mark.case(23)
def test_a_full_queue_refuses_until_there_is_room(here: Listening) -> None:
    Queue.objects.filter(name="orders").update(max_depth=1)
    with connected(here) as client:
        sender = client.sender()
        client.ask(sender, proton.Message(body=1))

        full = client.ask(sender, proton.Message(body=2))
        assert [one.body for one in client.all()] == [1]
        until(nothing_is_held)
        again = client.ask(sender, proton.Message(body=3))

        assert condition(full) == "amqp:resource-limit-exceeded"
        assert again.remote_state == proton.Delivery.ACCEPTED


@pytest.mark.case(19)
def test_a_dynamic_target_is_a_temporary_queue(here: Listening) -> None:
    with connected(here) as client:
        container = client.blocking.container
        maker = container.create_sender(client.connection, None, name="maker")
        maker.target.dynamic = True
        client.until(lambda: maker.state & proton.Endpoint.REMOTE_ACTIVE)
        name = maker.remote_target.address

        client.put("reply", address=name)

        assert client.get(client.receiver(name, credit=1)).message.body == "reply"
        with connected(here) as other:
            assert other.refused(other.receiver, name) == "amqp:not-allowed"
        maker.close()


@pytest.mark.case(22)
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("x-opt-delivery-delay", lambda: 60_000),
        (
            "x-opt-delivery-time",
            lambda: proton.timestamp(round(time.time() * 1000) + 60_000),
        ),
    ],
)
def test_a_message_is_delayed(here: Listening, name: str, value: Any) -> None:
    with connected(here) as client:
        begun = timezone.now()
        client.put("later", annotations={proton.symbol(name): value()})
        receiver = client.receiver()
        assert client.drain(receiver) == []
        due_at = Delayed.objects.get().due_at

        Delayed.objects.update(due_at=Now())
        receiver.flow(1)

        assert client.get(receiver).message.body == "later"
        assert timedelta(seconds=59) < due_at - begun < timedelta(seconds=90)


@pytest.mark.case(22)
def test_what_has_expired_is_read_where_it_went(here: Listening) -> None:
    with connected(here) as client:
        client.put("old", ttl=0.05, expiry_time=time.time() + 0.05)
        receiver = client.receiver("late", credit=1)
        until(lambda: expiry.expire(limit=10))
        assert client.all() == []

        late = client.get(receiver).message

        assert late.body == "old"
        assert late.annotations["x-opt-death-reason"] == "EXPIRED"
        assert not late.expiry_time
        assert late.annotations["x-opt-orig-expiry"]


@pytest.mark.case(28)
def test_urls_are_addresses(here: Listening) -> None:
    with connected(here) as client:
        url = f"amqp://{here.host}:{here.port}/orders"
        client.put("x", address=url)

        assert [one.body for one in client.all(url)] == ["x"]


@pytest.mark.case(28)
def test_a_receiver_that_would_settle_second_is_served(here: Listening) -> None:
    with connected(here) as client:
        client.put("x")
        receiver = client.blocking.container.create_receiver(
            client.connection, "orders", name="second", handler=(inbox := Inbox())
        )
        receiver.rcv_settle_mode = proton.Link.RCV_SECOND
        receiver.flow(1)
        client.until(lambda: inbox.deliveries)

        (delivery,) = inbox.deliveries
        delivery.update(proton.Delivery.ACCEPTED)
        client.until(lambda: delivery.settled)
        delivery.settle()

        receiver.close()
        assert client.seen() == []


class Inbox:
    """Keeps what comes, and says nothing of it."""

    def __init__(self) -> None:
        self.deliveries: list[Any] = []

    def on_delivery(self, event: Any) -> None:
        if event.delivery.readable and not event.delivery.partial:
            self.deliveries.append(event.delivery)
            event.link.advance()
