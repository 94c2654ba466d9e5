"""Under the settings that held, what would have happened is what happened."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest

from broker.settlement.redelivery_policy import redelivery_delay
from dashboards.pipeline.manifest import DAY, Span
from dashboards.reports import discover, what_if
from dashboards.reports.policies import policy_replay
from dashboards.reports.policies.policy_parameters import AS_GIVEN
from dashboards.reports.policies.policy_replay import DIED, LEFT, RESCUED, Policy, Story
from tests.dashboards.failing import MESSAGES, POLICIES, make_failures
from tests.dashboards.histories import last_xid
from tests.dashboards.journal import until_final
from tests.dashboards.reports.silver_rows import death, failure, frames
from tests.dashboards.silver_tables import refreshed
from tests.make import NOON

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.long,
    pytest.mark.spark,
    pytest.mark.usefixtures("spark"),
]

ENDS = {  # of the seven messages on each queue that fail at least once
    "flat": {RESCUED: 2, DIED: 5},
    "growing": {RESCUED: 4, DIED: 3},
    "capped": {RESCUED: 5, DIED: 2},
    "at once": {RESCUED: 3, DIED: 4},
    "endless": {RESCUED: 7},
    "shrinking": {RESCUED: 6, DIED: 1},
    "spread": {RESCUED: 4, DIED: 3},
    "left": {RESCUED: 1, LEFT: 6},
}


def stories(spark: SparkSession) -> dict[str, list[Story]]:
    from dashboards.pipeline import sources  # noqa: PLC0415  loads Spark

    span = Span(NOON.date() - DAY, NOON.date() + DAY)
    inputs = {
        one: sources.silver_of(spark, one, span) for one in discover()["what-if"].inputs
    }
    found: dict[str, list[Story]] = {}
    for rows in what_if.stories(inputs, "*").toArrow().to_batches():
        stories = policy_replay.stories_in(rows)
        for queue, story in zip(rows["queue"].to_pylist(), stories, strict=True):
            found.setdefault(queue, []).append(story)
    return found


def answered(spark: SparkSession, **said: Any) -> list[dict[str, Any]]:
    from dashboards.pipeline import gold  # noqa: PLC0415  loads Spark

    as_of = datetime.combine(NOON.date(), NOON.timetz())
    rows: list[dict[str, Any]] = gold.answer(
        spark, discover()["what-if"], said, as_of
    ).to_pylist()
    return rows


def as_it_fell(story: Story, policy: Policy, attempt: int) -> float:
    """The dice of an attempt, from how long its message then waited."""
    one = story.tries[attempt - 1]
    if one.due_at is None:
        return 0
    usual, least, most = (
        redelivery_delay(policy, attempt, dice).total_seconds() * 1000
        for dice in (0, -1, 1)
    )
    waited = (one.due_at - one.ended_at) / 1000
    assert least <= waited <= most
    assert waited == int(waited)
    factor = policy.redelivery_collision_avoidance_factor
    return (waited + 0.5 - usual) / (usual * factor) if factor else 0


def test_the_settings_that_held_give_what_happened(
    committed: None, spark: SparkSession
) -> None:
    make_failures()
    until_final(last_xid())
    refreshed(spark)
    found = stories(spark)

    ends = {
        queue: Counter(policy_replay.recorded(story).end for story in told)
        for queue, told in found.items()
    }
    assert ends == ENDS
    for queue, policy in {**POLICIES, "left": Policy(9, 2000)}.items():
        for story in found[queue]:
            for hopeful in (False, True):
                again = policy_replay.replay(
                    story, policy, hopeful=hopeful, dice=as_it_fell
                )
                assert again == policy_replay.recorded(story), (queue, story)

    rows = answered(
        spark,
        queue="capp*",
        b_attempts=6,
        b_delay_ms=1000,
        b_multiplier=3,
        b_cap_ms=4000,
    )
    facts, replayed = ({**row, "policy": None} for row in rows)
    assert facts == replayed
    assert (facts["messages"], facts["rescued_least"]) == (MESSAGES - 1, 5)
    # 1, 3, 4 and 4 s, and each time held for a moment and got a moment later
    assert 12 < facts["p99"] < 20

    # Five died within 3 s; three hours later they went well. Nobody knows of between.
    more = {"queue": "flat", "a": AS_GIVEN, "a_attempts": 3, "a_multiplier": 1}
    _, longer = answered(spark, **more, b_attempts=20, b_multiplier=1)
    assert (longer["rescued_least"], longer["rescued_most"]) == (2, 7)
    assert (longer["died_least"], longer["died_most"]) == (0, 5)
    _, patient = answered(spark, **more, b_attempts=3, b_delay_ms=4 * 3600 * 1000)
    assert (patient["rescued_least"], patient["rescued_most"]) == (7, 7)
    assert patient["p50"] == pytest.approx(4 * 3600, abs=2)


def test_spark_tries_each_story_once(spark: SparkSession) -> None:
    report = discover()["what-if"]
    inputs = frames(spark, deliveries=[failure(1)], lifelines=[death(1)])
    found = report.build(inputs, report.read({}))
    plan = found._jdf.queryExecution().optimizedPlan().toString()
    assert plan.count("ArrowEvalPython") == 1
