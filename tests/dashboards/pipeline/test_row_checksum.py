"""Rows have the same checksum in any order, and another if any cell changes."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

from dashboards.pipeline.row_checksum import checksum, signed

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("text", pa.string()),
        ("at", pa.timestamp("us", "UTC")),
        ("flag", pa.bool_()),
        ("small", pa.int32()),
    ]
)
AT = datetime(2026, 3, 14, 12, tzinfo=UTC)
ROWS: list[tuple[Any, ...]] = [
    (1, "one", AT, True, 7),
    (2, "", None, None, None),
    (3, None, AT, False, 0),
]


def of(*rows: tuple[Any, ...]) -> int:
    named = [dict(zip(SCHEMA.names, row, strict=True)) for row in rows]
    return checksum(pa.Table.from_pylist(named, SCHEMA))


def test_the_order_of_rows_does_not_matter_and_parts_add_up() -> None:
    assert of(*ROWS) == of(*reversed(ROWS))
    assert of(*ROWS) == signed(of(*ROWS[:1]) + of(*ROWS[1:]))
    assert of() == 0


@pytest.mark.parametrize(
    "other",
    [
        (1, "one", AT, True, None),
        (1, "one", AT, None, 7),
        (1, "one", None, True, 7),
        (1, None, AT, True, 7),
        (1, "", AT, True, 7),
        (None, "one", AT, True, 7),
        (7, "one", AT, True, 1),
        (0, "one", AT, True, 7),
    ],
)
def test_each_cell_counts(other: tuple[Any, ...]) -> None:
    assert of(other) != of(ROWS[0])
    assert of(other, *ROWS[1:]) != of(*ROWS)


def test_rows_that_are_twice_there_count_twice() -> None:
    assert of(ROWS[0], ROWS[0]) not in (0, of(ROWS[0]))
