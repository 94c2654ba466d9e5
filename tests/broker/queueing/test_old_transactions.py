"""The tally goes on beside transactions that stay open; what they write late counts.

Other tests have transactions on the same server, which a fold may skip as well.
"""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import rule, run_state_machine_as_test

from broker import sql
from broker.models import Event, Queue, Tally, Watermark
from broker.monitoring import fsck
from broker.queueing import journal
from broker.queueing.put import put
from broker.sql import partitions
from tests.broker.elsewhere import Background, Elsewhere
from tests.broker.queueing.test_journal import (
    Interleaving,
    assert_tally_is_the_journal_below_its_watermark,
)
from tests.console.until import until
from tests.make import make_queue

LOCK = 4711


def take_id() -> int:
    return ask("SELECT pg_current_xact_id()::text::bigint")


def ask(query: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(query)
        (value,) = cursor.fetchone()
        return int(value)


def tally() -> Watermark:
    return Watermark.objects.get(reader="tally")


def unfolded() -> int:
    """Events that a depth has to add up."""
    return Event.objects.filter(xid__gte=tally().xid).count()


@pytest.fixture
def orders(transactional_db: None) -> Queue:
    return make_queue("orders")


@pytest.fixture
def old(orders: Queue, elsewhere: Elsewhere) -> int:
    """A transaction that has an id, and does nothing, and has seen a fold."""
    elsewhere.begin()
    xid = elsewhere(take_id)
    put("orders")
    journal.fold()
    return xid


def test_the_tally_goes_on(orders: Queue, old: int) -> None:
    for _ in range(5):
        put("orders")
        journal.fold()

    assert tally().xid > old
    assert unfolded() <= 1, "other transactions may have begun meanwhile"
    assert journal.depths()[orders.pk].ready == 6
    assert Tally.objects.get(queue_id=orders.pk).entries >= 5
    assert fsck.violations() == []


@pytest.mark.parametrize("commits", [True, False])
def test_what_it_writes_late_counts_once_it_has_committed(
    orders: Queue, old: int, elsewhere: Elsewhere, *, commits: bool
) -> None:
    journal.fold()
    assert old in tally().skipped
    elsewhere(put, "orders")
    journal.fold()
    assert elsewhere(journal.depths)[orders.pk].ready == 2, "its own is there for it"
    assert journal.depths()[orders.pk].ready == 1

    elsewhere.commit() if commits else elsewhere.roll_back()

    assert journal.is_any_unfolded() >= commits
    for _ in range(2):
        assert journal.depths()[orders.pk].ready == 1 + commits
        journal.fold()
    assert old not in tally().skipped
    assert_tally_is_the_journal_below_its_watermark()
    assert fsck.violations() == []


def test_a_day_of_the_journal_is_kept_that_has_what_was_written_late(
    old: int, elsewhere: Elsewhere
) -> None:
    journal.fold()
    elsewhere(put, "orders")
    elsewhere.commit()
    put("orders")
    (late,) = Event.objects.filter(xid=old)
    child = f"broker_event_p{late.at:%Y%m%d}"
    Event.objects.exclude(xid=old).delete()

    partitions.drop_events(child)

    assert Event.objects.filter(xid=old).exists()


def test_a_fold_whose_snapshot_is_older_than_that_of_the_last(
    orders: Queue, old: int, elsewhere: Elsewhere
) -> None:
    """It waits between its snapshot and the watermark, while other folds end. It adds
    nothing twice, and forgets nobody whom they have skipped."""
    text = sql.statement("fold").decode()
    held = text.replace(
        "WHERE reader = 'tally' FOR UPDATE",
        f"CROSS JOIN (SELECT pg_advisory_xact_lock({LOCK})) AS waited"
        "\nWHERE reader = 'tally' FOR UPDATE OF broker_watermark",
    )
    assert held != text
    ask(f"SELECT 1 FROM (SELECT pg_advisory_lock({LOCK})) AS locked")
    put("orders")

    def late() -> None:
        given: Any = {"bounds": list(journal.BOUNDS_MS), "most_skipped": 100}
        with connection.cursor() as cursor:
            cursor.execute(held, given)

    waits = Background(late)
    until(lambda: ask("SELECT count(*) FROM pg_locks WHERE NOT granted"))
    elsewhere(put, "orders")
    elsewhere.commit()
    elsewhere.begin()
    new = elsewhere(take_id)
    for _ in range(3):
        put("orders")
        journal.fold()
    assert new in tally().skipped
    ask(f"SELECT pg_advisory_unlock({LOCK})::integer")
    waits.join()

    elsewhere(put, "orders")
    elsewhere.commit()
    for _ in range(2):
        assert journal.depths()[orders.pk].ready == 7
        journal.fold()
    assert_tally_is_the_journal_below_its_watermark()


class WithOldTransactions(Interleaving):
    """Transactions may have an id for long before they write."""

    @rule(writer=st.integers(0, 1))
    def take_an_id(self, writer: int) -> None:
        self.begun(writer)(take_id)

    @rule()
    def fold_twice(self) -> None:
        journal.fold()
        journal.fold()


@pytest.mark.thorough
def test_depths_are_exact_however_old_transactions_and_folds_interleave(
    transactional_db: None,
) -> None:
    few = settings(max_examples=25, stateful_step_count=25, deadline=None)
    run_state_machine_as_test(WithOldTransactions, settings=few)
