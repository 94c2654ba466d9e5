"""The dead-letter header, byte for byte."""

from __future__ import annotations

from datetime import timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.errors.messages import MalformedDeadLetterHeader
from broker.errors.mq_codes import Enc, PutApplType, Reason
from broker.formats.mq.mqdlh import SIZE, DeadLetterHeader
from tests.broker.headers_drawn import BYTE_ORDERS, DEAD_LETTER_HEADERS, TEN_THOUSAND
from tests.make import NOON

# Source: IBM MQ documentation, "MQDLH - Dead-letter header", its fields and their C
# declaration; "MQDLH_* (Dead-letter header structure)" for StrucId and Version; "2362
# (093A) (RC2362): MQRC_BACKOUT_THRESHOLD_REACHED"; MQAT_JAVA is 28 (0x1C).
EXAMPLE = DeadLetterHeader(
    reason=2362,
    dest_q_name="ORDERS.IN",
    dest_q_mgr_name="BACKOUT",
    encoding=546,
    coded_char_set_id=850,
    format="MQSTR",
    put_appl_type=28,
    put_appl_name="MQ JMS ConnectionConsumer",
    put_date="20260314",
    put_time="12000000",
)
BIG_ENDIAN = (
    b"DLH "  # offset 0: StrucId
    b"\x00\x00\x00\x01"  # 4: Version
    b"\x00\x00\x09\x3a"  # 8: Reason
    b"ORDERS.IN                                       "  # 12: DestQName
    b"BACKOUT                                         "  # 60: DestQMgrName
    b"\x00\x00\x02\x22"  # 108: Encoding
    b"\x00\x00\x03\x52"  # 112: CodedCharSetId
    b"MQSTR   "  # 116: Format
    b"\x00\x00\x00\x1c"  # 124: PutApplType
    b"MQ JMS ConnectionConsumer   "  # 128: PutApplName
    b"20260314"  # 156: PutDate
    b"12000000"  # 164: PutTime
)
LITTLE_ENDIAN = (
    b"DLH \x01\x00\x00\x00\x3a\x09\x00\x00"
    + BIG_ENDIAN[12:108]
    + b"\x22\x02\x00\x00\x52\x03\x00\x00MQSTR   \x1c\x00\x00\x00"
    + BIG_ENDIAN[128:]
)


@pytest.mark.spec("MD-4", "UNIFY-6")
@pytest.mark.parametrize(
    ("encoding", "raw"), [(Enc.NORMAL, BIG_ENDIAN), (Enc.REVERSED, LITTLE_ENDIAN)]
)
def test_the_worked_example_has_these_bytes(encoding: int, raw: bytes) -> None:
    assert len(raw) == 172
    assert EXAMPLE.to_bytes(encoding) == raw
    assert DeadLetterHeader.from_bytes(raw, encoding) == EXAMPLE


@pytest.mark.spec("MD-4")
@pytest.mark.parametrize(
    ("offset", "length", "name"),
    [
        (12, 48, "dest_q_name"),
        (60, 48, "dest_q_mgr_name"),
        (116, 8, "format"),
        (128, 28, "put_appl_name"),
        (156, 8, "put_date"),
        (164, 8, "put_time"),
    ],
)
def test_text_fills_its_field_and_no_more(offset: int, length: int, name: str) -> None:
    too_long: dict[str, Any] = {name: "X" * (length + 1)}

    raw = DeadLetterHeader(**too_long).to_bytes()

    assert raw[offset : offset + length] == b"X" * length
    assert len(raw) == SIZE
    assert raw.count(b"X") == length


@pytest.mark.spec("MD-4")
def test_date_and_time_are_those_of_utc_in_hundredths() -> None:
    half_past = NOON + timedelta(minutes=30, microseconds=129_999)
    elsewhere = half_past.astimezone(timezone(timedelta(hours=13)))

    header = DeadLetterHeader.at(
        elsewhere, reason=Reason.Q_FULL, queue="orders", broker_name="BACKOUT"
    )

    assert (header.put_date, header.put_time) == ("20260314", "12300012")
    assert (header.reason, header.dest_q_name) == (2053, "orders")
    assert header.dest_q_mgr_name == "BACKOUT"
    assert header.put_appl_type == PutApplType.NO_CONTEXT


def test_a_name_too_long_for_its_field_loses_whole_characters() -> None:
    raw = DeadLetterHeader(dest_q_name="ö" * 23 + "xö.").to_bytes()
    assert DeadLetterHeader.from_bytes(raw).dest_q_name == "ö" * 23 + "x"


@pytest.mark.thorough
@pytest.mark.spec("MD-4", "UNIFY-6")
@TEN_THOUSAND
@given(DEAD_LETTER_HEADERS)
def test_what_was_written_is_read_in_both_byte_orders(header: DeadLetterHeader) -> None:
    for encoding in BYTE_ORDERS:
        raw = header.to_bytes(encoding)
        assert len(raw) == SIZE
        assert DeadLetterHeader.from_bytes(raw + b"body", encoding) == header


@pytest.mark.spec("UNIFY-6")
@given(st.binary(min_size=SIZE - 8, max_size=SIZE - 8), st.sampled_from(BYTE_ORDERS))
def test_whatever_its_bytes_it_is_written_as_it_was_read(
    others: bytes, encoding: int
) -> None:
    raw = DeadLetterHeader().to_bytes(encoding)[:8] + others
    assert DeadLetterHeader.from_bytes(raw, encoding).to_bytes(encoding) == raw


@pytest.mark.spec("MD-4", "MD-6")
@pytest.mark.parametrize(
    ("raw", "offset"),
    [
        (b"", 0),
        (BIG_ENDIAN[:171], 171),
        (b"DHL " + BIG_ENDIAN[4:], 0),
        (LITTLE_ENDIAN, 4),
        (BIG_ENDIAN.replace(b"\x01", b"\x02", 1), 4),
    ],
)
def test_what_is_no_header_is_refused_with_2141_and_the_place(
    raw: bytes, offset: int
) -> None:
    with pytest.raises(MalformedDeadLetterHeader) as refused:
        DeadLetterHeader.from_bytes(raw)

    assert refused.value.offset == offset
    assert refused.value.reason == 2141
