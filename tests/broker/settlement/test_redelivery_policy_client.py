"""What ends of a client's deliveries begin a delay, and what ends begin none."""

from __future__ import annotations

import pytest

from broker.client import Consumer
from broker.models import Delayed, Queue
from tests.broker.receiving import (
    AUTO,
    CLIENT,
    TRANSACTED,
    consumer,
    counts,
    put_orders,
    received,
)
from tests.make import make_queue, make_setting


@pytest.fixture
def orders(db: None) -> Queue:
    make_queue("DLQ")
    return make_queue()


def settle_by_delay(**fields: object) -> None:
    make_setting("orders", redelivery_delay_ms=60_000, **fields)


def waiting() -> list[int]:
    """The counts of what waits."""
    entries = Delayed.objects.order_by("id")
    return list(entries.values_list("backout_count", flat=True))


def rolled_back() -> Consumer:
    receiving = consumer(TRANSACTED)
    received(receiving)
    receiving.session.rollback()
    return receiving


def recovered() -> Consumer:
    receiving = consumer(CLIENT)
    received(receiving)
    receiving.session.recover()
    return receiving


@pytest.mark.spec("REDEL-1", "REDEL-5")
@pytest.mark.parametrize("end", [rolled_back, recovered])
def test_what_is_rolled_back_or_recovered_waits(orders: Queue, end: object) -> None:
    settle_by_delay()
    put_orders(2)
    assert callable(end)
    receiving = end()
    assert waiting() == [1, 1]
    assert received(receiving) == []


@pytest.mark.spec("REDEL-5")
@pytest.mark.parametrize("mode", [AUTO, CLIENT, TRANSACTED])
def test_what_a_closed_consumer_had_not_read_does_not_wait(
    orders: Queue, mode: object
) -> None:
    settle_by_delay()
    put_orders(3)
    receiving = consumer(mode, prefetch=3)  # type: ignore[arg-type]
    assert received(receiving, 1) == [b"1"]
    receiving.close()
    assert waiting() == []
    assert counts() == [(b"2", 0), (b"3", 0)]


@pytest.mark.spec("REDEL-5")
def test_what_was_received_without_a_unit_of_work_does_not_wait(orders: Queue) -> None:
    settle_by_delay()
    put_orders(2)
    receiving = consumer(CLIENT)
    assert received(receiving) == [b"1", b"2"]
    receiving.session.close()
    assert waiting() == []
    assert counts() == [(b"1", 1), (b"2", 1)]


@pytest.mark.spec("REDEL-5", "DLA-2")
@pytest.mark.parametrize("end", ["rollback", "close"])
def test_attempts_run_out_with_a_delay_and_without_one(orders: Queue, end: str) -> None:
    settle_by_delay(max_delivery_attempts=1, dead_letter_address="DLQ")
    put_orders(1)
    receiving = consumer(TRANSACTED if end == "rollback" else CLIENT)
    assert received(receiving) == [b"1"]
    getattr(receiving.session, end)()
    assert waiting() == []
    assert counts("DLQ") == [(b"1", 0)]


@pytest.mark.spec("REDEL-5")
def test_a_session_closed_with_an_open_unit_of_work_is_rolled_back_and_waits(
    orders: Queue,
) -> None:
    settle_by_delay()
    put_orders(2)
    receiving = consumer(TRANSACTED)
    assert received(receiving) == [b"1", b"2"]
    receiving.session.close()
    assert waiting() == [1, 1]
