"""A search looks where something is, and no longer than it may."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from broker import sql
from broker.formats.filters import Filter, parse
from broker.monitoring import search
from broker.monitoring.search import pages, walking
from broker.queueing.put import NewMessage, put_many
from broker.transactions.scope import UnitOfWork
from tests.broker.monitoring.test_finding import every_queue, found
from tests.make import make_messages, make_queue

pytestmark = pytest.mark.django_db


def test_a_search_stops_when_its_time_is_over_and_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make_queue("orders")
    put_many(make_messages(40))
    seconds = count(0, 0.4)
    monkeypatch.setattr(pages, "monotonic", lambda: next(seconds))
    monkeypatch.setattr(walking, "FIRST_SCAN", 5)
    monkeypatch.setattr(walking, "OF_BODIES", 5)
    monkeypatch.setattr(walking, "STRIDE", 5)
    monkeypatch.setattr(walking, "QUICK_S", 0)
    wanted, within = parse("body:nowhere"), every_queue()
    soon = search.Effort(seconds=1)

    page = search.find(wanted, within=within, effort=soon)
    assert (page.rows, page.looked_at, page.is_limited) == ([], 15, True)
    rest = search.find(wanted, within=within, after=page.after, effort=soon)
    assert (rest.looked_at, rest.is_limited) == (15, True)
    counted = search.count(wanted, within=within, after=rest, effort=soon)
    assert (counted.messages, counted.looked_at) == (0, 10)
    assert search.count(wanted, within=within, after=rest).is_exact
    one = search.find(wanted, within=within, effort=search.Effort(seconds=0))
    assert one.looked_at == 5  # a look there always is


def test_only_lanes_are_looked_at_that_have_something_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else each look of many costs what all lanes are many."""
    names = [f"many.{number}" for number in range(20)]
    for name in (*names, "deep"):
        make_queue(name)
    ids = [
        one.message_id
        for name in names
        for one in put_many([NewMessage(name, b"x"), NewMessage(name, b"x")])
    ]
    put_many([NewMessage("deep", b"x", priority=number % 3) for number in range(60)])
    monkeypatch.setattr(walking, "FIRST_SCAN", 10)
    monkeypatch.setattr(walking, "SCAN", 10)
    looked: list[int] = []
    really = sql.ask

    def ask(statement: Any, parameters: dict[str, Any]) -> list[tuple[Any, ...]]:
        looked.append(len(parameters["lane_queues"]))
        return really(statement, parameters)

    monkeypatch.setattr(sql, "ask", ask)
    all_of_them = search.find(Filter(), within=every_queue(), limit=100)

    assert len(all_of_them.rows) == 100
    assert max(looked) <= 6  # lanes, of 23
    looked.clear()
    found_there = search.find(parse("queue:many.*"), within=every_queue(), limit=10)
    assert [one.message_id for one in found_there.rows] == ids[:-11:-1]
    assert (found_there.looked_at, len(looked)) == (11, 2)  # what is above is skipped


def test_what_came_back_is_found_among_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(walking, "FIRST_SCAN", 4)
    monkeypatch.setattr(walking, "SCAN", 4)
    make_queue("orders")
    make_queue("mail")
    ids = [one.message_id for one in put_many(make_messages(12))]
    ids += [one.message_id for one in put_many([NewMessage("mail", b"x")] * 3)]
    work = UnitOfWork()
    work.get("orders", 5)
    work.back_out("not now")

    whole = search.find(Filter(), within=every_queue(), limit=50)

    assert [one.message_id for one in whole.rows] == ids[::-1]
    assert sum(one.tries for one in whole.rows) == 5
    assert [pk for pk, _ in found(Filter(), limit=2)] == ids[::-1]
