"""Waking up: in this process, from another one, and where nothing carries the hint."""

from __future__ import annotations

import os
import threading

import pytest
import redis
from django.conf import settings
from django.db import transaction

from broker.queueing import notifications
from broker.queueing.notifications import Arrivals, ByRedis
from broker.queueing.put import put
from broker.transactions.scope import UnitOfWork
from tests.broker.elsewhere import Background, Elsewhere, process, said, tell
from tests.console.until import until
from tests.make import make_queue

SAY = Arrivals.say  # before tests were told not to speak to other processes
LONG_S = 600.0  # nothing here waits that long, unless a wake-up was lost
NOBODY_THERE = "redis://127.0.0.1:1"

PUTTER = """
from broker.queueing.put import put
print("ready", flush=True)
input()
put("orders", b"from afar")
print("put", flush=True)
input()
"""


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> Arrivals:
    """This process as if it had just begun, and there were no other."""
    mine = Arrivals()
    mine.threads["arrivals-hear"] = threading.current_thread()
    monkeypatch.setattr(notifications, "_arrivals", mine)
    monkeypatch.setattr(notifications, "POLL_S", LONG_S)
    return mine


@pytest.fixture
def without_redis(alone: Arrivals, monkeypatch: pytest.MonkeyPatch) -> Arrivals:
    alone.threads.clear()
    monkeypatch.setattr(settings, "REDIS_URL", NOBODY_THERE)
    monkeypatch.setattr(notifications, "AWAY_S", 0.05)
    return alone


def test_an_arrival_between_the_look_and_the_wait_is_not_lost(alone: Arrivals) -> None:
    seen = notifications.version(7)
    notifications.announce({7})
    waiter = Background(lambda: notifications.wait(7, seen, longest_s=LONG_S))
    waiter.join()


def test_an_arrival_wakes_every_waiter_of_its_queue(alone: Arrivals) -> None:
    waiters = [
        Background(lambda: notifications.wait(7, 0, longest_s=LONG_S)) for _ in "abc"
    ]

    notifications.announce({7})

    for waiter in waiters:
        waiter.join()


def test_an_arrival_on_another_queue_does_not_count(alone: Arrivals) -> None:
    waiter = Background(lambda: notifications.wait(7, 0, longest_s=LONG_S))

    notifications.announce({8})

    assert notifications.version(7) == 0
    assert waiter.thread.is_alive()
    notifications.announce({7})
    waiter.join()


def test_all_can_be_woken_to_stop(alone: Arrivals) -> None:
    """Also who waits for a queue to which nothing has ever come."""
    waiter = Background(lambda: notifications.wait(7, 0, longest_s=LONG_S))
    until(lambda: alone.changed._waiters)  # type: ignore[attr-defined]

    notifications.wake_all()

    waiter.join()


def test_what_is_put_wakes_when_it_is_committed_and_not_before(
    elsewhere: Elsewhere, alone: Arrivals
) -> None:
    orders = make_queue("orders")
    before = notifications.version(orders.pk)
    elsewhere.begin()
    elsewhere(put, "orders")
    uncommitted = notifications.version(orders.pk)
    elsewhere.commit()
    assert (before, uncommitted, notifications.version(orders.pk)) == (0, 0, 1)


def test_what_is_rolled_back_wakes_nobody(
    transactional_db: None, alone: Arrivals
) -> None:
    orders = make_queue("orders")
    with transaction.atomic():
        put("orders")
        transaction.set_rollback(True)
    assert notifications.version(orders.pk) == 0


def test_what_comes_back_wakes_too(transactional_db: None, alone: Arrivals) -> None:
    orders = make_queue("orders")
    put("orders")
    work = UnitOfWork()
    work.get("orders")
    before = notifications.version(orders.pk)
    work.back_out("no such customer")
    assert notifications.version(orders.pk) == before + 1


def test_a_put_in_another_process_wakes_a_waiter_here(
    transactional_db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders = make_queue("orders")
    monkeypatch.setattr(notifications, "_arrivals", Arrivals())
    monkeypatch.setattr(notifications, "POLL_S", LONG_S)
    mine = redis.Redis.from_url(settings.REDIS_URL)
    ears = listeners(mine)
    waiter = Background(lambda: notifications.wait(orders.pk, 0, longest_s=LONG_S))
    until(lambda: listeners(mine) > ears)

    with process(PUTTER) as putter:
        assert said(putter) == "ready"
        tell(putter)
        assert said(putter) == "put"
        waiter.join()

    (delivery,) = UnitOfWork().get("orders")
    assert delivery.body == b"from afar"
    mine.close()


def test_without_redis_a_wait_ends_when_it_is_time_to_look(
    without_redis: Arrivals, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notifications, "POLL_S", 0.01)
    waiter = Background(lambda: notifications.wait(7, 0, longest_s=LONG_S))
    waiter.join()
    assert notifications.version(7) == 0


def test_without_redis_a_put_is_a_put(
    transactional_db: None, without_redis: Arrivals, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders = make_queue("orders")
    monkeypatch.setattr(Arrivals, "say", SAY)

    put("orders")
    put("orders")

    until(lambda: not without_redis.unsaid)
    assert notifications.version(orders.pk) == 2
    assert len(UnitOfWork().get("orders", 2)) == 2


def test_who_listens_is_told_all_queues_of_a_burst(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mine = redis.Redis.from_url(settings.REDIS_URL)
    monkeypatch.setattr(notifications, "_arrivals", Arrivals())
    monkeypatch.setattr(Arrivals, "say", SAY)
    heard: set[bytes] = set()
    with mine.pubsub(ignore_subscribe_messages=True) as ear:
        ear.subscribe(notifications.CHANNEL)
        until(lambda: listeners(mine))

        for queue_id in range(1_000_001, 1_000_101):
            notifications.announce({queue_id})

        wanted = {str(queue_id).encode() for queue_id in range(1_000_001, 1_000_101)}
        until(lambda: wanted <= hear(ear, heard))
    mine.close()


def test_a_hint_is_sent_on_a_new_connection_if_the_old_one_was_lost() -> None:
    mine = redis.Redis.from_url(settings.REDIS_URL)
    hints = ByRedis()
    heard: set[bytes] = set()
    with mine.pubsub(ignore_subscribe_messages=True) as ear:
        ear.subscribe(notifications.CHANNEL)
        until(lambda: listeners(mine))
        hints.publish("1000201")
        assert hints.session is not None
        hints.session.send_command("CLIENT", "ID")
        mine.client_kill_filter(_id=hints.session.read_response())

        hints.publish("1000202")

        until(lambda: {b"1000201", b"1000202"} <= hear(ear, heard))
    hints.session.disconnect()
    mine.close()


def test_a_hint_that_cannot_be_sent_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(settings, "REDIS_URL", NOBODY_THERE)
    with pytest.raises(redis.ConnectionError):
        ByRedis().publish("1")


def test_a_process_ignores_its_own_hints(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its consumers have looked already, when the put was committed."""
    mine = redis.Redis.from_url(settings.REDIS_URL)
    here = Arrivals()
    monkeypatch.setattr(notifications, "_arrivals", here)
    monkeypatch.setattr(Arrivals, "say", SAY)
    ears = listeners(mine)
    notifications.wait(1, 1)
    until(lambda: listeners(mine) > ears)
    heard: set[bytes] = set()
    with mine.pubsub(ignore_subscribe_messages=True) as ear:
        ear.subscribe(notifications.CHANNEL)
        until(lambda: listeners(mine) > ears + 1)
        notifications.announce({9_000_002})
        until(lambda: b"9000002" in hear(ear, heard))

    mine.publish(notifications.CHANNEL, "-1,9000003")  # another process, and later

    until(lambda: notifications.version(9_000_003))
    assert notifications.version(9_000_002) == 1
    mine.close()


def test_nonsense_on_the_channel_does_no_harm(
    transactional_db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = redis.Redis.from_url(settings.REDIS_URL)
    here = Arrivals()
    monkeypatch.setattr(notifications, "_arrivals", here)
    monkeypatch.setattr(notifications, "AWAY_S", 0.01)
    ears = listeners(mine)
    notifications.wait(1, 1)
    until(lambda: listeners(mine) > ears)

    mine.publish(notifications.CHANNEL, "not a number")

    def heard_again() -> int:
        mine.publish(notifications.CHANNEL, "9000001")
        return notifications.version(9_000_001)

    until(heard_again)
    mine.close()


def test_a_fork_begins_with_waiters_of_its_own(alone: Arrivals) -> None:
    alone.pid = os.getpid() + 1
    assert notifications.here() is not alone
    assert notifications.here() is notifications.here()


def listeners(client: redis.Redis) -> int:
    ((_, count),) = client.pubsub_numsub(notifications.CHANNEL)
    return int(count)


def hear(ear: redis.client.PubSub, heard: set[bytes]) -> set[bytes]:
    """All that was heard, with the next hint."""
    message = ear.get_message(timeout=1)
    heard.update(message["data"].split(b",") if message else [])
    return heard


def test_hints_pause_only_while_puts_follow_each_other() -> None:
    pauses = [notifications.SHORT_S]
    for _ in range(10):
        pauses.append(notifications.next_pause(pauses[-1], more=True))
    assert pauses[1] == 2 * pauses[0]
    assert pauses[-1] == notifications.LONG_S
    assert notifications.next_pause(pauses[-1], more=False) == notifications.SHORT_S
