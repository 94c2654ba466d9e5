"""The two numbers of a message, in answers."""

from __future__ import annotations

from typing import Any

from ninja import Schema

from broker.monitoring.numbers import public_numbers


class Numbered(Schema):
    """The two numbers of a message. URLs, filters and operations accept both; a
    settlement names the copies that it holds, by ``message_id``."""

    message_id: int  # the id of this copy: a dead letter or a resubmit has another
    number: int  # the number that pages show, which all copies of the message share


def numbered(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows with a ``message_id``, and the number of each message. One query."""
    numbers = public_numbers(row["message_id"] for row in rows)
    return [row | {"number": numbers[row["message_id"]]} for row in rows]
