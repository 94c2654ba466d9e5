"""Processes that die with messages in their hands, and those taken for dead."""

from __future__ import annotations

import os

import pytest
from django.db import OperationalError, connection

from broker.errors import LockLost
from broker.models import Claim, Kind, Message, Owner, Place, Ready
from broker.models import UnitOfWork as UnitOfWorkRow
from broker.monitoring import fsck
from broker.queueing import journal, processes
from broker.queueing.put import put, put_many
from broker.settlement import backout, settle
from broker.transactions.scope import UnitOfWork
from tests.broker.elsewhere import Elsewhere, kill, process, said, tell
from tests.console.until import until
from tests.make import NOON, make_messages, make_queue, make_setting

HOLDER = """
from broker.errors import LockLost
from broker.transactions.scope import UnitOfWork
work = UnitOfWork(actor="holder")
work.put("audit", b"seen")
print(len(work.get("orders", 10)), flush=True)
input()
try:
    work.commit()
    print("committed", flush=True)
except LockLost as error:
    print(error.code, flush=True)
"""


def test_what_a_killed_process_held_comes_back_at_once_and_counted(
    transactional_db: None,
) -> None:
    orders = make_queue("orders")
    put_many(make_messages(3))
    with process(HOLDER) as holder:
        assert said(holder) == "3"
        kill(holder)

        until(lambda: settle.back_out_overdue(limit=10))

    deliveries = UnitOfWork().get("orders", 10)
    assert [delivery.body for delivery in deliveries] == [b"1", b"2", b"3"]
    assert {delivery.backout_count for delivery in deliveries} == {1}
    story = journal.lifeline(deliveries[0].message_id)
    assert [event.kind for event in story][:3] == [Kind.PUT, Kind.GET, Kind.BACK_OUT]
    assert story[2].detail["error"] == settle.DIED
    assert journal.depths()[orders.pk].claimed == 3
    assert fsck.violations() == []


def test_a_message_that_kills_its_consumers_ends_as_a_dead_letter(
    transactional_db: None,
) -> None:
    make_queue("orders")
    dlq = make_queue("DLQ", address="DLA")
    make_setting("orders", max_delivery_attempts=1, dead_letter_address="DLA")
    put("orders", b"killer")
    with process(HOLDER) as holder:
        said(holder)
        kill(holder)
        until(lambda: settle.back_out_overdue(limit=10))
    assert Ready.objects.get().queue_id == dlq.pk


@pytest.mark.spec("UOW-1")
def test_what_a_killed_process_had_still_to_put_was_never_put(
    transactional_db: None,
) -> None:
    make_queue("orders")
    make_queue("audit")
    put("orders")
    with process(HOLDER) as holder:
        said(holder)
        kill(holder)
        until(lambda: settle.back_out_overdue(limit=10))
    assert not Message.objects.filter(address="audit").exists()


@pytest.mark.spec("UOW-1")
def test_a_live_process_is_left_alone(transactional_db: None) -> None:
    orders, audit = make_queue("orders"), make_queue("audit")
    put("orders")
    with process(HOLDER) as holder:
        said(holder)

        swept = settle.back_out_overdue(limit=10)

        claimed = journal.depths()[orders.pk].claimed
        tell(holder)
        assert said(holder) == "committed"
    assert (swept, claimed) == (0, 1)
    depths = journal.depths()
    assert (depths[orders.pk].total, depths[audit.pk].ready) == (0, 1)


def test_a_process_that_was_taken_for_dead_has_lost_what_it_held(
    transactional_db: None,
) -> None:
    """Its connection broke; it does not know, and comes back much later."""
    orders, audit = make_queue("orders"), make_queue("audit")
    put("orders")
    with process(HOLDER) as zombie:
        said(zombie)
        (row,) = Owner.objects.exclude(pid=os.getpid())
        break_the_lock_of(row.pk)
        until(lambda: settle.back_out_overdue(limit=10))

        tell(zombie)
        assert said(zombie) == "lock-lost"

    depths = journal.depths()
    assert (depths[orders.pk].ready, audit.pk in depths) == (1, False)
    assert Ready.objects.get().backout_count == 1


def test_a_zombie_cannot_settle_what_another_holds_by_now(
    transactional_db: None,
) -> None:
    make_queue("orders")
    put("orders")
    zombie = UnitOfWork()
    zombie.get("orders")
    break_the_lock_of(processes.current())
    until(lambda: settle.back_out_overdue(limit=10))
    assert processes.renew()
    other = UnitOfWork()
    (delivery,) = other.get("orders")

    with pytest.raises(LockLost):
        zombie.commit()

    assert (delivery.backout_count, delivery.delivery_count) == (1, 2)
    other.commit()
    assert fsck.sums().accepted == 1


def test_a_process_taken_for_dead_gets_nothing_until_it_is_registered_anew(
    transactional_db: None,
) -> None:
    make_queue("orders")
    put("orders")
    before = processes.current()
    break_the_lock_of(before)
    until(lambda: settle.back_out_overdue(limit=10) == 0 and not owner_row(before))
    work = UnitOfWork()

    assert work.get("orders") == []
    assert len(work.get("orders")) == 1

    assert processes.current() != before
    assert settle.back_out_overdue(limit=10) == 0


def test_a_process_that_resigns_gives_back_what_it_still_holds(
    transactional_db: None,
) -> None:
    make_queue("orders")
    put("orders")
    UnitOfWork().get("orders")

    processes.resign()

    until(lambda: settle.back_out_overdue(limit=10))
    assert Ready.objects.get().backout_count == 1
    assert not Owner.objects.exists()


def test_of_two_sweeps_at_once_one_counts(elsewhere: Elsewhere) -> None:
    make_queue("orders")
    put("orders")
    UnitOfWork().get("orders")
    processes.resign()
    elsewhere.begin()
    until(lambda: elsewhere(settle.back_out_overdue, limit=10))

    assert settle.back_out_overdue(limit=10) == 0

    elsewhere.commit()
    assert settle.back_out_overdue(limit=10) == 0
    assert Ready.objects.get().backout_count == 1


@pytest.mark.django_db
def test_an_owner_is_kept_until_all_it_held_is_backed_out() -> None:
    make_queue("orders")
    put_many(make_messages(3), now=NOON)
    for _ in range(3):
        UnitOfWork(now=NOON).get("orders")
    dead = 2**31 - 1
    UnitOfWorkRow.objects.update(owner_id=dead)
    Owner.objects.create(id=dead, kind="dispatcher", host="h", pid=1, started_at=NOON)

    swept = [(settle.back_out_overdue(limit=2, now=NOON), owner_row(dead))]
    swept.append((settle.back_out_overdue(limit=2, now=NOON), owner_row(dead)))

    assert swept == [(2, True), (1, False)]
    assert not Claim.objects.exists()


@pytest.mark.django_db
@pytest.mark.spec("UOW-7")
def test_a_live_process_that_takes_too_long_is_backed_out_at_its_deadline() -> None:
    make_queue("orders")
    message_id = put("orders", now=NOON).message_id
    work = UnitOfWork(now=NOON)
    work.get("orders")
    deadline = UnitOfWorkRow.objects.get().deadline
    assert deadline is not None

    early = settle.back_out_overdue(limit=10, now=deadline - backout.MILLISECOND)
    late = settle.back_out_overdue(limit=10, now=deadline)

    assert (deadline - NOON).total_seconds() == 300
    assert (early, late) == (0, 1)
    last = journal.lifeline(message_id)[-1]
    assert (last.kind, last.went_to) == (Kind.BACK_OUT, Place.READY)
    assert last.detail["error"] == settle.OVERDUE
    with pytest.raises(LockLost):
        work.commit()


def break_the_lock_of(owner_id: int) -> None:
    """End the connection that keeps an owner alive, as a broken network does."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'"
            " AND classid = %s AND objid = %s AND database ="
            " (SELECT oid FROM pg_database WHERE datname = current_database())",
            [processes.LOCK_CLASS, owner_id],
        )
        assert cursor.fetchall() == [(True,)]


def owner_row(owner_id: int) -> bool:
    return Owner.objects.filter(pk=owner_id).exists()


def test_a_database_that_is_away_is_what_django_says_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """So that whoever outlives a lost connection outlives this, too."""
    processes.resign()
    monkeypatch.setitem(connection.settings_dict, "HOST", "127.0.0.1")
    monkeypatch.setitem(connection.settings_dict, "PORT", "1")

    with pytest.raises(OperationalError, match="Connection refused"):
        processes.current()
