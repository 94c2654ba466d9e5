"""Conversion between application properties and the JSON column ``properties``.

The envelope keeps the values as they were sent, for clients of AMQP; the column has
them as ``broker.formats.property_values`` says.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from typing import Any

from broker.amqp.protocol.types.decimals import decimal_of
from broker.amqp.protocol.types.types import (
    Decimal32,
    Decimal64,
    Decimal128,
    Described,
    Int,
    Timestamp,
)
from broker.formats import property_values
from broker.formats.property_values import EPOCH

WHOLE = 2**31  # limit of an int in JMS; larger numbers are sent as long
DECIMALS = (Decimal32, Decimal64, Decimal128)


def document(found: Mapping[Any, Any]) -> dict[str, Any]:
    """The JSON object of a map of AMQP."""
    return property_values.document(found, plain)


def converted(value: Any) -> Any:
    """The JSON value for a value of any type of AMQP."""
    return property_values.json_value(value, plain)


def plain(value: Any) -> Any:
    """A value of Python for one of AMQP's own types. A time that Python lacks stays a
    number of milliseconds since 1970."""
    if isinstance(value, Described):
        return plain(value.value)
    if isinstance(value, DECIMALS):
        return decimal_of(value)
    if isinstance(value, Timestamp):
        with suppress(OverflowError):
            return EPOCH + timedelta(milliseconds=value)
    return value


def amqp_value(value: Any) -> Any:
    """A JSON value as an application property; a list or object becomes JSON text."""
    if isinstance(value, bool) or value is None or isinstance(value, str | float):
        return value
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return Int(value) if -WHOLE <= value < WHOLE else value
    return json.dumps(value)
