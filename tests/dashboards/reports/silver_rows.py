"""A few rows of silver, written by hand; a test names only what it is about."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from dashboards.reports import Inputs, discover
from tests.make import NOON, minutes

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

Row = dict[str, Any]
DAY = timedelta(days=1)
TODAY, TOMORROW = NOON.date(), (NOON + DAY).date()
SOON = NOON + minutes(1)
LETTER = {"queue": "DLQ", "put_cause": "REJECTED", "parent_end": "dead-lettered",
          "parent_queue": "orders"}  # fmt: skip


def stay(message_id: int, **fields: Any) -> Row:
    """One that ended, a minute after noon if nothing is said."""
    row: Row = {
        "message_id": message_id,
        "queue": "orders",
        "began": "put",
        "put_at": NOON,
        "ended_at": SOON,
        "ended": "accepted",
        "deliveries": 1,
        "failed": 0,
        "repaired": False,
    } | fields
    return row | {"day": day_of(row["ended_at"])}


def death(message_id: int, **fields: Any) -> Row:
    died = {"ended": "dead-lettered", "cause": "REJECTED", "failed": 1}
    return stay(message_id, **died | fields)


def going_on(message_id: int, **fields: Any) -> Row:
    """One that goes on at the end of a day."""
    row = stay(message_id) | {"place": "ready", "since": NOON, "day": TODAY} | fields
    return {name: value for name, value in row.items() if "ended" not in name}


def delivery(message_id: int, **fields: Any) -> Row:
    row: Row = {
        "message_id": message_id,
        "queue": "orders",
        "attempt": 1,
        "got_at": NOON,
        "ended_at": SOON,
        "outcome": "accepted",
        "failed": False,
    } | fields
    return row | {"day": day_of(row["ended_at"])}


def failure(message_id: int, **fields: Any) -> Row:
    return delivery(message_id, **{"outcome": "backed out", "failed": True} | fields)


def day_of(moment: datetime) -> date:
    return moment.astimezone(UTC).date()


def frames(spark: SparkSession, **rows: Sequence[Row]) -> Inputs:
    """Rows of tables as frames; of tables that are not named, none."""
    from dashboards.pipeline.fields.message_fields import FIELDS  # noqa: PLC0415
    from dashboards.pipeline.silver import SCHEMAS  # noqa: PLC0415  loads Spark

    return {
        table: spark.createDataFrame(list(rows.get(table, ())), schema)
        for table, schema in {**SCHEMAS, "messages": FIELDS}.items()
    }


def built(slug: str, inputs: Inputs, **values: Any) -> DataFrame:
    """What a report says of them, as it is published, once its checks have passed."""
    from dashboards.pipeline import gold  # noqa: PLC0415  loads Spark

    report = discover()[slug]
    parameters = {one: value for one, value in values.items() if one != "as_of"}
    said = report.read(parameters) | {"as_of": values.get("as_of", NOON + 2 * DAY)}
    chosen = {table: inputs[table] for table in report.inputs}
    frame = gold.stored(report, report.build(chosen, said))
    check(slug, inputs, frame.toArrow())
    return frame


def check(slug: str, inputs: Inputs, rows: pa.Table) -> None:
    """
    Raises:
        QualityBroken: the rows of a report are not what the inputs say.
    """
    from dashboards.pipeline import totals  # noqa: PLC0415  loads Spark

    report = discover()[slug]
    asked = {table: totals.conditions(table, [report]) for table in report.inputs}
    counts = {
        table: totals.counted(inputs[table], some)
        for table, some in asked.items()
        if some
    }
    totals.require(report, rows, counts)
    if report.check:
        report.check(inputs, rows.to_pylist())


def require(slug: str, found: DataFrame, expected: Sequence[tuple[Any, ...]]) -> None:
    """The same rows, in no order."""
    from pyspark.testing import assertDataFrameEqual  # noqa: PLC0415  loads Spark

    declared = discover()[slug].ddl
    wanted = found.sparkSession.createDataFrame(list(expected), declared)
    assertDataFrameEqual(found, wanted)
