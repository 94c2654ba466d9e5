"""A hot table that is large and nearly empty is written anew."""

from __future__ import annotations

from contextlib import closing

import pytest
from django.db import connection

from broker.housekeeping import compaction
from broker.models import Delayed
from broker.queueing import processes
from broker.queueing.put import put_many
from broker.sql import vacuum
from tests.broker.sql.test_vacuum import _alone, dead_rows
from tests.console.until import until
from tests.make import NOON, make_messages, make_queue, minutes

__all__ = ["_alone"]  # the fixture

ROWS, LEFT = 8000, 10
SIZE = "SELECT pg_total_relation_size('broker_delayed')"


@pytest.fixture
def _large(_alone: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table that had many rows; a few are left, and dead rows are vacuumed."""
    monkeypatch.setattr(compaction.Tries, "last_s", -compaction.EVERY_S)
    monkeypatch.setattr(vacuum, "ALLOWED_BYTES", 2**18)
    make_queue()
    put_many(make_messages(ROWS, deliver_at=NOON + minutes(1)), now=NOON)
    kept = Delayed.objects.order_by("-id").values_list("id", flat=True)[:LEFT]
    Delayed.objects.exclude(id__in=list(kept)).delete()
    until(lambda: dead_rows() > ROWS / 2)
    vacuum.vacuum(["broker_delayed"])


def size() -> int:
    with connection.cursor() as cursor:
        cursor.execute(SIZE)
        return int(cursor.fetchone()[0])


@pytest.mark.usefixtures("_large")
def test_its_rows_are_written_anew_and_its_space_is_given_back() -> None:
    rows, before = sorted(Delayed.objects.values_list()), size()
    assert before > 2**19

    assert compaction.compact() == ["broker_delayed"]

    assert sorted(Delayed.objects.values_list()) == rows
    assert len(rows) == LEFT
    assert size() < 2**17
    assert vacuum.oversized() == []


@pytest.mark.usefixtures("_large")
def test_a_table_in_use_is_tried_again_later() -> None:
    before = size()
    with closing(processes.connect()) as other:
        other.execute("BEGIN")
        other.execute("LOCK broker_delayed IN ROW EXCLUSIVE MODE")
        assert compaction.compact(now_s=0) == []
    assert size() == before

    assert compaction.compact(now_s=compaction.EVERY_S - 1) == [], "it is too early"
    assert compaction.compact(now_s=compaction.EVERY_S) == ["broker_delayed"]


@pytest.mark.usefixtures("_large")
def test_a_table_that_has_many_rows_is_left_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(vacuum, "ROW_BYTES", size())
    assert compaction.compact() == []
