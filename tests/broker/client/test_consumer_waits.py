"""The consumer loop waits, is stopped, and is killed."""

from __future__ import annotations

from threading import Event as Flag
from typing import Any

import pytest

from broker.client import consumer, put, put_many
from broker.models import Claim, Event, Kind, Place, Queue, Ready
from broker.queueing import notifications
from broker.settlement import settle
from tests.broker.consuming import Failed, accepted, backouts, drained, is_clean
from tests.broker.elsewhere import Background, kill, process
from tests.console.until import until
from tests.make import NOON, make_messages, make_queue, make_setting, seconds


@pytest.fixture(autouse=True)
def orders(transactional_db: None) -> Queue:
    return make_queue("orders")


def test_delayed_messages_come_when_they_are_due() -> None:
    put("orders", b"later", deliver_at=NOON + seconds(5), now=NOON)
    assert drained(now=NOON + seconds(4)) == []
    assert drained(now=NOON + seconds(6)) == [b"later"]


def test_the_loop_sleeps_until_a_delayed_message_is_due() -> None:
    make_setting(redelivery_delay_ms=50)
    put("orders")
    with consumer("orders") as deliveries:
        steps = iter(deliveries)
        next(steps)
        deliveries.back_out(Failed("once"))
        assert next(steps).backout_count == 1
    kinds = [one.went_to for one in Event.objects.filter(kind=Kind.BACK_OUT)]
    assert kinds == [Place.DELAYED]


def test_expired_messages_do_not_come(settings: Any) -> None:
    settings.BROKER_MESSAGE_EXPIRY_SCAN_PERIOD_S = 30  # so a get ends them
    put("orders", b"old", expires_at=NOON + seconds(1), now=NOON)
    put("orders", b"good", now=NOON)
    assert drained(now=NOON + seconds(2)) == [b"good"]
    assert not Ready.objects.exists()


def test_the_loop_waits_for_messages() -> None:
    got: list[bytes] = []

    def consume() -> None:
        with consumer("orders") as deliveries:
            for delivery in deliveries:
                got.append(delivery.body)
                if delivery.body == b"last":
                    break

    waiting = Background(consume)
    put("orders", b"first")
    until(lambda: got == [b"first"])
    until(lambda: not Claim.objects.exists(), seconds=5)  # accepted before it waits
    put("orders", b"last")
    waiting.join()
    assert got == [b"first", b"last"]
    assert is_clean()


def test_a_time_out_ends_the_loop_which_may_be_begun_again() -> None:
    put("orders", b"1")
    with consumer("orders", timeout_s=0.01) as deliveries:
        assert [one.body for one in deliveries] == [b"1"]
        assert is_clean()
        put("orders", b"2")
        assert [one.body for one in deliveries] == [b"2"]


def test_a_stop_accepts_the_last_message_and_gets_no_more() -> None:
    put_many(make_messages(2))
    stopping = Flag()
    with consumer("orders", stop=stopping.is_set) as deliveries:
        for _ in deliveries:
            stopping.set()
    assert len(accepted()) == 1
    assert is_clean()
    assert drained() == [b"2"]


def test_a_stop_ends_a_wait() -> None:
    stopping, calls = Flag(), list[bool]()

    def stop() -> bool:
        calls.append(stopping.is_set())
        return stopping.is_set()

    def consume() -> None:
        with consumer("orders", stop=stop) as deliveries:
            assert list(deliveries) == []

    waiting = Background(consume)
    until(lambda: len(calls) > 2)
    stopping.set()
    notifications.wake_all()
    waiting.join()


KILLED = """
from broker.client import consumer
with consumer("orders") as deliveries:
    for delivery in deliveries:
        if delivery.body == b"2":
            print("holds", flush=True)
            sys.stdin.read()
"""


def test_a_killed_loop_loses_nothing() -> None:
    put_many(make_messages(3))
    with process(KILLED) as other:
        assert other.stdout.readline() == "holds\n"
        kill(other)
    settle.back_out_overdue(limit=9)
    assert backouts() == [1, 0]
    assert len(accepted()) == 1
    assert is_clean()
