"""Silver says of each message what the broker's own timeline says of it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from django.db.models import Sum

from broker.models import Event, Kind, Place
from broker.queueing.journal import LifelineEvent, events_of
from dashboards.pipeline.manifest import Span
from dashboards.reports import discover
from tests.dashboards.histories import make_history, messages
from tests.dashboards.silver_tables import Row, place_of, refreshed, rows
from tests.make import NOON

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

DAY = timedelta(days=1)
FAILED = {Kind.BACK_OUT, Kind.DEAD_LETTER, Kind.DISCARD}


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


@pytest.mark.thorough
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
    parents = {
        copy: (stay[0].message_id, stay[0].queue_id)
        for stay in over
        if (copy := stay[-1].detail.get("copy"))
    }
    for row in rows(spark, "lifelines") + rows(spark, "open", (NOON + DAY).date()):
        came_from = (row["parent_message_id"], row["parent_queue_id"])
        put = row["began"] == "put"
        assert not put or came_from == parents.get(row["message_id"], (None, None))
    due = [row["next_due_at"] for row in rows(spark, "deliveries") if row["failed"]]
    assert NOON + 2 * timedelta(minutes=1) in due
    check_throughput(spark)


def check_throughput(spark: SparkSession) -> None:
    """The report adds up to what the journal has."""
    from dashboards.pipeline import gold  # noqa: PLC0415  loads Spark

    about = discover()["throughput"]
    both = Span(NOON.date(), (NOON + DAY).date())
    found = gold.count(spark, about, both, {}).to_pylist()
    for column, kind in (
        ("put", Kind.PUT),
        ("got", Kind.GET),
        ("accepted", Kind.ACCEPT),
        ("backed_out", Kind.BACK_OUT),
        ("dead_lettered", Kind.DEAD_LETTER),
    ):
        entries = Event.objects.filter(kind=kind).aggregate(n=Sum("n"))["n"]
        assert sum(row[column] for row in found) == entries, column
