"""IBM MQ's descriptor and headers, both ways over AMQP."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.amqp.messages.mq_descriptor import ANNOTATIONS, HEADERS, PROPERTIES
from broker.amqp.protocol.conditions import AmqpError
from broker.amqp.protocol.sections import map_of, split
from broker.amqp.protocol.types.types import Int, Symbol
from broker.errors.mq_codes import Feedback, MsgType, Report
from broker.formats.mq.descriptor import COLUMNS, OCTETS, STORED, TEXTS, Descriptor
from broker.queueing.store import NewMessage
from tests.amqp.written import (
    annotated,
    application,
    came,
    data,
    kept,
    properties,
    sent,
)
from tests.make import NOON, seconds

ASKS = int(Report.EXCEPTION_WITH_DATA | Report.PASS_MSG_ID)
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    **dict.fromkeys(STORED, st.integers(-(2**31), 2**31 - 1).map(Int)),
    **{
        field: st.text("abcxyz.0", min_size=1, max_size=width)
        for field, width in TEXTS.items()
    },
    **{
        field: st.binary(min_size=width, max_size=width)
        for field, width in OCTETS.items()
    },
    "report": st.just(Int(ASKS)),
}
DESCRIPTORS = st.fixed_dictionaries(
    {}, optional={field: FIELDS[field] for field in STORED}
)


def written(fields: dict[str, Any]) -> bytes:
    names = {field: name for name, field in ANNOTATIONS.items()}
    return annotated(**{names[field]: value for field, value in fields.items()})


def annotations_of(payload: bytes) -> dict[Any, Any]:
    return map_of(split(payload).annotations)


@pytest.mark.spec("MD-1")
@given(DESCRIPTORS)
def test_each_field_of_a_descriptor_comes_and_goes(fields: dict[str, Any]) -> None:
    payload = written(fields) + properties(reply_to="answers") + data()

    message = came(payload, may_set_identity=True)
    md = Descriptor.of(kept(message), broker_name="BACKOUT", now=NOON)

    assert {field: getattr(md, field) for field in fields} == fields
    assert annotations_of(sent(message)) == annotations_of(payload)
    assert sent(message).endswith(properties(reply_to="answers") + data())


@pytest.mark.spec("MD-1")
def test_each_field_has_an_annotation_and_a_property() -> None:
    named = {one.name for one in Descriptor.__dataclass_fields__.values()}

    assert named | {HEADERS} == set(ANNOTATIONS.values())
    assert named == set(PROPERTIES.values())
    assert all(re.fullmatch("x-opt-ibm-[a-z-]+", name) for name in ANNOTATIONS)


def test_fields_with_a_column_are_there() -> None:
    message = came(
        annotated(
            x_opt_ibm_expiry=Int(600),
            x_opt_ibm_priority=Int(7),
            x_opt_ibm_persistence=Int(1),
            x_opt_ibm_reply_to_q="answers",
            x_opt_ibm_backout_count=Int(9),
            x_opt_ibm_put_date="20260101",
        )
        + data()
    )

    assert message.expires_at == NOON + seconds(60)
    assert (message.priority, message.durable) == (7, True)
    assert message.reply_to == "answers"
    assert message.descriptor is None


def test_headers_come_and_go() -> None:
    headers = bytes(range(200))
    asked = annotated(x_opt_ibm_headers=headers, x_opt_ibm_format="MQHRF2")

    message = came(asked + data())

    assert (message.headers, message.body) == (headers, b"body")
    assert message.descriptor == {"format": "MQHRF2"}
    assert annotations_of(sent(message)) == annotations_of(asked + data())


def test_a_copy_has_the_headers_that_the_broker_put_before_it() -> None:
    message = came(annotated(x_opt_mine=Int(1)) + data())

    out = sent(message, descriptor={"format": "MQDEAD"}, headers=b"DLH ")

    assert annotations_of(out) == {
        "x-opt-mine": 1,
        "x-opt-ibm-format": "MQDEAD",
        "x-opt-ibm-headers": b"DLH ",
    }
    assert annotated(x_opt_mine=Int(1))[6:] in out  # as it was written


@pytest.mark.spec("MD-5")
def test_a_jms_client_asks_with_ibm_s_properties() -> None:
    asked = {
        "JMS_IBM_Report_Exception": Int(Report.EXCEPTION_WITH_FULL_DATA),
        "JMS_IBM_Report_Pass_Correl_ID": Int(Report.PASS_CORREL_ID),
        "JMS_IBM_MsgType": Int(MsgType.REQUEST),
        "JMS_IBM_Format": "MQSTR   ",
        "JMS_IBM_Character_Set": "UTF-8",
        "JMS_IBM_Last_Msg_In_Group": True,
        "JMS_IBM_MQMD_ApplIdentityData": "till 7",
        "JMS_IBM_PutDate": "of no meaning",
    }
    payload = properties(reply_to="answers") + application(asked) + data()

    message = came(payload)

    assert message.descriptor == {
        "report": Report.EXCEPTION_WITH_FULL_DATA | Report.PASS_CORREL_ID,
        "msg_type": 1,
        "format": "MQSTR",
        "coded_char_set_id": 1208,
        "msg_flags": 24,
        "appl_identity_data": "till 7",
    }
    assert sent(message).endswith(payload)


def test_a_report_is_told_to_a_jms_client_in_ibm_s_properties() -> None:
    report = NewMessage(
        "answers",
        descriptor={"msg_type": int(MsgType.REPORT), "feedback": Feedback.EXPIRATION},
    )

    out = split(sent(report))

    assert map_of(out.application_properties) == {
        "JMS_IBM_MsgType": 4,
        "JMS_IBM_Feedback": 258,
    }
    assert map_of(out.annotations)["x-opt-ibm-feedback"] == 258


def test_report_options_are_told_one_by_one() -> None:
    asking = NewMessage("orders", reply_to="answers", descriptor={"report": ASKS})

    found = map_of(split(sent(asking)).application_properties)

    assert found == {
        "JMS_IBM_Report_Exception": Report.EXCEPTION_WITH_DATA,
        "JMS_IBM_Report_Pass_Msg_ID": Report.PASS_MSG_ID,
    }


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"x_opt_ibm_colour": Int(1)}, "x-opt-ibm-colour is no field"),
    ({"x_opt_ibm_report": "all"}, "must be a number"),
    ({"x_opt_ibm_report": True}, "must be a number"),
    ({"x_opt_ibm_report": Int(512)}, "not a valid combination"),
    ({"x_opt_ibm_report": 2**40}, "a number of 32 bits"),
    ({"x_opt_ibm_report": Int(ASKS)}, "Set one."),
    ({"x_opt_ibm_msg_type": Int(1)}, "Set one."),
    ({"x_opt_ibm_format": Int(1)}, "must be text"),
    ({"x_opt_ibm_format": "nine long"}, "at most 8 bytes"),
    ({"x_opt_ibm_format": "\0"}, "must be text"),
    ({"x_opt_ibm_msg_id": b"x" * 25}, "at most 24 bytes"),
    ({"x_opt_ibm_msg_id": "zz"}, "hexadecimal"),
    ({"x_opt_ibm_msg_id": None}, "must be binary"),
    ({"x_opt_ibm_headers": "DLH "}, "must be binary"),
    ({"x_opt_ibm_character_set": "Klingon"}, "no known character set"),
    ({"x_opt_ibm_priority": Int(10)}, "a priority of 10"),
    ({"x_opt_ibm_persistence": Int(3)}, "a persistence of 3"),
    ({"x_opt_ibm_expiry": Int(0)}, "not possible"),
]


@pytest.mark.parametrize(("asked", "why"), REFUSED)
def test_what_a_descriptor_cannot_hold_is_refused(
    asked: dict[str, Any], why: str
) -> None:
    with pytest.raises(AmqpError) as refused:
        came(annotated(**asked) + data())
    assert refused.value.condition == "amqp:invalid-field"
    assert why in refused.value.description


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("JMS_IBM_Report_COA", Int(Report.COD)),
        ("JMS_IBM_MsgType", "reply"),
        ("JMS_IBM_MQMD_Format", "nine long"),
    ],
)
def test_so_is_what_a_jms_property_cannot_say(name: str, value: Any) -> None:
    with pytest.raises(AmqpError) as refused:
        came(properties(reply_to="answers") + application({name: value}) + data())
    assert refused.value.condition == "amqp:invalid-field"
    assert refused.value.description


@pytest.mark.parametrize("value", ["819", "ISO-8859-1", "iso8859_1", Int(819)])
def test_characters_are_numbers_or_java_s_names(value: Any) -> None:
    message = came(annotated(x_opt_ibm_character_set=value) + data())

    assert message.descriptor == {"coded_char_set_id": 819}


def test_nobody_signs_a_descriptor_with_another_s_name() -> None:
    theirs = annotated(x_opt_ibm_user_identifier="vera") + data()
    long = annotated(x_opt_ibm_user_identifier="a-name-of-tw") + data()

    assert came(theirs, user="vera").descriptor == {"user_identifier": "vera"}
    came(theirs, user="omar", may_set_identity=True)
    came(long, user="a-name-of-twenty-and")
    with pytest.raises(AmqpError) as refused:
        came(theirs, user="omar")
    assert refused.value.condition == "amqp:unauthorized-access"


def test_what_amqp_itself_says_of_reply_and_expiry_comes_first() -> None:
    message = came(
        annotated(x_opt_ibm_reply_to_q="ibm", x_opt_ibm_expiry=Int(1))
        + properties(reply_to="amqp", absolute_expiry_time=None)
        + data()
    )

    assert message.reply_to == "amqp"
    assert message.expires_at == NOON + seconds(0.1)


def test_fields_that_are_no_values_are_not_sent() -> None:
    """Who writes past the broker into its tables can store anything."""
    message = replace(came(data()), descriptor={"report": "all", "feedback": 1})

    assert annotations_of(sent(message)) == {Symbol("x-opt-ibm-feedback"): 1}


def test_columns_are_no_annotations() -> None:
    message = came(annotated(x_opt_ibm_priority=Int(3)) + data())

    assert split(sent(message)).annotations == b""
    assert COLUMNS.isdisjoint(message.descriptor or {})


@pytest.mark.parametrize(
    ("name", "ccsid"),
    [
        ("Cp1047", 1047),
        ("IBM037", 37),
        ("windows-1252", 1252),
        ("ISO-8859-15", 923),
        ("Shift_JIS", None),
        ("klingon", None),
    ],
)
def test_a_character_set_has_a_name_of_java(name: str, ccsid: int | None) -> None:
    payload = application({"JMS_IBM_Character_Set": name}) + data()
    if ccsid is None:
        with pytest.raises(AmqpError, match="no known character set"):
            came(payload)
    else:
        assert came(payload).descriptor == {"coded_char_set_id": ccsid}
