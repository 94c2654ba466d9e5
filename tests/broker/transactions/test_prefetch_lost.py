"""Consumers that take ahead, and are lost, ended by others, or cut off."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import OperationalError, connection

from broker.errors import LockLost, NoSuchQueue, UnitOfWorkEnded
from broker.models import (
    AddressSetting,
    Claim,
    CountsWhenLost,
    DeadLetter,
    Delayed,
    Kind,
)
from broker.models import UnitOfWork as UnitRow
from broker.queueing import delayed, journal, processes
from broker.queueing.put import put
from broker.settlement import poison, settle
from broker.settlement.outcomes import BackOut
from broker.transactions.scope import UnitOfWork
from tests.broker.elsewhere import Elsewhere
from tests.broker.receiving import counts, make_poison, put_orders
from tests.broker.taking_ahead import accept, healthy, numbers, taker
from tests.make import NOON, make_queue, make_setting, minutes

SPEC = pytest.mark.spec
DB = pytest.mark.django_db
LOST = "the client is gone"
Policy = AddressSetting.PoisonPolicy


# Ended by somebody else.


@DB
@SPEC("UOW-8")
def test_who_was_ended_is_told_so() -> None:
    make_queue()
    put_orders(2)
    one = taker()
    (first,) = one.get(1, now=NOON)
    settle.end(first.uow, BackOut("an operator", spread=0), now=NOON)

    with pytest.raises(LockLost) as lost:
        one.get(9, now=NOON)

    assert lost.value.uow == first.uow
    assert counts() == [(b"1", 1), (b"2", 0)]
    one.lose(LOST, now=NOON)
    assert counts() == [(b"1", 1), (b"2", 0)]
    assert healthy()


@DB
def test_a_queue_that_is_gone_is_said_to_be() -> None:
    queue = make_queue()
    one = taker()
    assert one.get(1, now=NOON) == []
    queue.delete()

    with pytest.raises(NoSuchQueue):
        one.get(1, now=NOON)


def test_a_process_that_was_taken_for_dead_registers_anew(
    transactional_db: None,
) -> None:
    make_queue()
    put_orders(1)
    before = processes.current()
    close_owner()
    assert settle.back_out_overdue(limit=9) == 0  # and forgets the owner

    (delivery,) = taker().get(1)

    assert processes.current() != before
    assert accept(delivery) == [None]


def close_owner() -> None:
    """As if the server had lost that connection."""
    assert processes._current is not None
    processes._current.session.execute("SELECT pg_advisory_unlock_all()")
    processes._current.session.close()  # which the server notices some time later


# Lost clients.


@DB
@SPEC("UOW-2", "UOW-4")
@pytest.mark.parametrize(
    ("rule", "first", "expected"),
    [
        (CountsWhenLost.ALL, None, [1, 1, 1]),
        (CountsWhenLost.ALL, 2, [1, 1, 1]),
        (CountsWhenLost.OLDEST, None, [1, 0, 0]),
        (CountsWhenLost.OLDEST, 2, [0, 1, 0]),
        (CountsWhenLost.OLDEST, 9, [1, 0, 0]),
        (CountsWhenLost.NONE, None, [0, 0, 0]),
        (CountsWhenLost.NONE, 1, [0, 0, 0]),
    ],
)
def test_a_lost_client_s_deliveries_count_as_the_queue_says(
    rule: CountsWhenLost, first: int | None, expected: list[int]
) -> None:
    make_queue(counts_when_lost=rule)
    put_orders(4)
    one = taker(actor="a client")
    got = one.get(4, now=NOON)
    accept(got[3])
    longest = None if first is None else got[0].message_id + first - 1

    one.lose(LOST, first=longest, now=NOON)
    one.lose(LOST, now=NOON)

    assert counts() == list(zip([b"1", b"2", b"3"], expected, strict=True))
    for delivery, count in zip(got, expected, strict=False):
        event = journal.lifeline(delivery.message_id)[2]
        assert event.kind == (Kind.BACK_OUT if count else Kind.RELEASE)
        assert (event.actor, event.detail["error"]) == ("a client", LOST)
    with pytest.raises(UnitOfWorkEnded):
        one.get(1, now=NOON)
    assert healthy()


@DB
def test_what_counts_waits_and_the_rest_comes_at_once() -> None:
    make_queue(counts_when_lost=CountsWhenLost.OLDEST)
    make_setting(redelivery_delay_ms=60_000)
    put_orders(3)
    one = taker()
    got = one.get(3, now=NOON)

    one.lose(LOST, now=NOON)

    assert Delayed.objects.get().id == got[0].message_id
    assert counts() == [(b"2", 0), (b"3", 0)]
    assert healthy()


@DB
@SPEC("DLA-2")
def test_a_message_that_kills_its_client_becomes_a_dead_letter() -> None:
    make_queue(counts_when_lost=CountsWhenLost.OLDEST)
    make_queue("DLQ", address="DLA")
    make_setting(max_delivery_attempts=2, dead_letter_address="DLA")
    put_orders(3)
    for _ in range(2):
        one = taker()
        one.get(3, now=NOON)
        one.lose(LOST, now=NOON)

    letter = DeadLetter.objects.get()
    assert (letter.backout_count, letter.error) == (2, LOST)
    assert counts() == [(b"2", 0), (b"3", 0)]
    assert healthy()


@DB
@SPEC("UOW-4")
@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (CountsWhenLost.ALL, [1, 1, 1]),
        (CountsWhenLost.OLDEST, [1, 0, 0]),
        (CountsWhenLost.NONE, [0, 0, 0]),
    ],
)
def test_a_dead_process_s_deliveries_count_as_the_queue_says(
    rule: CountsWhenLost, expected: list[int]
) -> None:
    make_queue(counts_when_lost=rule)
    put_orders(3)
    taker().get(3, now=NOON)
    UnitRow.objects.update(owner_id=-1)

    assert settle.back_out_overdue(limit=9, now=NOON) == 1

    assert counts() == list(zip([b"1", b"2", b"3"], expected, strict=True))
    assert healthy()


@DB
def test_of_a_dead_process_s_unit_of_work_each_queue_has_its_say() -> None:
    rules = {"a": "all", "b": "oldest", "c": "none", "d": "oldest"}
    for name, rule in rules.items():
        make_queue(name, counts_when_lost=rule)
    for name in "dbacdbac":
        put(name, b"", now=NOON)
    work = UnitOfWork(now=NOON)
    for name in "abcd":
        work.get(name, 9)
    UnitRow.objects.update(owner_id=-1)

    settle.back_out_overdue(limit=9, now=NOON)

    found = {name: [count for _, count in counts(name)] for name in "abcd"}
    assert found == {"a": [1, 1], "b": [0, 0], "c": [0, 0], "d": [1, 0]}
    assert healthy()


@DB
@SPEC("UOW-7")
def test_a_unit_of_work_past_its_deadline_counts_whatever_the_queue_says() -> None:
    make_queue(counts_when_lost=CountsWhenLost.NONE)
    put_orders(1)
    UnitOfWork(now=NOON).get("orders")

    settle.back_out_overdue(limit=9, now=NOON + minutes(6))

    assert counts() == [(b"1", 1)]


# Errors of the database.


class Interrupted(Exception):
    pass


@DB
def test_what_a_get_took_that_failed_is_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make_poison()
    put_orders(3)
    one = taker()

    def interrupt(*_: object, **__: object) -> None:
        raise Interrupted

    with monkeypatch.context() as patch, pytest.raises(Interrupted):
        patch.setattr(poison, "take_away", interrupt)
        one.get(9, now=NOON)

    assert not Claim.objects.exists()
    assert counts() == [(b"poison", 2), (b"1", 0), (b"2", 0), (b"3", 0)]
    assert numbers(one.get(9, now=NOON)) == [1, 2, 3]


@pytest.mark.parametrize("after", ["get", "end", "lose", "give back"])
def test_a_get_whose_answer_was_lost_loses_nothing(
    elsewhere: Elsewhere, monkeypatch: pytest.MonkeyPatch, after: str
) -> None:
    """The server had taken the entries when the connection broke."""
    make_queue()
    put_orders(4)
    one = taker()
    held = one.get(1)
    lose_answer(monkeypatch, lambda: one.get(2), elsewhere)
    assert [len(claim.ids) for claim in Claim.objects.order_by("claim_id")] == [1, 2]

    match after:
        case "get":
            assert numbers(one.get(9)) == [2, 3, 4]
            assert accept(*held) == [None]
        case "end":
            one.end()
            assert counts() == [(b"%d" % number, 0) for number in (1, 2, 3, 4)]
        case "lose":
            one.lose(LOST)
            assert counts() == [(b"1", 1), (b"2", 0), (b"3", 0), (b"4", 0)]
        case _:
            one.give_back()
            assert numbers(one.get(9)) == [1, 2, 3, 4]
    assert healthy()


def lose_answer(
    monkeypatch: pytest.MonkeyPatch, call: Callable[[], object], other: Elsewhere
) -> None:
    """Break the connection when the get has committed, before anybody knows."""

    def broken(*_: object, **__: object) -> None:
        other(terminate, connection.connection.info.backend_pid)
        connection.connection.execute("SELECT")

    with monkeypatch.context() as patch, pytest.raises(Exception, match="terminat"):
        patch.setattr(delayed, "wake_due_on", broken)
        patch.setattr("broker.queueing.low_watermarks.Floors.raise_to", broken)
        call()
    connection.close()


def terminate(pid: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])


def test_a_consumer_waits_for_nobody_s_settlement_of_other_entries(
    elsewhere: Elsewhere,
) -> None:
    """Two consumers' units of work do not lock each other out."""
    make_queue()
    put_orders(2)
    one, other = taker(), taker()
    (first,) = one.get(1)
    (second,) = other.get(1)
    elsewhere.begin()
    elsewhere(accept, first)

    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = '50ms'")
    assert accept(second) == [None]
    assert other.get(1) == []
    with pytest.raises(OperationalError):
        one.get(1)
    with connection.cursor() as cursor:
        cursor.execute("RESET lock_timeout")
    elsewhere.commit()
    assert one.get(1) == []
    assert healthy()
