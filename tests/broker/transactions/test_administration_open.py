"""Open units of work can be seen, and an operator can end those that are his to end."""

from __future__ import annotations

from datetime import timedelta

import pytest

from broker.errors import LockLost
from broker.errors.units_of_work import NotForced
from broker.models import Kind, Owner, Place
from broker.models import UnitOfWork as UnitRow
from broker.queueing import journal, processes
from broker.queueing.browse import where_is
from broker.queueing.put import put, put_many
from broker.settlement import settle
from broker.settlement.outcomes import BackOut
from broker.transactions.administration import (
    Nature,
    entries_of,
    force,
    open_unit,
    open_units,
)
from broker.transactions.prefetch import Prefetched
from broker.transactions.prepared import prepare
from broker.transactions.scope import UnitOfWork
from tests.make import NOON, make_messages, make_queue, make_setting, minutes

pytestmark = pytest.mark.django_db


def test_what_a_process_holds_is_listed_with_whose_it_is() -> None:
    processes.resign()  # another test may have registered as another kind
    queue = make_queue()
    put_many(make_messages(3), now=NOON)
    work = UnitOfWork(actor="shop.handle", now=NOON)
    work.get("orders", 2)

    (unit,) = open_units(now=NOON + minutes(2))

    assert (unit.id, unit.entries, unit.queue_ids) == (work.id, 2, [queue.pk])
    assert (unit.actor, unit.kind) == ("shop.handle", "application")
    assert unit.owner_id == processes.current()
    assert unit.is_alive
    assert unit.nature is Nature.LEASED
    assert unit.age == minutes(2)
    assert unit.deadline is not None
    assert not unit.is_late


def test_what_holds_nothing_is_not_listed() -> None:
    make_queue()
    ahead = Prefetched(queue=make_queue("bills"), actor="client")
    ahead.get(5)

    assert UnitRow.objects.count() == 1
    assert open_units() == []


def test_a_list_goes_on_where_it_ended_and_keeps_to_the_queues_one_sees() -> None:
    make_queue()
    bills = make_queue("bills")
    put_many(make_messages(2))
    put_many(make_messages(2, "bills"))
    works = [UnitOfWork() for _ in range(4)]
    for work, name in zip(works, ["orders", "bills", "orders", "bills"], strict=True):
        work.get(name)
    ids = [work.id for work in works]

    first = open_units(limit=2)
    rest = open_units(first=first[-1].id + 1)

    assert [one.id for one in [*first, *rest]] == ids
    assert [one.id for one in open_units(within=[bills.pk])] == ids[1::2]
    assert open_units(within=[]) == []


def test_what_takes_ahead_and_what_is_prepared_are_told_apart() -> None:
    queue = make_queue()
    put_many(make_messages(4))
    ahead = Prefetched(queue, actor="client")
    ahead.get(2)
    work = UnitOfWork(coordinated=True)
    work.get("orders")
    work.put("orders", b"done")
    prepare(work, "xid 1")

    found = {one.id: one for one in open_units()}

    assert ahead.uow is not None
    assert found[ahead.uow].nature is Nature.AHEAD
    assert work.id is not None
    assert found[work.id].nature is Nature.PREPARED
    assert found[work.id].prepared_puts == 1


def test_the_entries_of_one_are_those_that_it_holds() -> None:
    make_queue()
    put_many(make_messages(3, subject="order"))
    work = UnitOfWork()
    got = work.get("orders", 3)
    work.accept(got[1])
    assert work.id is not None

    entries = entries_of(work.id)

    assert [one.held.id for one in entries] == [got[0].message_id, got[2].message_id]
    assert {one.subject for one in entries} == {"order"}
    assert len(entries_of(work.id, limit=1)) == 1


@pytest.mark.parametrize("uow", [0, -1, 7, 2**63 - 1, 2**63, 10**30])
def test_what_is_not_open_is_not_found(uow: int) -> None:
    assert open_unit(uow) is None


def test_forcing_counts_the_attempt_and_the_holder_is_told() -> None:
    make_queue()
    make_setting(redelivery_delay_ms=0)
    message_id = put("orders").message_id
    work = UnitOfWork(actor="shop.handle")
    work.get("orders")
    work.put("orders", b"never sent")
    assert work.id is not None

    force(work.id, why="It hangs.", actor="omar")

    (there,) = where_is(message_id)
    assert (there.place, there.backout_count) == (Place.READY, 1)
    last = journal.lifeline(message_id)[-1]
    assert (last.kind, last.actor) == (Kind.BACK_OUT, "omar")
    assert last.detail["error"] == "It hangs."
    with pytest.raises(LockLost):
        work.commit()
    assert open_units() == []


def test_of_a_dead_process_what_counts_is_what_would_count_by_itself() -> None:
    make_queue(counts_when_lost="none")
    message_id = put("orders").message_id
    work = UnitOfWork()
    work.get("orders")
    assert work.id is not None
    UnitRow.objects.filter(pk=work.id).update(owner_id=2**31 - 1)
    unit = open_unit(work.id)
    assert unit is not None
    assert not unit.is_alive
    assert (unit.kind, unit.process) == ("", "")

    force(work.id, why="It is gone.", actor="omar")

    (there,) = where_is(message_id)
    assert (there.place, there.backout_count) == (Place.READY, 0)


def test_what_is_not_to_be_forced_is_refused_with_what_to_do() -> None:
    queue = make_queue()
    put_many(make_messages(2))
    ahead = Prefetched(queue)
    ahead.get(1)
    work = UnitOfWork(coordinated=True)
    work.get("orders")
    prepare(work, "xid 1")
    assert ahead.uow is not None
    assert work.id is not None

    with pytest.raises(NotForced, match="Close the client's connection"):
        force(ahead.uow, why="", actor="omar")
    with pytest.raises(NotForced, match="under Health"):
        force(work.id, why="", actor="omar")

    assert len(open_units()) == 2


def test_what_has_ended_meanwhile_is_not_ended_again() -> None:
    make_queue()
    put("orders")
    work = UnitOfWork()
    work.get("orders")
    work.commit()
    assert work.id is not None

    with pytest.raises(LockLost):
        force(work.id, why="", actor="omar")


def test_what_is_late_says_so() -> None:
    make_queue()
    put("orders", now=NOON)
    work = UnitOfWork(now=NOON)
    work.get("orders")
    assert work.id is not None

    unit = open_unit(work.id, now=NOON + timedelta(days=1))

    assert unit is not None
    assert unit.is_late
    assert Owner.objects.filter(pk=unit.owner_id).exists()
    settle.end(work.id, BackOut("late"))
