"""Gets and browses by selector: in order, without missing, without looking twice."""

from __future__ import annotations

from typing import Any

import pytest

from broker import sql
from broker.formats.selectors import document, parse
from broker.models import Claim, Event, Kind, Queue
from broker.queueing import selective_get
from broker.queueing.low_watermarks import FLOORS
from broker.queueing.put import NewMessage, put, put_many
from broker.queueing.selective_get import Search, SelectorScan, browse
from broker.settlement.outcomes import BackOut
from broker.transactions.scope import UnitOfWork
from tests.broker.searching import (
    IN_PYTHON,
    RED,
    eager,
    got,
    message,
    numbers,
    orders,
    put_some,
    settle_all,
    take,
)
from tests.make import NOON, minutes

__all__ = ["eager", "orders"]  # fixtures

pytestmark = pytest.mark.usefixtures("transactional_db")


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[SelectorScan]:
    """What each statement saw."""
    seen: list[SelectorScan] = []
    fetch = sql.fetch

    def watched(name: str, row: Any, **parameters: Any) -> list[Any]:
        rows = fetch(name, row, **parameters)
        seen.extend(rows if name == "choose" else [])
        return rows

    monkeypatch.setattr(sql, "fetch", watched)
    return seen


@pytest.mark.parametrize("selector", [RED, IN_PYTHON])
def test_a_search_takes_what_matches_in_the_order_of_gets(
    orders: Queue, selector: Any
) -> None:
    put_many(
        [
            message(1, "red", priority=4),
            message(2, "blue", priority=9),
            message(3, "red", priority=9),
            message(4, "red", priority=4),
            message(5, "red", priority=0),
        ]
    )
    work = UnitOfWork()
    assert got(Search("orders", RED), 1, work) == [3]
    work.back_out("again")

    search = Search("orders", selector)
    assert got(search, 2) == [3, 1]
    assert got(search, 10) == [4, 5]
    assert got(search, 10) == []
    assert numbers(UnitOfWork().get("orders", 10)) == [2]


@pytest.mark.parametrize("selector", [RED, IN_PYTHON])
def test_a_search_goes_on_over_any_number_of_others(
    orders: Queue, selector: Any
) -> None:
    put_some(95, red={1, 47, 93, 94, 95})
    search = Search("orders", selector)

    assert [got(search, 2), got(search, 2), got(search, 2)] == [[1, 47], [93, 94], [95]]


def test_what_was_looked_at_is_not_looked_at_again(
    orders: Queue, looks: list[SelectorScan]
) -> None:
    put_some(95, red={50})
    settle_all()
    search = Search("orders", RED)
    assert got(search) == [50]
    assert got(search) == []
    assert sum(look.seen for look in looks) == 95
    put_many([message(96, "blue"), message(97, "red")])
    settle_all()

    assert got(search) == [97]
    assert got(search) == []
    assert sum(look.seen for look in looks) == 97


def test_a_search_takes_as_a_plain_get_does(orders: Queue) -> None:
    put_some(450, red=set(range(1, 451)), subject="order", correlation_id="c")
    plain = UnitOfWork()
    first = plain.get("orders", 450)
    claims = list(Claim.objects.values_list("claim_id", "ids").order_by("claim_id"))
    plain.back_out("again")

    work = UnitOfWork()
    again = take(work, Search("orders", RED), 450)

    assert work.id is not None
    assert [(d.message_id, d.body, d.subject) for d in again] == [
        (d.message_id, d.body, d.subject) for d in first
    ]
    held = Claim.objects.filter(uow=work.id).order_by("claim_id")
    assert sorted(n for claim in held for n in claim.ids) == sorted(
        n for _, ids in claims for n in ids
    )
    assert max(len(claim.ids) for claim in held) <= 200
    journal = Event.objects.filter(uow=work.id, kind=Kind.GET)
    assert sum(event.n for event in journal) == 450


def test_nothing_is_taken_from_a_paused_queue_nor_learnt_of_it(
    orders: Queue, looks: list[SelectorScan]
) -> None:
    put_some(20, red={3})
    settle_all()
    search = Search("orders", RED)
    Queue.objects.update(paused=True)
    for _ in range(3):
        assert got(search) == []
    assert sum(look.seen for look in looks) == 0
    Queue.objects.update(paused=False)

    assert got(search) == [3]


def test_the_expired_is_not_taken(orders: Queue) -> None:
    later = NOON + minutes(1)
    put_many([message(1, "red", expires_at=later), message(2, "red")], now=NOON)

    work = UnitOfWork(now=NOON + minutes(2))
    assert numbers(take(work, Search("orders", RED), 10)) == [2]
    work.back_out("again")
    page = browse("orders", RED, now=NOON + minutes(2))
    assert [entry.head for entry in page.entries] == [b"2"]


def test_what_came_back_and_what_goes_first_are_found_behind_the_search(
    orders: Queue,
) -> None:
    put_some(30, red={10, 20})
    search, work = Search("orders", RED), UnitOfWork()
    assert got(search, 1, work) == [10]
    assert got(search) == [20]
    assert got(search) == []
    work.back_out("again")
    assert got(search) == [10]
    put_many([message(31, "red", priority=3), message(32, "red", priority=8)])

    assert got(search, 2) == [32, 31]


def test_after_a_lost_transaction_everything_is_looked_at(orders: Queue) -> None:
    put_some(30, red={10})
    search = Search("orders", RED)
    assert got(search) == [10]
    assert got(search) == []
    put_some(1, red={1})
    search.starts = [2**62] * 10  # as if what it had taken stood there again
    assert got(search) == []
    FLOORS.forget()

    assert got(search) == [1]


def test_once_in_a_while_everything_is_looked_at(
    orders: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_some(30, red={10})
    search = Search("orders", RED)
    search.starts = [2**62] * 10
    assert got(search) == []

    search.safe_until = 0.0
    assert got(search) == [10]


@pytest.mark.parametrize("backouts", [0, 2])
def test_postgresql_and_python_make_the_same_document(
    orders: Queue, looks: list[SelectorScan], backouts: int
) -> None:
    properties = {"colour": "red", "JMSPriority": 9, "n": 1.5, "list": [1], "no": None}
    put_many(
        [
            NewMessage("orders", properties=properties),
            NewMessage(
                "orders",
                properties=properties,
                priority=7,
                durable=False,
                expires_at=NOON
                + minutes(
                    5,
                )
                / 7,
                message_id="ID:1",
                correlation_id="c",
                subject="order",
                group_id="g",
            ),
        ],
        now=NOON + minutes(1) / 7,
    )
    for _ in range(backouts):
        work = UnitOfWork(now=NOON)
        work.get("orders", 2)
        work.back_out(BackOut("again", spread=0))

    deliveries = take(UnitOfWork(now=NOON), Search("orders", IN_PYTHON), 2)

    assert len(deliveries) == 2
    documents = [document(delivery) for delivery in deliveries]
    assert documents == [one for look in looks for one in look.documents]
    assert documents[0]["JMSXDeliveryCount"] == backouts + 1
    assert documents[0]["JMSRedelivered"] is (backouts > 0)


def test_a_message_can_be_judged_before_it_is_sent() -> None:
    sent = message(1, "red", message_id="ID:7", subject="order")

    assert parse("JMSMessageID = 'ID:7' AND colour = 'red'").matches(document(sent))
    assert parse("JMSTimestamp > 0").matches(document(sent))


@pytest.mark.parametrize("selector", [RED, IN_PYTHON])
def test_a_list_by_selector_goes_on_where_it_ended(
    orders: Queue, selector: Any
) -> None:
    put_some(45, red=set(range(2, 46, 2)), priority=5)
    put_some(5, red={1, 2}, priority=2)
    work = UnitOfWork()
    work.get("orders", 4)
    work.back_out("again")
    Queue.objects.update(paused=True)

    pages: list[list[bytes]] = []
    after = ""
    while True:
        page = browse("orders", selector, after=after, limit=7)
        pages.append([entry.head for entry in page.entries])
        after = page.after
        if not after:
            break
    listed = [int(head) for one in pages for head in one]

    assert listed == [*range(2, 46, 2), 1, 2]
    assert {len(one) for one in pages[:-1]} == {7}


def test_a_page_ends_after_so_many_looks(
    orders: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selective_get, "LOOKS", 2)
    put_some(45, red={1, 30})

    page = browse("orders", RED)
    assert ([e.head for e in page.entries], page.after != "") == ([b"1"], True)
    page = browse("orders", RED, after=page.after)
    assert [e.head for e in page.entries] == [b"30"]


@pytest.mark.parametrize("after", ["x", "1", "10.0", "-1.0", "4.99999999999999999999"])
def test_a_cursor_that_is_none_is_refused(orders: Queue, after: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        browse("orders", RED, after=after)


def test_a_put_that_matches_is_seen_by_the_next_get(orders: Queue) -> None:
    search = Search("orders", RED)
    for number in range(5):
        put("orders", str(number).encode(), properties={"colour": "red"})
        assert got(search) == [number]
        assert got(search) == []
