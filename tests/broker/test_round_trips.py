"""How often each kind of work waits for PostgreSQL, counted on the wire. All of its
statements are prepared before."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import transaction
from django.test import override_settings

from broker.client import NewMessage, put, put_many, unit_of_work
from tests.broker.wire import counted
from tests.make import make_messages, make_queue, make_setting

pytestmark = pytest.mark.usefixtures("transactional_db")


class Failed(Exception):
    """The error of a handler."""


def put_one() -> None:
    put("orders", b"1")


def put_hundred() -> None:
    put_many(make_messages(100))


def put_in_a_transaction() -> None:
    with transaction.atomic():
        put("orders", b"1")


def put_many_in_a_transaction() -> None:
    with transaction.atomic():
        put_many(make_messages(100))


def handled(*, join: bool = False, limit: int = 1, fails: bool = False) -> None:
    try:
        with unit_of_work(join=join) as work:
            assert len(work.get("orders", limit)) == limit
            if fails:
                raise Failed
    except Failed:
        pass


def got_and_put_on() -> None:
    with unit_of_work() as work:
        assert work.get("orders")
        work.put("orders", b"1")


def joined() -> None:
    handled(join=True)


def leased_fails() -> None:
    handled(fails=True)


def joined_fails() -> None:
    handled(join=True, fails=True)


def hundred() -> None:
    handled(limit=100)


def hundred_die() -> None:
    handled(limit=100, fails=True)


def counted_first() -> None:
    with override_settings(BROKER_PERSIST_DELIVERY_COUNT_BEFORE_DELIVERY=True):
        joined()


def counted_first_fails() -> None:
    with override_settings(BROKER_PERSIST_DELIVERY_COUNT_BEFORE_DELIVERY=True):
        joined_fails()


TABLE: dict[Callable[[], None], int] = {
    put_one: 1,
    put_hundred: 1,
    put_in_a_transaction: 3,
    put_many_in_a_transaction: 3,
    handled: 2,
    hundred: 2,
    got_and_put_on: 5,
    joined: 6,
    leased_fails: 6,
    joined_fails: 9,
    hundred_die: 8,
    counted_first: 4,
    counted_first_fails: 7,
}


@pytest.mark.parametrize("work", TABLE, ids=lambda work: work.__name__)
def test_work_waits_for_the_database_so_often(work: Callable[[], None]) -> None:
    make_queue("orders")
    make_queue("DLQ")
    dies = work is hundred_die
    make_setting(max_delivery_attempts=1 if dies else -1, dead_letter_address="DLQ")
    put_many([NewMessage("orders") for _ in range(400)])
    work()
    work()

    with counted() as sent:
        work()

    assert (sent.round_trips, sent.parses) == (TABLE[work], 0)
