"""Limits of handlers over all processes: how many at once, and how often."""

from __future__ import annotations

import threading
from datetime import datetime

import pytest
from django.core.exceptions import ImproperlyConfigured

from broker.client.dispatch.handlers import consumes
from broker.client.dispatch.limits import OverLimit
from broker.client.dispatch.server_session import ServerSession
from broker.models import Event, HandlerLimit, Kind, Queue, Ready
from broker.queueing.get import Delivery
from broker.queueing.put import put, put_many
from broker.settlement import settle
from broker.transactions.scope import UnitOfWork
from tests.broker.handling import Seen, handler, running, session
from tests.console.until import until
from tests.make import NOON, make_messages, make_queue, seconds

pytestmark = pytest.mark.usefixtures("transactional_db")


@pytest.fixture(autouse=True)
def orders(transactional_db: None) -> Queue:
    return make_queue("orders")


def begin(
    one: ServerSession, *, now: datetime | None = None, limit: int = 1
) -> UnitOfWork:
    """A unit of work of a session that goes on."""
    work = UnitOfWork(now=now)
    work.get("orders", limit, search=one.search, pooled=True)
    return work


def states() -> list[tuple[int, int]]:
    """The counts of the ready entries: deliveries and backouts."""
    return list(Ready.objects.values_list("delivery_count", "backout_count"))


@pytest.mark.parametrize("join", [True, False])
def test_over_the_limit_a_message_stays_ready_and_untouched(join: bool) -> None:
    put_many(make_messages(3))
    limited = handler(Seen(), join=join, max_running=1)
    here, there = session(limited), session(limited)
    work = begin(here)

    assert there.serve() == 0
    assert there.held_s > 0
    assert states() == [(0, 0), (0, 0)]

    work.commit()
    assert there.serve() == 1
    assert there.held_s == 0
    assert here.serve() == 1
    assert HandlerLimit.objects.count() == 1


def test_the_place_of_a_dead_process_is_free_when_its_work_is_backed_out() -> None:
    put("orders")
    limited = handler(Seen(), max_running=1)
    begin(session(limited), now=NOON)
    there = session(limited)
    put("orders")
    assert there.serve() == 0

    settle.back_out_overdue(limit=10)

    assert [there.serve(), there.serve(), there.serve()] == [1, 1, 0]


def test_many_sessions_never_run_more_at_once_and_handle_all() -> None:
    """They share nothing but the database, as those of several processes."""
    at_once: list[int] = []
    inside: set[int] = set()
    lock = threading.Lock()
    met = threading.Event()

    def handle(delivery: Delivery) -> None:
        with lock:
            inside.add(delivery.message_id)
            at_once.append(len(inside))
            if len(inside) == 2:
                met.set()
        met.wait(10)
        Queue.objects.count()
        with lock:
            inside.discard(delivery.message_id)

    put_many(make_messages(40))
    seen = Seen(handle)
    with running(handler(seen, concurrency=6, max_running=2)):
        until(lambda: len(seen.deliveries) == 40)

    assert max(at_once) == 2
    assert len({one.message_id for one in seen.deliveries}) == 40


def rated(rate: str, *, batch: int = 1) -> ServerSession:
    found = session(handler(Seen(), rate=rate, batch=batch))
    HandlerLimit.objects.update(next_at=NOON)
    return found


def test_a_rate_spaces_messages_evenly_by_the_clock_of_the_database() -> None:
    put_many(make_messages(5), now=NOON)
    one = rated("100/min")

    begin(one, now=NOON)
    with pytest.raises(OverLimit) as over:
        begin(one, now=NOON + seconds(0.5))
    begin(one, now=NOON + seconds(0.6))
    # Half a minute without messages is not made up for.
    begin(one, now=NOON + seconds(30))
    with pytest.raises(OverLimit):
        begin(one, now=NOON + seconds(30.4))

    assert over.value.wait_s == pytest.approx(0.1)
    assert len(states()) == 2
    assert Event.objects.filter(kind=Kind.GET).count() == 3


def test_a_batch_counts_each_message_and_nothing_got_counts_none() -> None:
    one = rated("60/m", batch=10)
    begin(one, now=NOON)
    put_many(make_messages(5), now=NOON)

    begin(one, now=NOON, limit=10)

    limit = HandlerLimit.objects.get()
    assert NOON + seconds(4.9) <= limit.next_at <= NOON + seconds(5)


def test_a_limit_ends_with_its_queue(orders: Queue) -> None:
    one = session(handler(Seen(), max_running=1))
    orders.delete()

    assert not HandlerLimit.objects.exists()
    with pytest.raises(OverLimit):
        begin(one)


@pytest.mark.parametrize(
    "limits",
    [
        {"rate": "100"},
        {"rate": "0/s"},
        {"rate": "100/y"},
        {"rate": "2000000/s"},
        {"rate": " 1/s"},
        {"max_running": 0},
    ],
)
def test_a_limit_that_is_none_is_refused(limits: dict[str, object]) -> None:
    with pytest.raises(ImproperlyConfigured, match=r"rate|max_running"):
        consumes("refused", **limits)(lambda *_: None)  # type: ignore[arg-type]
