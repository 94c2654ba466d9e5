"""Clients that browse: all is shown, and nothing of it changes."""

from __future__ import annotations

from typing import Any

import pytest

from broker.amqp.protocol import performatives as p
from broker.amqp.protocol.types.types import Described, Symbol
from broker.models import Claim, Event, Ready
from broker.queueing.put import NewMessage, put, put_many
from broker.sql import database_now
from tests.amqp.getting import (
    SETTLED,
    Getting,
    attach,
    bodies,
    counts,
    getting,
    listener,
)
from tests.amqp.listening import Listening
from tests.console.until import until
from tests.make import make_messages, make_queue, seconds

pytestmark = pytest.mark.usefixtures("transactional_db")

COPY = Symbol("copy")


def browsing(here: Listening, **options: Any) -> Getting:
    return getting(here, distribution_mode=COPY, **options)


def wanting(selector: str) -> dict[Symbol, Described]:
    named = Symbol("apache.org:selector-filter:string")
    return {Symbol("selector"): Described(named, selector)}


def test_a_browse_shows_all_in_the_order_of_gets_and_ends() -> None:
    make_queue()
    put_many([NewMessage("orders", b"a"), NewMessage("orders", b"b", priority=9)])
    put("orders", b"c")
    events = Event.objects.count()
    with listener() as here:
        assert browsing(here).take_all() == [b"b", b"a", b"c"]
    assert Ready.objects.count() == 3
    assert Event.objects.count() == events


def test_a_browse_of_hundreds_goes_page_by_page() -> None:
    make_queue()
    put_many(make_messages(350))
    with listener() as here:
        assert browsing(here).take_all(1000) == [b"%d" % n for n in range(1, 351)]


def test_a_browse_goes_by_credit() -> None:
    make_queue()
    put_many(make_messages(5))
    with listener() as here:
        client = browsing(here)
        client.grant(2)
        assert bodies(client.get(2)) == [b"1", b"2"]
        client.grant(2)
        assert bodies(client.get(2)) == [b"3", b"4"]
        assert client.take_all() == [b"5"]


def test_what_a_browser_says_has_no_effect() -> None:
    make_queue()
    put_many(make_messages(4))
    outcomes: list[p.DeliveryState] = [
        p.Accepted(),
        p.Rejected(),
        p.Released(),
        p.Modified(delivery_failed=True),
    ]
    with listener() as here:
        client = browsing(here)
        client.grant(4)
        for delivery, outcome in zip(client.get(4), outcomes, strict=True):
            client.say([delivery], outcome, settled=False)
            assert client.answer_to(delivery) == outcome
        assert counts(client.got) == [0, 0, 0, 0]
        again = browsing(here)
        assert again.take_all() == [b"1", b"2", b"3", b"4"]
        assert counts(again.got) == [0, 0, 0, 0]
    assert not Claim.objects.exists()


@pytest.mark.parametrize("count", [10, 250])
def test_a_browse_with_a_selector_shows_what_matches(count: int) -> None:
    make_queue()
    put_many(
        [
            NewMessage("orders", b"%d" % n, properties={"odd": n % 2}, priority=n % 10)
            for n in range(count)
        ]
    )
    with listener() as here:
        shown = browsing(here, filter=wanting("odd = 1")).take_all(1000)
    wanted = sorted(range(1, count, 2), key=lambda n: (-(n % 10), n))
    assert shown == [b"%d" % n for n in wanted]


@pytest.mark.parametrize("selector", ["", "odd = 1"])
def test_what_comes_later_is_shown_too_whatever_its_priority(selector: str) -> None:
    make_queue()
    with listener() as here:
        options = {"filter": wanting(selector)} if selector else {}
        client = browsing(here, **options)
        client.grant(100)
        for number in range(4):
            priority = 9 - number if number % 2 else number
            put("orders", b"%d" % number, priority=priority, properties={"odd": 1})
            assert bodies(client.get()) == [b"%d" % number]
        assert client.take_all() == []


def test_a_browse_goes_on_after_its_end_with_what_is_new() -> None:
    make_queue()
    put_many(make_messages(2))
    with listener() as here:
        client = browsing(here)
        assert client.take_all() == [b"1", b"2"]
        assert client.take_all() == []
        put("orders", b"3")
        assert client.take_all() == [b"3"]


def test_an_expired_message_is_not_shown() -> None:
    make_queue()
    put("orders", b"old", expires_at=database_now() - seconds(1))
    put("orders", b"new")
    with listener() as here:
        assert browsing(here).take_all() == [b"new"]


def test_a_paused_queue_can_be_browsed() -> None:
    make_queue(paused=True)
    put("orders", b"1")
    with listener() as here:
        assert browsing(here).take_all() == [b"1"]
        assert browsing(here, filter=wanting("JMSPriority > 0")).take_all() == [b"1"]


def test_a_browse_can_be_settled() -> None:
    make_queue()
    put("orders", b"1")
    with listener() as here:
        client = browsing(here, mode=SETTLED)
        assert client.take_all() == [b"1"]
        assert client.got[0].settled
    assert Ready.objects.count() == 1


def test_what_a_browser_does_not_settle_is_bounded() -> None:
    make_queue()
    put_many(make_messages(10))
    with listener(max_in_flight=4) as here:
        client = browsing(here)
        client.grant(10)
        first = client.get(4)
        client.say(first, p.Accepted())
        assert bodies(client.get(4)) == [b"5", b"6", b"7", b"8"]


def test_a_browser_takes_nothing_from_those_who_get() -> None:
    make_queue()
    with listener() as here:
        wire = here.client()
        shown = attach(wire, name="looks", distribution_mode=COPY)
        gets = attach(wire, name="gets")
        shown.grant(10)
        gets.grant(10)
        for number in range(3):
            put("orders", b"%d" % number)
            got = gets.get()
            assert bodies(got) == [b"%d" % number]
            gets.say(got, p.Accepted())
        until(lambda: not Claim.objects.exists())
        shown.detach()
        assert here.call(lambda: len(here.listener.waking.lines)) == 1
