"""What links carried: from the journal to silver, and on to the rows of the report."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

import pytest

from broker.bridges.books import Outcome, TransferEntry
from broker.models import Queue
from broker.queueing.put import put, put_many
from dashboards.pipeline.manifest import current
from dashboards.reports import bridge_transfers
from dashboards.reports.errors import QualityBroken
from tests.broker.bridges.carrying import LINK, bring, carry, old, take, tell
from tests.dashboards.files import place
from tests.dashboards.histories import last_xid
from tests.dashboards.journal import until_final
from tests.dashboards.reports.silver_rows import (
    DAY,
    TODAY,
    TOMORROW,
    Row,
    built,
    check,
    frames,
    require,
)
from tests.dashboards.silver_tables import refreshed, rows
from tests.make import NOON, make_messages, make_queue, seconds

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.thorough]
NO_FAILURES = (0,) * 5


def passed(outcome: str, **fields: Any) -> Row:
    """One that a link carried from "orders", and that counts, if nothing is said."""
    row: Row = {
        "day": TODAY,
        "at": NOON,
        "message_id": 1,
        "queue": "orders",
        "link": LINK,
        "role": "source",
        "counted": True,
        "outcome": outcome,
        "transformed": False,
    }
    return row | fields


def test_each_message_is_counted_once_by_its_outcome(spark: SparkSession) -> None:
    inputs = frames(
        spark,
        transfers=[
            passed("TRANSFERRED", latency_ms=10),
            passed("TRANSFERRED", latency_ms=30, transformed=True),
            passed("BRANCHED", latency_ms=20, transformed=True),
            passed("MESSAGE_EXPIRED", latency_ms=9_000),
            passed("NOT_TRANSFERRED"),
            passed("TRANSFORMER_FAILURE"),
            passed("SEND_FAILURE"),
            passed("SEND_FAILURE"),
            passed("ACK_FAILURE"),
            passed("COMMIT_FAILURE"),
            passed("DUPLICATE"),
            passed("LOOPED"),
            passed("TRANSFERRED", role="target", queue="shipped", counted=False),
            passed("TRANSFERRED", day=TOMORROW),
            passed("TRANSFERRED", link="shop/in", queue="shipped", role="target"),
        ],
    )

    found = built("bridge-transfers", inputs)

    one = (1, 0, 0, 0, 0, *NO_FAILURES, 0, 0, None, None)
    failures = (5, 1, 2, 1, 1)
    require(
        "bridge-transfers",
        found,
        [
            (TODAY, LINK, "orders", 2, 1, 2, 1, 1, *failures, 1, 1, 20.0, 29.8),
            (TOMORROW, LINK, "orders", *one),
            (TODAY, "shop/in", "shipped", *one),
        ],
    )
    with pytest.raises(QualityBroken, match="every message has one outcome"):
        check("bridge-transfers", inputs, found.toArrow().slice(1))


def test_an_outcome_that_the_report_does_not_know_is_noticed(
    spark: SparkSession,
) -> None:
    inputs = frames(spark, transfers=[passed("SOMETHING_NEW")])
    with pytest.raises(QualityBroken, match="every message has one outcome"):
        built("bridge-transfers", inputs)


def test_the_report_knows_every_outcome() -> None:
    assert {*bridge_transfers.OUTCOMES.values()} == {one.value for one in Outcome}


@pytest.fixture
def shipped(orders: Queue) -> Queue:
    return make_queue("shipped")


def test_silver_has_a_row_for_each_message_and_event(
    orders: Queue, shipped: Queue, spark: SparkSession
) -> None:
    put_many(make_messages(3), now=NOON)
    (first, copy), _ = carry(limit=2, now=NOON + seconds(1), transformed=True)
    (far,) = take(now=NOON + seconds(2), outcome=Outcome.MESSAGE_EXPIRED)
    brought = bring(now=NOON + DAY, link="shop/in")
    until_final(last_xid())

    assert refreshed(spark) == 2

    found = rows_of(spark)
    assert [(row["message_id"], row["role"]) for row in found] == [
        (first, "source"), (first + 1, "source"), (far, "source"),
        (copy, "target"), (copy + 1, "target"), (brought, "target"),
    ]  # fmt: skip
    assert found[0] == {
        "day": TODAY,
        "at": NOON + seconds(1),
        "message_id": first,
        "queue_id": orders.pk,
        "queue": "orders",
        "link": LINK,
        "role": "source",
        "counted": True,
        "outcome": "TRANSFERRED",
        "other": f"ID:shipped-{first}",
        "latency_ms": 250,
        "transformed": True,
        "copy": copy,
    }
    assert (found[2]["outcome"], found[2]["copy"]) == ("MESSAGE_EXPIRED", None)
    assert (found[3]["other"], found[3]["counted"]) == (old(first), False)
    assert (found[5]["day"], found[5]["link"]) == (TOMORROW, "shop/in")


def rows_of(spark: SparkSession) -> list[Row]:
    from dashboards.pipeline import manifest, sources  # noqa: PLC0415  loads Spark

    span = manifest.Span(date.min, date.max)
    found = sources.silver_of(spark, "transfers", span).toArrow().to_pylist()
    return sorted(found, key=lambda row: (row["queue_id"], row["message_id"]))


def test_deliveries_and_stays_are_as_if_no_link_had_told(
    orders: Queue, shipped: Queue, spark: SparkSession
) -> None:
    put("orders", now=NOON)
    [(source, copy)] = carry(now=NOON + seconds(5))
    until_final(last_xid())

    refreshed(spark)

    (stay,) = rows(spark, "lifelines")
    assert (stay["message_id"], stay["ended"]) == (source, "accepted")
    assert (stay["deliveries"], stay["waited_us"]) == (1, 5_000_000)
    assert stay["became"] is None
    (going_on,) = rows(spark, "open")
    assert (going_on["message_id"], going_on["place"]) == (copy, "ready")
    assert going_on["since"] == NOON + seconds(5)
    assert going_on["parent_message_id"] is None
    (delivery,) = rows(spark, "deliveries")
    assert (delivery["outcome"], delivery["handler"]) == ("accepted", f"link {LINK}")


def test_a_day_without_links_has_no_file_of_theirs_and_a_lost_one_is_made_again(
    orders: Queue, shipped: Queue, spark: SparkSession
) -> None:
    put("orders", now=NOON)
    until_final(last_xid())
    assert refreshed(spark) == 1
    assert not current("transfers").exists()

    entries = [TransferEntry(orders.pk, 1, Outcome.LOOPED)]
    tell(entries, "source", now=NOON + seconds(1))
    until_final(last_xid())
    assert refreshed(spark) == 1
    before = rows_of(spark)
    assert [row["outcome"] for row in before] == ["LOOPED"]

    place(current("transfers").get()).unlink()
    assert refreshed(spark) == 1
    assert rows_of(spark) == before
