"""What waits before a message whose every delivery fails."""

from __future__ import annotations

import random
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.models import AddressSetting
from broker.settlement.redelivery_policy import Redeliver, dispose
from broker.settlement.redelivery_schedule import NOTHING, Span, staircase
from tests.make import make_rule

RULES = st.builds(
    make_rule,
    max_delivery_attempts=st.integers(-1, 40),
    redelivery_delay_ms=st.integers(0, 10_000),
    redelivery_delay_multiplier=st.sampled_from([0.5, 1.0, 1.5, 2.0, 10.0]),
    redelivery_collision_avoidance_factor=st.floats(0, 1),
    max_redelivery_delay_ms=st.none() | st.integers(0, 100_000),
)


def ms(count: float) -> timedelta:
    return timedelta(milliseconds=count)


@pytest.mark.spec("REDEL-3", "DLA-2")
def test_five_deliveries_have_four_waits_and_then_the_end() -> None:
    rule = make_rule(
        max_delivery_attempts=5,
        redelivery_delay_ms=5000,
        redelivery_delay_multiplier=2.0,
        max_redelivery_delay_ms=15_000,
    )

    found = staircase(rule)

    assert [step.wait.usual for step in found.steps] == [
        *map(ms, [5000, 10_000, 15_000, 15_000])
    ]
    assert [step.total.usual for step in found.steps] == [
        *map(ms, [5000, 15_000, 30_000, 45_000])
    ]
    assert (found.limit, found.left) == (5, 0)
    assert found.total == found.steps[-1].total
    assert not found.steps[0].wait.is_spread


@pytest.mark.spec("REDEL-3")
def test_a_step_says_how_far_collision_avoidance_may_move_it() -> None:
    rule = make_rule(
        redelivery_delay_ms=1000,
        redelivery_delay_multiplier=2.0,
        redelivery_collision_avoidance_factor=0.5,
        max_redelivery_delay_ms=3000,
    )

    first, second, third, fourth = staircase(rule).steps[:4]

    assert first.wait == Span(ms(500), ms(1000), ms(1500))
    assert second.wait == Span(ms(1000), ms(2000), ms(3000))
    assert third.wait == Span(ms(2000), ms(3000), ms(3000)), "the cap comes last"
    assert fourth.wait == Span(ms(3000), ms(3000), ms(3000))
    assert second.total == Span(ms(1500), ms(3000), ms(4500))


@pytest.mark.spec("DLA-1")
@pytest.mark.parametrize("attempts", [-1, 0])
def test_without_a_limit_twelve_steps_are_shown_and_then_always_the_cap(
    attempts: int,
) -> None:
    rule = make_rule(
        max_delivery_attempts=attempts,
        redelivery_delay_ms=100,
        redelivery_delay_multiplier=2.0,
    )

    found = staircase(rule)

    assert len(found.steps) == 12
    assert (found.limit, found.left, found.total) == (None, None, None)
    assert found.stays_at == ms(1000)


@pytest.mark.parametrize(
    ("fields", "stays_at"),
    [
        ({"redelivery_delay_ms": 0}, ms(0)),
        ({"redelivery_delay_ms": 70}, ms(70)),
        (
            {"redelivery_delay_ms": 70, "redelivery_collision_avoidance_factor": 0.1},
            ms(70),
        ),
        ({"redelivery_delay_ms": 9, "redelivery_delay_multiplier": 0.5}, ms(0)),
        (
            {
                "redelivery_delay_ms": 9,
                "redelivery_delay_multiplier": 2.0,
                "max_redelivery_delay_ms": 10**9,
            },
            None,
        ),
    ],
)
def test_what_later_waits_come_to(
    fields: dict[str, float], stays_at: timedelta | None
) -> None:
    assert staircase(make_rule(max_delivery_attempts=-1, **fields)).stays_at == stays_at


def test_a_wait_that_its_spread_keeps_from_the_cap_is_not_the_last_word() -> None:
    rule = make_rule(
        max_delivery_attempts=-1,
        redelivery_delay_ms=1000,
        redelivery_delay_multiplier=2.0,
        redelivery_collision_avoidance_factor=0.5,
        max_redelivery_delay_ms=3000,
    )

    assert staircase(rule, most=2).stays_at is None
    assert staircase(rule, most=3).stays_at == ms(3000)


def test_many_steps_are_added_up_and_most_are_not_shown() -> None:
    rule = make_rule(max_delivery_attempts=2**31 - 1, redelivery_delay_ms=10)

    found = staircase(rule)

    assert found.left == 2**31 - 2 - 12
    assert found.total is not None
    assert found.total.usual == ms(10) * (2**31 - 2)


def test_one_delivery_has_no_wait() -> None:
    found = staircase(make_rule(max_delivery_attempts=1, redelivery_delay_ms=10))

    assert (list(found.steps), found.limit, found.total) == ([], 1, NOTHING)
    assert found.is_flat


@pytest.mark.spec("REDEL-3")
@given(rule=RULES, dice=st.randoms(use_true_random=False))
def test_what_really_waits_is_on_the_stairs(
    rule: AddressSetting, dice: random.Random
) -> None:
    found = staircase(rule, most=50)
    waited = timedelta(0)

    for step in found.steps:
        outcome = dispose(rule, step.attempt, dice.uniform(-1, 1), address="orders")
        assert isinstance(outcome, Redeliver)
        waited += outcome.after
        assert step.wait.shortest <= outcome.after <= step.wait.longest
        assert step.total.shortest <= waited <= step.total.longest

    if found.limit is not None:
        end = dispose(rule, found.limit, 0, address="orders")
        assert not isinstance(end, Redeliver)
        assert len(found.steps) == found.limit - 1
    else:
        assert len(found.steps) == 50
