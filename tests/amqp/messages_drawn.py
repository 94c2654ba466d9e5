"""Messages of every shape that the standard allows, for tests that draw them."""

from __future__ import annotations

import struct
from typing import Any

from hypothesis import strategies as st

from broker.amqp.protocol.types.encoding import encode
from broker.amqp.protocol.types.types import (
    Array,
    Byte,
    Char,
    Decimal64,
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
from tests.amqp.written import (
    ANNOTATIONS,
    APPLICATION_PROPERTIES,
    DATA,
    DELIVERY_ANNOTATIONS,
    FOOTER,
    HEADER,
    PROPERTIES,
    SEQUENCE,
    VALUE,
)

SYMBOLIC = {
    DATA: "amqp:data:binary",
    VALUE: "amqp:amqp-value:*",
    SEQUENCE: "amqp:amqp-sequence:list",
    PROPERTIES: "amqp:properties:list",
    APPLICATION_PROPERTIES: "amqp:application-properties:map",
    ANNOTATIONS: "amqp:message-annotations:map",
}
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
SYMBOLS = st.text("abcxyz.-:", min_size=1, max_size=12).map(Symbol)
SIMPLE: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(0, 255).map(UByte),
    st.integers(0, 2**16 - 1).map(UShort),
    st.integers(0, 2**32 - 1).map(UInt),
    st.integers(0, 2**64 - 1).map(ULong),
    st.integers(-(2**7), 2**7 - 1).map(Byte),
    st.integers(-(2**15), 2**15 - 1).map(Short),
    st.integers(-(2**31), 2**31 - 1).map(Int),
    st.integers(-(2**63), 2**63 - 1),
    st.integers(-(2**63), 2**63 - 1).map(Timestamp),
    st.floats(allow_nan=False, width=32).map(Float),
    st.floats(allow_nan=False),
    st.characters(exclude_categories=["Cs"]).map(Char),
    st.binary(min_size=8, max_size=8).map(Decimal64),
    st.uuids(),
    st.binary(max_size=20),
    TEXTS,
    SYMBOLS,
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    SIMPLE,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(TEXTS, inner, max_size=4),
        st.lists(SYMBOLS, max_size=3).map(lambda values: Array(values, 0xA3)),
    ),
    max_leaves=8,
)
IDS = st.one_of(
    st.none(),
    TEXTS,
    st.integers(0, 2**64 - 1).map(ULong),
    st.uuids(),
    st.binary(max_size=30),
)
TIMES = st.none() | st.integers(-(2**63), 2**63 - 1).map(Timestamp)
FIELDS = st.tuples(
    IDS,
    st.just(None) | st.just(b"") | st.just(b"shop"),
    st.none() | TEXTS,
    st.none() | TEXTS,
    st.none() | TEXTS,
    IDS,
    st.none() | SYMBOLS,
    st.none() | SYMBOLS,
    TIMES,
    TIMES,
    st.none() | TEXTS,
    st.none() | st.integers(0, 2**32 - 1).map(UInt),
    st.none() | TEXTS,
)
HEADERS = st.tuples(
    st.none() | st.booleans(),
    st.none() | st.integers(0, 255).map(UByte),
    st.none() | st.integers(0, 2**32 - 1).map(UInt),
    st.none() | st.booleans(),
    st.none() | st.integers(0, 2**32 - 1).map(UInt),
)


def widened(value: bytes) -> bytes:
    """The same list, map, text or binary with a length of four bytes."""
    constructor = value[0]
    if constructor in (0xC0, 0xC1):
        head = struct.pack(">BII", constructor + 0x10, value[1] + 3, value[2])
        return head + value[3:]
    if constructor in (0xA0, 0xA1):
        return struct.pack(">BI", constructor + 0x10, value[1]) + value[2:]
    return value


@st.composite
def sections(draw: st.DrawFn, code: int, values: st.SearchStrategy[Any]) -> bytes:
    """A section, written in one of the ways in which it can be."""
    value = encode(draw(values))
    if draw(st.booleans()):
        value = widened(value)
    forms = [b"\x53" + bytes((code,)), b"\x80" + code.to_bytes(8, "big")]
    if code in SYMBOLIC:
        forms.append(encode(Symbol(SYMBOLIC[code])))
    return b"\0" + draw(st.sampled_from(forms)) + value


def optional(code: int, values: st.SearchStrategy[Any]) -> st.SearchStrategy[bytes]:
    return st.just(b"") | sections(code, values)


ANNOTATED = st.dictionaries(SYMBOLS, VALUES, max_size=4)
BODIES = st.one_of(
    sections(DATA, st.binary(max_size=300)),
    sections(VALUE, TEXTS),
    sections(VALUE, VALUES),
    st.lists(sections(DATA, st.binary(max_size=9)), min_size=1, max_size=3).map(
        b"".join
    ),
    st.lists(
        sections(SEQUENCE, st.lists(VALUES, max_size=3)), min_size=1, max_size=3
    ).map(b"".join),
)
BEFORE = st.tuples(  # what is written anew or dropped
    optional(HEADER, HEADERS.map(list)), optional(DELIVERY_ANNOTATIONS, ANNOTATED)
).map(b"".join)
BARE = st.tuples(  # what leaves as it came, and the annotations
    optional(ANNOTATIONS, ANNOTATED),
    optional(PROPERTIES, FIELDS.map(list)),
    optional(APPLICATION_PROPERTIES, st.dictionaries(TEXTS, SIMPLE, max_size=5)),
    BODIES,
    optional(FOOTER, ANNOTATED),
).map(b"".join)
