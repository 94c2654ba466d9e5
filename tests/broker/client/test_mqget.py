"""Gets by IBM MQ's options: what goes together, and what each does."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest
from django.db import connection

from broker.client import mqget
from broker.client.mqget import OpenQueue, get_message
from broker.errors import LockLost, NoSuchQueue
from broker.errors.mq_codes import GetOptions
from broker.errors.queues import GetInhibited, NoMessageUnderCursor, NotAuthorized
from broker.errors.units_of_work import MarkNotPossible, SecondMark, WrongOptions
from broker.models import Claim, Kind, Message, Queue, QueueAlias
from broker.models import UnitOfWork as UnitRow
from broker.queueing.journal import lifeline
from broker.queueing.put import put
from broker.settlement.settle import back_out_overdue
from broker.transactions.scope import UnitOfWork
from tests.broker.receiving import counts, put_again, put_orders
from tests.make import NOON, make_queue, make_user, minutes, seconds

pytestmark = pytest.mark.django_db

G = GetOptions
MARKED = G.SYNCPOINT | G.MARK_SKIP_BACKOUT
OTHERS = [
    G.NONE,
    G.NO_SYNCPOINT,
    G.SYNCPOINT_IF_PERSISTENT,
    G.BROWSE_FIRST,
    G.BROWSE_NEXT,
    G.BROWSE_FIRST | G.LOCK,
    G.LOCK,
    G.UNLOCK,
]


@pytest.fixture(autouse=True)
def opened() -> Iterator[OpenQueue]:
    make_queue("orders", backout_threshold=1, backout_queue="BOQ")
    make_queue("BOQ")
    with OpenQueue("orders", now=NOON) as queue:
        yield queue


def begun() -> UnitOfWork:
    return UnitOfWork(now=NOON)


@pytest.mark.spec("SKIP-2")
@pytest.mark.parametrize("option", OTHERS)
@pytest.mark.parametrize("with_syncpoint", [True, False])
def test_a_mark_goes_together_with_syncpoint_alone(
    opened: OpenQueue, option: GetOptions, with_syncpoint: bool
) -> None:
    put_orders(1)
    options = G.MARK_SKIP_BACKOUT | option
    if with_syncpoint:
        options |= G.SYNCPOINT
    if options == MARKED:
        return
    work = begun()
    with pytest.raises(WrongOptions) as caught:
        get_message(opened, options, work=work)
    assert caught.value.reason == 2046
    assert (work.id, work.marked) == (None, False)
    assert counts() == [(b"1", 0)]


@pytest.mark.spec("SKIP-2")
@pytest.mark.parametrize("options", [MARKED, G.SYNCPOINT, G.SYNCPOINT_IF_PERSISTENT])
def test_outside_a_unit_of_work_there_is_no_syncpoint(options: GetOptions) -> None:
    put_orders(1)
    with pytest.raises(WrongOptions) as caught:
        get_message("orders", options)
    assert caught.value.reason == 2046
    assert counts() == [(b"1", 0)]


def test_every_mix_of_options_gets_or_is_refused(opened: OpenQueue) -> None:
    one_of = [
        [G.NONE, G.SYNCPOINT, G.NO_SYNCPOINT, G.SYNCPOINT_IF_PERSISTENT],
        [G.NONE, G.BROWSE_FIRST, G.BROWSE_NEXT, G.MSG_UNDER_CURSOR],
        [G.NONE, G.MARK_SKIP_BACKOUT],
        [G.NONE, G.LOCK, G.UNLOCK],
        [G.NONE, G.FAIL_IF_QUIESCING],
    ]
    allowed = 0
    for parts in product(*one_of):
        point, browse, mark, lock, quiescing = parts
        options = point | browse | mark | lock | quiescing
        looks = bool(browse & mqget.BROWSE)
        fits = (
            (not browse & mqget.BROWSE or point in (G.NONE, G.NO_SYNCPOINT))
            and (not mark or (point == G.SYNCPOINT and not looks and not lock))
            and (lock != G.LOCK or looks)
            and (lock != G.UNLOCK or (not browse and not point & mqget.IN_UNIT))
        )
        allowed += fits
        try:
            get_message(opened, options, work=begun())
        except WrongOptions:
            assert not fits, options
        except NoMessageUnderCursor:
            assert fits, options
            assert browse is G.MSG_UNDER_CURSOR
        else:
            assert fits, options
    assert allowed == 40


@pytest.mark.spec("SKIP-4")
def test_a_marked_get_that_finds_nothing_uses_up_no_mark() -> None:
    work = begun()
    assert get_message("orders", MARKED, work=work) is None
    put_orders(2)
    assert get_message("orders", MARKED, work=work) is not None
    with pytest.raises(SecondMark) as caught:
        get_message("orders", MARKED, work=work)
    assert caught.value.reason == 2062
    work.back_out("no")
    assert work.skipped is not None
    assert counts() == [(b"2", 0)]


@pytest.mark.spec("SKIP-7")
def test_a_coordinated_unit_of_work_has_no_mark() -> None:
    put_orders(1)
    work = UnitOfWork(coordinated=True, now=NOON)
    with pytest.raises(MarkNotPossible) as caught:
        get_message("orders", MARKED, work=work)
    assert caught.value.reason == 2274
    assert counts() == [(b"1", 0)]


@pytest.mark.spec("POISON-2")
@pytest.mark.parametrize("options", [G.NO_SYNCPOINT, G.SYNCPOINT])
def test_a_raw_get_sees_poison_messages(options: GetOptions) -> None:
    put_again(7)
    message = get_message("orders", options, work=begun())
    assert message is not None
    assert message.backout_count == 7
    assert counts("BOQ") == []


@pytest.mark.spec("UOW-2")
@pytest.mark.parametrize("options", [G.NONE, G.NO_SYNCPOINT])
def test_a_get_outside_any_unit_of_work_ends_the_message_at_once(
    options: GetOptions,
) -> None:
    put_orders(2)
    work = begun()
    assert get_message("orders", options, work=work) is not None
    work.back_out("no")
    assert counts() == [(b"2", 0)]
    assert not UnitRow.objects.exists()


@pytest.mark.spec("UOW-2")
def test_a_get_outside_any_unit_of_work_that_dies_is_not_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    put_orders(1)

    def die(_: UnitOfWork) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(UnitOfWork, "commit", die)
        get_message("orders")
    assert counts() == [(b"1", 0)]
    assert connection.is_usable()


def test_syncpoint_is_part_of_the_unit_of_work() -> None:
    put_orders(1)
    work = begun()
    assert get_message("orders", G.SYNCPOINT, work=work) is not None
    assert counts() == []
    work.back_out("no")
    assert counts() == [(b"1", 1)]


@pytest.mark.parametrize("durable", [True, False])
def test_only_persistent_messages_may_be_part_of_it(durable: bool) -> None:
    put_orders(1, durable=durable)
    work = begun()
    got = get_message("orders", G.SYNCPOINT_IF_PERSISTENT, work=work)
    assert got is not None
    work.back_out("no")
    assert counts() == ([(b"1", 1)] if durable else [])


@pytest.mark.spec("UOW-2")
def test_a_browse_goes_on_from_its_cursor_and_counts_nothing(
    opened: OpenQueue,
) -> None:
    put_orders(1, expires_at=NOON)
    put_again(2)
    put_orders(2)
    seen = [get_message(opened, G.BROWSE_FIRST)]
    seen += [get_message(opened, G.BROWSE_NEXT) for _ in range(3)]
    assert [one and (one.body, one.backout_count) for one in seen] == [
        (b"poison", 2),
        (b"1", 0),
        (b"2", 0),
        None,
    ]
    again = get_message(opened, G.BROWSE_FIRST)
    assert again is not None
    assert again.body == b"poison"
    assert counts()[0] == (b"poison", 2)


def test_what_is_locked_is_in_nobody_s_reach_until_it_is_unlocked(
    opened: OpenQueue,
) -> None:
    put_orders(2)
    locked = get_message(opened, G.BROWSE_FIRST | G.LOCK)
    assert locked is not None
    assert locked.body == b"1"
    assert counts() == [(b"2", 0)]
    assert get_message(opened, G.UNLOCK) is None
    assert counts() == [(b"1", 0), (b"2", 0)]
    assert not UnitRow.objects.exists()


@pytest.mark.parametrize("end", ["browse", "close", "deadline"])
def test_a_lock_ends_with_the_next_browse_or_the_close(
    opened: OpenQueue, end: str
) -> None:
    put_orders(2)
    get_message(opened, G.BROWSE_FIRST | G.LOCK)
    if end == "browse":
        get_message(opened, G.BROWSE_NEXT)
    if end == "deadline":
        back_out_overdue(limit=10, now=NOON + minutes(6))
    if end != "browse":
        opened.close()
    assert [body for body, _ in counts()] == [b"1", b"2"]
    assert not Claim.objects.exists()


def test_what_others_hold_cannot_be_locked(opened: OpenQueue) -> None:
    put_orders(2)
    other = OpenQueue("orders", now=NOON)
    for one, body in ((opened, b"1"), (other, b"2")):
        locked = get_message(one, G.BROWSE_FIRST | G.LOCK)
        assert locked is not None
        assert locked.body == body
    third = OpenQueue("orders", now=NOON)
    assert get_message(third, G.BROWSE_FIRST | G.LOCK) is None
    other.close()


@pytest.mark.parametrize("options", [G.NONE, G.SYNCPOINT, G.BROWSE_FIRST])
def test_a_paused_queue_says_so(opened: OpenQueue, options: GetOptions) -> None:
    put_orders(1)
    Queue.objects.update(paused=True)
    with pytest.raises(GetInhibited) as caught:
        get_message(opened, options | G.WAIT, work=begun(), wait_s=30)
    assert caught.value.reason == 2016


@pytest.mark.spec("UOW-7", "UOW-8")
@pytest.mark.parametrize("options", [MARKED, G.SYNCPOINT, G.SYNCPOINT_IF_PERSISTENT])
def test_a_get_in_a_unit_of_work_that_is_no_more_says_so(options: GetOptions) -> None:
    put_orders(1)
    work = begun()
    get_message("orders", G.SYNCPOINT, work=work)
    back_out_overdue(limit=10, now=NOON + minutes(6))
    with pytest.raises(LockLost) as caught:
        get_message("orders", options, work=work)
    assert caught.value.reason == 2003
    assert counts() == [(b"1", 1)]


def test_without_an_authority_nothing_is_got(opened: OpenQueue) -> None:
    put_orders(1)
    user = make_user(granted=("inquire",))
    for options in (G.NONE, G.BROWSE_FIRST):
        with pytest.raises(NotAuthorized):
            get_message("orders", options, user=user)
    browsing = make_user("vera", granted=("browse",))
    assert get_message("orders", G.BROWSE_FIRST, user=browsing) is not None


def test_an_alias_is_opened_as_its_queue() -> None:
    QueueAlias.objects.create(name="bestellungen", target="orders")
    put_orders(1)
    assert get_message("bestellungen") is not None
    with pytest.raises(NoSuchQueue):
        get_message("nowhere")


def test_a_wait_ends_in_time_and_is_not_made_without_the_option() -> None:
    assert get_message("orders", wait_s=30) is None
    assert get_message("orders", G.WAIT, wait_s=0.01) is None


def test_a_wait_ends_when_a_delay_does() -> None:
    later = NOON + seconds(1)
    put("orders", deliver_at=later, now=NOON)
    work = UnitOfWork(now=later)
    assert get_message("orders", G.SYNCPOINT | G.WAIT, work=work, wait_s=30)


def test_the_journal_tells_of_both_halves_of_a_get_outside() -> None:
    put_orders(1)
    get_message("orders")
    (message,) = Message.objects.all()
    kinds = [event.kind for event in lifeline(message.pk)]
    assert kinds == [Kind.PUT, Kind.GET, Kind.ACCEPT]
