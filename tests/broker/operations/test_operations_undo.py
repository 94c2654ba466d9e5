"""Taking back what an operation did: what nobody touched, and nothing else."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import pytest

from broker import operations
from broker.models import (
    Delayed,
    Kind,
    Message,
    Operation,
    OperationItem,
    Queue,
    Ready,
    RoutingType,
)
from broker.monitoring import dead_letters, fsck
from broker.operations import Chosen, Outcome
from broker.queueing import journal
from broker.settlement import discards, expiry
from broker.transactions.scope import UnitOfWork
from tests.broker.dying import back_out, make_dead_letters, on, operator, plan
from tests.broker.ordering import (
    ORDERS,
    copies_of,
    delayed_on,
    in_the_bin,
    make_map,
    make_orders,
    notes,
    order,
    undo,
)
from tests.make import NOON, make_queue, make_setting, minutes, seconds

pytestmark = pytest.mark.django_db

Do, State, Status = Operation.Kind, Operation.State, OperationItem.Status


@dataclass(frozen=True)
class Shot:
    """Every entry of the broker, but for where in its lane it stands."""

    ready: list[dict[str, Any]]
    delayed: list[dict[str, Any]]

    @classmethod
    def take(cls) -> Shot:
        columns = (
            *("queue_id", "priority", "id", "backout_count", "delivery_count"),
            "expires_at",
        )
        ready = Ready.objects.order_by("queue_id", "id").values(*columns)
        delayed = Delayed.objects.order_by("queue_id", "id")
        return cls(list(ready), list(delayed.values(*columns, "due_at")))


def make_mixed() -> list[int]:
    """Ready ones, one that was backed out, one that expires, and a delayed one."""
    make_map()
    ids = make_orders(2)
    ids += make_orders(1, expires_at=NOON + minutes(60), priority=7)
    back_out(limit=1)
    return ids + make_orders(0, delayed=1)


@pytest.mark.spec("ADMIN-7")
@pytest.mark.parametrize(("kind", "argument"), ORDERS)
def test_an_undo_brings_everything_back_as_it_was(
    kind: Operation.Kind, argument: str
) -> None:
    make_mixed()
    before = Shot.take()
    operation = order(kind, argument)
    assert Shot.take() != before

    undone = undo(operation)

    assert asdict(Shot.take()) == asdict(before)
    done = operation.items.filter(status=Status.DONE).count()
    assert undone.state == State.DONE
    assert notes(undone) == [Status.DONE] * done
    assert in_the_bin() == []
    assert fsck.violations() == []
    assert fsck.sums().balance == 0


@pytest.mark.spec("ADMIN-7")
def test_an_undone_resubmit_is_a_dead_letter_in_triage_again() -> None:
    died = make_dead_letters(2, attempts=2)
    groups, before = dead_letters.groups(), Shot.take()
    operation = operations.start(plan().pk)
    assert dead_letters.groups() == []

    undo(operation)

    assert Shot.take() == before
    assert dead_letters.groups() == groups
    assert on("DLQ") == died
    assert fsck.violations() == []


@pytest.mark.spec("ADMIN-7")
def test_copies_that_died_again_are_taken_back_if_nobody_touched_them() -> None:
    make_dead_letters(3)
    before = Shot.take()
    operation = operations.start(plan().pk, now=NOON)
    back_out(limit=2)

    planned = operations.plan_undo(operator(), operation.pk)
    assert operations.preview(planned.pk, now=NOON + minutes(2)).will_go == 3
    undone = operations.start(planned.pk, now=NOON + minutes(2))

    assert notes(undone) == [Status.DONE] * 3
    assert Shot.take() == before
    assert fsck.violations() == []


def test_a_copy_that_died_again_and_was_touched_stays() -> None:
    (died,) = make_dead_letters(1)
    operation = operations.start(plan().pk, now=NOON)
    back_out()
    back_out("DLQ")

    planned = operations.plan_undo(operator(), operation.pk)
    assert operations.preview(planned.pk, now=NOON + minutes(2)).will_go == 0
    undone = operations.start(planned.pk, now=NOON + minutes(2))

    assert notes(undone) == [Outcome.DELIVERED.sentence]
    assert died not in on("DLQ")
    assert len(on("DLQ")) == 1


def test_the_journal_tells_of_both_ends_of_an_undo() -> None:
    (died,) = make_dead_letters(1)
    operation = operations.start(plan().pk)
    (copy,) = copies_of(operation)

    undone = undo(operation)

    about = {"operation": undone.pk, "undoes": operation.pk}
    story = journal.lifeline(died)
    (ended,) = [one for one in story if one.kind == Kind.UNDO]
    (back,) = [one for one in story if one.kind == Kind.REINSTATE]
    assert (ended.message_id, ended.actor, ended.detail) == (copy, "omar", about)
    assert (back.message_id, back.actor) == (died, "omar")
    assert back.detail == about | {"backout_count": 0}


def test_what_comes_back_stands_before_what_is_new() -> None:
    make_map()
    first, second = make_orders(2)
    operation = order(Do.MOVE, "review", Chosen(ids=(second,)))
    (third,) = make_orders(1)

    undo(operation)

    got = UnitOfWork(now=NOON + minutes(3)).get("orders", 3)
    assert [one.message_id for one in got] == [second, first, third]


def test_what_was_processed_since_stays_processed() -> None:
    make_map()
    gone, held, again, back = make_orders(4)
    operation = order(Do.MOVE, "review")
    with_one = UnitOfWork(now=NOON)
    with_one.get("review")
    with_one.commit()
    holding = UnitOfWork(now=NOON)
    holding.get("review")
    back_out("review")

    undone = undo(operation)

    assert notes(undone) == [
        Outcome.PROCESSED.sentence,
        Outcome.HELD.sentence,
        Outcome.DELIVERED.sentence,
        Status.DONE,
    ]
    assert on("orders") == [back]
    assert {gone, held, again}.isdisjoint(on("orders"))
    holding.commit()
    assert fsck.violations() == []


def test_what_moved_on_or_expired_or_changed_since_is_left_where_it_is() -> None:
    make_map()
    ids = make_orders(4)
    operation = order(Do.MOVE, "review")
    copies = copies_of(operation)
    order(Do.MOVE, "orders", Chosen(ids=(copies[0],)))
    order(Do.PRIORITY, "9", Chosen(ids=(copies[1],)))
    order(Do.REMOVE, chosen=Chosen(ids=(copies[2],)))
    Ready.objects.filter(id=copies[3]).update(expires_at=NOON + seconds(90))
    expiry.expire(limit=9, now=NOON + seconds(91))

    undone = undo(operation)

    assert notes(undone) == [
        Outcome.MOVED_ON.sentence,
        Outcome.CHANGED.sentence,
        Outcome.MOVED_ON.sentence,
        Outcome.EXPIRED.sentence,
    ]
    assert set(ids).isdisjoint(on("orders"))
    assert fsck.violations() == []


def test_a_copy_on_several_queues_is_taken_back_from_all_or_none() -> None:
    for name in ("DLQ", "audit"):
        make_queue(name, address="DLA", routing_type=RoutingType.MULTICAST)
    make_setting("orders", dead_letter_address="DLA")
    gone, back = make_orders(2)
    operation = order(Do.DEAD_LETTER)
    copies = copies_of(operation)
    assert on("DLQ") == on("audit") == copies
    reader = UnitOfWork(now=NOON)
    reader.get("audit")
    reader.commit()

    undone = undo(operation)

    assert notes(undone) == [Outcome.PROCESSED.sentence, Status.DONE]
    assert on("orders") == [back]
    assert on("DLQ") == copies[:1], "as one of its readers had it, the other keeps it"
    assert on("audit") == []
    assert gone not in on("orders")
    assert fsck.violations() == []


def test_what_was_dropped_comes_back_out_of_the_bin() -> None:
    ids = make_orders(1, delayed=1)
    before = Shot.take()
    operation = order(Do.DEAD_LETTER)
    assert in_the_bin() == ids

    undo(operation)

    assert Shot.take() == before
    assert in_the_bin() == []
    assert fsck.violations() == []


def test_what_expired_without_a_copy_comes_back() -> None:
    make_orders(1, delayed=1)
    before = Shot.take()

    undo(order(Do.EXPIRE))

    assert Shot.take() == before
    assert fsck.violations() == []


def test_what_somebody_restored_since_is_not_restored_twice() -> None:
    first, second = make_orders(2)
    operation = order(Do.REMOVE)
    queue = Queue.objects.get(name="orders")
    discards.restore(first, queue.pk, now=NOON + minutes(2))

    undone = undo(operation)

    assert notes(undone) == [Outcome.NOT_IN_BIN.sentence, Status.DONE]
    assert on("orders") == [first, second]
    assert fsck.violations() == []


def test_what_is_no_longer_stored_cannot_come_back() -> None:
    make_setting("orders", discard_retention_s=0)
    make_orders(1)
    operation = order(Do.REMOVE)
    assert not Message.objects.exists()

    undone = undo(operation)

    assert notes(undone) == [Outcome.NOT_STORED.sentence]


def test_what_would_be_expired_stays_what_it_became() -> None:
    make_map()
    make_orders(1, expires_at=NOON + minutes(2))
    operation = order(Do.MOVE, "review")

    undone = undo(operation, at=3)

    assert notes(undone) == [Outcome.EXPIRED.sentence]
    assert on("review") == copies_of(operation)


def test_what_came_from_a_queue_that_is_gone_stays_what_it_became() -> None:
    make_map()
    make_orders(1)
    operation = order(Do.MOVE, "review")
    Queue.objects.filter(name="orders").delete()

    undone = undo(operation)

    assert notes(undone) == [Outcome.NO_WAY_BACK.sentence]
    assert on("review") == copies_of(operation)


def test_what_is_due_by_now_is_not_delayed_again() -> None:
    (waits,) = make_orders(0, delayed=1)
    operation = order(Do.DELIVER)

    undone = undo(operation, at=5)

    assert notes(undone) == [Outcome.DUE.sentence]
    assert (on("orders"), delayed_on("orders")) == ([waits], [])


def test_an_undone_copy_ends_and_its_original_never_moved() -> None:
    make_map()
    ids = make_orders(2)
    operation = order(Do.COPY, "review")
    reader = UnitOfWork(now=NOON)
    reader.get("review")
    reader.commit()

    undone = undo(operation)

    assert notes(undone) == [Outcome.PROCESSED.sentence, Status.DONE]
    assert (on("orders"), on("review")) == (ids, [])
    assert fsck.violations() == []
