"""Performatives and the other composite types: read as written, by both ways.

Source: AMQP 1.0, part 2, section 2.7, part 3, section 3.4, and parts 4 and 5.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker.amqp.protocol.conditions import DECODE_ERROR, NOT_FOUND, AmqpError
from broker.amqp.protocol.performatives import (
    Accepted,
    Attach,
    Begin,
    Coordinator,
    Declare,
    Declared,
    Discharge,
    Disposition,
    Error,
    Flow,
    Modified,
    Open,
    Rejected,
    Released,
    SaslMechanisms,
    Source,
    Target,
    TransactionalState,
    Transfer,
    decode_performative,
    encode_performative,
)
from broker.amqp.protocol.sections import Header, body_of, split
from broker.amqp.protocol.types.composites import (
    BY_CLASS,
    composite_of,
    decode_composite,
    encode_composite,
)
from broker.amqp.protocol.types.decoding import decode
from broker.amqp.protocol.types.encoding import encode
from broker.amqp.protocol.types.types import Array, Described, Symbol, UInt, ULong
from tests.amqp.composites_drawn import BY_NAME, KIND_NAMES, of
from tests.amqp.drawn import descriptors, or_refused, scalars


def read(data: bytes) -> Any:
    composite, end = decode_composite(data, 0, len(data))
    assert end == len(data)
    return composite


@pytest.mark.parametrize("name", sorted(BY_NAME))
@settings(max_examples=30)
@given(data=st.data())
def test_every_composite_type_is_read_as_it_was_written(
    name: str, data: st.DataObject
) -> None:
    composite = data.draw(of(BY_NAME[name]))
    assert read(encode_composite(composite)) == composite
    assert encode(composite) == encode_composite(composite)


def test_all_composite_types_of_the_standard_are_there() -> None:
    numbers = {layout.head[2] for layout in BY_CLASS.values()}
    assert numbers >= {
        *range(0x10, 0x19), 0x1D, *range(0x23, 0x2A), *range(0x2B, 0x2F),
        *range(0x30, 0x35), *range(0x40, 0x45), 0x70, 0x73,
    }  # fmt: skip


# Leniency. ----------------------------------------------------------------------------


def composite(descriptor: Any, values: list[Any]) -> bytes:
    return encode(Described(descriptor, values))


@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_t9_symbolic_descriptors_are_read_everywhere(name: str) -> None:
    layout = BY_CLASS[BY_NAME[name]]
    head = b"\0" + encode(Symbol(f"amqp:{layout.name}:list"))
    mandatory = {
        field.name: simplest(KIND_NAMES[field.kind])
        for field in layout.fields
        if field.default is dataclasses.MISSING
    }
    expected = BY_NAME[name](**mandatory)

    written = head + encode_composite(expected)[3:]

    assert read(written) == expected


def simplest(kind: str) -> Any:
    return {"string": "", "symbol": "", "symbols": (), "binary": b"", "tag": b""}.get(
        kind, False if kind == "boolean" else 1
    )


def test_t9_a_declare_with_a_header_properties_and_a_symbol() -> None:
    payload = (
        b"\x00\x53\x70\xc0\x02\x01\x41"
        b"\x00\x53\x73\xc0\x04\x01\xa1\x01m"
        b"\x00\x53\x77" + composite(Symbol("amqp:declare:list"), [None])
    )
    act = composite_of(body_of(split(payload).body).value, Declare, Discharge)
    assert act == Declare()


def test_t9_a_discharge_with_a_long_number_and_a_wide_list() -> None:
    payload = (
        b"\x00\x80\x00\x00\x00\x00\x00\x00\x00\x77"
        b"\x00\x80\x00\x00\x00\x00\x00\x00\x00\x32"
        b"\xd0\x00\x00\x00\x08\x00\x00\x00\x02\xa0\x01t\x41"
    )
    act = composite_of(body_of(split(payload).body).value, Declare, Discharge)
    assert act == Discharge(b"t", fail=True)


def test_t9_states_in_states_may_be_symbolic() -> None:
    outcome = Described(Symbol("amqp:modified:list"), [True])
    state = Described(Symbol("amqp:transactional-state:list"), [b"t", outcome])
    written = composite(ULong(0x15), [True, UInt(1), None, True, state])
    found, _ = decode_performative(written, 0, len(written))
    expected = TransactionalState(b"t", Modified(delivery_failed=True))
    assert found == Disposition(role=True, first=1, settled=True, state=expected)


def test_t16_symbols_that_are_echoed_stay_an_array_of_symbols() -> None:
    outcomes = (Symbol("amqp:accepted:list"), Symbol("amqp:rejected:list"))
    source = Described(
        ULong(0x28), ["q", *[None] * 8, Array(outcomes, 0xB3), Symbol("queue")]
    )
    attach = composite(ULong(0x12), ["name", UInt(0), True, None, None, source])

    found, _ = decode_performative(attach, 0, len(attach))
    assert isinstance(found, Attach)
    assert isinstance(found.source, Source)
    assert found.source.outcomes == outcomes
    assert found.source.capabilities == ("queue",)

    echo, _ = decode(encode_performative(found))
    written = echo.value[5].value
    for symbols_again in written[9:11]:
        assert isinstance(symbols_again, Array)
        assert {type(one) for one in symbols_again} == {Symbol}


@pytest.mark.parametrize("value", [None, Array([], 0xA3)])
def test_t16_no_symbols_are_an_empty_tuple(value: Any) -> None:
    written = composite(ULong(0x30), [value])
    assert read(written) == Coordinator()
    assert Coordinator().capabilities == ()


@pytest.mark.parametrize(
    "value", [Symbol("PLAIN"), Array(["PLAIN"], 0xA1), [Symbol("PLAIN")]]
)
def test_t16_one_symbol_or_a_list_stand_for_an_array(value: Any) -> None:
    assert read(composite(ULong(0x40), [value])) == SaslMechanisms(("PLAIN",))


def test_filters_stay_as_they_came() -> None:
    selector = Described(Symbol("apache.org:selector-filter:string"), "a = 1")
    source = Source(address="q", filter={"jms-selector": selector})
    found = read(encode_composite(source))
    assert found.filter == {"jms-selector": selector}
    assert [type(key) for key in found.filter] == [Symbol]


def test_fields_that_are_left_out_are_as_the_standard_says() -> None:
    assert read(composite(ULong(0x10), ["c"])) == Open(
        "c", max_frame_size=2**32 - 1, channel_max=2**16 - 1
    )
    assert read(b"\x00\x53\x29\x45") == Target(expiry_policy="session-end")
    assert read(b"\x00\x53\x70\x45") == Header(priority=4)


def test_the_fields_at_the_end_are_not_written_as_by_default() -> None:
    assert encode_composite(Released()) == b"\x00\x53\x26\x45"
    assert encode_composite(Open("c")) == b"\x00\x53\x10\xc0\x04\x01\xa1\x01c"


# Refusal. -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "why"),
    [
        (composite(ULong(0x10), []), "open has no container_id"),
        (composite(ULong(0x10), [5]), "container_id cannot be this: a int"),
        (composite(ULong(0x10), [*["c"] * 11]), "at most 10 fields"),
        (composite(ULong(0x10), ["c", None, UInt(1), UInt(2**16)]), "channel_max"),
        (composite(ULong(0x10), ["c", None, True]), "max_frame_size"),
        (composite(ULong(0x10), ["c", None, -1]), "max_frame_size"),
        (composite(ULong(0x14), [UInt(0), UInt(0), b"x" * 33]), "more than 32"),
        (composite(ULong(0x14), [UInt(0), UInt(0), "tag"]), "delivery_tag"),
        (encode(Described(ULong(0x10), {"a": 1})), "is a list"),
        (encode(Described(ULong(0x10), ("c",))), "is a list"),
        (composite(ULong(0x24), []), "No frame begins with Accepted"),
        (composite(ULong(0x99), []), "no composite type"),
        (composite(0x10, ["c"]), "no composite type"),
        (composite(b"amqp:open:list", ["c"]), "no composite type"),
        (encode("open"), "no composite type"),
        (composite(ULong(0x16), [UInt(0), True, Described(ULong(0x24), [])]), "Error"),
        (
            composite(ULong(0x12), ["n", UInt(0), True, *[None] * 2, "q"]),
            "source|Source",
        ),
    ],
)
def test_what_is_no_performative_is_refused(written: bytes, why: str) -> None:
    with pytest.raises(AmqpError, match=why) as caught:
        decode_performative(written, 0, len(written))
    assert caught.value.condition == DECODE_ERROR


@pytest.mark.parametrize(
    "wrong",
    [
        Open(None),  # type: ignore[arg-type]
        Open(5),  # type: ignore[arg-type]
        Begin(next_outgoing_id=-1, incoming_window=0, outgoing_window=0),
        Transfer(0, 2**32, b"", 0),
        Transfer(0, 1, b"x" * 33, 0),
        Transfer(0, 1, "tag", 0),  # type: ignore[arg-type]
        Transfer(0, state=Error("amqp:not-found")),  # type: ignore[arg-type]
        Disposition(role=True, first=None),  # type: ignore[arg-type]
        Disposition(role=True, first=1, last=2**32, settled=True, state=Accepted()),
        Flow(incoming_window=2**32, next_outgoing_id=0, outgoing_window=0),
        Flow(incoming_window=None, next_outgoing_id=0, outgoing_window=0),  # type: ignore[arg-type]
        Rejected(Error("Wünsche")),
    ],
)
def test_what_cannot_be_written_is_a_mistake(wrong: Any) -> None:
    with pytest.raises(ValueError, match=r".+"):
        encode_performative(wrong)


@given(descriptors, st.lists(scalars, max_size=4))
def test_any_description_is_a_composite_type_or_an_error(
    descriptor: Any, values: list[Any]
) -> None:
    with or_refused():
        found = composite_of(Described(descriptor, values))
        assert type(found) in BY_CLASS


def test_an_error_is_told_as_one() -> None:
    error = AmqpError(NOT_FOUND, "There is no such queue.", {"queue": "orders"})
    told = read(encode_composite(error.as_error()))
    assert told == Error(NOT_FOUND, "There is no such queue.", {"queue": "orders"})
    assert str(error) == "There is no such queue. (amqp:not-found)"
    assert AmqpError(NOT_FOUND).as_error() == Error(NOT_FOUND)


def test_declared_is_a_state_of_a_delivery() -> None:
    disposition = Disposition(role=True, first=1, settled=True, state=Declared(b"t"))
    written = encode_performative(disposition)
    assert decode_performative(written, 0, len(written))[0] == disposition
