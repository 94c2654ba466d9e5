"""What a link cannot carry, and where its copies lie."""

from __future__ import annotations

from typing import Any

import pytest

from broker.bridges import dead_messages
from broker.errors.bridges import DeadMessageRefused
from broker.models import DeadLetter, DeadMessageQueue, Queue
from broker.models.bridge_names import BUILT_IN_QUEUE
from broker.queueing.put import put
from tests.broker.bridges.linking import (
    Turn,
    carry,
    dead,
    make_bridge,
    make_dead_queue,
    make_factory,
    make_link,
    make_queues,
    taken,
    turn,
)
from tests.make import NOON

LATER = NOON.replace(year=3000)
REASON = "JMS_SUN_JMSBRIDGE_DMQ_REASON"


@pytest.fixture(autouse=True)
def _queues(transactional_db: None) -> None:
    make_queues("orders", "booked", "first", "second")


def expire(body: bytes = b"late", **fields: Any) -> None:
    put("orders", body, expires_at=NOON.replace(year=2999), **fields)


@pytest.mark.spec("BRIDGE-16")
def test_a_dead_message_has_its_original_and_where_it_was_going() -> None:
    expire(
        message_id="ID:1",
        correlation_id="corr",
        subject="order",
        content_type="application/json",
        properties={"region": "north"},
        priority=8,
        durable=False,
    )
    carry(make_link(), now=LATER)

    (one,) = dead()
    assert one.body == b"late"
    assert (one.content_type, one.priority, one.durable) == (
        "application/json",
        8,
        False,
    )
    assert (one.client_message_id, one.correlation_id) == ("ID:1", "corr")
    told = {
        name.removeprefix("JMS_SUN_JMSBRIDGE_"): value
        for name, value in one.properties.items()
    }
    at_ms = {
        name: told.pop(name)
        for name in ("SOURCE_TIMESTAMP", "SOURCE_EXPIRATION", "DMQ_TIMESTAMP")
    }
    assert all(isinstance(value, int) and value > 10**12 for value in at_ms.values())
    assert at_ms["DMQ_TIMESTAMP"] == int(LATER.timestamp() * 1000)
    assert told.pop("DMQ_EXCEPTION").startswith("It expired at")
    assert told == {
        "region": "north",
        "SOURCE_MESSAGEID": "ID:1",
        "SOURCE_CORRELATIONID": "corr",
        "SOURCE_JMSTYPE": "order",
        "SOURCE_DESTINATION": "queue:orders",
        "SOURCE_PROVIDER": "here",
        "TARGET_DESTINATION": "queue:booked",
        "TARGET_CURRENT_DESTINATION": "queue:booked",
        "TARGET_PROVIDER": "here",
        "DMQ_REASON": "MESSAGE_EXPIRED",
        "DMQ_BODY_TRUNCATED": False,
        "_BRK_LINK": "shop/out",
    }


@pytest.mark.spec("BRIDGE-14")
def test_the_built_in_queue_is_first_and_then_the_first_that_takes_it() -> None:
    expire()
    link = make_link()
    here = make_factory(link.bridge)
    make_dead_queue(link, "a", here, "nowhere", position=1, send_attempts=1)
    make_dead_queue(link, "b", here, "first", position=2)
    make_dead_queue(link, "c", here, "second", position=3)

    carry(link, now=LATER)

    assert [one.properties[REASON] for one in dead()] == ["MESSAGE_EXPIRED"]
    assert [one.properties[REASON] for one in taken("first")] == ["MESSAGE_EXPIRED"]
    assert taken("second") == []


@pytest.mark.spec("BRIDGE-14")
def test_one_that_is_not_enabled_is_not_tried() -> None:
    expire()
    link = make_link()
    make_dead_queue(link, "a", make_factory(link.bridge), "first", enabled=False)
    carry(link, now=LATER)
    assert len(dead()) == 1
    assert taken("first") == []


@pytest.mark.spec("BRIDGE-14")
def test_where_none_takes_it_the_message_stays_at_its_source() -> None:
    expire()
    link = make_link()
    dead_messages.ensure()
    Queue.objects.filter(name=BUILT_IN_QUEUE).update(put_inhibited=True)

    with turn(link) as one, pytest.raises(DeadMessageRefused):
        one.carry(now=LATER)

    assert [one.body for one in taken("orders")] == [b"late"]


@pytest.mark.spec("BRIDGE-14")
def test_a_configured_queue_is_enough_where_the_built_in_one_is_full() -> None:
    expire()
    link = make_link()
    make_dead_queue(link, "a", make_factory(link.bridge), "first")
    dead_messages.ensure()
    Queue.objects.filter(name=BUILT_IN_QUEUE).update(put_inhibited=True)

    carry(link, now=LATER)

    assert taken("orders") == []
    assert len(taken("first")) == 1


@pytest.mark.spec("BRIDGE-15")
def test_there_are_exactly_as_many_attempts_as_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    expire()
    link = make_link()
    queue = make_dead_queue(
        link, "a", make_factory(link.bridge), "first", send_attempts=3
    )
    Queue.objects.filter(name="first").update(put_inhibited=True)
    waits: list[float] = []

    with turn(link) as one:
        monkeypatch.setattr(one.carrier, "wait", waits.append)
        one.carry(now=LATER)

    assert waits == [queue.send_interval_s] * 2  # between three attempts
    assert DeadMessageQueue._meta.get_field("send_attempts").default == 3
    assert DeadMessageQueue._meta.get_field("send_interval_s").default == 5


@pytest.mark.spec("BRIDGE-15")
def test_what_goes_to_a_configured_queue_may_have_a_time_to_live() -> None:
    expire()
    link = make_link()
    here = make_factory(link.bridge)
    make_dead_queue(link, "a", here, "first", time_to_live_ms=60_000)
    with turn(link) as one:
        one.carry(now=LATER)
    (copy,) = taken("first")
    assert copy.expires_at == LATER.replace(minute=1)
    (built_in,) = dead()
    assert built_in.expires_at is None


def test_dead_messages_of_one_cause_are_one_group() -> None:
    make_link(bridge=make_bridge("other"))
    for _ in range(3):
        expire()
    carry(make_link(), now=LATER)
    letters = DeadLetter.objects.filter(cause=DeadLetter.Cause.LINK)
    assert letters.count() == 3
    assert letters.values("fingerprint").distinct().count() == 1


def test_dead_messages_that_are_moved_there_go_through_the_link_again() -> None:
    link = make_link()
    with turn(link) as one:
        resubmitted = one.ends.roads[0].source
        put(f"bridge.{link.bridge.name}.{link.name}.resubmit", b"mended")
        assert isinstance(one, Turn)
        assert resubmitted is not one.ends.main
        assert one.carry() == 1
    assert [one.body for one in taken("booked")] == [b"mended"]
