"""A worker that ends short tasks quickly is given more of them by one get, and what it
does not need is released."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import pytest
from kombu import Connection

from broker.client.celery_transport import fetching
from broker.client.celery_transport.read_ahead import AHEAD_S, IDLE_S, MOST, ReadAhead
from broker.models import Claim, Queue, Ready
from tests.console.until import until

PREFETCH = 2
TASKS = 400


@pytest.fixture
def ahead() -> ReadAhead:
    one = ReadAhead()
    one.measure(now=100.0)
    return one


def fill(ahead: ReadAhead, count: int) -> None:
    ahead.stock.extend(cast(Any, range(count)))  # it does not look into deliveries


def test_the_pace_decides_how_much_is_got_ahead(ahead: ReadAhead) -> None:
    assert ahead.wanted == 0, "nothing is known of a new worker"
    fill(ahead, 100)
    assert len(ahead.next(30, now=100.05)) == 30

    ahead.measure(now=100.1)

    assert ahead.wanted == int(300 * AHEAD_S)
    assert not ahead.is_low, "70 are left"


def test_no_pace_gets_more_than_a_limit(ahead: ReadAhead) -> None:
    fill(ahead, 1000)
    ahead.next(1000, now=100.0)
    ahead.measure(now=100.0)
    assert ahead.wanted == MOST
    assert ahead.is_low


def test_a_stock_is_idle_when_the_worker_took_nothing_for_a_while(
    ahead: ReadAhead,
) -> None:
    fill(ahead, 5)
    ahead.next(1, now=200.0)
    ahead.next(0, now=300.0)
    assert ahead.idle_at == 200.0 + IDLE_S
    assert len(ahead.empty()) == 4
    assert (list(ahead.stock), ahead.wanted) == ([], 0)


@pytest.fixture
def connection(
    transactional_db: None, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Connection]:
    monkeypatch.setattr(fetching, "HOUSEKEEPERS", [])  # they stay as long as a process
    with Connection("backout://") as made:
        queue = made.SimpleQueue("short")
        for number in range(TASKS):
            queue.put(number)
        queue.close()
        yield made


@pytest.mark.thorough
def test_what_a_slow_worker_does_not_need_is_released(connection: Connection) -> None:
    """It ends many at once, then keeps its last ones."""
    got: list[Any] = []
    channel = connection.channel()
    channel.basic_qos(prefetch_count=PREFETCH)
    channel.basic_consume("short", no_ack=False, callback=got.append, consumer_tag="1")
    most = 0
    while len(got) < TASKS // 2:
        connection.drain_events(timeout=60)
        most = max(most, claimed())
        if len(got) < TASKS // 2:
            for one in list(channel.unacked.values()):
                one.ack()
    assert most > PREFETCH, "more than the channel may have"
    assert len(channel.unacked) <= PREFETCH

    until(lambda: claimed() == len(channel.unacked) == PREFETCH, seconds=60)

    rest = Ready.objects.filter(queue_id=short())
    assert not rest.exclude(backout_count=0).exists(), "no attempt is counted"
    channel.close()
    until(lambda: claimed() == 0, seconds=60)
    bodies = [one.payload for one in got]
    assert bodies == list(range(len(bodies))), "in order, and none twice"


def claimed() -> int:
    found = Claim.objects.filter(queue_id=short())
    return sum(len(ids) for ids in found.values_list("ids", flat=True))


def short() -> int:
    return Queue.objects.get(name="short").pk
