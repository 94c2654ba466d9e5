"""Steps of operations are short, and rest, while others work; alone, they are long."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker import operations
from broker.housekeeping import pacing
from broker.housekeeping.pacing import ALONE_S, BESIDE_S, FEWEST, MOST, OWN, RESTS
from broker.housekeeping.pacing import Reading as Read
from broker.models import Operation
from broker.operations.lifecycle import BATCH
from broker.queueing.put import put
from tests.broker.dying import make_dead_letters, on, plan
from tests.make import make_queue


@pytest.mark.parametrize(
    ("writes", "seconds", "lively"),
    [
        (0, 0.1, False),
        (OWN, 0.01, False),  # those of the step itself
        (OWN + 2, 0.1, False),  # the housekeeping of an idle broker
        (OWN + 3, 0.1, True),
        (40, 0.1, True),
        (OWN + 20, 1, False),
        (OWN + 21, 1, True),
    ],
)
def test_others_are_at_work_if_they_write_often(
    writes: int, seconds: float, *, lively: bool
) -> None:
    assert pacing.is_lively(Read(1000, 0), Read(1000 + writes, seconds)) is lively


@pytest.mark.parametrize(
    ("items", "took_s", "lively", "following"),
    [
        (500, 0.04, True, 250),
        (500, 0.04, False, 1000),  # twice as many, at most
        (500, 0.1, False, 500),
        (2000, 0.2, False, 1000),
        (2000, 2.0, False, BATCH),
        (2000, 0.05, False, MOST),
        (200, 5.0, True, FEWEST),  # it waited for a lock
        (600, 0.0, False, 1200),
    ],
)
def test_a_step_fits_its_time(
    items: int, took_s: float, following: int, *, lively: bool
) -> None:
    assert pacing.items_of_next(items, took_s, lively=lively) == following


@given(item_us=st.integers(10, 200), fixed_ms=st.integers(1, 8), lively=st.booleans())
def test_steps_come_to_their_length_whatever_an_item_costs(
    item_us: int, fixed_ms: int, *, lively: bool
) -> None:
    items, took_s = FEWEST, 0.0
    for _ in range(20):
        took_s = fixed_ms / 1e3 + items * item_us / 1e6
        items = pacing.items_of_next(items, took_s, lively=lively)

    length_s, fewest = (BESIDE_S, FEWEST) if lively else (ALONE_S, BATCH)
    if fewest < items < MOST:
        assert took_s == pytest.approx(length_s, rel=0.05)
    else:
        assert (took_s > length_s) is (items == fewest)


def test_it_rests_beside_others_alone_and_not_for_long() -> None:
    assert pacing.rest_s(0.02, lively=False) == 0
    assert pacing.rest_s(0.02, lively=True) == RESTS * 0.02
    assert pacing.rest_s(60, lively=True) == RESTS * ALONE_S


@dataclass
class Clock:
    """A clock that passes only when somebody rests, or a step is made."""

    now_s: float = 0.0
    rested_s: float = 0.0

    def monotonic(self) -> float:
        self.now_s += BESIDE_S
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds
        self.rested_s += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(pacing, "time", found)
    return found


@pytest.mark.usefixtures("transactional_db")
def test_alone_it_does_not_rest_and_its_steps_grow(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pacing, "is_lively", lambda *_: False)
    died = make_dead_letters(1000)
    planned = plan()
    operations.start(planned.pk, limit=1)

    done = list(pacing.steps(planned.pk))

    assert done == [200, 500, 299]
    assert len(on("orders")) == len(died)
    assert clock.rested_s == 0


@pytest.mark.usefixtures("transactional_db")
def test_while_others_put_it_rests_and_its_steps_do_not_grow(clock: Clock) -> None:
    make_queue("other")
    make_dead_letters(500)
    planned = plan()
    operations.start(planned.pk, limit=1)
    pacer = pacing.Pacer()

    done: list[int] = []
    while not done or done[-1]:
        for _ in range(20):
            put("other")
        done.append(pacer.step(planned.pk))

    assert pacer.lively
    assert done == [200, 200, 99, 0]
    assert clock.rested_s == pytest.approx(3 * RESTS * BESIDE_S)
    assert Operation.objects.get(pk=planned.pk).state == Operation.State.DONE
