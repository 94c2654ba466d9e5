"""The message descriptor: from columns and JSON, and byte for byte."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given

from broker.errors.messages import MalformedHeader
from broker.errors.mq_codes import Enc
from broker.formats.mq.descriptor import SIZE, Descriptor, check_put
from tests.broker.headers_drawn import BYTE_ORDERS, DESCRIPTORS, TEN_THOUSAND
from tests.make import NOON

# Source: IBM MQ documentation, "MQMD - Message descriptor", its fields and their C
# declaration; "MsgId (MQBYTE24) for MQMD" for how a queue manager makes one; the pages
# of MQMT_*, MQRO_*, MQFB_*, MQENC_*, MQPER_* and MQAT_* for the numbers.
EXAMPLE = Descriptor(
    report=117440512 + 134217728,  # EXCEPTION_WITH_FULL_DATA, DISCARD_MSG
    msg_type=1,
    expiry=6000,
    feedback=0,
    encoding=546,
    coded_char_set_id=850,
    format="MQHRF2",
    priority=9,
    persistence=1,
    msg_id=b"AMQ BACKOUT     \x00\x00\x00\x00\x00\x00\x04\xd2",
    correl_id=b"order-17".ljust(24, b"\0"),
    backout_count=3,
    reply_to_q="ORDERS.REPLY",
    reply_to_q_mgr="BACKOUT",
    user_identifier="omar",
    accounting_token=bytes(range(32)),
    appl_identity_data="shop",
    put_appl_type=28,
    put_appl_name="orders.jar",
    put_date="20260314",
    put_time="12000000",
    appl_origin_data="eu",
    group_id=b"group-1".ljust(24, b"\0"),
    msg_seq_number=2,
    offset=0,
    msg_flags=8,  # MSG_IN_GROUP
    original_length=-1,
)
BIG_ENDIAN = (
    b"MD  "  # offset 0: StrucId
    b"\x00\x00\x00\x02"  # 4: Version
    b"\x0f\x00\x00\x00"  # 8: Report
    b"\x00\x00\x00\x01"  # 12: MsgType
    b"\x00\x00\x17\x70"  # 16: Expiry
    b"\x00\x00\x00\x00"  # 20: Feedback
    b"\x00\x00\x02\x22"  # 24: Encoding
    b"\x00\x00\x03\x52"  # 28: CodedCharSetId
    b"MQHRF2  "  # 32: Format
    b"\x00\x00\x00\x09"  # 40: Priority
    b"\x00\x00\x00\x01"  # 44: Persistence
    b"AMQ BACKOUT     \x00\x00\x00\x00\x00\x00\x04\xd2"  # 48: MsgId
    b"order-17\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"  # 72: CorrelId
    b"\x00\x00\x00\x03"  # 96: BackoutCount
    b"ORDERS.REPLY                                    "  # 100: ReplyToQ
    b"BACKOUT                                         "  # 148: ReplyToQMgr
    b"omar        "  # 196: UserIdentifier
    b"\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f"
    b"\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f"
    # 208: AccountingToken, both rows
    b"shop                            "  # 240: ApplIdentityData
    b"\x00\x00\x00\x1c"  # 272: PutApplType
    b"orders.jar                  "  # 276: PutApplName
    b"20260314"  # 304: PutDate
    b"12000000"  # 312: PutTime
    b"eu  "  # 320: ApplOriginData
    b"group-1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"  # 324: GroupId
    b"\x00\x00\x00\x02"  # 348: MsgSeqNumber
    b"\x00\x00\x00\x00"  # 352: Offset
    b"\x00\x00\x00\x08"  # 356: MsgFlags
    b"\xff\xff\xff\xff"  # 360: OriginalLength
)
NUMBERS_AT = [*range(4, 32, 4), 40, 44, 96, 272, *range(348, 364, 4)]


def little_endian(raw: bytes) -> bytes:
    """The same with each number turned round, and the rest as it was."""
    turned = bytearray(raw)
    for offset in NUMBERS_AT:
        turned[offset : offset + 4] = raw[offset : offset + 4][::-1]
    return bytes(turned)


def make_message(**fields: Any) -> Any:
    """What a delivery says, for a message that its sender said nothing special of."""
    defaults = {
        "message_id": 1234,
        "client_message_id": None,
        "backout_count": 0,
        "priority": 4,
        "durable": True,
        "put_at": NOON,
        "expires_at": None,
        "reply_to": None,
        "correlation_id": None,
        "group_id": None,
        "content_type": "application/octet-stream",
        "descriptor": None,
    }
    return SimpleNamespace(**defaults | fields)


def make_descriptor(**fields: Any) -> Descriptor:
    return Descriptor.of(make_message(**fields), broker_name="BACKOUT", now=NOON)


@pytest.mark.spec("MD-1", "UNIFY-6")
@pytest.mark.parametrize(
    ("encoding", "raw"),
    [(Enc.NORMAL, BIG_ENDIAN), (Enc.REVERSED, little_endian(BIG_ENDIAN))],
)
def test_the_worked_example_has_these_bytes(encoding: int, raw: bytes) -> None:
    assert len(raw) == SIZE == 364
    assert EXAMPLE.to_bytes(encoding) == raw
    assert Descriptor.from_bytes(raw, encoding) == EXAMPLE


@pytest.mark.thorough
@pytest.mark.spec("MD-1", "UNIFY-6")
@TEN_THOUSAND
@given(DESCRIPTORS)
def test_what_was_written_is_read_in_both_byte_orders(descriptor: Descriptor) -> None:
    for encoding in BYTE_ORDERS:
        raw = descriptor.to_bytes(encoding)
        assert len(raw) == SIZE
        assert Descriptor.from_bytes(raw + b"body", encoding) == descriptor


@pytest.mark.parametrize(
    ("raw", "offset"),
    [
        (BIG_ENDIAN[:-1], 363),
        (b"DM  " + BIG_ENDIAN[4:], 0),
        (little_endian(BIG_ENDIAN), 4),
    ],
)
def test_what_is_no_descriptor_is_refused_with_its_place(
    raw: bytes, offset: int
) -> None:
    with pytest.raises(MalformedHeader) as refused:
        Descriptor.from_bytes(raw)
    assert refused.value.offset == offset


@pytest.mark.spec("MD-1", "MD-2")
def test_columns_are_fields() -> None:
    descriptor = make_descriptor(
        priority=7,
        durable=False,
        reply_to="answers",
        correlation_id="order-17",
        backout_count=2,
        put_at=NOON + timedelta(milliseconds=125),
    )

    assert descriptor == Descriptor(
        priority=7,
        persistence=0,
        reply_to_q="answers",
        correl_id=b"order-17".ljust(24, b"\0"),
        backout_count=2,
        put_date="20260314",
        put_time="12000012",
        msg_id=b"AMQ BACKOUT     " + (1234).to_bytes(8, "big"),
    )


@pytest.mark.spec("MD-1")
def test_what_the_sender_put_into_the_descriptor_is_in_it() -> None:
    given_ = {
        "report": 134217728,
        "msg_type": 4,
        "feedback": 2362,
        "format": "ORDERS",
        "msg_id": "ab" * 24,
        "group_id": "cd" * 24,
        "user_identifier": "omar",
        "msg_seq_number": 3,
    }

    descriptor = make_descriptor(descriptor=given_)

    assert descriptor.stored(implied=make_descriptor()) == given_


@pytest.mark.spec("MD-1", "UNIFY-6")
@given(DESCRIPTORS)
def test_what_is_stored_and_the_columns_are_the_whole_descriptor(
    descriptor: Descriptor,
) -> None:
    stored = descriptor.stored()

    again = make_descriptor(descriptor=stored)

    assert again.stored() == stored | {"msg_id": again.msg_id.hex()}
    assert not {"priority", "expiry", "backout_count", "put_date"} & stored.keys()


def test_what_is_stored_but_no_value_of_a_field_is_left_out() -> None:
    damaged = {
        *(("report", "x"), ("feedback", 2**31), ("msg_id", "abc"), ("group_id", 5)),
        *(("format", "much too long"), ("priority", 9), ("colour", 1)),
    }
    assert make_descriptor(descriptor=dict(damaged)) == make_descriptor()


@pytest.mark.parametrize(
    ("name", "identifier"),
    [
        ("ID:" + "0a" * 24, b"\x0a" * 24),
        ("ID:0aff", b"\x0a\xff".ljust(24, b"\0")),
        ("ID:order", b"ID:order".ljust(24, b"\0")),
        ("x" * 30, b"x" * 24),
        (None, bytes(24)),
    ],
)
def test_names_of_jms_become_identifiers(name: str | None, identifier: bytes) -> None:
    descriptor = make_descriptor(correlation_id=name, group_id=name)
    assert descriptor.correl_id == identifier
    assert descriptor.group_id == identifier
    assert descriptor.msg_flags == (8 if name else 0)  # MQMF_MSG_IN_GROUP


def test_a_message_id_of_jms_that_is_one_of_ibm_mq_stays() -> None:
    name = "ID:" + "0f" * 24
    assert make_descriptor(client_message_id=name).jms_message_id == name
    assert make_descriptor(client_message_id="mine").msg_id.startswith(b"AMQ BACKOUT ")


@pytest.mark.parametrize(
    ("content_type", "format_"),
    [
        ("text/plain; charset=utf-8", "MQSTR"),
        ("application/json", "MQSTR"),
        ("Application/XML", "MQSTR"),
        ("application/octet-stream", ""),
        ("", ""),
    ],
)
def test_a_body_of_text_has_the_format_of_text(content_type: str, format_: str) -> None:
    assert make_descriptor(content_type=content_type).format == format_


@pytest.mark.spec("MD-3")
@pytest.mark.parametrize(
    ("left", "tenths"),
    [
        (None, -1),
        (timedelta(seconds=600), 6000),
        (timedelta(milliseconds=1_999), 19),
        (timedelta(milliseconds=1), 1),
        (timedelta(0), 1),
        (timedelta(days=100_000), 999_999_999),
    ],
)
def test_expiry_is_what_remains_and_never_zero(
    left: timedelta | None, tenths: int
) -> None:
    expires_at = None if left is None else NOON + left
    assert make_descriptor(expires_at=expires_at).expiry == tenths


@pytest.mark.spec("MD-2")
def test_a_backout_count_that_is_put_is_ignored() -> None:
    check_put({"backout_count": 3}, None)
    assert make_descriptor(descriptor={"backout_count": 3}).backout_count == 0


def test_every_field_can_be_stored_or_has_a_column() -> None:
    changed = replace(EXAMPLE, feedback=5, offset=1, original_length=7)
    columns = {field.name for field in fields(Descriptor)} - changed.stored().keys()
    assert columns == {
        *("priority", "persistence", "expiry", "backout_count"),
        *("reply_to_q", "put_date", "put_time"),
    }
