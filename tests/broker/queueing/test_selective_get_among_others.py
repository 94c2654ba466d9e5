"""Gets by selector while other transactions put, hold and give back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from broker.models import Queue
from broker.queueing.put import NewMessage, put_many
from broker.queueing.selective_get import Search
from broker.transactions.scope import UnitOfWork, unit_of_work
from tests.broker.elsewhere import Elsewhere
from tests.broker.searching import (
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

pytestmark = pytest.mark.usefixtures("transactional_db")
__all__ = ["eager", "orders"]  # fixtures


def test_what_another_holds_is_skipped_and_found_if_it_lets_go(
    orders: Queue, elsewhere: Elsewhere
) -> None:
    put_some(30, red={5, 15, 25})
    settle_all()
    elsewhere.begin()
    assert numbers(elsewhere(take, UnitOfWork(), Search("orders", RED))) == [5]
    search = Search("orders", RED)
    assert got(search) == [15]
    assert got(search, 5) == [25]
    assert got(search) == []
    elsewhere.roll_back()

    assert got(search) == [5]


def test_many_that_others_hold_do_not_hide_one_that_is_free(
    orders: Queue, elsewhere: Elsewhere
) -> None:
    put_some(100, red=set(range(1, 101)))
    elsewhere.begin()
    elsewhere(take, UnitOfWork(), Search("orders", RED), 99)

    assert got(Search("orders", RED)) == [100]
    elsewhere.roll_back()


def test_a_message_whose_sender_commits_late_is_not_skipped(
    orders: Queue, elsewhere: Elsewhere
) -> None:
    search = Search("orders", RED)
    elsewhere.begin()
    elsewhere(put_many, [message(0, "red")])
    put_some(30, red={10})
    assert got(search, 5) == [10]
    assert got(search) == []
    elsewhere.commit()

    assert got(search) == [0]


class Game:
    """One consumer that searches, while others put, hold and give back."""

    def __init__(self, elsewhere: Elsewhere) -> None:
        self.elsewhere = elsewhere
        self.search = Search("orders", RED)
        self.number = 0
        self.waiting: set[int] = set()  # red, and there for all to see
        self.coming: set[int] = set()
        self.held: UnitOfWork | None = None
        self.holding: set[int] = set()

    def new(self, colour: str) -> tuple[NewMessage, set[int]]:
        self.number += 1
        one = message(self.number, colour, priority=self.number % 3)
        return one, {self.number} if colour == "red" else set()

    def put_elsewhere(self, colour: str) -> None:
        if self.elsewhere.transaction is None:
            self.elsewhere.begin()
        one, red = self.new(colour)
        self.elsewhere(put_many, [one])
        self.coming |= red

    def end_elsewhere(self, colour: str) -> None:
        if self.elsewhere.transaction is not None:
            if colour == "red":
                self.elsewhere.commit()
                self.waiting |= self.coming
            else:
                self.elsewhere.roll_back()
            self.coming = set()

    def put(self, colour: str) -> None:
        one, red = self.new(colour)
        put_many([one])
        self.waiting |= red

    def hold(self, _: str) -> None:
        if self.held is None:
            self.held = UnitOfWork()
            self.holding = set(got(self.search, 1, self.held))
            assert self.holding <= self.waiting
            assert bool(self.holding) == bool(self.waiting)
            self.waiting -= self.holding

    def back_out(self, _: str) -> None:
        if self.held is not None:
            self.held.back_out("again")
            self.waiting |= self.holding
            self.held = None

    def get(self, _: str) -> None:
        assert set(got(self.search, 100)) == self.waiting
        self.waiting = set()


MOVES: list[Any] = [Game.put_elsewhere, Game.end_elsewhere, Game.put]
MOVES += [Game.hold, Game.back_out, Game.get]
STEPS = st.lists(
    st.tuples(st.sampled_from(MOVES), st.sampled_from(["red", "blue"])),
    min_size=5,
    max_size=40,
)


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(steps=STEPS)
def test_however_others_interleave_nothing_that_matches_is_missed(
    orders: Queue, elsewhere: Elsewhere, steps: list[tuple[Any, str]]
) -> None:
    game = Game(elsewhere)
    ending = [(Game.end_elsewhere, "red"), (Game.back_out, ""), (Game.get, "")]
    for step, colour in [*steps, *ending]:
        step(game, colour)

    with unit_of_work() as work:
        work.get("orders", 1000)
