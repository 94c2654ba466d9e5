"""kombu's transports as sources and targets: Redis, and a folder."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import redis
from django.conf import settings

from broker.bridges.providers import registry
from broker.bridges.providers.interface import Destination, Factory
from broker.bridges.providers.kombu import KombuSession, connect
from broker.errors.bridges import AccessRefused, ProviderLost, WrongFactory
from broker.queueing.store import NewMessage
from tests.broker.bridges.rabbitmq_machine import bodies, numbered, take
from tests.broker.bridges.rabbitmq_node import free_port

REDIS = settings.REDIS_URL.replace("unix://", "redis+socket://")
PREFIX = "backout-test-kombu:"


@pytest.fixture
def orders() -> Iterator[Destination]:
    yield Destination(f"orders.{uuid.uuid4().hex}")
    with redis.Redis.from_url(settings.REDIS_URL) as server:
        for key in server.scan_iter(f"{PREFIX}*"):
            server.delete(key)


@pytest.fixture
def session() -> Iterator[KombuSession]:
    opened = connect(factory(REDIS, properties={"global_keyprefix": PREFIX}))
    yield opened
    opened.close()


def factory(url: str, **fields: Any) -> Factory:
    return Factory(**{"name": "others", "provider": "kombu", "url": url} | fields)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[KombuSession]:
    for name in ("messages", "control"):
        (tmp_path / name).mkdir()
    options = {
        "data_folder_in": str(tmp_path / "messages"),
        "data_folder_out": str(tmp_path / "messages"),
        "control_folder": str(tmp_path / "control"),
    }
    opened = connect(factory("filesystem://", properties=options))
    yield opened
    opened.close()


def test_redis_keeps_the_order_both_ways(
    session: KombuSession, orders: Destination
) -> None:
    sent = numbered(orders, 200)
    assert session.send(sent, orders) == [None] * 200
    subscription = session.subscribe(orders, prefetch=50)

    got: list[bytes] = []
    while len(got) < 200:
        batch = take(subscription, 20)
        subscription.acknowledge(batch)
        got += bodies(batch)

    assert got == [one.body for one in sent]
    assert subscription.receive(1, 0.1) == []


@pytest.mark.parametrize("transport", ["session", "folder"])
def test_what_a_message_says_of_itself_arrives(
    request: pytest.FixtureRequest, orders: Destination, transport: str
) -> None:
    session: KombuSession = request.getfixturevalue(transport)
    expires_at = datetime.now(UTC).replace(microsecond=123000) + timedelta(hours=1)
    sent = NewMessage(
        orders.name,
        b"\x00\xffbytes",
        "application/x-order",
        {"text": "ä", "n": 7, "d": 1.5, "yes": True, "none": None, "deep": {"a": [1]}},
        priority=7,
        durable=False,
        expires_at=expires_at,
        message_id="ID:at-the-source",
        correlation_id="c-1",
        reply_to="answers",
        subject="Order",
        group_id="customer 5",
        producer="shop",
    )

    assert session.send([sent], orders) == [None]
    (received,) = take(session.subscribe(orders), 1)

    got = received.message
    assert got.message_id is not None
    assert got.message_id.startswith("ID:")
    assert got.message_id != sent.message_id
    sent.message_id = got.message_id
    assert got == sent


def test_only_what_is_acknowledged_is_gone(
    session: KombuSession, orders: Destination
) -> None:
    session.send(numbered(orders, 5), orders)
    subscription = session.subscribe(orders, prefetch=5)
    received = take(subscription, 5)
    subscription.acknowledge([received[0], received[3]])
    subscription.close()

    left = take(session.subscribe(orders, prefetch=5), 3)

    assert sorted(bodies(left)) == [b"1", b"2", b"4"]
    assert session.subscribe(orders).receive(1, 0.1) == []


def test_what_is_released_comes_again_in_its_order(
    session: KombuSession, orders: Destination
) -> None:
    session.send(numbered(orders, 6), orders)
    subscription = session.subscribe(orders, prefetch=6)
    received = take(subscription, 4)

    subscription.release(received[1:3])
    subscription.release(received[:1], failed=True)

    again = take(subscription, 5)
    assert bodies(again) == [b"0", b"1", b"2", b"4", b"5"]
    assert [one.redelivered for one in again] == [True, True, True, False, False]


def test_what_others_sent_is_understood(
    session: KombuSession, orders: Destination
) -> None:
    producer = session.connection.Producer()
    producer.publish({"total": 5}, routing_key=orders.name)
    producer.publish("text", routing_key=orders.name, compression="gzip")

    first, second = take(session.subscribe(orders, prefetch=2), 2)

    assert first.message.body == b'{"total": 5}'
    assert first.message.content_type == "application/json"
    assert first.message.priority == 4
    assert second.message.content_type == "text/plain"
    assert second.message.properties["compression"] == "application/x-gzip"


def test_what_kombu_cannot_do_is_refused(
    session: KombuSession, orders: Destination
) -> None:
    with pytest.raises(WrongFactory, match="no message selectors"):
        session.subscribe(orders, selector="a = 1")
    with pytest.raises(WrongFactory, match="queues only"):
        session.send([NewMessage("a")], Destination("a", is_topic=True))
    with pytest.raises(WrongFactory, match="no transactions"):
        session.begin()
    assert session.subscribe(orders).lag() is None


def test_nobody_at_the_other_end_is_told() -> None:
    url = f"redis://127.0.0.1:{free_port()}/0"

    with pytest.raises(ProviderLost, match="The connection of the transport is lost"):
        connect(factory(url, connect_timeout_s=1))


def test_a_wrong_password_is_told() -> None:
    with redis.Redis.from_url(settings.REDIS_URL) as server:
        server.acl_setuser("shop", enabled=True, passwords=["+right"])
        try:
            with pytest.raises(AccessRefused, match="name and password"):
                connect(factory(REDIS, username="shop", password="wrong"))
        finally:
            server.acl_deluser("shop")


def test_a_transport_that_is_not_there_is_told() -> None:
    with pytest.raises(WrongFactory, match="kombu cannot use"):
        connect(factory("carrier-pigeon://roof"))


def test_a_package_that_is_missing_is_named_with_its_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(sys.modules, "broker.bridges.providers.kombu")
    monkeypatch.setitem(sys.modules, "kombu", None)
    why = r"needs the package kombu\. Install it: pip install 'backout\[amqp\]'"
    with pytest.raises(WrongFactory, match=why):
        registry.connect(factory("memory://"))
