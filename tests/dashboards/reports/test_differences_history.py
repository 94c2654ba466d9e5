"""What sets failures apart in a history of the engine in which that is known."""

from __future__ import annotations

from contextlib import nullcontext
from datetime import timedelta
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from django.db import connection

from broker.models import Message
from broker.queueing.put import NewMessage, put_many
from broker.settlement.outcomes import BackOut
from broker.transactions.scope import UnitOfWork
from dashboards.pipeline import bronze
from dashboards.reports import discover
from tests.dashboards.histories import at, last_xid
from tests.dashboards.journal import until_final
from tests.make import NOON, make_queue, make_setting

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.long]

DAYS, EACH = 3, 300
TOO_LARGE, FULL = "the order of 'Ann' is too large", "disk full"
GONE = 40  # messages that went before they were archived
BY_HAND = """
WITH ended AS (
    SELECT u.id, e.kind, e.detail ->> 'error' AS error
    FROM broker_event e JOIN broker_queue q ON q.id = e.queue_id AND q.name = 'orders',
        unnest(e.ids) AS u (id) WHERE e.kind IN (3, 7)
)
SELECT count(*) FILTER (WHERE kind = 7 AND error = %(error)s AND {is_so}),
    count(*) FILTER (WHERE kind = 7 AND error = %(error)s),
    count(*) FILTER (WHERE kind = 3 AND {is_so}), count(*) FILTER (WHERE kind = 3)
FROM ended JOIN broker_message m USING (id)
"""


def make_history() -> None:
    """A tenant's orders fail if they are large; some of all fail for no reason."""
    draw = Random(7)
    make_queue("orders")
    make_queue("DLQ", address="DLA")
    make_setting("orders", max_delivery_attempts=1, dead_letter_address="DLA")
    for day in range(DAYS):
        hour = NOON + timedelta(days=day)
        put_many([order(draw, n) for n in range(EACH)], now=hour)
        for _ in range(EACH):
            take(draw, hour + timedelta(minutes=1))
    Message.objects.filter(pk__in=Message.objects.order_by("pk")[:GONE]).delete()
    until_final(last_xid())


def order(draw: Random, n: int) -> NewMessage:
    said = {
        "tenant": f"t{draw.randrange(10)}",
        "region": draw.choice(["eu", "us"]),
        "order": f"o{n}-{draw.random()}",
        "weight": draw.randrange(100),
    }
    if draw.random() < 0.5:
        said["coupon"] = "spring"
    body = b"x" * draw.randrange(20_000)
    return NewMessage("orders", body, "text/plain", said, producer="shop")


def take(draw: Random, when: Any) -> None:
    work = UnitOfWork(now=when)
    (delivery,) = work.get("orders", 1)
    message = Message.objects.get(pk=delivery.message_id)
    is_large = message.properties["tenant"] in ("t3", "t7") and len(message.body) > 1e4
    if is_large and draw.random() < 0.95:
        work.back_out(BackOut(TOO_LARGE, spread=0))
    elif draw.random() < 0.1:
        work.back_out(BackOut(FULL, spread=0))
    else:
        work.commit()


def by_hand(error: str, is_so: str, **said: Any) -> tuple[int, ...]:
    with connection.cursor() as cursor:
        cursor.execute(BY_HAND.format(is_so=is_so), {"error": error, **said})
        found: tuple[int, ...] = cursor.fetchone()
        return found


def test_what_a_failure_depends_on_is_told_and_nothing_else(
    committed: None, spark: SparkSession
) -> None:
    from dashboards.pipeline import gold, silver_days  # noqa: PLC0415  loads Spark

    make_history()
    as_of = bronze.export(lambda _: None)
    assert (
        silver_days.bring_up_to_date(spark, 1, as_of, lambda *_: nullcontext()) == DAYS
    )
    end = at(DAYS * 24 * 60)

    rows = gold.answer(spark, discover()["differences"], {}, end).to_pylist()

    found = {(row["field"], row["value"]): row for row in rows}
    (size,) = [value for field, value in found if field == "size"]
    assert found.keys() == {("h.tenant", "t3"), ("h.tenant", "t7"), ("size", size)}
    for (field, value), row in found.items():
        assert row["label"] == "the order of … is too large"
        counts = [row[name] for name in ("failed", "failed_all", "succeeded",
                                         "succeeded_all")]  # fmt: skip
        if field == "size":
            low, high = map(int, value.split(".."))
            is_so, said = "octet_length(body) BETWEEN %(low)s AND %(high)s", {
                "low": low, "high": high,
            }  # fmt: skip
        else:
            is_so, said = "properties ->> 'tenant' = %(value)s", {"value": value}
        assert tuple(counts) == by_hand(TOO_LARGE, is_so, **said)
        assert row["failed_share"] == row["failed"] / row["failed_all"]
        assert row["odds"] >= 100
    assert all(row["unknown"] for row in rows)
