"""A window that the server cancels is halved, so that the export makes progress."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import adbc_driver_manager
import pytest
from psycopg.conninfo import make_conninfo

from broker.models import Queue
from dashboards import sql
from dashboards.models import ArchiveFile, ExportWindow
from dashboards.pipeline import bronze
from dashboards.pipeline.fields import rows
from tests.dashboards.files import root
from tests.dashboards.journal import record, until_final
from tests.dashboards.pipeline.test_bronze import archived, export
from tests.make import NOON

pytestmark = pytest.mark.thorough

DAY = timedelta(days=1)
Slow = Callable[[float], None]


@pytest.fixture
def slowly(monkeypatch: pytest.MonkeyPatch) -> Slow:
    """Make the server need that many seconds for each event that is copied."""
    statement = sql.statement

    def slow(seconds: float) -> None:
        def slowed(name: str) -> str:
            text = statement(name)
            if name != "events_between":
                return text
            return (
                f"SELECT * FROM ({text}) AS slow WHERE pg_sleep({seconds}) IS NOT NULL"
            )

        monkeypatch.setattr(sql, "statement", slowed)

    return slow


def test_the_timeout_of_pages_does_not_hold_for_the_export(
    orders: Queue, slowly: Slow, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = "-c statement_timeout=100ms"
    dsn = make_conninfo(rows.dsn(), options=options)
    monkeypatch.setattr(rows, "dsn", lambda: dsn)
    until_final(max(record(orders, [one]) for one in range(1, 5)))
    slowly(0.05)

    export()

    assert archived() == [1, 2, 3, 4]
    assert ExportWindow.objects.count() == 1


def test_a_window_that_is_cancelled_is_halved_until_it_is_copied(
    orders: Queue, slowly: Slow, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = record(orders, [1])
    days = [NOON, NOON + DAY]
    last = max(record(orders, [one], at=days[one > 4]) for one in range(2, 9))
    until_final(last)
    slowly(0.1)
    monkeypatch.setattr(bronze, "TIMEOUT", "250ms")
    done: list[float] = []

    bronze.export(done.append)

    assert archived() == list(range(1, 9))
    windows = list(ExportWindow.objects.all())
    assert len(windows) > 2
    assert {one.state for one in windows} == {ExportWindow.State.DONE}
    assert (windows[0].lo, windows[-1].hi > last) == (first, True)
    assert [w.hi for w in windows[:-1]] == [w.lo for w in windows[1:]]
    assert (done, done[-1]) == (sorted(done), 1)
    listed = {root() / one.path for one in ArchiveFile.objects.all()}
    assert {one for one in root().glob("*/*/*") if one.is_file()} == listed


def test_a_window_that_was_left_open_is_halved_too(
    orders: Queue, slowly: Slow, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = record(orders, [1])
    last = max(record(orders, [one]) for one in range(2, 9))
    until_final(last)
    bronze.open_window(first, last + 1)
    slowly(0.1)
    monkeypatch.setattr(bronze, "TIMEOUT", "250ms")

    export()

    assert archived() == list(range(1, 9))


def test_a_window_of_one_transaction_has_no_timeout(
    orders: Queue, slowly: Slow, monkeypatch: pytest.MonkeyPatch
) -> None:
    until_final(record(orders, [1]))
    slowly(0.2)
    monkeypatch.setattr(bronze, "TIMEOUT", "50ms")

    export()

    assert archived() == [1]


def test_another_error_of_the_server_is_raised(
    orders: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    until_final(max(record(orders, [one]) for one in range(1, 5)))
    whole = sql.statement("events_between")
    wrong = {
        "events_between": f"SELECT * FROM ({whole}) AS e WHERE 1 / (seq - seq) = 1"
    }
    statement = sql.statement
    monkeypatch.setattr(sql, "statement", lambda one: wrong.get(one) or statement(one))

    with pytest.raises(adbc_driver_manager.Error, match="division by zero"):
        export()

    assert ExportWindow.objects.get().state == ExportWindow.State.OPEN
