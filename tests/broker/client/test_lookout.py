"""Of the idle sessions of a handler, one looks for messages, for all of them."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from broker.client.dispatch import dispatcher
from broker.client.dispatch.connection_consumer import ConnectionConsumer
from broker.client.dispatch.lookout import Lookout
from broker.client.dispatch.server_session import ServerSession
from broker.models import Ready
from broker.monitoring import fsck
from broker.queueing import delayed, notifications
from broker.queueing.put import put, put_many
from tests.broker.handling import Seen, handler, refuse, running
from tests.console.until import until
from tests.make import make_messages, make_queue, make_setting

pytestmark = pytest.mark.usefixtures("transactional_db")

JOINED_OR_LEASED = pytest.mark.parametrize("join", [True, False])
SESSIONS = 16
NEVER_S = 3600.0  # a session that waits so long is not woken


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A name for each look of a session that found nothing."""
    made: list[str] = []
    until_due_s = delayed.until_due_s

    def noted(queue: str) -> float:
        made.append(queue)
        return until_due_s(queue)

    monkeypatch.setattr(delayed, "until_due_s", noted)
    return made


@pytest.fixture
def nobody_polls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notifications, "POLL_S", NEVER_S)


@pytest.mark.usefixtures("nobody_polls")
@JOINED_OR_LEASED
def test_a_message_wakes_one_of_the_idle_sessions(join: bool, looks: list[str]) -> None:
    make_queue("orders")
    seen = Seen()
    with running(handler(seen, join=join, concurrency=SESSIONS)) as run:
        (pool,) = run.pools
        until(lambda: pool.consumer and pool.consumer.lookout)
        assert pool.consumer is not None
        lookout = pool.consumer.lookout
        assert lookout is not None
        until(lambda: lookout.idle() == SESSIONS and len(looks) >= 1)
        looks.clear()
        for _ in range(10):
            seen.deliveries.clear()
            put("orders")
            until(lambda: seen.deliveries)
            until(lambda: lookout.idle() == SESSIONS and lookout.left_s() > 0)

    assert len(looks) <= 20, "each session has looked, for each message"
    assert not Ready.objects.exists()


@pytest.mark.usefixtures("nobody_polls")
@JOINED_OR_LEASED
def test_messages_that_come_at_once_are_handled_at_once(join: bool) -> None:
    make_queue("orders")
    together = threading.Barrier(SESSIONS)
    seen = Seen(lambda _: together.wait(30))
    with running(handler(seen, join=join, concurrency=SESSIONS)):
        put_many(make_messages(SESSIONS))
        until(lambda: len(seen.deliveries) == SESSIONS)
        put_many(make_messages(SESSIONS))
        until(lambda: len(seen.deliveries) == 2 * SESSIONS)
    assert len(seen.threads) <= SESSIONS
    assert not Ready.objects.exists()
    assert fsck.violations() == []


@pytest.mark.usefixtures("nobody_polls")
@JOINED_OR_LEASED
def test_a_message_that_failed_is_looked_for_when_it_is_due(join: bool) -> None:
    """Although nothing was due when the lookout looked, and nobody puts anything."""
    make_queue("orders")
    make_setting("orders", max_delivery_attempts=-1, redelivery_delay_ms=30)
    attempts = [refuse, refuse, id]
    seen = Seen(lambda delivery: attempts[len(seen.deliveries) - 1](delivery))
    with running(handler(seen, join=join, concurrency=4)):
        put("orders")
        until(lambda: len(seen.deliveries) == 3)
    assert not Ready.objects.exists()


@pytest.mark.usefixtures("nobody_polls")
def test_a_session_that_fails_on_the_lookout_gives_it_on(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    make_queue("orders")
    failed = threading.Event()
    is_open = ConnectionConsumer.is_open

    def fail_once(self: ConnectionConsumer) -> bool:
        if not failed.is_set():
            failed.set()
            raise RuntimeError("once")
        return is_open(self)

    monkeypatch.setattr(ConnectionConsumer, "is_open", fail_once)
    monkeypatch.setattr(dispatcher, "AWAY_S", NEVER_S)
    seen = Seen()
    run = dispatcher.Dispatcher([handler(seen, join=False, concurrency=2)])
    run.start()
    try:
        until(failed.is_set)
        put("orders")
        until(lambda: seen.deliveries)
    finally:
        run.stop()
    assert "orders waits." in caplog.text
    assert not Ready.objects.exists()


def test_what_a_session_was_given_as_it_stopped_is_released() -> None:
    make_queue("orders")
    put_many(make_messages(2))
    consumer = ConnectionConsumer.open(handler(Seen(), join=False, concurrency=2))
    looking, resting = ServerSession(consumer), ServerSession(consumer)
    assert looking.lookout.take() == []
    looking.is_on_lookout = True
    thread = resting_thread(resting)
    until(lambda: looking.lookout.idle() == 2)
    try:
        assert looking.serve() == 1
        thread.join()
        (given,) = resting.following
        assert given.body == b"2"
        resting.close()
    finally:
        consumer.close()

    assert [row.backout_count for row in Ready.objects.all()] == [0]
    assert fsck.violations() == []


def resting_thread(session: ServerSession) -> threading.Thread:
    def rest() -> None:
        session.following = session.lookout.take()

    thread = threading.Thread(target=rest)
    thread.start()
    return thread


@pytest.mark.parametrize(
    ("change", "looks_again"),
    [(lambda: None, False), (lambda: notifications.wake(7), True)],
)
def test_the_lookout_looks_again_after_a_change_of_the_queue(
    change: Callable[[], None], looks_again: bool
) -> None:
    lookout = Lookout(7)
    assert lookout.left_s() <= 0
    lookout.note_empty(notifications.version(7), 60)
    change()
    assert (lookout.left_s() <= 0) == looks_again
    lookout.note_empty(notifications.version(7), 0)
    assert lookout.left_s() <= 0
