"""Waking up in another process without Redis: PostgreSQL carries the hints."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.conf import settings
from django.db import DatabaseError, connection

from broker.queueing import notifications, processes
from broker.queueing.notifications import Arrivals, ByPostgres, parts_of
from tests.broker.elsewhere import Background, process, said, tell
from tests.broker.queueing.test_notifications import LONG_S, PUTTER, SAY
from tests.console.until import until
from tests.make import make_queue

WITHOUT_REDIS = f"""
from django.conf import settings
settings.REDIS_URL = ""
{PUTTER}"""


@pytest.fixture
def by_postgres(
    transactional_db: None, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Arrivals]:
    """This process without Redis, and registered, as who gets messages is."""
    monkeypatch.setattr(settings, "REDIS_URL", "")
    monkeypatch.setattr(Arrivals, "say", SAY)
    mine = Arrivals()
    monkeypatch.setattr(notifications, "_arrivals", mine)
    monkeypatch.setattr(notifications, "POLL_S", 0.02)  # until it is registered
    processes.current()
    yield mine
    processes.resign()


def heard_by_postgres(mine: Arrivals, queue_id: int) -> bool:
    """Whether a notification of this queue has arrived."""
    processes.ask(
        "SELECT pg_notify('broker.arrivals', %(hint)s)", {"hint": f"-7,{queue_id}"}
    )
    return mine.versions[queue_id] > 0


def test_without_redis_a_put_in_another_process_wakes_a_waiter_here(
    by_postgres: Arrivals, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders = make_queue("orders")
    by_postgres.hear()
    until(lambda: heard_by_postgres(by_postgres, 9_000_001))
    monkeypatch.setattr(notifications, "POLL_S", LONG_S)
    waiter = Background(lambda: notifications.wait(orders.pk, 0, longest_s=LONG_S))

    with process(WITHOUT_REDIS) as putter:
        assert said(putter) == "ready"
        tell(putter)
        assert said(putter) == "put"
        waiter.join()


def test_each_listener_of_a_process_hears_each_hint(
    by_postgres: Arrivals,
) -> None:
    """They share one connection: whoever reads a hint first tells all."""
    both = by_postgres, Arrivals()
    for one in both:
        one.hear()
        until(lambda one=one: heard_by_postgres(one, 9_000_001))  # type: ignore[misc]
    for queue_id in range(9_000_002, 9_000_022):
        ByPostgres().publish(f"-8,{queue_id}")
    for one in both:
        until(lambda one=one: len(one.versions) == 21)  # type: ignore[misc]


def test_without_redis_hints_go_on_after_a_connection_was_lost(
    by_postgres: Arrivals,
) -> None:
    by_postgres.hear()
    until(lambda: heard_by_postgres(by_postgres, 9_000_001))
    hints = ByPostgres()
    hints.publish("-8,9000002")
    until(lambda: by_postgres.versions[9_000_002])
    end_sessions()

    processes.renew()

    until(lambda: heard_by_postgres(by_postgres, 9_000_003))
    with pytest.raises(DatabaseError):
        hints.publish("-8,9000004")
    hints.publish("-8,9000005")
    until(lambda: by_postgres.versions[9_000_005])


def end_sessions() -> None:
    """The server ends the connections of locks and hints."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE application_name IN (%s, %s) AND datname = current_database()",
            [processes.NAME, notifications.CHANNEL],
        )


def test_what_is_no_hint_is_passed_over(by_postgres: Arrivals) -> None:
    by_postgres.hear()
    until(lambda: heard_by_postgres(by_postgres, 9_000_001))
    processes.ask("SELECT pg_notify('broker.arrivals', 'hello')", {})
    until(lambda: heard_by_postgres(by_postgres, 9_000_002))


def test_a_long_hint_is_sent_in_parts() -> None:
    queue_ids = [str(10**9 + n) for n in range(2000)]
    parts = list(parts_of(",".join(["-7", *queue_ids])))
    assert all(len(part) < 8000 and part.startswith("-7,") for part in parts)
    assert [n for part in parts for n in part.split(",")[1:]] == queue_ids
