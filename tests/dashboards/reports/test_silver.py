"""Silver says of each message what the broker's own life-line says of it."""

from __future__ import annotations

from contextlib import nullcontext
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from broker.journal import LifelineEvent, events_of
from broker.models import Kind, Place
from dashboards.reports import bronze, manifest
from tests.dashboards.reports.histories import make_history, messages
from tests.make import NOON

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

DAY = timedelta(days=1)
FAILED = {Kind.BACK_OUT, Kind.DEAD_LETTER, Kind.DISCARD}
Row = dict[str, Any]


def refreshed(spark: SparkSession, run_id: int = 1) -> int:
    from dashboards.reports import days  # noqa: PLC0415  loads Spark

    as_of = bronze.export(lambda _: None)
    return days.bring_up_to_date(spark, run_id, as_of, lambda *_: nullcontext())


def rows(spark: SparkSession, table: str, day: date | None = None) -> list[Row]:
    from dashboards.reports import sources  # noqa: PLC0415  loads Spark

    span = manifest.Span(day, day) if day else manifest.Span(date.min, date.max)
    found: list[Row] = sources.silver_of(spark, table, span).toArrow().to_pylist()
    return found


def stays_of(events: list[LifelineEvent]) -> list[list[LifelineEvent]]:
    """The events of one message, by stay: from nowhere to nowhere on one queue."""
    stays: list[list[LifelineEvent]] = []
    current: dict[int, list[LifelineEvent]] = {}
    for event in events:
        if event.came_from is None:
            current[event.queue_id] = []
            stays.append(current[event.queue_id])
        current[event.queue_id].append(event)
    return stays


def us(later: datetime, earlier: datetime) -> int:
    return (later - earlier) // timedelta(microseconds=1)


def told(stay: list[LifelineEvent]) -> Row:
    """A stay as silver has it, from the broker's own words."""
    spent = dict.fromkeys(Place, 0)
    for event, following in pairwise(stay):
        assert event.went_to
        spent[event.went_to] += us(following.at, event.at)
    first, last = stay[0], stay[-1]
    ends = [one for one in stay if is_end(one)]
    return {
        "message_id": first.message_id,
        "queue_id": first.queue_id,
        "stay": first.seq,
        "began": first.kind.label,
        "put_at": first.at,
        "first_got_at": min((e.at for e in stay if e.kind == Kind.GET), default=None),
        "deliveries": len(ends) + (last.went_to == Place.CLAIMED),
        "failed": sum(one.kind in FAILED for one in ends),
        "waited_us": spent[Place.READY],
        "held_us": spent[Place.CLAIMED],
        "delayed_us": spent[Place.DELAYED],
    }


def is_end(event: LifelineEvent) -> bool:
    """Whether an event ended a delivery. Where its get is lost, the entry is ready."""
    unseen = event.kind == Kind.BACK_OUT and event.came_from == Place.READY
    return unseen or (
        event.came_from == Place.CLAIMED and event.went_to != Place.CLAIMED
    )


def ended(stay: list[LifelineEvent]) -> Row:
    last = stay[-1]
    return told(stay) | {
        "ended_at": last.at,
        "ended": last.kind.label,
        "became": last.detail.get("copy"),
        "error": last.detail.get("error"),
        "day": last.at.astimezone(UTC).date(),
    }


def deliveries_of(stay: list[LifelineEvent]) -> list[Row]:
    found, got, attempt = [], None, 0
    for event in stay:
        if event.kind == Kind.GET:
            got = event
        if is_end(event):
            attempt += 1
            found.append(
                {
                    "message_id": event.message_id,
                    "queue_id": event.queue_id,
                    "stay": stay[0].seq,
                    "attempt": attempt,
                    "got_at": got and got.at,
                    "ended_at": event.at,
                    "outcome": event.kind.label,
                    "failed": event.kind in FAILED,
                    "handler": (got or event).actor,
                    "uow": event.uow or (got and got.uow),
                    "day": event.at.astimezone(UTC).date(),
                }
            )
            got = None
    return found


def alike(found: list[Row], expected: list[Row]) -> None:
    """The same rows, as far as the expected ones say, in no order."""
    names = list(expected[0])
    shown = [{name: row[name] for name in names} for row in found]
    assert sorted(shown, key=place_of) == sorted(expected, key=place_of)


def place_of(row: Row) -> list[int]:
    return [row[name] for name in ("queue_id", "message_id", "stay")] + [
        row.get("attempt", 0)
    ]


def test_silver_is_what_the_life_lines_say(
    committed: None, spark: SparkSession
) -> None:
    make_history()
    stays = [one for message in messages() for one in stays_of(events_of(message))]

    assert refreshed(spark) == 2

    over = [stay for stay in stays if stay[-1].went_to is None]
    alike(rows(spark, "lifelines"), [ended(stay) for stay in over])
    going_on = [told(stay) for stay in stays if stay[-1].went_to is not None]
    alike(rows(spark, "open", (NOON + DAY).date()), going_on)
    alike(
        rows(spark, "deliveries"),
        [one for stay in stays for one in deliveries_of(stay)],
    )
