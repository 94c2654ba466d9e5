"""Settings of Spark that an installation has in ``BACKOUT_REPORTS_SPARK_CONF``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from dashboards.spark.errors import ConfUnreadable

# Settings that an installation must not change here, and why.
FIXED: Mapping[str, str] = {
    "spark.master": "set SPARK_MASTER in its place",
    "spark.sql.session.timeZone": "reports count in UTC",
}
HINT = "write key=value,key=value, or a JSON object if a value has commas"


def read(text: str) -> dict[str, str]:
    """The settings by name, from ``key=value,key=value`` or a JSON object.

    Errors never tell a value: it may be a secret.

    Raises:
        ConfUnreadable: the text cannot be read, or a setting must not be changed.
    """
    said = text.strip()
    found = of_json(said) if said.startswith("{") else of_pairs(said)
    for name in found:
        if not name.startswith("spark."):
            raise ConfUnreadable(f"{name[:60]!r} is no setting of Spark; {HINT}")
        if name in FIXED:
            raise ConfUnreadable(f"{name} cannot be changed: {FIXED[name]}")
    return found


def of_pairs(text: str) -> dict[str, str]:
    found = {}
    for n, pair in enumerate(text.split(",") if text else (), 1):
        name, sign, value = pair.partition("=")
        if not sign:
            raise ConfUnreadable(f"part {n} has no =; {HINT}")
        found[name.strip()] = value.strip()
    return found


def of_json(text: str) -> dict[str, str]:
    try:
        said = json.loads(text)
    except ValueError as error:
        where = getattr(error, "pos", 0)
        raise ConfUnreadable(f"it is no JSON from character {where}") from None
    return {name: plain(name, value) for name, value in said.items()}


def plain(name: str, value: Any) -> str:
    """A value as Spark reads it."""
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str | int | float):
        raise ConfUnreadable(f"the value of {name[:60]} is no text, number or boolean")
    return str(value)
