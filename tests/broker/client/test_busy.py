"""Handlers tell how busy they are, by their process's heartbeat."""

from __future__ import annotations

import threading
import time

import pytest

from broker.models import ConnectionConsumer
from broker.queueing.put import put
from tests.broker.handling import Seen, handler, refuse, running
from tests.console.until import until
from tests.make import make_queue

pytestmark = pytest.mark.usefixtures("transactional_db")


def shares() -> list[int | None]:
    return list(ConnectionConsumer.objects.values_list("busy_percent", flat=True))


def test_a_handler_is_busy_while_it_has_a_message_and_no_longer() -> None:
    make_queue("orders")
    may_end = threading.Event()
    seen = Seen(lambda _: may_end.wait(30))
    put("orders")
    with running(handler(seen, concurrency=2)) as dispatcher:
        until(lambda: seen.deliveries)
        assert shares() == [None]

        dispatcher.note_busy(time.monotonic() + 3600)
        assert shares() == [50]  # one of two sessions

        may_end.set()
        (pool,) = dispatcher.pools
        until(lambda: pool.consumer is not None and not pool.consumer.busy.at_work)


@pytest.mark.parametrize("join", [True, False])
def test_a_handler_that_fails_is_at_rest_again(join: bool) -> None:
    make_queue("orders")
    seen = Seen(refuse)
    put("orders")
    with running(handler(seen, join=join)) as dispatcher:
        until(lambda: seen.deliveries)
        (pool,) = dispatcher.pools

        until(lambda: pool.consumer is not None and not pool.consumer.busy.at_work)
