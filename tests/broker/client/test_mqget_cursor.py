"""Gets of the message under the browse cursor."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from broker.client.mqget import OpenQueue, get_message
from broker.errors.mq_codes import GetOptions
from broker.errors.queues import NoMessageUnderCursor
from broker.errors.units_of_work import SecondMark
from broker.models import UnitOfWork as UnitRow
from broker.transactions.scope import UnitOfWork
from tests.broker.receiving import counts, put_orders
from tests.make import NOON, make_queue

pytestmark = pytest.mark.django_db

G = GetOptions
MARKED = G.SYNCPOINT | G.MARK_SKIP_BACKOUT


@pytest.fixture
def opened() -> Iterator[OpenQueue]:
    make_queue("orders")
    with OpenQueue("orders", now=NOON) as queue:
        yield queue


def begun() -> UnitOfWork:
    return UnitOfWork(now=NOON)


@pytest.mark.parametrize("lock", [G.NONE, G.LOCK])
@pytest.mark.parametrize(
    "options", [G.NONE, G.SYNCPOINT, G.SYNCPOINT_IF_PERSISTENT, MARKED]
)
def test_the_browsed_message_is_got_and_no_other(
    opened: OpenQueue, lock: GetOptions, options: GetOptions
) -> None:
    put_orders(3)
    get_message(opened, G.BROWSE_FIRST | lock)
    browsed = get_message(opened, G.BROWSE_NEXT | lock)
    assert browsed is not None
    work = begun()
    got = get_message(opened, options | G.MSG_UNDER_CURSOR, work=work)
    assert got is not None
    assert (got.body, got.message_id) == (b"2", browsed.message_id)
    with pytest.raises(NoMessageUnderCursor):
        get_message(opened, G.MSG_UNDER_CURSOR)
    following = get_message(opened, G.BROWSE_NEXT)
    assert following is not None
    assert following.body == b"3"
    work.commit()
    assert counts() == [(b"1", 0), (b"3", 0)]
    assert not UnitRow.objects.exists()


def test_there_is_no_message_under_the_cursor_before_a_browse_or_once_it_is_taken(
    opened: OpenQueue,
) -> None:
    put_orders(2)
    under = G.MSG_UNDER_CURSOR | G.WAIT
    with pytest.raises(NoMessageUnderCursor) as caught:
        get_message(opened, under, wait_s=30)
    assert (caught.value.reason, caught.value.completion) == (2034, 2)
    get_message(opened, G.BROWSE_FIRST)
    other = begun()
    other.get("orders")
    with pytest.raises(NoMessageUnderCursor):
        get_message(opened, under, wait_s=30)
    other.back_out("no")  # it is at another position now
    assert get_message(opened, G.BROWSE_NEXT) is not None
    assert get_message(opened, G.BROWSE_NEXT) is None  # the cursor stays at the second
    got = get_message(opened, under)
    assert got is not None
    assert got.body == b"2"
    assert counts() == [(b"1", 1)]


def test_a_message_that_was_given_back_is_still_under_the_cursor(
    opened: OpenQueue,
) -> None:
    put_orders(2)
    get_message(opened, G.BROWSE_FIRST)
    other = begun()
    other.get("orders")
    other.back_out("no")
    got = get_message(opened, G.MSG_UNDER_CURSOR)
    assert got is not None
    assert (got.body, got.backout_count) == (b"1", 1)


def test_a_lock_stays_if_the_get_under_the_cursor_fails(opened: OpenQueue) -> None:
    put_orders(2)
    get_message(opened, G.BROWSE_FIRST | G.LOCK)
    work = begun()
    work.get("orders", mark=True)
    with pytest.raises(SecondMark):
        get_message(opened, MARKED | G.MSG_UNDER_CURSOR, work=work)
    work.commit()
    assert counts() == []
    assert get_message(opened, G.MSG_UNDER_CURSOR) is not None
