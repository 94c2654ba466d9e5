"""Map messages between AMQP and ActiveMQ's XML, without a server."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker.amqp.messages.bodies import DATA, VALUE
from broker.amqp.protocol.types.encoding import encode
from broker.amqp.protocol.types.types import Byte, Char, Float, Int, Short, Symbol, UInt
from broker.bridges.providers.stomp.maps import from_xml, to_xml

TEXTS = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12
)
SIMPLE: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**7), 2**7 - 1).map(Byte),
    st.integers(-(2**15), 2**15 - 1).map(Short),
    st.integers(-(2**31), 2**31 - 1).map(Int),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(width=32, allow_nan=False).map(Float),
    st.floats(allow_nan=False),
    TEXTS,
    st.characters(exclude_categories=["Cs"], max_codepoint=0xFFFF).map(Char),
)
NAMES = TEXTS.filter(bool)
MAPS = st.dictionaries(
    NAMES,
    st.recursive(
        SIMPLE,
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3)
        ),
        max_leaves=6,
    ),
    max_size=4,
)


@settings(max_examples=60)
@given(MAPS)
def test_a_map_goes_out_and_comes_in_the_same(value: dict[str, Any]) -> None:
    stored = VALUE + encode(value)

    sent = to_xml(stored)

    assert sent is not None
    assert from_xml(sent) == stored


def test_not_a_number_stays_none() -> None:
    sent = to_xml(VALUE + encode({"none": float("nan")}))

    assert (
        sent == b"<map><entry><string>none</string><double>NaN</double></entry></map>"
    )
    assert from_xml(sent) == VALUE + encode({"none": float("nan")})


def deep(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "sections",
    [
        VALUE + encode("text"),
        VALUE + encode([1]),
        VALUE + encode({1: "a"}),
        VALUE + encode({"": "a"}),
        VALUE + encode({"bytes": b"x"}),  # XStream refuses to read them
        VALUE + encode({"symbol": Symbol("x")}),
        VALUE + encode({"unsigned": UInt(1)}),
        VALUE + encode({"beyond": Char("\U0001f600")}),
        VALUE + encode({"nul": "a\0"}),  # nor that
        VALUE + encode({"deep": deep(40)}),
        VALUE + encode({}) + VALUE + encode({}),
        DATA + encode(b"x"),
        b"",
        b"\x00\x53",
    ],
)
def test_what_is_no_map_of_jms_stays_what_it_is(sections: bytes) -> None:
    assert to_xml(sections) is None


def test_a_nul_of_a_jms_client_comes_in() -> None:
    said = (
        b"<map><entry><string>t</string><string>a&#x0;b</string></entry>"
        b"<entry><string>c</string><char></char></entry></map>"
    )

    assert from_xml(said) == VALUE + encode({"t": "a\0b", "c": Char("\0")})


def test_bytes_of_a_jms_client_come_in() -> None:
    said = b"<map><entry><string>b</string><byte-array>AAH/</byte-array></entry></map>"

    assert from_xml(said) == VALUE + encode({"b": b"\x00\x01\xff"})


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"<map>",
        b"text",
        b"<list/>",
        b"<map><entry><int>1</int><int>2</int></entry></map>",
        b"<map><entry><string>a</string></entry></map>",
        b"<map><entry><string>a</string><date>now</date></entry></map>",
        b"<map><entry><string>a</string><byte>300</byte></entry></map>",
        b"<map><entry><string>a</string><boolean>yes</boolean></entry></map>",
        b'<map><entry><string>a</string><map reference="../../.."/></entry></map>',
        b"<map><entry><string>a</string><float>1e40</float></entry></map>",
        b"<!DOCTYPE map [<!ENTITY e 'x'>]><map/>",
        b"<map>" * 50 + b"</map>" * 50,
        b"\xff",
        b'<!DOCTYPE map SYSTEM "x.dtd"><map></map>',
    ],
)
def test_what_nobody_understands_is_no_map(said: bytes) -> None:
    assert from_xml(said) is None
