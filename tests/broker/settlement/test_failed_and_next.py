"""A unit of work fails, and the same statement gets what its holder does next."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

from broker import sql
from broker.errors import LockLost
from broker.models import AddressSetting, Claim, Delayed, Kind, Queue, Ready
from broker.models import UnitOfWork as UnitRow
from broker.monitoring import fsck
from broker.queueing import journal
from broker.queueing.get import Delivery, Next
from broker.queueing.put import put
from broker.settlement import settle
from broker.settlement.outcomes import Accept, BackOut, Failure, Reject
from broker.transactions.scope import UnitOfWork
from tests.broker.elsewhere import Elsewhere
from tests.make import NOON, make_queue, make_setting, seconds

Before = Callable[[str, Callable[[], object]], None]
AGAIN, LATER, DEAD = "redeliver", "put_back, get_each", "copy_one, get_each"


@pytest.fixture(autouse=True)
def orders(transactional_db: None) -> Queue:
    """A queue with three attempts; this connection has read all that decides."""
    queue = make_queue("orders")
    make_queue("graves", address="DLA")
    make_setting("orders", max_delivery_attempts=3, dead_letter_address="DLA")
    put("orders", b"to learn from")
    for _ in range(3):
        taken().back_out("no")
    taken("graves").commit()
    return queue


@pytest.fixture
def before(monkeypatch: pytest.MonkeyPatch) -> Before:
    """Has something happen once, just before a statement."""

    def arrange(statement: str, happens: Callable[[], object]) -> None:
        run, left = sql.run, [happens]

        def late(name: str, parameters: dict[str, Any]) -> list[tuple[Any, ...]]:
            if name == statement and left:
                left.pop()()
            return run(name, parameters)

        monkeypatch.setattr(sql, "run", late)

    return arrange


def taken(queue: str = "orders", now: datetime | None = None) -> UnitOfWork:
    work = UnitOfWork(now=now)
    assert work.get(queue)
    return work


def fail(
    work: UnitOfWork, outcome: Failure | str = "no", limit: int = 1
) -> list[Delivery]:
    work.then = Next("orders", limit=limit)
    work.back_out(outcome)
    return work.following


def accept(deliveries: list[Delivery]) -> None:
    work = UnitOfWork()
    work.note(deliveries)
    work.commit()


def change(**fields: object) -> None:
    Queue.objects.filter(name="orders").update(**fields)


def where() -> dict[str, int]:
    """How many messages each queue has, and how many wait or are claimed."""
    found = {queue.name: queue.pk for queue in Queue.objects.all()}
    counts = {
        name: Ready.objects.filter(queue_id=pk).count() for name, pk in found.items()
    }
    counts |= {"delayed": Delayed.objects.count(), "claims": Claim.objects.count()}
    return {name: count for name, count in counts.items() if count}


def test_the_same_message_comes_again_into_a_new_unit_of_work(
    statements: list[str],
) -> None:
    put("orders", b"ours", properties={"n": [1]})
    put("orders", b"later")
    work = taken()
    statements.clear()

    (again,) = fail(work)

    assert statements == [AGAIN]
    assert (again.body, again.properties) == (b"ours", {"n": [1]})
    assert (again.backout_count, again.delivery_count) == (1, 2)
    assert [unit.id for unit in UnitRow.objects.all()] == [again.uow] != [work.id]
    told = [(one.kind, one.uow) for one in journal.lifeline(again.message_id)[1:]]
    assert told == [
        (Kind.GET, work.id),
        (Kind.BACK_OUT, work.id),
        (Kind.GET, again.uow),
    ]
    assert fsck.violations() == []
    accept([again])
    assert where() == {"orders": 1}
    assert fsck.violations() == []


@pytest.mark.parametrize(
    ("outcome", "statement"),
    [
        (BackOut("no", delay=seconds(60)), LATER),
        (Reject("no"), DEAD),
    ],
)
def test_the_next_message_comes_if_this_one_waits_or_is_dead(
    statements: list[str], outcome: Failure, statement: str
) -> None:
    put("orders", b"ours")
    put("orders", b"next")
    work = taken()
    statements.clear()

    (following,) = fail(work, outcome)

    assert statements == [statement]
    assert following.body == b"next"
    gone = {LATER: "delayed", DEAD: "graves"}[statement]
    assert where() == {gone: 1, "claims": 1}
    assert fsck.violations() == []


@pytest.mark.parametrize(
    "outcome", [BackOut("no", delay=seconds(60)), Reject("no"), "no"]
)
@pytest.mark.parametrize("stops", [{"paused": True}, {"name": "renamed"}])
def test_nothing_comes_from_a_queue_that_gives_nothing(
    outcome: Failure | str, stops: dict[str, object]
) -> None:
    put("orders", b"ours")
    put("orders", b"next")
    work = taken()
    change(**stops)

    assert fail(work, outcome) == []

    assert not Claim.objects.exists()
    assert not UnitRow.objects.exists()
    assert fsck.violations() == []


def test_a_batch_is_backed_out_by_itself(statements: list[str]) -> None:
    put("orders")
    put("orders")
    work = UnitOfWork()
    work.get("orders", 2)
    statements.clear()

    assert fail(work, limit=2) == []

    assert statements == ["put_back"]
    assert where() == {"orders": 2}


def test_what_the_system_backs_out_is_followed_by_nothing() -> None:
    """Its holder is told of an error, and does not go on."""
    put("orders")
    work = taken()
    work.then = Next("orders")

    work.back_out("a commit that failed", by_system=True)

    assert work.following == []
    assert where() == {"orders": 1}


def urgent(_: UnitOfWork) -> None:
    put("orders", b"urgent", priority=9)


def returned(older: UnitOfWork) -> None:
    older.back_out("no")


@pytest.mark.parametrize(
    ("happens", "body"), [(urgent, b"urgent"), (returned, b"older")]
)
def test_another_message_that_comes_first_comes_first(
    elsewhere: Elsewhere,
    before: Before,
    happens: Callable[[UnitOfWork], None],
    body: bytes,
) -> None:
    put("orders", b"older")
    put("orders", b"ours")
    older, work = taken(), taken()
    before(AGAIN, lambda: elsewhere(happens, older))

    assert fail(work) == []

    (first,) = UnitOfWork().get("orders")
    assert first.body == body
    (second,) = UnitOfWork().get("orders")
    assert (second.body, second.backout_count) == (b"ours", 1)
    assert fsck.violations() == []


def lower_the_limit() -> None:
    AddressSetting.objects.update(max_delivery_attempts=1)


def wait_first() -> None:
    AddressSetting.objects.update(redelivery_delay_ms=60_000)


def by_threshold() -> None:
    """With a backout threshold, consumers move the message, as in IBM MQ."""
    change(backout_threshold=1)


@pytest.mark.parametrize(
    ("happens", "then"),
    [
        (lower_the_limit, {"graves": 1}),
        (wait_first, {"delayed": 1}),
        (by_threshold, {"claims": 1}),
    ],
)
def test_it_follows_the_settings_of_now(
    elsewhere: Elsewhere,
    before: Before,
    happens: Callable[[], None],
    then: dict[str, int],
) -> None:
    put("orders")
    work = taken()
    before(AGAIN, lambda: elsewhere(happens))

    fail(work)

    assert where() == then
    assert fsck.violations() == []


def test_what_has_expired_meanwhile_does_not_come_again() -> None:
    put("orders", expires_at=NOON + seconds(5), now=NOON)
    work = taken(now=NOON)
    work.now = NOON + seconds(6)

    assert fail(work) == []

    assert where() == {}
    assert fsck.violations() == []


@pytest.mark.parametrize(
    "outcome", ["no", BackOut("no", delay=seconds(60)), Reject("")]
)
def test_who_has_lost_the_unit_of_work_gets_nothing(
    elsewhere: Elsewhere, before: Before, outcome: Failure | str
) -> None:
    put("orders", b"ours")
    put("orders", b"next")
    work = taken()
    assert work.id is not None
    uow = work.id
    for statement in (AGAIN, LATER, DEAD):  # it comes to one of them
        before(statement, lambda: elsewhere(settle.end, uow, BackOut("by hand")))

    with pytest.raises(LockLost):
        fail(work, outcome)

    assert work.following == []
    assert where() == {"orders": 2}
    assert [one.backout_count for one in Ready.objects.order_by("pos")] == [1, 0]
    assert fsck.violations() == []


def test_a_claim_that_was_settled_meanwhile_is_not_taken_over(
    elsewhere: Elsewhere, before: Before
) -> None:
    put("orders")
    work = UnitOfWork()
    (delivery,) = work.get("orders")
    before(AGAIN, lambda: elsewhere(accept_alone, delivery))

    with pytest.raises(LockLost):
        fail(work)

    assert where() == {}
    assert fsck.violations() == []


def accept_alone(delivery: Delivery) -> None:
    """As another thread does that shares the unit of work."""
    settle.settle_some(delivery.uow, delivery.queue_id, [delivery.message_id], Accept())
