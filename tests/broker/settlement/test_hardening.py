"""The backout count: who counts it, and what it outlives."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection

from broker import tasks
from broker.models import Claim, Delayed, Kind, Queue, Ready
from broker.monitoring import fsck
from broker.queueing import journal, processes
from broker.queueing.put import NewMessage, put, put_many
from broker.settlement import hardening, settle
from broker.settlement.hardening import forget_counts
from broker.settlement.outcomes import BackOut
from broker.transactions.scope import UnitOfWork, unit_of_work
from tests.broker.dying import back_out
from tests.make import make_messages, make_queue, make_setting

Counts = list[tuple[int, int]]  # of each entry: backouts, deliveries


@pytest.fixture
def soft(db: None) -> Queue:
    return make_queue("soft", harden_backout=False)


def counts(queue: str, limit: int = 9) -> Counts:
    with unit_of_work() as work:
        got = work.get(queue, limit)
    return [(one.backout_count, one.delivery_count) for one in got]


def restart() -> None:
    """Every connection ends, and what its process held is backed out."""
    processes.resign()
    connection.close()
    tasks.back_out_overdue()


@pytest.mark.spec("MD-2")
def test_a_count_starts_at_zero_and_only_a_get_gives_it(soft: Queue) -> None:
    put("soft")

    assert "backout_count" not in NewMessage.__dataclass_fields__
    assert counts("soft") == [(0, 1)]


@pytest.mark.spec("MD-2")
@pytest.mark.parametrize(
    "given",
    [
        {"properties": {"JMSXDeliveryCount": 7, "backout_count": 7}},
        {"descriptor": {"backout_count": 7}},
    ],
)
def test_a_count_that_a_sender_gives_is_ignored(
    soft: Queue, given: dict[str, Any]
) -> None:
    put("soft", **given)

    assert counts("soft") == [(0, 1)]


@pytest.mark.spec("MD-2")
def test_counts_are_kept_over_a_restart(transactional_db: None) -> None:
    make_queue("hard")
    put("hard")
    for _ in range(2):
        back_out("hard")
    UnitOfWork().get("hard")  # held by what now ends

    restart()
    forget_counts()

    assert counts("hard") == [(3, 4)]


@pytest.mark.spec("MD-2")
def test_counts_of_queues_that_do_not_harden_them_begin_again_after_a_restart(
    transactional_db: None,
) -> None:
    make_queue("soft", harden_backout=False)
    put("soft")
    for _ in range(2):
        back_out("soft")

    restart()
    assert forget_counts() == 1

    assert counts("soft") == [(0, 3)]
    assert fsck.violations() == []


@pytest.mark.spec("MD-2")
def test_counts_begin_again_wherever_their_entries_are(soft: Queue) -> None:
    put_many(make_messages(3, "soft"))
    back_out("soft", limit=3)
    make_setting("soft", redelivery_delay_ms=60_000)
    back_out("soft", limit=1, at=0)
    held = UnitOfWork()
    held.get("soft", 1)

    assert forget_counts() == 3

    (delayed,) = Delayed.objects.all()
    (ready,) = Ready.objects.all()
    (claim,) = Claim.objects.all()
    assert (delayed.backout_count, delayed.delivery_count) == (0, 2)
    assert (ready.backout_count, ready.delivery_count) == (0, 1)
    assert (claim.backout_counts, claim.delivery_counts) == ([0], [2])
    held.commit()  # its claim is still its own
    assert fsck.violations() == []


@pytest.mark.spec("MD-2")
def test_what_a_restart_interrupts_counts_from_nothing(soft: Queue) -> None:
    put("soft")
    back_out("soft")
    work = UnitOfWork()
    work.get("soft")
    forget_counts()

    assert work.id is not None
    settle.end(work.id, BackOut("died", spread=0))

    assert counts("soft") == [(1, 3)]


def test_what_is_forgotten_is_in_the_journal_and_moves_nothing(soft: Queue) -> None:
    put_many(make_messages(2, "soft"))
    (delivery, *_) = back_out("soft", limit=2)
    before = journal.depths()[soft.pk].ready

    forget_counts()

    last = journal.lifeline(delivery.message_id)[-1]
    assert (last.kind, last.came_from, last.went_to) == (Kind.RESET, 1, 1)
    depth = journal.depths()[soft.pk]
    assert (depth.ready, depth.done[Kind.RESET]) == (before, 2) == (2, 2)


def test_there_is_nothing_to_forget_twice_or_on_other_queues(soft: Queue) -> None:
    make_queue("hard")
    for queue in ("soft", "hard"):
        put(queue)
        back_out(queue)

    assert forget_counts() == 1
    assert forget_counts() == 0
    assert counts("hard") == [(1, 2)]


def test_more_than_a_batch_is_forgotten(
    soft: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hardening, "BATCH", 2)
    put_many(make_messages(5, "soft"))
    back_out("soft", limit=5)

    assert forget_counts() == 5
    assert {backouts for backouts, _ in counts("soft")} == {0}
