"""Links keep the order of their source, whatever delays it has."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from broker.bridges import retries
from broker.bridges.providers.interface import Destination
from broker.bridges.providers.registry import connect
from broker.models import BridgeDestination, LinkState, Queue
from broker.queueing.put import put, put_many
from broker.settlement import settle
from tests.broker.bridges.linking import make_queues, status, taken, turn
from tests.broker.bridges.other_backout import OtherBackout
from tests.broker.bridges.running import (
    SCRIPT,
    bridge_process,
    until_sent,
    until_state,
)
from tests.broker.bridges.test_runner import FREEZES, is_stopped, new_link, running
from tests.broker.elsewhere import kill, process
from tests.console.until import until
from tests.make import make_messages, make_queue, make_setting

BODIES = [b"0", b"1", b"2", b"3", b"4"]


@pytest.fixture(autouse=True)
def _delayed(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "FIRST_S", 0.01)
    make_queues("orders", "booked")
    make_setting("orders", redelivery_delay_ms=60_000, max_delivery_attempts=-1)


@pytest.mark.spec("BRIDGE-1")
def test_a_refused_message_waits_for_no_redelivery_delay() -> None:
    Queue.objects.filter(name="booked").update(max_message_bytes=0)
    link = new_link()
    with running():
        for body in BODIES[:3]:
            put("orders", body)
        until(lambda: status(link).failures > 1)
        for body in BODIES[3:]:
            put("orders", body)
        Queue.objects.filter(name="booked").update(max_message_bytes=None)
        until_sent(link, 5)

    assert [one.body for one in taken("booked")] == BODIES


@pytest.mark.thorough
@pytest.mark.spec("BRIDGE-1")
@pytest.mark.parametrize("first", ["the housekeeping", "the next process"])
def test_what_a_killed_process_held_waits_for_none(first: str) -> None:
    link = new_link()
    with process(FREEZES + SCRIPT) as frozen:
        for body in BODIES[:3]:
            put("orders", body)
        until(lambda: is_stopped(frozen.pid))
        kill(frozen)
    for body in BODIES[3:]:
        put("orders", body)
    if first == "the housekeeping":
        settle.back_out_overdue(limit=10)
    with bridge_process():
        until_sent(link, 5)

    assert [one.body for one in taken("booked")] == BODIES


@pytest.mark.spec("BRIDGE-1")
def test_what_failed_at_another_backout_waits_for_no_redelivery_delay(
    other: OtherBackout,
) -> None:
    with other.instead():
        make_queue("orders")
        make_setting("orders", redelivery_delay_ms=60_000, max_delivery_attempts=-1)
        put_many(make_messages(3))
    session = connect(other.factory())
    subscription = session.subscribe(Destination("orders"))

    subscription.release(subscription.receive(1, 0), failed=True)
    again = subscription.receive(3, 0)

    assert [one.message.body for one in again] == [b"1", b"2", b"3"]
    session.close()


@pytest.mark.spec("BRIDGE-1")
@pytest.mark.parametrize("kind", BridgeDestination.Kind.values)
def test_a_link_tells_of_delays_at_its_source_when_it_starts(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    is_topic = kind == BridgeDestination.Kind.TOPIC
    durable = {"durable_name": "all", "source_client_id": "shop"} if is_topic else {}
    link = new_link(source=Destination("orders", is_topic), **durable)
    with turn(link):
        pass  # this makes a durable subscription
    assert "delayed messages" not in caplog.text
    put("orders", b"later", deliver_at=timezone.now() + timedelta(hours=1))

    with running():
        until_state(link, LinkState.STARTED)

    assert f"{link}: The queue " in caplog.text
    assert "holds delayed messages: the link transfers them when they" in caplog.text
