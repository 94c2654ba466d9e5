"""A hot table that vacuum cannot make small is written anew."""

from __future__ import annotations

import threading
from contextlib import closing, suppress
from io import StringIO

import psycopg
import pytest
from django.core.management import call_command
from django.db import connection

from broker.housekeeping import compaction
from broker.models import Delayed, Event, Kind, Ready
from broker.monitoring import fsck
from broker.queueing import processes
from broker.queueing.put import put, put_many
from broker.sql import vacuum
from broker.transactions.scope import UnitOfWork
from tests.broker.elsewhere import Background
from tests.broker.sql.test_vacuum import _alone, dead_rows, old_transaction
from tests.console.until import until
from tests.make import NOON, make_messages, make_queue, minutes

__all__ = ["_alone", "old_transaction"]  # fixtures

ROWS, LEFT = 8000, 10
DELAYED = ["broker_delayed"]
SIZE = "SELECT pg_total_relation_size('broker_delayed')"


@pytest.fixture(autouse=True)
def _small(_alone: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of a test are large, and were never tried."""
    monkeypatch.setattr(compaction.Tries, "next_s", 0.0)
    monkeypatch.setattr(vacuum, "ALLOWED_BYTES", 2**18)
    monkeypatch.setattr(vacuum, "MANY_DEAD", 1000)


def leave_few() -> None:
    """A table that had many rows: a few are left, and vacuum has done what it can."""
    make_queue()
    put_many(make_messages(ROWS, deliver_at=NOON + minutes(1)), now=NOON)
    kept = Delayed.objects.order_by("-id").values_list("id", flat=True)[:LEFT]
    Delayed.objects.exclude(id__in=list(kept)).delete()
    until(lambda: dead_rows() > ROWS / 2)
    vacuum.vacuum(DELAYED)


@pytest.fixture
def _large() -> None:
    leave_few()
    assert dead_rows() < vacuum.FEW


def size() -> int:
    with connection.cursor() as cursor:
        cursor.execute(SIZE)
        return int(cursor.fetchone()[0])


@pytest.mark.usefixtures("_large")
def test_its_rows_are_as_they_were_and_its_space_is_given_back() -> None:
    rows, before = sorted(Delayed.objects.values_list()), size()
    assert before > 2**19

    assert compaction.compact() == DELAYED

    assert sorted(Delayed.objects.values_list()) == rows
    assert len(rows) == LEFT
    assert size() < 2**17
    assert vacuum.compactable() == []


def test_dead_rows_that_an_old_transaction_keeps_are_gone(
    old_transaction: psycopg.Connection,
) -> None:
    """It may use the table afterwards."""
    leave_few()
    assert dead_rows() > ROWS / 2, "vacuum cannot remove them"
    rows = sorted(Delayed.objects.values_list())

    assert compaction.compact() == DELAYED

    assert dead_rows() == 0
    assert size() < 2**17
    assert sorted(Delayed.objects.values_list()) == rows
    count = old_transaction.execute("SELECT count(*) FROM broker_delayed").fetchone()
    assert count == (LEFT,)


@pytest.mark.usefixtures("_large")
@pytest.mark.parametrize("is_long", [True, False])
def test_a_table_in_use_is_left_alone(
    monkeypatch: pytest.MonkeyPatch, *, is_long: bool
) -> None:
    """If that is for long, nobody waits behind a lock that is not to be had."""
    before = size()
    with closing(processes.connect()) as other:
        other.execute("BEGIN")
        other.execute("LOCK broker_delayed IN ROW EXCLUSIVE MODE")
        if is_long:
            until(lambda: not vacuum.compactable())
        else:
            monkeypatch.setattr(vacuum, "compactable", lambda: DELAYED)
        assert compaction.compact(now_s=0) == []
    monkeypatch.undo()
    assert size() == before
    if not is_long:
        early = compaction.AGAIN_S - 1
        assert compaction.compact(now_s=early) == []


@pytest.mark.usefixtures("_large")
def test_a_table_in_use_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction.Tries, "next_s", compaction.AGAIN_S)
    assert compaction.compact(now_s=compaction.AGAIN_S - 1) == []
    assert compaction.compact(now_s=compaction.AGAIN_S) == DELAYED


@pytest.mark.usefixtures("_large")
def test_a_table_that_has_many_rows_is_left_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(vacuum, "MOST_LIVE", LEFT - 1)
    assert compaction.compact() == []


@pytest.mark.usefixtures("_large")
def test_rows_that_do_not_come_back_undo_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(psycopg.Copy, "write", lambda *_: None)
    rows = sorted(Delayed.objects.values_list())
    with pytest.raises(RuntimeError, match=f"{LEFT} rows became 0"):
        compaction.compact()
    assert sorted(Delayed.objects.values_list()) == rows


def test_messages_flow_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is accepted once, whichever table is written anew below it."""
    monkeypatch.setattr(vacuum, "compactable", lambda: list(vacuum.HOT))
    make_queue()
    ended = threading.Event()

    def compact() -> None:
        while not ended.is_set():
            compaction.Tries.next_s = 0.0
            compaction.compact()

    compacting = Background(compact)
    try:
        for number in range(300):
            put("orders", b"%d" % number)
            work = UnitOfWork()
            (got,) = work.get("orders")
            assert bytes(got.body) == b"%d" % number
            if number % 3:
                work.commit()
            else:
                work.back_out("again")
                again = UnitOfWork()
                (got,) = again.get("orders")
                assert got.backout_count == 1
                again.commit()
    finally:
        ended.set()
        compacting.join()
    assert not Ready.objects.exists()
    assert sum(one.n for one in Event.objects.filter(kind=Kind.ACCEPT)) == 300
    assert fsck.violations() == []


@pytest.mark.usefixtures("_large")
def test_a_check_that_reads_by_one_snapshot_is_not_disturbed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A table that is written anew after the snapshot would be empty for it."""
    theirs, tries = fsck.violations, []

    def violations() -> list[fsck.Violation]:
        found = Background(lambda: tries.append(is_rewritten()))
        found.join()
        return theirs()

    monkeypatch.setattr(fsck, "violations", violations)
    with suppress(SystemExit):  # the journal does not know how the rows were deleted
        call_command("broker_fsck", stdout=StringIO())
    assert tries == [False]


def is_rewritten() -> bool:
    with closing(processes.connect()) as session:
        return compaction.is_compacted(session, "broker_delayed")
