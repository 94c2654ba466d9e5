"""Queues and topics that a client makes for itself."""

from __future__ import annotations

import pytest

from broker.amqp.protocol import performatives as p
from broker.amqp.protocol.events import Detached
from broker.models import Address, ModelQueue, Queue
from tests.amqp.listening import Listening, listener
from tests.amqp.putting import (
    body_of,
    condition,
    message,
    refused,
    speaking,
)

pytestmark = pytest.mark.usefixtures("transactional_db")


def test_a_temporary_queue_lives_as_long_as_what_made_it() -> None:
    with listener() as here, speaking(here) as client:
        target = p.Target(dynamic=True, capabilities=("temporary-queue",))
        maker = client.sender(target=target)

        made = maker.target
        assert isinstance(made, p.Target)
        assert made.dynamic
        assert made.dynamic_node_properties == {"lifetime-policy": p.DeleteOnClose()}
        assert made.address is not None
        assert Queue.objects.get().kind == Queue.Kind.TEMPORARY
        client.ask(maker, message(b"reply"))
        receiver = client.receiver(made.address, credit=1)
        (got,) = client.get(receiver)
        assert body_of(got) == b"reply"
        client.session.settle([got], p.Accepted())
        client.detach(maker)
        gone_within(here)


def gone_within(here: Listening) -> None:
    """All that was temporary is removed."""
    here.until(lambda: not here.listener.endings)
    assert not Queue.objects.filter(kind=Queue.Kind.TEMPORARY).exists()
    assert not Address.objects.filter(name__startswith="AMQ.").exists()


def test_a_temporary_queue_goes_with_a_lost_connection() -> None:
    with listener() as here:
        with pytest.raises(InterruptedError), speaking(here) as client:
            client.sender(target=p.Target(dynamic=True))
            raise InterruptedError

        here.until(lambda: not here.listener.clients)
        gone_within(here)


def test_only_its_own_connection_gets_from_a_temporary_queue() -> None:
    with listener() as here, speaking(here) as client, speaking(here) as other:
        maker = client.sender(target=p.Target(dynamic=True))
        assert isinstance(maker.target, p.Target)
        name = maker.target.address

        assert refused(other, name) == "amqp:not-allowed"
        answered = other.ask(other.sender(None), message(b"reply", to=name))
        (got,) = client.get(client.receiver(name, credit=1))

        assert answered == p.Accepted()
        assert body_of(got) == b"reply"


def test_a_receiver_can_be_given_a_temporary_queue() -> None:
    with listener() as here, speaking(here) as client:
        receiver = client.receiver(None, dynamic=True, credit=1)
        assert receiver.source is not None
        name = receiver.source.address

        client.ask(client.sender(name), message(b"reply"))
        (got,) = client.get(receiver)

        assert body_of(got) == b"reply"
        client.session.settle([got], p.Accepted())
        client.detach(receiver)
        gone_within(here)


def test_a_temporary_topic_gives_each_subscriber_a_copy() -> None:
    with listener() as here, speaking(here) as client:
        kind = ("temporary-topic",)
        maker = client.sender(target=p.Target(dynamic=True, capabilities=kind))
        assert isinstance(maker.target, p.Target)
        name = maker.target.address
        both = [client.receiver(name, credit=1, capabilities=kind) for _ in range(2)]

        client.ask(maker, message(b"news"))

        assert [body_of(client.get(one)[0]) for one in both] == [b"news"] * 2
        for one in (*both, maker):
            client.detach(one)
        gone_within(here)


def test_a_temporary_queue_is_made_from_the_default_model() -> None:
    ModelQueue.objects.update_or_create(
        name="SYSTEM.DEFAULT.MODEL.QUEUE", defaults={"max_depth": 1}
    )
    with listener() as here, speaking(here) as client:
        maker = client.sender(target=p.Target(dynamic=True))

        first, second = client.ask(maker, message(), message())

        assert first == p.Accepted()
        assert condition(second) == "amqp:resource-limit-exceeded"
    ModelQueue.objects.filter(name="SYSTEM.DEFAULT.MODEL.QUEUE").update(max_depth=None)


def test_a_consumer_of_a_temporary_queue_ends_with_it() -> None:
    with listener() as here, speaking(here) as client:
        maker = client.sender(target=p.Target(dynamic=True))
        assert isinstance(maker.target, p.Target)
        receiver = client.receiver(maker.target.address, credit=1)

        client.detach(maker)
        gone = client.wire.expect(Detached, endpoint=receiver)

        assert gone.error is not None
        assert gone.error.condition == "amqp:resource-deleted"
