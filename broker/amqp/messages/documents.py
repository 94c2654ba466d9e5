"""Conversion between application properties and the JSON column ``properties``.

A value that JSON or PostgreSQL cannot hold is left out of the column; the envelope
has it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isfinite
from typing import Any
from uuid import UUID

from broker.amqp.protocol.types.types import Int

WHOLE = 2**31  # limit of an int in JMS; larger numbers are sent as long


def document(found: Mapping[Any, Any]) -> dict[str, Any]:
    """The JSON object of a map; UUIDs become text."""
    kept: dict[str, Any] = {}
    for name, value in found.items():
        kind = type(value)
        if kind is str:
            if "\0" in value:
                continue
        elif kind is not int and kind is not bool and value is not None:
            value = converted(value)
            if value is None:
                continue
        if type(name) is str and "\0" not in name:
            kept[name] = value
    return kept


def converted(value: Any) -> str | int | float | None:
    """The JSON value for a value of another AMQP type; None if there is none."""
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if isfinite(value) else None
    if isinstance(value, str):
        return None if "\0" in value else str(value)
    return str(value) if isinstance(value, UUID) else None


def amqp_value(value: Any) -> Any:
    """A JSON value as an application property; a list or object becomes JSON text."""
    if isinstance(value, bool) or value is None or isinstance(value, str | float):
        return value
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return Int(value) if -WHOLE <= value < WHOLE else value
    return json.dumps(value)
