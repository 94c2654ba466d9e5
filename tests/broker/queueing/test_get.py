"""Messages of deliveries, wherever they lie."""

from __future__ import annotations

import pytest
from django.db import connection

from broker.queueing import get
from broker.queueing.get import Delivery
from broker.queueing.put import NewMessage, put_many
from broker.transactions.scope import unit_of_work
from tests.make import NOON, make_queue, minutes

pytestmark = pytest.mark.django_db

FULL = NewMessage(
    "orders",
    b"4711",
    content_type="text/plain",
    properties={"colour": "red"},
    priority=7,
    durable=False,
    expires_at=NOON + minutes(5),
    message_id="ID:1",
    correlation_id="c",
    reply_to="answers",
    subject="s",
    group_id="g",
    producer="shop",
    descriptor={"user_identifier": "omar"},
    headers=b"h",
    envelope=b"e",
)


def got(limit: int) -> list[Delivery]:
    with unit_of_work(now=NOON) as work:
        return work.get("orders", limit)


@pytest.mark.parametrize("limit", [1, 3])
def test_a_message_is_whole_however_far_it_is_from_the_one_before(
    limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_queue("orders")
    put_many([FULL] * 7, now=NOON)
    (near,) = got(1)
    monkeypatch.setattr(get, "NEAR", 0)
    for far in [*got(limit), *got(limit)]:
        assert far.message_id > near.message_id
        for field in get.OF_MESSAGE:
            assert getattr(far, field) == getattr(near, field), field


def test_of_some_deliveries_the_far_ones_are_read_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make_queue("orders")
    put_many([NewMessage("orders", b"%d" % n) for n in range(5)], now=NOON)
    (first,) = got(1)
    monkeypatch.setitem(get.last_ids, "orders", first.message_id)
    monkeypatch.setattr(get, "NEAR", 2)
    assert [one.body for one in got(4)] == [b"1", b"2", b"3", b"4"]


def test_an_entry_without_its_message_is_not_handed_out() -> None:
    make_queue("orders")
    put_many([NewMessage("orders", b"%d" % n) for n in range(2)], now=NOON)
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM broker_message WHERE body = '0'")
    with unit_of_work(now=NOON) as work:
        assert [one.body for one in work.get("orders", 2)] == [b"1"]
        work.held += 1  # it is in the claim
