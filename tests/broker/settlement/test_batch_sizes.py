"""Settlements of many consumers: together, each whole or not at all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import OperationalError, connection

from broker.errors import LockLost, MessageTooLarge
from broker.models import (
    Claim,
    Event,
    Kind,
    Queue,
    Ready,
)
from broker.models import UnitOfWork as UnitRow
from broker.queueing.put import NewMessage
from broker.settlement import batch as settlements
from broker.settlement.batch import Settlement, settle
from broker.settlement.outcomes import Accept, BackOut, Outcome, Reject, Release
from tests.broker.elsewhere import Elsewhere
from tests.broker.taking_ahead import (
    bodies,
    consumer,
    ground,
    healthy,
    kinds,
    of,
)
from tests.make import NOON, make_queue

SPEC = pytest.mark.spec
DB = pytest.mark.django_db
WHY = "no such customer 17"


@DB
def test_settlements_of_one_unit_of_work_are_one_row_of_the_journal() -> None:
    ground(6)
    _, (first, *rest) = consumer(3)
    _, theirs = consumer(3)

    settle(
        [
            of(Accept(), rest[1]),
            of(Accept(), theirs[0]),
            of(Accept(), first),
            of(Accept(), theirs[2], actor="noor"),
            of(BackOut(WHY), rest[0]),
            of(Accept(), theirs[1]),
        ],
        actor="omar",
        now=NOON,
    )

    accepted = Event.objects.filter(kind=Kind.ACCEPT).order_by("uow", "actor")
    assert [(one.actor, one.ids) for one in accepted] == [
        ("omar", [first.message_id, rest[1].message_id]),
        ("noor", [theirs[2].message_id]),
        ("omar", [theirs[0].message_id, theirs[1].message_id]),
    ]
    assert {one.uow for one in accepted} == {first.uow, theirs[0].uow}
    assert not Claim.objects.exists()
    assert UnitRow.objects.count() == 2, "they go on"
    assert healthy()


@DB
@SPEC("UOW-1")
@pytest.mark.parametrize("outcome", [Accept(), Release(), BackOut(WHY), Reject(WHY)])
def test_what_is_no_longer_held_is_refused_and_the_others_go_on(
    outcome: Outcome,
) -> None:
    ground(6)
    _, (one, two, three) = consumer(3)
    theirs, (four, five, six) = consumer(3)
    settle([of(Accept(), two)], now=NOON)
    theirs.end(now=NOON)

    results = settle(
        [
            of(outcome, one),
            of(outcome, two, three),  # two is gone
            of(outcome, four),  # all of theirs are
            of(Accept(), three),
            of(outcome, five, six),
        ],
        now=NOON,
    )

    # Three was named before, by what was refused.
    assert [type(result) for result in results] == [
        type(None),
        *[LockLost] * 4,
    ]
    assert [getattr(result, "uow", None) for result in results[1:3]] == [
        two.uow,
        four.uow,
    ]
    assert Claim.objects.get().ids == [three.message_id]
    assert kinds(one)[-1] != Kind.GET
    assert healthy()


@DB
def test_what_is_settled_twice_ends_once() -> None:
    ground(2)
    _, (one, two) = consumer()

    results = settle(
        [of(Accept(), one, one), of(Accept(), one, two), of(Reject(WHY), one)],
        now=NOON,
    )

    assert [type(result) for result in results] == [type(None), LockLost, LockLost]
    assert isinstance(settle([of(Accept(), one)], now=NOON)[0], LockLost)
    assert kinds(one).count(Kind.ACCEPT) == 1
    assert Claim.objects.get().ids == [two.message_id]
    assert healthy()


@DB
def test_nothing_is_settled_under_the_name_of_another() -> None:
    queue = ground(2)
    _, (one,) = consumer(1)
    _, (two,) = consumer(1)
    make_queue("answers")
    other = Queue.objects.get(name="answers").pk

    results = settle(
        [
            Settlement(one.uow, queue.pk, [two.message_id], Accept()),
            Settlement(one.uow, other, [one.message_id], Accept()),
            Settlement(one.uow, queue.pk, [], Accept()),
            Settlement(0, queue.pk, [one.message_id], Accept()),
        ],
        now=NOON,
    )

    assert [type(result) for result in results] == [
        *[LockLost] * 2,
        type(None),
        LockLost,
    ]
    assert Claim.objects.count() == 2
    assert healthy()


@DB
def test_nothing_to_settle_is_nothing_done() -> None:
    assert settle([]) == []
    settlements.commit([])


@DB
def test_puts_go_with_settlements() -> None:
    ground(1)
    make_queue("answers")
    _, (one,) = consumer()

    puts = [NewMessage("answers", b"done")]
    assert settle([of(Accept(), one)], puts=puts, actor="omar", now=NOON) == [None]

    assert bodies("answers") == [b"done"]
    assert kinds(one)[-1] == Kind.ACCEPT
    assert healthy()


@DB
def test_puts_that_cannot_be_sent_settle_nothing() -> None:
    ground(1)
    _, (one,) = consumer()

    with pytest.raises(MessageTooLarge):
        settle([of(Accept(), one)], puts=[too_large()], now=NOON)

    assert Claim.objects.get().ids == [one.message_id]


def too_large() -> NewMessage:
    return NewMessage("orders", b"x" * (100 * 2**20 + 1))


@DB
@SPEC("UOW-1")
def test_a_commit_settles_and_sends_all() -> None:
    ground(4)
    make_queue("answers")
    _, (one, two, three, four) = consumer()

    settlements.commit(
        [of(Accept(), one), of(BackOut(WHY), two), of(Release(), three)],
        [NewMessage("answers", b"1"), NewMessage("answers", b"2")],
        actor="omar",
        now=NOON,
    )

    assert bodies("answers") == [b"1", b"2"]
    assert Claim.objects.get(uow=four.uow).ids == [four.message_id]
    assert {row.id: row.backout_count for row in Ready.objects.all()}.items() >= {
        (two.message_id, 1),
        (three.message_id, 0),
    }
    assert healthy()


@DB
@SPEC("UOW-1")
def test_a_commit_that_lost_one_entry_does_nothing() -> None:
    ground(3)
    make_queue("answers")
    _, (one, two, three) = consumer()
    settle([of(Release(), two)], now=NOON)

    with pytest.raises(LockLost) as lost:
        settlements.commit(
            [of(Accept(), one), of(Accept(), two), of(Reject(WHY), three)],
            [NewMessage("answers", b"1")],
            now=NOON,
        )

    assert lost.value.uow == one.uow
    assert bodies("answers") == []
    assert Claim.objects.get().ids == [one.message_id, three.message_id]
    assert healthy()


@DB
@SPEC("UOW-1")
def test_a_commit_whose_puts_cannot_be_sent_does_nothing() -> None:
    ground(1)
    _, (one,) = consumer()

    with pytest.raises(MessageTooLarge):
        settlements.commit([of(Accept(), one)], [too_large()], now=NOON)

    assert Claim.objects.get().ids == [one.message_id]


def test_many_consumers_settlements_are_one_transaction(
    transactional_db: None,
) -> None:
    ground(30)
    got = [consumer(3)[1] for _ in range(10)]
    outcomes: list[Outcome] = [Accept(), Reject(WHY), BackOut(WHY)]
    batch = [of(outcomes[n % 3], *deliveries) for n, deliveries in enumerate(got)]

    assert settle(batch) == [None] * 10

    after = Event.objects.exclude(kind__in=[Kind.PUT, Kind.GET])
    assert after.values("xid").distinct().count() == 1
    assert healthy()


@pytest.mark.parametrize("outcome", [Accept(), Reject(WHY)])
def test_what_the_database_refuses_of_one_is_done_of_the_others(
    elsewhere: Elsewhere, outcome: Outcome
) -> None:
    ground(3)
    _, (one,) = consumer(1)
    _, (two,) = consumer(1)
    _, (three,) = consumer(1)
    elsewhere.begin()
    elsewhere(lock_unit, two.uow)

    results = impatiently(
        lambda: settle([of(Accept(), one), of(outcome, two), of(Release(), three)])
    )

    assert [type(result) for result in results] == [
        type(None),
        OperationalError,
        type(None),
    ]
    elsewhere.roll_back()
    assert Claim.objects.get().ids == [two.message_id]
    assert settle([of(outcome, two)]) == [None]
    assert healthy()


def lock_unit(uow: int) -> None:
    UnitRow.objects.select_for_update().get(pk=uow)


def impatiently(call: Callable[[], Any]) -> Any:
    """Where a lock is not free at once, the database says so."""
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = '50ms'")
        try:
            return call()
        finally:
            cursor.execute("RESET lock_timeout")


def test_a_lost_connection_is_said_and_not_guessed_about(
    elsewhere: Elsewhere,
) -> None:
    ground(1)
    _, (one,) = consumer(1)
    pid = connection.connection.info.backend_pid
    elsewhere(terminate, pid)

    with pytest.raises(OperationalError):
        settle([of(Accept(), one)])

    connection.close()
    assert Claim.objects.get().ids == [one.message_id]


def terminate(pid: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])
