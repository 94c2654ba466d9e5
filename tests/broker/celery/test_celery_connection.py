"""A connection of a client of Celery, and what it sends."""

from __future__ import annotations

import json
import os
import time

import pytest
from kombu import Exchange, Queue

from broker.models import Binding, Claim, Message, Subscription
from broker.models import Queue as BackoutQueue
from broker.queueing import processes, subscriptions
from tests.broker.celery.conftest import WITHIN_S
from tests.celery_peer import app as peer
from tests.console.until import until

pytestmark = pytest.mark.usefixtures("transactional_db")


@pytest.mark.thorough
def test_the_thread_that_fetches_ends_with_its_last_consumer() -> None:
    """Also if it hears at once of the last consumer's end and of the connection's."""
    with peer.app.connection_for_read() as line:
        fetching = line.transport.fetching
        consumer = line.Consumer([Queue("brief", auto_delete=True)])
        consumer.consume()
        thread = fetching.thread
        until(lambda: fetching.alive_at)
        fetching.alive_at = time.monotonic() + 10 * WITHIN_S
        with fetching.changed:
            consumer.cancel()
            line.default_channel.close()
            fetching.poke()
        thread.join(WITHIN_S)
        assert not thread.is_alive()


def test_a_queue_that_ended_with_its_last_consumer_is_not_made_again() -> None:
    """Also if the thread that fetches finds only then that it is gone."""
    with peer.app.connection_for_read() as line:
        fetching = line.transport.fetching
        consumer = line.Consumer([Queue("brief", auto_delete=True)])
        consumer.consume()
        (known,) = fetching.consumers
        consumer.cancel()

        fetching.find_again(known)
        assert not BackoutQueue.objects.filter(name="brief").exists()

        fetching.consumers.append(known)  # deleted by its name, while it is consumed
        fetching.find_again(known)
        fetching.consumers.clear()
        assert not BackoutQueue.objects.filter(name="brief").exists()


def test_a_temporary_queue_is_made_again_with_its_bindings() -> None:
    """A process that had no database for a while counts as dead."""
    with peer.app.connection_for_read() as line:
        fetching = line.transport.fetching
        exchange = Exchange("news", "fanout")
        consumer = line.Consumer([Queue("brief", exchange, auto_delete=True)])
        consumer.consume()
        (known,) = fetching.consumers
        subscriptions.remove(Subscription.objects.get(queue=known.queue))

        fetching.find_again(known)

        bound = Binding.objects.get(queue__name="brief")
        assert (bound.exchange, bound.kind) == ("news", "fanout")
        assert known.queue == bound.queue
        consumer.cancel()
    assert not BackoutQueue.objects.filter(name="brief").exists()


@pytest.mark.thorough
def test_a_process_that_counted_as_dead_gets_with_another_unit_of_work() -> None:
    """Housekeeping backs out what is got with the old one."""
    with peer.app.connection_for_read() as line:
        fetching = line.transport.fetching
        consumer = line.Consumer([Queue("brief", auto_delete=True)])
        consumer.consume()
        (known,) = fetching.consumers
        until(lambda: fetching.owner)
        before = known.prefetched

        fetching.owner, fetching.alive_at = -1, 0.0
        fetching.poke()

        until(lambda: known.prefetched is not before)
        until(lambda: fetching.owner == processes.current())
        consumer.cancel()


@pytest.mark.thorough
def test_a_property_that_cannot_be_stored_is_left_out() -> None:
    """As by RabbitMQ, which leaves out all that AMQP does not have."""
    result = peer.add.apply_async(
        [2, 3], countdown=600, app_id="mine", sender=object(), mine=[1]
    )
    message = Message.objects.get(correlation_id=result.id)
    properties = json.loads(message.properties["kombu"])["properties"]
    assert properties["app_id"] == "mine"
    assert properties["mine"] == [1]
    assert "sender" not in properties


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
def test_a_child_process_leaves_messages_to_its_parent() -> None:
    """After a fork, pools of kombu close in the child what they have open."""
    result = peer.add.apply_async([2, 3], queue="inherited")
    (message_id,) = Message.objects.filter(correlation_id=result.id).values_list(
        "id", flat=True
    )
    with peer.app.connection_for_read() as line:
        channel = line.default_channel
        message = channel.basic_get("inherited")
        child = os.fork()
        if child == 0:
            line.collect()
            os._exit(0)
        os.waitpid(child, 0)
        assert Claim.objects.filter(ids__contains=[message_id]).exists()
        message.ack()
