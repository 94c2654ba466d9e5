"""Chains of headers: what moves put before a message, and what people see of it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.errors.messages import MalformedDeadLetterHeader, MalformedHeader
from broker.errors.mq_codes import Format, Report
from broker.formats.mq import chain as chains
from broker.formats.mq.chain import (
    chain_of,
    read_chain,
    with_dead_letter_header,
    with_rfh2,
    without_dead_letter_header,
)
from broker.formats.mq.describing import describe
from broker.formats.mq.descriptor import Descriptor, check_put
from broker.formats.mq.folders import Element, Folder
from broker.formats.mq.mqdlh import DeadLetterHeader
from broker.formats.mq.rfh2 import Rfh2
from tests.broker.headers_drawn import BYTE_ORDERS, DESCRIPTORS, FORMATS, RFH2S
from tests.make import NOON

MCD = Folder.of("mcd", Element("Msd", "jms_text"))
DLH = DeadLetterHeader.at(NOON, reason=2362, queue="orders", broker_name="BACKOUT")
TEXT, BYTES = "text/plain", "application/octet-stream"

# Fields that survive a move; the numbers are no defaults.
CONTEXT = {
    "report": int(Report.DISCARD_MSG),
    "msg_type": 4,
    "feedback": 2053,
    "msg_id": "0a" * 24,
    "correl_id": "0b" * 24,
    "group_id": "0c" * 24,
    "msg_seq_number": 2,
    "msg_flags": 8,
    "user_identifier": "omar",
    "put_appl_type": 28,
    "put_appl_name": "orders.jar",
}


@pytest.mark.spec("POISON-13", "UNIFY-6")
@pytest.mark.parametrize("encoding", [273, 546, 785])
@pytest.mark.parametrize("format_", ["MQSTR", "ORDERS", ""])
def test_an_rfh2_is_added_where_there_is_none(format_: str, encoding: int) -> None:
    original = {"format": format_, "encoding": encoding, "coded_char_set_id": 850}

    descriptor, headers = with_rfh2(
        CONTEXT | original, None, content_type=BYTES, folders=[MCD]
    )

    assert headers == (
        b"RFH \x00\x00\x00\x02\x00\x00\x00\x48"
        + encoding.to_bytes(4, "big")
        + b"\x00\x00\x03\x52"
        + format_.encode().ljust(8)
        + b"\x00\x00\x00\x00\x00\x00\x04\xb8"
        + b"\x00\x00\x00\x20<mcd><Msd>jms_text</Msd></mcd>  "
    )
    assert descriptor == CONTEXT | {"format": "MQHRF2"}
    assert (Descriptor().encoding, Descriptor().coded_char_set_id) == (273, 1208)


@pytest.mark.spec("POISON-13")
def test_the_format_of_a_body_that_only_has_a_content_type_goes_into_the_rfh2() -> None:
    descriptor, headers = with_rfh2(None, None, content_type=TEXT, folders=[])
    assert descriptor == {"format": "MQHRF2"}
    assert Rfh2.from_bytes(headers or b"") == Rfh2(
        encoding=273, coded_char_set_id=1208, format="MQSTR"
    )


@pytest.mark.spec("POISON-13")
@pytest.mark.parametrize("encoding", BYTE_ORDERS)
def test_a_message_that_has_an_rfh2_stays_as_it_is(encoding: int) -> None:
    header = Rfh2(encoding=546, coded_char_set_id=850, format="MQSTR", folders=(MCD,))
    original = CONTEXT | {"format": "MQHRF2", "encoding": int(encoding)}
    raw = header.to_bytes(encoding)

    assert with_rfh2(original, raw, content_type=BYTES, folders=[]) == (original, raw)


@pytest.mark.spec("POISON-13")
def test_other_headers_come_behind_an_rfh2_that_is_added() -> None:
    original = {"format": "MQCICS", "encoding": 546}

    descriptor, headers = with_rfh2(original, b"CIH .", content_type=TEXT, folders=[])

    chain = chain_of(descriptor, TEXT, headers or b"")
    assert [header.name for header in chain.headers] == ["MQRFH2"]
    assert (chain.body.format, chain.body.encoding) == ("MQCICS", 546)
    assert chain.rest == b"CIH ."


@pytest.mark.spec("POISON-14", "MD-4")
def test_a_dead_letter_header_takes_over_what_the_descriptor_said() -> None:
    original = {"format": "MQSTR", "encoding": 546, "coded_char_set_id": 850}

    descriptor, headers = with_dead_letter_header(
        CONTEXT | original, None, DLH, content_type=BYTES
    )

    assert descriptor == CONTEXT | {"format": "MQDEAD"}
    assert headers is not None
    assert len(headers) == 172
    assert headers[8:12] == b"\x00\x00\x09\x3a"  # Reason: 2362
    assert headers[12:60] == b"orders".ljust(48)
    assert headers[108:124] == b"\x00\x00\x02\x22\x00\x00\x03\x52MQSTR   "


@pytest.mark.spec("MD-4")
@given(
    st.none() | DESCRIPTORS.map(Descriptor.stored),
    st.none() | st.binary(min_size=1, max_size=20),
    FORMATS,
)
def test_a_resend_restores_what_was_before_the_dead_letter_header(
    stored: dict[str, Any] | None, headers: bytes | None, format_: str
) -> None:
    original = (stored or {}) | {"format": str(format_)}

    dead = with_dead_letter_header(original, headers, DLH, content_type=BYTES)
    again = without_dead_letter_header(*dead)

    assert again == (usual_left_out(original), headers)


def usual_left_out(stored: dict[str, Any]) -> dict[str, Any]:
    """A ccsid of -2 is "as before"; before the MQDLH stands the broker's own, 1208."""
    usual = {("encoding", 273), ("coded_char_set_id", 1208), ("coded_char_set_id", -2)}
    return {name: value for name, value in stored.items() if (name, value) not in usual}


@pytest.mark.spec("MD-4")
def test_a_message_without_a_dead_letter_header_is_resent_as_it_is() -> None:
    assert without_dead_letter_header(None, b"x") == ({}, b"x")
    assert without_dead_letter_header(CONTEXT, None) == (CONTEXT, None)


@pytest.mark.spec("MD-4", "MD-6")
@pytest.mark.parametrize("headers", [None, b"", DLH.to_bytes()[:171], b"x" * 172])
def test_a_message_whose_dead_letter_header_is_none_is_not_resent(
    headers: bytes | None,
) -> None:
    with pytest.raises(MalformedDeadLetterHeader):
        without_dead_letter_header({"format": "MQDEAD"}, headers)


@pytest.mark.spec("UNIFY-6")
def test_headers_follow_each_other_each_in_the_byte_order_that_the_last_one_says() -> (
    None
):
    dead = DeadLetterHeader(format="MQHRF2", encoding=546, coded_char_set_id=-2)
    first = Rfh2(encoding=273, coded_char_set_id=-2, format="MQHRF2", folders=(MCD,))
    second = Rfh2(encoding=785, coded_char_set_id=37, format="MQSTR")
    data = dead.to_bytes(273) + first.to_bytes(546) + second.to_bytes(273) + b"body"

    chain = read_chain("MQDEAD", 273, 850, data)

    assert [header.name for header in chain.headers] == ["MQDLH", "MQRFH2", "MQRFH2"]
    assert data[chain.body_offset :] == b"body"
    assert chain.body == chains.ChainLink("MQSTR", 785, 37)
    assert chain.is_whole
    assert chain.rest == b""


def test_a_format_may_be_padded_with_nul_as_c_does() -> None:
    dead = DeadLetterHeader(format="MQHRF2\0\0").to_bytes()
    first = Rfh2(encoding=273, coded_char_set_id=1208, format="MQSTR\0\0x")

    chain = read_chain("MQDEAD\0\0", 273, 1208, dead + first.to_bytes())

    assert chain.is_whole
    assert chain.body.format == "MQSTR"


def test_bytes_may_come_as_the_database_driver_gives_them() -> None:
    header = Rfh2(encoding=273, coded_char_set_id=1208, format="MQCICS", folders=(MCD,))
    data = header.to_bytes() + b"CIH ."

    assert read_chain("MQHRF2", 273, 1208, memoryview(data)) == read_chain(
        "MQHRF2", 273, 1208, data
    )


def test_text_in_the_character_set_of_what_stands_before_is_so_for_the_body() -> None:
    header = Rfh2(encoding=273, coded_char_set_id=-2, format="MQSTR")
    chain = read_chain("MQHRF2", 273, 850, header.to_bytes())
    assert chain.body.coded_char_set_id == 850


def test_a_chain_has_an_end() -> None:
    endless = Rfh2(encoding=273, coded_char_set_id=1208, format="MQHRF2").to_bytes()

    chain = read_chain("MQHRF2", 273, 1208, endless * 100)

    assert len(chain.headers) == chains.MOST
    assert chain.error is not None


def whole_example() -> tuple[int, bytes]:
    stored = {"format": "MQSTR", "encoding": 546}
    usr = Folder.of("usr", Element("n", 17, "i4"), Element("s", "ö&"))
    first = with_rfh2(stored, None, content_type=TEXT, folders=[MCD, usr])
    descriptor, headers = with_dead_letter_header(*first, DLH, content_type=TEXT)
    assert descriptor == {"format": "MQDEAD"}
    return 273, (headers or b"") + b"body"


def test_cut_off_anywhere_it_is_malformed_and_never_worse() -> None:
    encoding, data = whole_example()
    for length in range(len(data)):
        chain = read_chain("MQDEAD", encoding, 1208, data[:length])
        assert describe(chain)
        assert chain.is_whole == (length >= len(data) - len(b"body"))


def test_with_any_bit_turned_round_it_is_read_or_malformed_and_never_worse() -> None:
    encoding, data = whole_example()
    for place in range(len(data)):
        for bit in range(8):
            flipped = bytearray(data)
            flipped[place] ^= 1 << bit
            chain = read_chain("MQDEAD", encoding, 1208, bytes(flipped))
            assert describe(chain)
            if chain.error is not None:
                assert 0 <= chain.error.offset <= len(data)


@given(RFH2S, st.sampled_from(BYTE_ORDERS), st.data())
def test_a_header_with_any_bytes_changed_is_read_or_malformed(
    header: Rfh2, encoding: int, data: st.DataObject
) -> None:
    raw = bytearray(header.to_bytes(encoding))
    for place in data.draw(st.lists(st.integers(0, len(raw) - 1), max_size=4)):
        raw[place] = data.draw(st.integers(0, 255))
    try:
        read = Rfh2.from_bytes(bytes(raw), encoding)
    except MalformedHeader:
        return
    assert read.to_bytes(encoding) == bytes(raw)[: read.size]


@pytest.mark.spec("UNIFY-6")
def test_what_a_move_writes_can_be_put() -> None:
    first = with_rfh2(CONTEXT, None, content_type=TEXT, folders=[MCD])
    second, _ = with_dead_letter_header(*first, DLH, content_type=TEXT)
    check_put(first[0], "answers")
    check_put(second, "answers")
    assert second["format"] == Format.DEAD_LETTER_HEADER
    assert type(second["format"]) is str
