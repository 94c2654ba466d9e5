"""The one statement that moves the only message of a unit of work, and ends it, writes
what a move in a transaction writes."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest
from django.conf import settings as configured

from broker.client.dispatch.connection_consumer import ConnectionConsumer
from broker.client.dispatch.server_session import ServerSession
from broker.errors import LockLost
from broker.models import AddressSetting, Claim, DeadLetter, Queue, Ready
from broker.models import UnitOfWork as Row
from broker.monitoring import fsck
from broker.queueing import low_watermarks
from broker.queueing.put import NewMessage, put, put_many
from broker.settlement import settle
from broker.settlement.move_targets import MoveTarget, MoveTargets
from broker.settlement.outcomes import BackOut
from broker.settlement.poison import Last, Removing
from broker.transactions.scope import UnitOfWork, unit_of_work
from tests.broker.handling import Seen, handler
from tests.broker.settlement.test_copy_one import MESSAGES, TABLES, comparable, rows
from tests.broker.wire import counted
from tests.make import NOON, make_queue, make_setting

DLQ = configured.BROKER_DEAD_LETTER_QUEUE


@pytest.fixture(autouse=True)
def orders(transactional_db: None) -> Queue:
    make_queue("BOQ")
    make_queue(DLQ)
    make_setting(max_delivery_attempts=-1, poison_policy="ibm")
    return make_queue("orders", backout_threshold=2, backout_queue="BOQ")


def poisonous(fields: dict[str, Any]) -> UnitOfWork:
    """An open unit of work whose only message was backed out twice; its first attempt
    has left an annotation."""
    fields = {"body": b"", **fields}
    put("orders", fields.pop("body"), now=NOON, **fields)
    for error in ("first", "second"):
        work = UnitOfWork(now=NOON)
        assert work.get("orders")
        work.back_out(BackOut(error, annotations=(("x-opt-a", b"\x41"),)))
    return UnitOfWork(now=NOON)


def moved(fields: dict[str, Any], backout_queue: str) -> dict[str, list[Any]]:
    """What a move writes."""
    work = poisonous(fields)
    (delivery,) = work.get("orders")
    before = {table: rows(table) for table in TABLES}
    work.remove_now(Removing(delivery, backout_queue), last=Last.STOP)
    work.commit()
    return {
        table: [one for one in rows(table) if one not in before[table]]
        for table in TABLES
    }


@pytest.mark.spec("POISON-6", "POISON-13")
@pytest.mark.parametrize("backout_queue", ["BOQ", ""])
@pytest.mark.parametrize("fields", MESSAGES)
def test_a_message_moved_alone_is_as_one_moved_in_a_transaction(
    monkeypatch: pytest.MonkeyPatch,
    statements: list[str],
    fields: dict[str, Any],
    backout_queue: str,
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(UnitOfWork, "remove_alone", lambda *_, **__: None)
        expected = moved(fields, backout_queue)
    assert statements.count("take_some") == 1
    statements.clear()

    written = moved(fields, backout_queue)

    assert statements[-2:] == ["look_target", "copy"]
    assert "take_some" not in statements
    for one in written, expected:  # made from the number of the message
        one["message"][0]["descriptor"].pop("msg_id")
    assert comparable(written) == comparable(expected)
    assert written["dead_letter"][0]["error"] == "second"
    assert not Row.objects.exists()
    assert not Claim.objects.exists()
    assert fsck.violations() == []


def make_another_taker() -> None:
    make_queue("other", address="BOQ")


def delete_the_target() -> None:
    Queue.objects.filter(name="BOQ").delete()


def change_the_settings() -> None:
    AddressSetting.objects.update(redelivery_delay_ms=7)


def raise_the_threshold() -> None:
    Queue.objects.filter(name="orders").update(backout_threshold=3)


@pytest.mark.parametrize(
    ("meanwhile", "target"),
    [
        (make_another_taker, "BOQ"),
        (delete_the_target, DLQ),
        (change_the_settings, "BOQ"),
        (raise_the_threshold, "BOQ"),
    ],
)
def test_a_move_reads_anew_what_changed_since_it_was_read(
    monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[], None], target: str
) -> None:
    work = poisonous({})
    (delivery,) = work.get("orders")
    with monkeypatch.context() as patched:
        look, calls = MoveTargets.look, [meanwhile]

        def look_and_change(self: MoveTargets, name: str) -> MoveTarget:
            found = look(self, name)
            while calls:
                calls.pop()()
            return found

        patched.setattr(MoveTargets, "look", look_and_change)
        work.remove_now(Removing(delivery, "BOQ"), last=Last.STOP)
    work.commit()

    (letter,) = DeadLetter.objects.all()
    assert Queue.objects.get(pk=letter.queue_id).name == target
    assert Ready.objects.count() == 1
    assert fsck.violations() == []


def test_a_move_of_a_message_that_was_lost_moves_nothing() -> None:
    work = poisonous({})
    (delivery,) = work.get("orders")
    settle.end(delivery.uow, BackOut("late"))

    with pytest.raises(LockLost):
        work.remove_now(Removing(delivery, "BOQ"), last=Last.STOP)
    assert Ready.objects.get().backout_count == 3
    assert not DeadLetter.objects.exists()


@pytest.mark.spec("POISON-7")
@pytest.mark.parametrize(("there", "target"), [(0, "BOQ"), (1, DLQ)])
def test_a_move_to_a_limited_queue_locks_it(
    statements: list[str], there: int, target: str
) -> None:
    """So it is no matter of one statement, even if there is room."""
    Queue.objects.filter(name="BOQ").update(max_depth=1)
    put_many([NewMessage("BOQ") for _ in range(there)])
    work = poisonous({})
    (delivery,) = work.get("orders")
    statements.clear()
    work.remove_now(Removing(delivery, "BOQ"), last=Last.STOP)
    work.commit()

    assert ("take_some" in statements) == (target == "BOQ")
    (letter,) = DeadLetter.objects.all()
    assert Queue.objects.get(pk=letter.queue_id).name == target


def test_a_message_beside_others_leaves_them_in_their_unit_of_work() -> None:
    work = poisonous({})
    put("orders", b"good", now=NOON)
    poison, good = work.get("orders", 2)
    work.remove_now(Removing(poison, "BOQ"), last=Last.STOP)

    assert Claim.objects.get().ids == [good.message_id]
    work.commit()
    assert fsck.violations() == []


def test_a_unit_of_work_goes_on_after_its_only_message_was_moved() -> None:
    work = poisonous({})
    (poison,) = work.get("orders")
    work.remove_now(Removing(poison, "BOQ"), last=Last.STOP)
    put("orders", b"good", now=NOON)
    (good,) = work.get("orders")
    assert good.uow != poison.uow
    work.put("BOQ", b"told")
    work.commit()

    assert Ready.objects.count() == 2
    assert not Row.objects.exists()
    assert fsck.violations() == []


@pytest.mark.parametrize("join", [True, False])
@pytest.mark.parametrize("backout_queue", ["BOQ", ""])
def test_a_session_waits_three_times_for_a_poison_message(
    monkeypatch: pytest.MonkeyPatch, join: bool, backout_queue: str
) -> None:
    """For its get, for a look at the queue, and for the move."""
    monkeypatch.setattr(low_watermarks, "SAMPLE_S", math.inf)
    Queue.objects.filter(name="orders").update(backout_queue=backout_queue)
    for _ in range(8):
        put("orders")
    for _ in range(2):
        with pytest.raises(ZeroDivisionError), unit_of_work() as work:
            assert 1 / (len(work.get("orders", 8)) - 8)
    consumer = ConnectionConsumer.open(handler(Seen(id), join=join))
    with closing(ServerSession(consumer, goes_on=lambda: True)) as session:
        for _ in range(6):
            session.serve()

        with counted() as sent:
            assert session.serve() == 1

    assert (sent.round_trips, sent.parses) == (3, 0)
    assert DeadLetter.objects.count() == 7
