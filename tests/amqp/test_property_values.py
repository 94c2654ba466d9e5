"""Each value of an application property is kept, as the table of docs/amqp.md says."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from broker.amqp.messages import to_send
from broker.amqp.messages.documents import document
from broker.amqp.protocol.types.decimals import FORMATS, decimal_of
from broker.amqp.protocol.types.types import (
    Array,
    Byte,
    Char,
    Decimal32,
    Decimal64,
    Decimal128,
    Float,
    Int,
    Short,
    Symbol,
    Timestamp,
    UByte,
    UInt,
    ULong,
    UShort,
)
from broker.formats.selectors import document as selectable
from broker.formats.selectors import parse
from broker.models import Message
from broker.queueing.put import put_many
from tests.amqp.written import application, came, data, kept, properties
from tests.make import NOON, make_queue

KINDS = {4: Decimal32, 8: Decimal64, 16: Decimal128}
NUMBER = UUID(int=7)


def decimal(text: str, width: int = 16) -> Any:
    """A decimal as AMQP has it: sign, exponent, digits."""
    sign, digits, exponent = Decimal(text).as_tuple()
    assert isinstance(exponent, int)
    exponent_bits, bias, _ = FORMATS[width]
    bits, whole = 8 * width, int("".join(map(str, digits)))
    room = bits - 1 - exponent_bits
    found = sign << (bits - 1)
    if whole < 1 << room:
        found |= (exponent + bias) << room | whole
    else:
        room -= 2
        found |= 0b11 << (bits - 3) | (exponent + bias) << room
        found |= whole - (0b100 << room)
    return KINDS[width](found.to_bytes(width, "big"))


VALUES: list[tuple[str, Any, Any]] = [  # type, as sent, as kept
    ("null", None, None),
    ("boolean", True, True),
    ("ubyte", UByte(255), 255),
    ("ushort", UShort(2**16 - 1), 2**16 - 1),
    ("uint", UInt(2**32 - 1), 2**32 - 1),
    ("ulong", ULong(2**64 - 1), 2**64 - 1),
    ("byte", Byte(-1), -1),
    ("short", Short(-2), -2),
    ("int", Int(-3), -3),
    ("long", -(2**63), -(2**63)),
    ("float", Float(0.5), 0.5),
    ("double", 1e22, 1e22),
    ("NaN", float("nan"), "nan"),
    ("infinity", float("-inf"), "-inf"),
    ("decimal32", decimal("1.25", 4), 1.25),
    ("decimal64", decimal("-0.1", 8), -0.1),
    ("decimal128", decimal("7"), 7),
    ("long decimal", decimal("12345678901234567890.12"), "12345678901234567890.12"),
    ("large decimal", decimal("1E+400"), "1E+400"),
    ("infinite decimal", Decimal32(bytes.fromhex("78000000")), "inf"),
    ("decimal NaN", Decimal64(bytes.fromhex("7c00000000000000")), "nan"),
    ("char", Char("ß"), "ß"),
    ("timestamp", Timestamp(1_773_489_600_250), "2026-03-14T12:00:00.250000+00:00"),
    ("far timestamp", Timestamp(2**62), 2**62),
    ("uuid", NUMBER, str(NUMBER)),
    ("binary", b"\xff\0", "ff00"),
    ("string", "text", "text"),
    ("string with NUL", "a\0b", "a␀b"),
    ("symbol", Symbol("s"), "s"),
    ("list", [1, b"\xff", ["a\0"]], [1, "ff", ["a␀"]]),
    ("map", {"a": {1: Timestamp(0)}}, {"a": {"1": "1970-01-01T00:00:00+00:00"}}),
    ("array", Array([Int(1), Int(2)]), [1, 2]),
]
SENT = {name: value for name, value, _ in VALUES}
KEPT = {name: value for name, _, value in VALUES}


@pytest.mark.django_db
def test_each_type_is_kept_in_columns_and_unchanged_for_clients_of_amqp() -> None:
    make_queue()
    payload = properties(message_id="m") + application(SENT) + data()

    message = came(payload)
    put_many([message])

    assert message.properties == KEPT
    assert Message.objects.get().properties == KEPT
    assert to_send(kept(message), now=NOON).endswith(payload)
    for name, value in KEPT.items():
        assert json.dumps(message.properties[name]) == json.dumps(value), name


def test_selectors_find_each_value_but_lists_and_maps() -> None:
    values = selectable(came(application(SENT) + data()))

    for name, value in KEPT.items():
        text = f'"{name}" = {literal(value)}'
        if value is None or isinstance(value, list | dict):
            assert parse(f'"{name}" IS NULL').matches(values), name
        else:
            assert parse(text).matches(values), text


def literal(value: Any) -> str:
    if isinstance(value, bool):
        return str(value)
    return f"'{value}'" if isinstance(value, str) else f"({value!r})"


def test_a_name_that_postgresql_lacks_is_kept_and_removed_by_its_own() -> None:
    found = document({"a\0": 1, "a␀": 2, Symbol("s"): 3})

    assert found == {"a␀": 1, "a␀␀": 2, "s": 3}


def test_a_repair_leaves_the_types_of_all_other_properties() -> None:
    found = {"a\0": 1, "d": decimal("1.5"), "e": 1e300, "x": 1}
    message = came(application(found) + data())
    envelope = bytes((message.envelope[0] | 2,)) + message.envelope[1:]  # type: ignore[index]
    repaired = {"d": 1.5, "e": 10**300, "x": 2}  # as PostgreSQL gives it back

    sent = to_send(kept(message, properties=repaired, envelope=envelope), now=NOON)

    assert decimal("1.5") in sent
    assert came(sent).properties == {"d": 1.5, "e": 1e300, "x": 2}


@given(
    st.dictionaries(
        st.text(max_size=3),
        st.recursive(
            st.text(max_size=3)
            | st.binary(max_size=3)
            | st.floats()
            | st.integers(-(2**63), 2**63 - 1)
            | st.builds(Timestamp, st.integers(-(2**63), 2**63 - 1))
            | st.builds(Decimal64, st.binary(min_size=8, max_size=8))
            | st.builds(Decimal128, st.binary(min_size=16, max_size=16)),
            lambda inner: (
                st.lists(inner, max_size=2)
                | st.dictionaries(st.text(max_size=2), inner, max_size=2)
            ),
            max_leaves=4,
        ),
        max_size=4,
    )
)
@example({"\0": "\0", "␀": "\0"})
def test_no_property_is_dropped_and_all_is_json(found: Mapping[str, Any]) -> None:
    told = document(found)

    assert len(told) == len(found)
    text = json.dumps(told, allow_nan=False)
    assert "\\u0000" not in text
    assert json.loads(text) == told


@given(
    st.decimals(allow_nan=False, allow_infinity=False, places=4).filter(
        lambda one: len(one.as_tuple().digits) <= 34
    )
)
def test_decimals_are_read_as_they_were_written(value: Decimal) -> None:
    assert decimal_of(decimal(str(value))) == value


def test_the_table_of_the_documentation_has_each_type() -> None:
    page = Path("docs/amqp.md").read_text()
    (table,) = re.findall(r"## Values of properties\n(.*?)\n## ", page, re.S)

    for name in ("null", "boolean", "ubyte", "ulong", "float", "decimal128", "char"):
        assert name in table
    for name in ("timestamp", "uuid", "binary", "symbol", "list", "map", "array"):
        assert name in table
