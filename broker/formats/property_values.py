"""Values of properties as JSON for the column ``properties``, whatever another protocol
sent. The table is in docs/amqp.md, "Values of properties".

No value is dropped: one that JSON or PostgreSQL cannot hold becomes the text that says
it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from math import isfinite
from typing import Any

from broker.formats import moments

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NUL = "\N{SYMBOL FOR NULL}"  # replaces NUL, which PostgreSQL cannot store
LARGEST = 10**40  # whole decimals up to this are numbers, not texts


Plain = Callable[[Any], Any]  # converts a value of a protocol's type to Python


def unchanged(value: Any) -> Any:
    return value


def document(found: Mapping[Any, Any], plain: Plain = unchanged) -> dict[str, Any]:
    """Properties as a JSON object.

    Args:
        found: names and values.
        plain: for values of the protocol's own types, at any depth.
    """
    kept: dict[str, Any] = {}
    for name, value in zip(names(found), found.values(), strict=True):
        kept[name] = json_value(value, plain)
    return kept


def names(given: Iterable[Any]) -> list[str]:
    """The names in JSON, in order. To names that would be equal, a ␀ is added."""
    found: dict[str, None] = {}
    for one in given:
        name = text(one)
        while name in found:
            name += NUL
        found[name] = None
    return list(found)


def json_value(value: Any, plain: Plain = unchanged) -> Any:
    """The JSON value for a value of Python."""
    value = plain(value)
    if value is None or type(value) in (bool, int):
        return value
    kind = next((one for one in KINDS if isinstance(value, one)), object)
    return KINDS[kind](value, plain)


def number(value: Decimal) -> int | float | str:
    """A decimal as a number, if no digit is lost; otherwise as text."""
    if not value.is_finite():
        return str(float(value)) if not value.is_snan() else "nan"
    if abs(value) < LARGEST and value == value.to_integral_value():
        return int(value)
    near = float(value)
    is_exact = isfinite(near) and Decimal(repr(near)) == value
    return near if is_exact else str(value)


def text(value: object) -> str:
    """A text that PostgreSQL can store; bytes become hexadecimal digits."""
    if isinstance(value, bytes):
        return value.hex()
    found = str(value)
    if not found.isascii():
        found = found.encode("utf-8", "replace").decode()
    return found.replace("\0", NUL) if "\0" in found else found


KINDS: Mapping[type, Callable[[Any, Plain], Any]] = {
    str: lambda value, _: text(value),
    bytes: lambda value, _: text(value),
    int: lambda value, _: int(value),
    float: lambda value, _: float(value) if isfinite(value) else str(float(value)),
    Decimal: lambda value, _: number(value),
    datetime: lambda value, _: moments.by_clock(value, UTC).isoformat(),
    dict: document,
    list: lambda value, plain: [json_value(one, plain) for one in value],
    tuple: lambda value, plain: [json_value(one, plain) for one in value],
    object: lambda value, _: text(str(value)),
}
