"""Messages are cut into sections, and put together again byte for byte.

Source: AMQP 1.0, part 3, section 3.2.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker.amqp.protocol.conditions import DECODE_ERROR, AmqpError
from broker.amqp.protocol.sections import (
    ANNOTATIONS,
    APPLICATION_PROPERTIES,
    BODIES,
    CODES,
    DATA,
    DELIVERY_ANNOTATIONS,
    FOOTER,
    HEADER,
    NAMES,
    NULL,
    PROPERTIES,
    SEQUENCE,
    VALUE,
    Body,
    Header,
    Properties,
    Sections,
    body_of,
    encode_header,
    encode_section,
    map_of,
    properties_of,
    split,
)
from broker.amqp.protocol.types.encoding import encode
from broker.amqp.protocol.types.types import Described, Symbol, Timestamp, UInt, ULong
from tests.amqp.drawn import kept, or_refused, scalars, spelled, symbols, values

HELLO = b"\x00\x53\x75\xa0\x05hello"

notes = st.dictionaries(symbols, values, max_size=3)
contents: dict[int, st.SearchStrategy[Any]] = {
    HEADER: st.just([True, None, UInt(1000)]) | st.just([]),
    DELIVERY_ANNOTATIONS: notes,
    ANNOTATIONS: notes,
    PROPERTIES: st.just(["id", b"user"]) | st.just([]),
    APPLICATION_PROPERTIES: st.dictionaries(st.text(max_size=3), scalars, max_size=3),
    DATA: st.binary(max_size=300),
    SEQUENCE: st.lists(values, max_size=3),
    VALUE: values,
    FOOTER: notes,
}
BEFORE = [HEADER, DELIVERY_ANNOTATIONS, ANNOTATIONS, PROPERTIES, APPLICATION_PROPERTIES]


def descriptor(data: st.DataObject, code: int) -> bytes:
    """A number or a symbol, in any of the ways that they are written."""
    name = data.draw(st.sampled_from([ULong(code), Symbol(NAMES[code])]))
    return b"\0" + data.draw(spelled(name))


def drawn(data: st.DataObject, code: int) -> bytes:
    return descriptor(data, code) + encode(data.draw(contents[code]))


def bodies(data: st.DataObject) -> list[tuple[int, bytes]]:
    code = data.draw(st.sampled_from(sorted(BODIES)))
    count = 1 if code == VALUE else data.draw(st.integers(1, 3))
    return [(code, drawn(data, code)) for _ in range(count)]


def message(data: st.DataObject) -> list[tuple[int, bytes]]:
    """Sections in their order, any of those that may be absent."""
    before = [code for code in BEFORE if data.draw(st.booleans())]
    sections = [(code, drawn(data, code)) for code in before]
    sections += bodies(data)
    if data.draw(st.booleans()):
        sections.append((FOOTER, drawn(data, FOOTER)))
    return sections


def joined(sections: list[tuple[int, bytes]], *codes: int) -> bytes:
    return b"".join(written for code, written in sections if code in codes)


@settings(max_examples=50)
@given(st.data())
def test_a_message_is_cut_and_nothing_of_it_changes(data: st.DataObject) -> None:
    sections = message(data)
    found = split(b"".join(written for _, written in sections))

    assert found.annotations == joined(sections, ANNOTATIONS)
    assert found.properties == joined(sections, PROPERTIES)
    assert found.application_properties == joined(sections, APPLICATION_PROPERTIES)
    assert found.body == joined(sections, *BODIES)
    assert found.footer == joined(sections, FOOTER)
    assert (found.header is None) == (not joined(sections, HEADER))
    assert {BODIES.get(code) for code, _ in sections} >= {body_of(found.body).kind}


@given(st.data())
def test_a_message_with_sections_in_another_order_is_refused(
    data: st.DataObject,
) -> None:
    sections = message(data)
    mixed = data.draw(st.permutations(sections))
    codes = [code for code, _ in mixed]
    payload = b"".join(written for _, written in mixed)

    if codes == sorted(codes):
        assert split(payload).body == joined(mixed, *BODIES)
    else:
        refused(payload)


@given(st.data())
def test_a_message_that_is_cut_short_is_refused(data: st.DataObject) -> None:
    payload = b"".join(written for _, written in message(data))
    end = data.draw(st.integers(0, len(payload) - 1))
    with or_refused():  # unless whole sections are missing at its end
        found = split(payload[:end])
        if found.body != NULL:
            assert payload.endswith(found.footer or found.body, 0, end)


@pytest.mark.parametrize("payload", [b"\x00\x53\x70\x45", b"\x00\x53\x74\xc1\x01\x00"])
def test_a_body_that_is_missing_is_null(payload: bytes) -> None:
    body = body_of(split(payload).body)

    assert (body.kind, body.value) == ("value", None)


def refused(payload: bytes) -> None:
    with pytest.raises(AmqpError) as caught:
        split(payload)
    assert caught.value.condition == DECODE_ERROR


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"\x00\x53\x78\xc1\x01\x00",
        HELLO + b"\x00\x53\x77\x40",  # two kinds of body
        b"\x00\x53\x77\x40" * 2,
        b"\x00\x53\x70\x45" * 2 + HELLO,
        b"\x00\x53\x73\x45" + b"\x00\x53\x72\xc1\x01\x00" + HELLO,
        HELLO + b"\x00\x53\x78\xc1\x01\x00" + HELLO,
        HELLO + b"x",
        b"hello",
        b"\x00\x53\x79\x40",  # no section
        b"\x00\x53\x24\x45",
        b"\x00\xa3\x0damqp:data:map\xa0\x00",
        b"\x00\xa1\x10amqp:data:binary\xa0\x00",
        b"\x00\x55\x75\xa0\x00",
        b"\x00\x45\xa0\x00",
        b"\x00",
        b"\x00\x53",
        b"\x00\x53\x75",
        b"\x00\x53\x75\xa1\x02hi",  # data as a string
        b"\x00\x53\x76\xc1\x01\x00",
        b"\x00\x53\x72\x45" + HELLO,
        b"\x00\x53\x70\xc1\x01\x00" + HELLO,
        b"\x00\x53\x75\xa0\x06hello",
        b"\x00\x53\x75\xb0\xff\xff\xff\xffhello",
        b"\x00\x53\x77\x01",  # no constructor
        b"\x00\x53\x77\x00\x53\x01",
        b"\x00\x53\x77" + b"\x00" * 5_000,
        b"\x00\x53\x70\xc0\x02\x01\x01" + HELLO,  # what is in the header
        b"\x00\x53\x70\xc0\x03\x02\x40\x41" + HELLO,
    ],
)
def test_what_is_no_message_is_refused(payload: bytes) -> None:
    refused(payload)


def test_every_part_of_a_message() -> None:
    header = b"\x00\x53\x70\xc0\x06\x03\x41\x50\x07\x52\x64"
    hop = b"\x00\x53\x71\xc1\x01\x00"
    notes = b"\x00\x53\x72\xc1\x06\x02\xa3\x01a\x54\x05"
    properties = b"\x00\x53\x73\xc0\x04\x01\xa1\x01m"
    application = b"\x00\x53\x74\xc1\x06\x02\xa1\x01b\x54\x06"
    footer = b"\x00\x53\x78\xc1\x01\x00"

    found = split(header + hop + notes + properties + application + HELLO * 2 + footer)

    assert found == Sections(
        header=Header(durable=True, priority=7, ttl=100),
        annotations=notes,
        properties=properties,
        application_properties=application,
        body=HELLO * 2,
        footer=footer,
    )
    assert map_of(found.annotations) == {"a": 5}
    assert properties_of(found.properties) == Properties(message_id="m")
    assert map_of(found.application_properties) == {"b": 6}


def test_sections_that_are_absent_hold_nothing() -> None:
    found = split(HELLO)
    assert found.header is None
    assert properties_of(found.properties) == Properties()
    assert map_of(found.annotations) == {}


# Bodies. ------------------------------------------------------------------------------


def test_the_bytes_of_an_only_data_section() -> None:
    assert body_of(HELLO) == Body("data", data=b"hello")
    assert body_of(b"\x00\x53\x75\xb0\x00\x00\x00\x01x").data == b"x"
    assert body_of(HELLO * 2) == Body("data")


@given(values)
def test_the_value_of_an_amqp_value(value: Any) -> None:
    body = body_of(b"\x00\x53\x77" + encode(value))
    assert body.kind == "value"
    assert body.data is None
    assert kept(body.value) == kept(value)


def test_a_sequence_is_left_as_it_is() -> None:
    assert body_of(b"\x00\x53\x76\x45" * 2) == Body("sequence")


@pytest.mark.parametrize("written", [b"", b"x", b"\x00\x53\x70\x45", HELLO[:-1]])
def test_what_is_no_body_is_refused(written: bytes) -> None:
    with pytest.raises(AmqpError):
        body_of(written)


def test_a_value_that_is_broken_within_is_found_when_it_is_read() -> None:
    found = split(b"\x00\x53\x77\xc0\x02\x01\x01")
    with pytest.raises(AmqpError):
        assert body_of(found.body).value


@pytest.mark.parametrize("read", [properties_of, map_of])
@pytest.mark.parametrize("written", [b"\x40", b"\x00\x53\x24\x45", b"\x00\x53\x73"])
def test_what_is_another_section_is_refused(read: Any, written: bytes) -> None:
    with pytest.raises(AmqpError):
        read(written)


# Writing. -----------------------------------------------------------------------------


@given(
    st.builds(
        Header,
        durable=st.booleans(),
        priority=st.integers(0, 255),
        ttl=st.none() | st.integers(0, 2**32 - 1),
        first_acquirer=st.booleans(),
        delivery_count=st.integers(0, 2**32 - 1),
    )
)
def test_a_header_is_read_as_it_was_written(header: Header) -> None:
    said = dataclasses.asdict(header)
    said["ttl_ms"] = said.pop("ttl")
    found = split(encode_header(**said) + HELLO).header
    assert (found or Header()) == header


def test_a_header_always_has_its_delivery_count() -> None:
    nulls = b"\x40\x40\x40\x40"
    assert encode_header() == b"\x00\x53\x70\xc0\x06\x05" + nulls + b"\x43"
    assert (
        encode_header(delivery_count=2)
        == b"\x00\x53\x70\xc0\x07\x05\x40\x40\x40\x40\x52\x02"
    )


def test_keys_of_annotations_are_written_as_symbols() -> None:
    notes = {"x-opt-delay": ULong(5), "x-opt-when": Timestamp(7)}
    for code in (ANNOTATIONS, DELIVERY_ANNOTATIONS, FOOTER):
        found = map_of(encode_section(code, notes))
        assert kept(found) == kept({Symbol(key): notes[key] for key in notes})


def test_keys_of_application_properties_are_written_as_texts() -> None:
    found = map_of(encode_section(APPLICATION_PROPERTIES, {"colour": "red"}))
    assert kept(found) == kept({"colour": "red"})


@given(st.data())
def test_properties_are_read_as_they_were_written(data: st.DataObject) -> None:
    ids = st.none() | st.integers(0, 2**64 - 1) | st.text() | st.binary() | st.uuids()
    properties = data.draw(
        st.builds(
            Properties,
            message_id=ids,
            user_id=st.none() | st.binary(max_size=5),
            to=st.none() | st.text(max_size=5),
            correlation_id=ids,
            content_type=st.none() | symbols,
            absolute_expiry_time=st.none() | st.integers(-(2**63), 2**63 - 1),
            group_sequence=st.none() | st.integers(0, 2**32 - 1),
            reply_to_group_id=st.none() | st.text(max_size=5),
        )
    )
    written = encode_section(PROPERTIES, properties)
    found = properties_of(written)
    assert found == properties
    assert type(found.message_id) is type(properties.message_id)


def test_a_body_is_written() -> None:
    assert encode_section(DATA, b"hello") == HELLO
    assert body_of(encode_section(VALUE, "hello")).value == "hello"


@pytest.mark.parametrize("message_id", [Symbol("a"), UInt(1), 1.5, True, -1])
def test_what_is_no_message_id_is_refused(message_id: Any) -> None:
    written = encode(Described(ULong(PROPERTIES), [message_id]))
    with pytest.raises(AmqpError, match="message_id"):
        properties_of(written)


def test_all_sections_have_a_symbol() -> None:
    assert set(CODES.values()) == set(range(HEADER, FOOTER + 1))
