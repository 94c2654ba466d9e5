"""The numbers of IBM MQ, each as its documentation has it."""

from __future__ import annotations

import pytest

from broker.errors.messages import (
    MalformedDeadLetterHeader,
    MalformedFormat,
    MalformedHeader,
    MissingReplyTo,
    WrongExpiry,
    WrongReportOptions,
)
from broker.errors.mq_codes import (
    Completion,
    GetOptions,
    MsgType,
    Persistence,
    PutApplType,
    Reason,
    Report,
)
from broker.errors.units_of_work import BackedOut, SecondMark


@pytest.mark.spec("MD-5")
def test_report_options_have_their_bits() -> None:
    """But for what is zero: NEW_MSG_ID, COPY_MSG_ID_TO_CORREL_ID, DEAD_LETTER_Q."""
    assert {name: int(option) for name, option in Report.__members__.items()} == {
        "NONE": 0,
        "PAN": 1,
        "NAN": 2,
        "ACTIVITY": 4,
        "PASS_CORREL_ID": 0x40,
        "PASS_MSG_ID": 0x80,
        "COA": 256,
        "COA_WITH_DATA": 768,
        "COA_WITH_FULL_DATA": 1792,
        "COD": 2048,
        "COD_WITH_DATA": 6144,
        "COD_WITH_FULL_DATA": 14336,
        "PASS_DISCARD_AND_EXPIRY": 0x4000,
        "EXPIRATION": 0x00200000,
        "EXPIRATION_WITH_DATA": 0x00600000,
        "EXPIRATION_WITH_FULL_DATA": 0x00E00000,
        "EXCEPTION": 0x01000000,
        "EXCEPTION_WITH_DATA": 0x03000000,
        "EXCEPTION_WITH_FULL_DATA": 0x07000000,
        "DISCARD_MSG": 0x08000000,
    }


@pytest.mark.spec("MD-6")
@pytest.mark.parametrize(
    ("code", "name"),
    [
        (2003, "BACKED_OUT"),
        (2009, "CONNECTION_BROKEN"),
        (2013, "EXPIRY_ERROR"),
        (2104, "UNKNOWN_REPORT_OPTION"),
        (2016, "GET_INHIBITED"),
        (2027, "MISSING_REPLY_TO_Q"),
        (2030, "MSG_TOO_BIG_FOR_Q"),
        (2031, "MSG_TOO_BIG_FOR_Q_MGR"),
        (2033, "NO_MSG_AVAILABLE"),
        (2034, "NO_MSG_UNDER_CURSOR"),
        (2035, "NOT_AUTHORIZED"),
        (2046, "OPTIONS_ERROR"),
        (2047, "PERSISTENCE_ERROR"),
        (2051, "PUT_INHIBITED"),
        (2053, "Q_FULL"),
        (2061, "REPORT_OPTIONS_ERROR"),
        (0x80E, "SECOND_MARK_NOT_ALLOWED"),
        (2085, "UNKNOWN_OBJECT_NAME"),
        (2141, "DLH_ERROR"),
        (2195, "UNEXPECTED_ERROR"),
        (0x8E2, "OPTION_ENVIRONMENT_ERROR"),
        (2334, "RFH_ERROR"),
        (2421, "RFH_FORMAT_ERROR"),
        (0x93A, "BACKOUT_THRESHOLD_REACHED"),
        (0x93B, "MSG_NOT_MATCHED"),
        (0x93C, "JMS_FORMAT_ERROR"),
        (2522, "INVALID_DESTINATION"),
    ],
)
def test_reasons_have_their_numbers(code: int, name: str) -> None:
    assert Reason[name] == code


@pytest.mark.spec("MD-6")
def test_a_call_ends_well_with_a_warning_or_badly() -> None:
    assert [*Completion] == [0, 1, 2]
    assert [one.name for one in Completion] == ["OK", "WARNING", "FAILED"]


@pytest.mark.spec("MD-6")
@pytest.mark.parametrize(
    ("error", "code"),
    [
        (WrongExpiry, 2013),
        (MissingReplyTo, 2027),
        (WrongReportOptions, 2061),
        (MalformedDeadLetterHeader, 2141),
        (MalformedHeader, 2334),
        (MalformedFormat, 2421),
    ],
)
def test_errors_of_messages_carry_their_reason(
    error: type[WrongExpiry], code: int
) -> None:
    assert error.reason == code


@pytest.mark.spec("MD-7")
def test_get_options_have_their_values() -> None:
    assert {name: int(option) for name, option in GetOptions.__members__.items()} == {
        "NONE": 0,
        "WAIT": 1,
        "SYNCPOINT": 2,
        "NO_SYNCPOINT": 4,
        "BROWSE_FIRST": 16,
        "BROWSE_NEXT": 32,
        "MARK_SKIP_BACKOUT": 128,
        "MSG_UNDER_CURSOR": 256,
        "LOCK": 512,
        "UNLOCK": 1024,
        "SYNCPOINT_IF_PERSISTENT": 4096,
        "FAIL_IF_QUIESCING": 8192,
    }


@pytest.mark.spec("MD-8")
def test_types_of_putting_applications_have_their_values() -> None:
    assert {name: int(kind) for name, kind in PutApplType.__members__.items()} == {
        "NO_CONTEXT": 0,
        "UNIX": 6,
        "QMGR": 7,
        "USER": 25,
        "BROKER": 26,
        "JAVA": 0x1C,
    }


@pytest.mark.spec("MD-1")
def test_message_types_and_persistence_have_their_values() -> None:
    assert {kind.name: int(kind) for kind in MsgType} == {
        "REQUEST": 1,
        "REPLY": 2,
        "REPORT": 4,
        "DATAGRAM": 8,
    }
    assert {kind.name: int(kind) for kind in Persistence} == {
        "NOT_PERSISTENT": 0,
        "PERSISTENT": 1,
        "AS_Q_DEF": 2,
    }


@pytest.mark.spec("MD-6", "UOW-8")
def test_errors_have_a_completion_code() -> None:
    assert (SecondMark.completion, SecondMark.reason) == (Completion.FAILED, 2062)
    assert (BackedOut.completion, BackedOut.reason) == (Completion.WARNING, 2003)
    assert MissingReplyTo(256).completion == 2
