"""The number that all copies of a message share, in rows about messages."""

from __future__ import annotations

from typing import Any

from broker.monitoring.numbers import public_numbers


def numbered(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows with a ``message_id``, and the number of each message. One query."""
    numbers = public_numbers(row["message_id"] for row in rows)
    return [row | {"number": numbers[row["message_id"]]} for row in rows]
