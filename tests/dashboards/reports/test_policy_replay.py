"""What is known of an attempt that nobody made, and what follows from it."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pyarrow as pa
import pytest
from django.conf import settings
from hypothesis import given
from hypothesis import strategies as st

from dashboards.reports import what_if
from dashboards.reports.policies.policy_replay import (
    DIED,
    FOR_EVER,
    LEFT,
    MOST,
    RESCUED,
    Policy,
    SimulatedOutcome,
    Story,
    Try,
    bounds,
    recorded,
    replay,
    stories_in,
    story_of,
)

S = 1_000_000
FAILED: dict[str, Any] = {"outcome": "backed out", "failed": True, "cause": None}
DEAD: dict[str, Any] = {
    "outcome": "dead-lettered",
    "failed": True,
    "cause": "MAX_DELIVERY_ATTEMPTS",
}
WELL: dict[str, Any] = {"outcome": "accepted", "failed": False, "cause": None}

APART = """
import sys
from dashboards.reports import what_if
from dashboards.reports.policies import policy_replay
from django.conf import settings
heavy = [one for one in ("pyspark", "pyarrow") if one in sys.modules]
print(settings.configured, heavy)
"""


def make_try(at_s: float, *, due_s: float | None = None, **how: Any) -> Try:
    """A delivery that was held for a second."""
    at = round(at_s * S)
    due = None if due_s is None else round(due_s * S)
    return Try(at, at + S, due_at=due, **how)


def make_story(*tries: Try, well_s: float | None = None) -> Story:
    """What is known of it; a resubmitted copy went well then, if it says so."""
    failures = [one.got_at for one in tries if one.failed]
    well = next((one.got_at for one in tries if not one.failed), None)
    return Story(
        1,
        tries,
        failures[-1],
        well if well_s is None else round(well_s * S),
        usual_took=S,
        usual_lag=0,
    )


# Got at 0, 11 and 22: failed, failed, dead. At 100 s its copy went well.
DIED_TWICE_LATER = make_story(
    make_try(0, due_s=11, **FAILED),
    make_try(11, due_s=22, **FAILED),
    make_try(22, **DEAD),
    well_s=100,
)


@pytest.mark.parametrize(
    ("policy", "least", "most"),
    [
        # as it was
        (Policy(3, 10_000), (DIED, 3), (DIED, 3)),
        (Policy(1, 10_000), (DIED, 1), (DIED, 1)),
        # one attempt more, at 33 s: nobody knows
        (Policy(4, 10_000), (DIED, 4), (RESCUED, 4)),
        # often enough to get past 100 s; after 22 s nobody knows
        (Policy(20, 10_000), (RESCUED, 11), (RESCUED, 4)),
        # the second attempt begins at 100 s
        (Policy(2, 99_000), (RESCUED, 2), (RESCUED, 2)),
        # and at 51 s: nobody knows
        (Policy(2, 50_000), (DIED, 2), (RESCUED, 2)),
        # without a delay all are known to fail
        (Policy(10, 0), (DIED, 10), (DIED, 10)),
        (Policy(-1, 10_000), (RESCUED, 11), (RESCUED, 4)),
    ],
)
def test_what_other_policies_would_have_come_to(
    policy: Policy, least: tuple[str, int], most: tuple[str, int]
) -> None:
    found = [replay(DIED_TWICE_LATER, policy, hopeful=one) for one in (False, True)]
    assert [(one.end, one.attempts) for one in found] == [least, most]


def test_what_is_held_in_vain_and_how_much_later() -> None:
    outcome = replay(DIED_TWICE_LATER, Policy(2, 99_000), hopeful=False)
    assert outcome == SimulatedOutcome(RESCUED, 2, 100 * S, 1 * S)
    assert recorded(DIED_TWICE_LATER) == SimulatedOutcome(DIED, 3, 22 * S, 3 * S)


def test_no_policy_saves_what_was_rejected() -> None:
    story = make_story(
        make_try(0, due_s=6, **FAILED), make_try(6, **DEAD | {"cause": "REJECTED"})
    )
    assert replay(story, Policy(100, 60_000), hopeful=True) == SimulatedOutcome(
        DIED, 2, 61 * S, 2 * S
    )


def test_without_end_and_without_success_it_goes_on() -> None:
    story = make_story(make_try(0, **FAILED))
    assert replay(story, Policy(0, 60_000), hopeful=False).end == LEFT
    assert replay(story, Policy(0, 0), hopeful=False).attempts == 1
    always = make_story(make_try(0, due_s=9e6, **FAILED), make_try(9e6, **FAILED))
    found = replay(always, Policy(0, 1), hopeful=True)
    assert (found.end, found.attempts) == (LEFT, MOST)


def seen(at_s: int, how: dict[str, Any], **more: Any) -> Try:
    common = {"message_id": 1, "stay": 10, "due_at": None}
    return Try(at_s * S, (at_s + 1) * S, **common | how | more)


def test_a_story_begins_with_its_first_failure() -> None:
    tries = [
        seen(0, WELL, message_id=0, stay=2),
        seen(10, FAILED, due_at=20 * S),
        seen(20, DEAD),
        seen(50, FAILED, message_id=7, stay=99),
        seen(70, WELL, message_id=7, stay=99),
    ]
    story = story_of(tries, 21 * S, usual_took=S, usual_lag=0)
    assert story.tries == tries[1:3]
    assert (story.fails_through, story.succeeds_from) == (50 * S, 70 * S)
    assert story.until == FOR_EVER


def test_stories_are_read_from_columns() -> None:
    tries = [[seen(0, FAILED), seen(9, WELL)], [seen(3, DEAD, message_id=2, stay=4)]]
    rows = [
        {"tries": [one._asdict() for one in told], "stay_ended_at": 99 * S,
         "usual_took": S, "usual_lag": 7}
        for told in tries
    ]  # fmt: skip
    for first in range(2):  # a slice begins within the columns
        batch = pa.RecordBatch.from_pylist(rows).slice(first)
        expected = [story_of(told, 99 * S, S, 7) for told in tries[first:]]
        assert list(stories_in(batch)) == expected


def test_each_story_has_an_outcome_under_each_policy() -> None:
    tries = [one._asdict() for one in (seen(0, DEAD), seen(99, WELL, stay=7))]
    story = {"tries": tries, "stay_ended_at": 99, "usual_took": S, "usual_lag": 7}
    stories = pa.array([story, story])
    policies = {"A": None, "B": Policy(3, 1000)}
    found = what_if.simulate_outcomes(stories, policies).to_pylist()
    assert [one["policy"] for one in found[1]] == ["A", "B", "B"]
    assert [one["most"] for one in found[0]] == [True, False, True]
    assert [one["end"] for one in found[0]] == [DIED, DIED, RESCUED]
    assert found[0][0] == {
        "policy": "A", "least": True, "most": True, "end": DIED, "attempts": 1,
        "later_us": 0, "failing_us": S,
    }  # fmt: skip
    assert what_if.simulate_outcomes(stories[:0], policies).to_pylist() == []


@pytest.mark.parametrize(
    ("due_s", "ended_s", "until_s"), [(20, 30, 20), (20, 15, 15), (20, None, 20)]
)
def test_nobody_gets_what_is_gone_or_was_left_lying(
    due_s: int, ended_s: int | None, until_s: int
) -> None:
    ended_at = None if ended_s is None else ended_s * S
    tries = [seen(0, FAILED, due_at=due_s * S)]
    story = story_of(tries, ended_at, usual_took=S, usual_lag=0)
    assert story.until == until_s * S
    real = Policy(5, (due_s - 1) * 1000)
    for hopeful in (False, True):
        assert replay(story, real, hopeful=hopeful) == recorded(story)


policies = st.builds(
    Policy,
    st.integers(-1, 12),
    st.sampled_from([0, 1, 700, 5_000, 60_000]),
    st.sampled_from([0.5, 1.0, 2.0]),
    st.sampled_from([0.0, 0.5, 1.0]),
    st.none() | st.integers(0, 10**6),
)


@given(policy=policies, well_s=st.none() | st.integers(23, 10_000))
def test_the_least_is_within_the_most(policy: Policy, well_s: int | None) -> None:
    story = make_story(*DIED_TWICE_LATER.tries, well_s=well_s)
    least, most = (replay(story, policy, hopeful=one) for one in (False, True))
    assert least.end != RESCUED or most.end == RESCUED
    assert most.end != DIED or least.end == DIED
    assert most.attempts <= least.attempts or least.end == LEFT
    assert replay(story, policy, hopeful=False) == least, "the dice fall as before"
    assert bounds(story, policy) == (least, most)


def test_executors_need_no_settings() -> None:
    told = subprocess.run(
        [sys.executable, "-c", APART],
        capture_output=True,
        text=True,
        check=True,
        cwd=settings.BASE_DIR,
        env={},
    )
    assert told.stdout.split(maxsplit=1) == ["False", "[]\n"]
