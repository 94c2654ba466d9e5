"""Consumers that take ahead: what they get, keep, give back and lose."""

from __future__ import annotations

import pytest
from pytest_django import Settings

from broker.errors import LockLost, UnitOfWorkEnded
from broker.errors.queues import NotAuthorized
from broker.formats.selectors.parsing import parse
from broker.models import (
    AddressSetting,
    Claim,
    Delayed,
    Queue,
    Ready,
)
from broker.models import UnitOfWork as UnitRow
from broker.queueing.put import put
from broker.queueing.selective_get import Search
from broker.settlement import settle
from broker.settlement.batch import Settlement
from broker.settlement.batch import settle as settle_all
from broker.settlement.outcomes import Release
from broker.transactions.scope import UnitOfWork
from tests.broker.receiving import DLQ, counts, make_poison, put_orders
from tests.broker.taking_ahead import accept, back_out, healthy, ids, numbers, taker
from tests.make import NOON, make_queue, make_setting, make_user, seconds

SPEC = pytest.mark.spec
DB = pytest.mark.django_db
LOST = "the client is gone"
Policy = AddressSetting.PoisonPolicy


@DB
@SPEC("UOW-1")
def test_what_one_takes_ahead_no_other_gets() -> None:
    make_queue()
    put_orders(5)
    one, other = taker(), taker()

    assert numbers(one.get(2, now=NOON)) == [1, 2]
    assert numbers(other.get(2, now=NOON)) == [3, 4]
    assert numbers(one.get(9, now=NOON)) == [5]
    assert one.get(9, now=NOON) == []
    assert UnitRow.objects.count() == 2
    assert healthy()


@DB
def test_it_lasts_longer_than_any_unit_of_work(settings: Settings) -> None:
    make_queue()
    put_orders(2)
    one = taker()
    (first,) = one.get(1, now=NOON)

    later = NOON + seconds(settings.BROKER_TRANSACTION_TIMEOUT_S * 1000)
    assert settle.back_out_overdue(limit=9, now=later) == 0
    (second,) = one.get(9, now=later)
    assert accept(first, second) == [None]
    assert one.uow == first.uow == second.uow


@DB
def test_it_goes_on_when_all_that_it_had_is_settled() -> None:
    make_queue()
    put_orders(1)
    one = taker()
    (first,) = one.get(1, now=NOON)
    accept(first)
    put_orders(1)

    (second,) = one.get(1, now=NOON)

    assert first.uow == second.uow
    one.end(now=NOON)
    assert not UnitRow.objects.exists()
    assert healthy()


@DB
@SPEC("EXP-1")
def test_it_meets_what_is_due_and_what_has_expired(settings: Settings) -> None:
    settings.BROKER_MESSAGE_EXPIRY_SCAN_PERIOD_S = -1
    make_queue()
    put("orders", b"1", deliver_at=NOON + seconds(5), now=NOON)
    put("orders", b"2", expires_at=NOON + seconds(5), now=NOON)
    one = taker()

    assert numbers(one.get(9, now=NOON)) == [2]
    one.give_back(now=NOON)
    assert numbers(one.get(9, now=NOON + seconds(5))) == [1]
    assert one.get(9, now=NOON + seconds(5)) == []
    assert not Ready.objects.exists()
    assert healthy()


@DB
@SPEC("ADMIN-5")
def test_a_paused_queue_gives_nothing_and_the_consumer_lives() -> None:
    make_queue(paused=True)
    put_orders(1)
    one = taker()

    assert one.get(9, now=NOON) == []
    Queue.objects.update(paused=False)
    assert numbers(one.get(9, now=NOON)) == [1]


@DB
def test_a_search_takes_what_matches() -> None:
    make_queue()
    for number in range(6):
        put("orders", b"%d" % number, properties={"even": number % 2 == 0}, now=NOON)
    one = taker(search=Search("orders", parse("even")))

    assert numbers(one.get(2, now=NOON)) == [0, 2]
    assert numbers(one.get(9, now=NOON)) == [4]


@DB
@pytest.mark.parametrize("searching", [False, True])
def test_what_is_hidden_is_for_others(searching: bool) -> None:
    make_queue()
    for priority in (4, 9, 4, 4):
        put("orders", b"%d" % priority, priority=priority, now=NOON)
    one = taker(search=Search("orders", parse("1 = 1")) if searching else None)
    urgent, first, second, third = one.get(9, now=NOON)
    back_out(urgent, second)
    one.hidden = {(9, urgent.message_id), (4, second.message_id)}
    one.give_back([first], now=NOON)
    new = put("orders", b"4", now=NOON).message_id
    one.hidden.add((4, new))  # though it never came back

    assert ids(one.get(9, now=NOON)) == [first.message_id]
    assert one.get(9, now=NOON) == []
    others = taker().get(9, now=NOON)
    assert ids(others) == [urgent.message_id, second.message_id, new]
    one.hidden.clear()
    back_out(*others)
    assert ids(one.get(9, now=NOON)) == ids(others)
    assert accept(third) == [None]


# Given back.


@DB
@SPEC("UOW-4")
def test_what_is_given_back_comes_in_its_order_uncounted() -> None:
    make_queue()
    make_setting(redelivery_delay_ms=60_000)
    put_orders(5)
    one = taker()
    got = one.get(4, now=NOON)

    one.give_back([got[3], got[1]], now=NOON)
    one.give_back([], now=NOON)

    assert counts() == [(b"2", 0), (b"4", 0), (b"5", 0)]
    with pytest.raises(LockLost):
        one.give_back([got[0], got[1]], now=NOON)
    assert accept(got[0], got[2]) == [None]
    assert healthy()


@DB
@SPEC("UOW-4")
def test_all_is_given_back_when_it_ends() -> None:
    make_queue()
    put_orders(3)
    one = taker()
    (first, *_) = one.get(3, now=NOON)
    accept(first)

    one.end(now=NOON)
    one.end(now=NOON)

    assert counts() == [(b"2", 0), (b"3", 0)]
    with pytest.raises(UnitOfWorkEnded):
        one.get(1, now=NOON)
    assert healthy()


@DB
def test_after_giving_all_back_it_begins_anew() -> None:
    make_queue()
    put_orders(2)
    one = taker()
    before = one.get(2, now=NOON)

    one.give_back(now=NOON)
    one.give_back(now=NOON)

    after = one.get(2, now=NOON)
    assert ids(after) == ids(before)
    assert after[0].uow != before[0].uow
    assert isinstance(accept(*before)[0], LockLost)
    with pytest.raises(LockLost):
        one.give_back(before, now=NOON)
    assert accept(*after) == [None]


@DB
def test_one_that_never_got_anything_ends_like_others() -> None:
    make_queue()
    taker().end()
    taker().lose(LOST)
    taker().give_back()


@DB
def test_a_release_of_all_by_settlement_is_no_end() -> None:
    make_queue()
    put_orders(2)
    one = taker()
    got = one.get(2, now=NOON)

    batch = [Settlement(got[0].uow, got[0].queue_id, ids(got), Release())]
    assert settle_all(batch, now=NOON) == [None]

    assert ids(one.get(9, now=NOON)) == ids(got)


@DB
def test_many_messages_are_many_claims() -> None:
    make_queue()
    put_orders(450)
    one = taker()

    assert len(one.get(450, now=NOON)) == 450
    put_orders(1)
    assert len(one.get(1, now=NOON)) == 1
    assert Claim.objects.count() == 4
    assert healthy()


# Poison.


@DB
@SPEC("POISON-3", "POISON-9")
def test_poison_is_taken_away_at_once_and_the_next_comes() -> None:
    make_queue("backout")
    make_poison(backouts=2, threshold=2, backout_queue="backout")
    put_orders(2)
    one = taker()

    assert numbers(one.get(2, now=NOON)) == [1, 2]
    one.lose(LOST, now=NOON)

    assert counts("backout") == [(b"poison", 0)]
    assert counts() == [(b"1", 1), (b"2", 1)]
    assert healthy()


@DB
@SPEC("POISON-9")
def test_poison_that_has_no_place_stays_for_a_while() -> None:
    make_poison()
    one = taker()

    assert one.get(9, now=NOON) == []
    assert Delayed.objects.get().due_at == NOON + seconds(5)
    assert one.get(9, now=NOON + seconds(5)) == []
    make_queue(DLQ)
    assert one.get(9, now=NOON + seconds(10)) == []
    assert [one.body[-6:] for one in UnitOfWork(now=NOON).get(DLQ)] == [b"poison"]
    assert healthy()


@DB
@SPEC("POISON-5")
def test_what_the_queue_says_is_read_once() -> None:
    queue = make_poison(backouts=1, threshold=5)
    one = taker()
    (first,) = one.get(9, now=NOON)
    back_out(first)
    Queue.objects.filter(pk=queue.pk).update(backout_threshold=1)

    (again,) = one.get(9, now=NOON)
    back_out(again)

    assert again.backout_count == 2
    assert taker().get(9, now=NOON) == []


@DB
@SPEC("POISON-12")
def test_who_may_not_inquire_gets_nothing_that_came_back() -> None:
    make_poison()
    put_orders(1)
    user = make_user(granted=("get",))
    one = taker(user=user)

    for _ in range(2):
        with pytest.raises(NotAuthorized):
            one.get(9, now=NOON)
        assert not Claim.objects.exists()
    assert counts() == [(b"poison", 2), (b"1", 0)]
    assert healthy()


@DB
def test_where_the_broker_itself_counts_nobody_has_to_inquire() -> None:
    make_poison(threshold=0)
    make_setting(max_delivery_attempts=-1)
    one = taker(user=make_user(granted=("get",)))

    (delivery,) = one.get(9, now=NOON)

    assert delivery.backout_count == 2
