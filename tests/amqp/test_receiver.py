"""Putting by a real connection: what is stored, what is refused, what is answered."""

from __future__ import annotations

import pytest

from broker.amqp.protocol import performatives as p
from broker.amqp.protocol.conditions import AmqpError
from broker.amqp.protocol.events import Detached
from broker.amqp.receivers.receiver import Puts
from broker.models import Message, QueueAlias
from tests.amqp.listening import PASSWORD, Listening, listener
from tests.amqp.putting import condition, message, speaking
from tests.make import make_queue, make_user

pytestmark = pytest.mark.usefixtures("transactional_db")


def test_a_message_is_accepted_once_it_is_stored() -> None:
    make_queue("orders")
    with listener() as here, speaking(here, container_id="shop") as client:
        outcome = client.ask(client.sender("orders"), message(b"hello"))

        stored = Message.objects.get()
        assert outcome == p.Accepted()
        assert bytes(stored.body) == b"hello"
        assert stored.producer == "shop"


def test_messages_that_come_together_keep_their_order() -> None:
    make_queue("orders")
    with listener() as here, speaking(here) as client:
        bodies = [b"%d" % number for number in range(300)]

        outcomes = client.ask(client.sender("orders"), *map(message, bodies))

        stored = Message.objects.order_by("pk")
        assert outcomes == [p.Accepted()] * 300
        assert [bytes(one.body) for one in stored] == bodies


def test_a_settled_message_is_stored_and_not_answered() -> None:
    make_queue("orders")
    with listener() as here, speaking(here) as client:
        sender = client.sender("orders")

        client.put(sender, message(b"1"), settled=True)
        answered = client.ask(sender, message(b"2"))

        assert answered == p.Accepted()
        assert Message.objects.count() == 2


def test_what_comes_with_a_close_is_stored() -> None:
    make_queue("orders")
    with listener() as here, speaking(here) as client:
        sender = client.sender("orders")

        client.put(sender, *[message()] * 50, settled=True)

    assert Message.objects.count() == 50


def test_one_message_that_is_refused_leaves_its_neighbours_alone() -> None:
    make_queue("orders", max_message_bytes=2000)
    make_queue("bills")
    with listener() as here, speaking(here) as client:
        sender = client.sender("orders")
        bodies = [b"ok"] * 9
        bodies[4] = b"x" * 3000

        outcomes = client.ask(sender, *map(message, bodies))

        refused = outcomes.pop(4)
        assert condition(refused) == "amqp:link:message-size-exceeded"
        assert refused.error.info["code"] == "message-too-big-for-queue"
        assert outcomes == [p.Accepted()] * 8
        assert client.ask(sender, message()) == p.Accepted()


def test_a_full_queue_refuses_and_takes_again() -> None:
    queue = make_queue("orders", max_depth=3)
    with listener() as here, speaking(here) as client:
        sender = client.sender("orders")

        outcomes = client.ask(sender, *[message()] * 5)
        queue.max_depth = 10
        queue.save()
        again = client.ask(sender, message())

        full = [condition(one) for one in outcomes[3:]]
        assert outcomes[:3] == [p.Accepted()] * 3
        assert full == ["amqp:resource-limit-exceeded"] * 2
        assert again == p.Accepted()


def test_a_full_queue_gets_less_at_once_until_it_takes_again() -> None:
    queue = make_queue("orders", max_depth=1)
    with listener(put_credit=100) as here, speaking(here) as client:
        sender = client.sender("orders")
        first = client.credit(sender)

        client.ask(sender, message())
        client.ask(sender, message())
        narrow = here.call(lambda: puts_of(here).credit.window)
        queue.max_depth = None
        queue.save()
        for _ in range(3):
            client.ask(sender, message())
        wide = here.call(lambda: puts_of(here).credit.window)

        assert first == 100
        assert narrow == 25
        assert wide == 100


def puts_of(here: Listening) -> Puts:
    """The only endpoint of the only client."""
    (client,) = here.listener.clients
    (endpoint,) = client.connection.endpoints()
    assert isinstance(endpoint.context, Puts)
    return endpoint.context


def test_no_more_credit_is_given_than_there_is_room_for() -> None:
    make_queue("orders")
    with listener(put_credit=7) as here, speaking(here) as client:
        sender = client.sender("orders")

        assert client.credit(sender) == 7
        for _ in range(5):
            assert client.ask(sender, *[message()] * 10) == [p.Accepted()] * 10
        assert sender.credit <= 7


def test_an_endpoint_without_an_address_relays_by_to() -> None:
    make_queue("orders")
    make_queue("bills")
    with listener() as here, speaking(here) as client:
        relay = client.sender(None)
        names = ["orders", "bills", "amqp://elsewhere:5672/orders", "orders"]

        outcomes = client.ask(relay, *[message(to=name) for name in names])

        stored = Message.objects.order_by("pk").values_list("address", flat=True)
        assert outcomes == [p.Accepted()] * 4
        assert sorted(stored) == ["bills", "orders", "orders", "orders"]


def test_a_relay_refuses_message_by_message() -> None:
    make_queue("orders")
    with listener() as here, speaking(here) as client:
        relay = client.sender(None)

        outcomes = client.ask(
            relay, message(to="nowhere"), message(), message(to="orders"), b"\x00\xff"
        )

        assert condition(outcomes[0]) == "amqp:not-found"
        assert condition(outcomes[1]) == "amqp:precondition-failed"
        assert outcomes[2] == p.Accepted()
        assert condition(outcomes[3]) == "amqp:decode-error"


def test_an_address_that_is_not_there_is_refused_at_once() -> None:
    with listener() as here, speaking(here) as client:
        with pytest.raises(AmqpError) as refused:
            client.sender("nowhere")

        assert refused.value.condition == "amqp:not-found"


def test_an_address_that_goes_refuses_what_comes_after() -> None:
    queue = make_queue("orders")
    with listener() as here, speaking(here) as client:
        sender = client.sender("orders")
        address = queue.address
        queue.delete()
        address.delete()

        assert condition(client.ask(sender, message())) == "amqp:not-found"


def test_a_settled_message_that_is_refused_ends_the_endpoint() -> None:
    make_queue("orders", put_inhibited=True)
    with listener() as here, speaking(here) as client:
        sender = client.sender("orders")

        client.put(sender, message(), settled=True)
        gone = client.wire.expect(Detached, endpoint=sender)

        assert gone.error is not None
        assert gone.error.condition == "amqp:not-allowed"
        assert client.sender("orders").attached


def test_nothing_behind_a_settled_message_that_is_refused_is_stored() -> None:
    make_queue("orders")
    with listener() as here, speaking(here) as client:
        sender = client.sender("orders")

        client.put(sender, message(b"1"), b"none", message(b"2"), settled=True)
        client.wire.expect(Detached, endpoint=sender)
        client.ask(client.sender("orders"), message(b"3"))

        stored = Message.objects.order_by("pk")
        (theirs,) = here.listener.clients
        assert [bytes(one.body) for one in stored] == [b"1", b"3"]
        assert here.call(lambda: theirs.put_bytes) == 0


def test_who_may_not_put_is_refused() -> None:
    make_queue("orders")
    make_queue("bills")
    user = make_user("omar", granted=("put",), pattern="bills")
    user.set_password(PASSWORD)
    user.save()
    with listener(user=user) as here, speaking(here) as client:
        with pytest.raises(AmqpError) as refused:
            client.sender("orders")
        relay = client.sender(None)
        outcomes = client.ask(relay, message(to="orders"), message(to="bills"))

        assert refused.value.condition == "amqp:not-found"
        assert condition(outcomes[0]) == "amqp:not-found"
        assert outcomes[1] == p.Accepted()


def test_an_alias_and_a_queue_of_an_address_can_be_put_to() -> None:
    make_queue("orders.q", address="orders")
    QueueAlias.objects.create(name="buy", target="orders")
    with listener() as here, speaking(here) as client:
        for name in ("buy", "orders.q", "orders::orders.q", "orders"):
            assert client.ask(client.sender(name), message()) == p.Accepted()

        assert set(Message.objects.values_list("address", flat=True)) == {"orders"}
