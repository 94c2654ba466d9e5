"""How long an entry waits, and when it has waited often enough."""

from __future__ import annotations

import random
from datetime import timedelta
from statistics import mean

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from broker.settlement.redelivery_policy import (
    DeadLetter,
    Discard,
    Park,
    Redeliver,
    dispose,
    longest_delay_ms,
    redelivery_delay,
)
from tests.make import make_rule


def waits(count: int, **fields: float | None) -> list[int]:
    """The delays of the first attempts, in milliseconds, without spread."""
    rule = make_rule(**fields)
    delays = [redelivery_delay(rule, attempts, 0) for attempts in range(1, count + 1)]
    return [delay // timedelta(milliseconds=1) for delay in delays]


@pytest.mark.spec("REDEL-2", "REDEL-3")
@pytest.mark.parametrize(
    ("delay", "multiplier", "cap", "expected"),
    [
        (5000, 2.0, 15000, [5000, 10000, 15000, 15000]),
        (5000, 1.5, 50000, [5000, 7500, 11250, 16875, 25312, 37968, 50000]),
        (100, 2.0, 1000, [100, 200, 400, 800, 1000, 1000]),
        (500, 2.0, None, [500, 1000, 2000, 4000, 5000, 5000]),
        (333, 1.7, 10**9, [333, 566, 962, 1636, 2781]),
    ],
)
def test_the_manual_s_growing_delays(
    delay: int, multiplier: float, cap: int | None, expected: list[int]
) -> None:
    assert expected == waits(
        len(expected),
        redelivery_delay_ms=delay,
        redelivery_delay_multiplier=multiplier,
        max_redelivery_delay_ms=cap,
    )


@pytest.mark.spec("REDEL-3")
@pytest.mark.parametrize(
    ("spread", "expected"), [(-0.25, 875), (0.75, 1375), (-0.05, 975)]
)
def test_the_manual_s_collision_avoidance(spread: float, expected: int) -> None:
    rule = make_rule(
        redelivery_delay_ms=1000, redelivery_collision_avoidance_factor=0.5
    )
    assert redelivery_delay(rule, 1, spread) == timedelta(milliseconds=expected)


@pytest.mark.spec("REDEL-3")
@pytest.mark.parametrize("factor", [0.05, 0.5, 1.0])
@pytest.mark.parametrize("attempts", [1, 4])
def test_the_spread_is_even_and_within_its_bounds(factor: float, attempts: int) -> None:
    rule = make_rule(
        redelivery_delay_ms=1000,
        redelivery_delay_multiplier=2.0,
        redelivery_collision_avoidance_factor=factor,
        max_redelivery_delay_ms=10**6,
    )
    dice = random.Random(7)
    grown = 2.0 ** (attempts - 1)  # the spread is of the delay as it has grown

    drawn = [
        redelivery_delay(rule, attempts, dice.uniform(-1, 1)).total_seconds() / grown
        for _ in range(100_000 if factor == 0.5 else 10_000)
    ]

    width = 0.002 * factor + 0.001
    assert 1 - factor - 0.001 <= min(drawn) < 1 - factor + width
    assert 1 + factor - width < max(drawn) <= 1 + factor
    assert abs(mean(drawn) - 1) < 0.02 * factor


@pytest.mark.spec("REDEL-3")
def test_the_spread_of_one_delay_is_not_carried_into_the_next() -> None:
    rule = make_rule(
        redelivery_delay_ms=1000,
        redelivery_delay_multiplier=3.0,
        redelivery_collision_avoidance_factor=0.5,
    )
    for attempts, grown_ms in [(1, 1000), (2, 3000), (3, 9000)]:
        delay = redelivery_delay(rule, attempts, -1)
        assert delay == timedelta(milliseconds=grown_ms / 2)


@pytest.mark.spec("REDEL-3")
@pytest.mark.parametrize(
    ("cap", "spread", "expected"),
    [
        (1000, 1, 1000),  # on the cap it stays
        (1000, -0.25, 875),  # or goes down
        (400, -1, 400),  # far above it, the spread is not seen
        (400, 1, 400),
        (0, -1, 0),
    ],
)
def test_the_cap_comes_after_the_spread(cap: int, spread: float, expected: int) -> None:
    rule = make_rule(
        redelivery_delay_ms=1000,
        redelivery_collision_avoidance_factor=0.5,
        max_redelivery_delay_ms=cap,
    )
    assert redelivery_delay(rule, 1, spread) == timedelta(milliseconds=expected)


@pytest.mark.spec("REDEL-3")
@pytest.mark.parametrize("attempts", [100, 1025, 10**6, 2**31 - 1])
@pytest.mark.parametrize("factor", [0.0, 1.0])
def test_a_very_large_exponent_ends_at_the_cap(attempts: int, factor: float) -> None:
    rule = make_rule(
        redelivery_delay_ms=500,
        redelivery_delay_multiplier=2.0,
        redelivery_collision_avoidance_factor=factor,
    )
    assert redelivery_delay(rule, attempts, 0.9) == timedelta(seconds=5)


@pytest.mark.spec("REDEL-3")
@pytest.mark.parametrize("attempts", [1, 7, 10**6])
def test_without_a_delay_there_is_no_spread(attempts: int) -> None:
    rule = make_rule(
        redelivery_delay_multiplier=5.0,
        redelivery_collision_avoidance_factor=1.0,
        max_redelivery_delay_ms=99,
    )
    assert redelivery_delay(rule, attempts, 1) == timedelta(0)


@pytest.mark.spec("REDEL-3")
def test_a_multiplier_below_one_shrinks_to_nothing() -> None:
    assert waits(4, redelivery_delay_ms=100, redelivery_delay_multiplier=0.1) == [
        100,
        10,
        1,
        0,
    ]


@given(
    delay=st.integers(0, 30 * 24 * 3600 * 1000),
    multiplier=st.floats(0.1, 10),
    factor=st.floats(0, 1),
    cap=st.none() | st.integers(0, 2**63 - 1),
    attempts=st.integers(1, 100_000),
    spread=st.floats(-1, 1),
)
@example(0, 10.0, 0.0, 3_600_000, 100_000, 0.0)  # too rare to draw
@pytest.mark.spec("REDEL-3")
def test_no_wait_is_negative_or_above_its_cap(
    delay: int,
    multiplier: float,
    factor: float,
    cap: int | None,
    attempts: int,
    spread: float,
) -> None:
    rule = make_rule(
        redelivery_delay_ms=delay,
        redelivery_delay_multiplier=multiplier,
        redelivery_collision_avoidance_factor=factor,
        max_redelivery_delay_ms=cap,
    )
    wait_ms = redelivery_delay(rule, attempts, spread) / timedelta(milliseconds=1)

    assert 0 <= wait_ms <= longest_delay_ms(rule)
    assert wait_ms == int(wait_ms)
    assert delay or not wait_ms, "without a delay there is no wait"


@pytest.mark.parametrize(("attempts", "spread"), [(0, 0), (1, 1.5), (1, -2)])
def test_counts_and_dice_out_of_range_are_mistakes(
    attempts: int, spread: float
) -> None:
    with pytest.raises(ValueError, match="must be"):
        redelivery_delay(make_rule(), attempts, spread)


@pytest.mark.spec("DLA-1", "DLA-2")
def test_a_limit_of_three_gives_three_deliveries() -> None:
    rule = make_rule(max_delivery_attempts=3, dead_letter_address="DLA")

    outcomes = [dispose(rule, attempts, 0, address="orders") for attempts in (1, 2, 3)]

    again = Redeliver(timedelta(0))
    assert outcomes == [again, again, DeadLetter("DLA")]


@pytest.mark.spec("DLA-1")
@pytest.mark.parametrize("limit", [-1, 0])
def test_without_a_limit_it_is_redelivered_for_ever(limit: int) -> None:
    rule = make_rule(max_delivery_attempts=limit, dead_letter_address="DLA")
    assert dispose(rule, 10_000, 0, address="orders") == Redeliver(timedelta(0))


@pytest.mark.spec("DLA-3")
def test_without_a_dead_letter_address_it_is_discarded() -> None:
    rule = make_rule(max_delivery_attempts=1)
    assert dispose(rule, 1, 0, address="orders") == Discard()


@pytest.mark.spec("DLA-8")
def test_a_dead_letter_address_never_feeds_itself() -> None:
    rule = make_rule(max_delivery_attempts=1, dead_letter_address="DLA")
    assert dispose(rule, 5, 0, address="DLA") == Park(timedelta(seconds=60))
    rule = make_rule(
        max_delivery_attempts=1,
        dead_letter_address="DLA",
        redelivery_delay_ms=10,
        max_redelivery_delay_ms=90_000,
    )
    assert dispose(rule, 5, 0, address="DLA") == Park(timedelta(seconds=90))
