"""Which descriptors a message cannot be put with."""

from __future__ import annotations

from typing import Any

import pytest

from broker.errors import InvalidMessage
from broker.errors.messages import MissingReplyTo, WrongExpiry, WrongReportOptions
from broker.errors.mq_codes import Report
from broker.formats.mq.descriptor import check_put


@pytest.mark.spec("MD-5")
@pytest.mark.parametrize("wide", [0x07000000, 0x00E00000, 1792, 14336])
def test_of_each_kind_of_report_three_patterns_are_possible(wide: int) -> None:
    lowest = wide & -wide
    possible = {0, lowest, lowest * 3, lowest * 7}

    for factor in range(8):
        report = lowest * factor
        if report in possible:
            check_put({"report": report}, "answers")
        else:
            with pytest.raises(WrongReportOptions):
                check_put({"report": report}, "answers")


@pytest.mark.spec("MD-5", "MD-6", "REPORT-5")
@pytest.mark.parametrize("bit", range(32))
def test_a_bit_that_is_no_option_is_refused_if_it_must_be_known(bit: int) -> None:
    refused = 0x101C0000 | 512 | 1024 | 4096 | 8192 | 32768 | 65536 | 131072
    partial = 1 << 22 | 1 << 23 | 1 << 25 | 1 << 26  # they belong to a plain report
    report = 1 << bit if bit < 31 else -(2**31)
    if (refused | partial) & 1 << bit:
        with pytest.raises(WrongReportOptions) as error:
            check_put({"report": report}, "answers")
        assert error.value.reason == 2061
    else:
        check_put({"report": report}, "answers")


@pytest.mark.spec("MD-5", "MD-6")
@pytest.mark.parametrize("reply_to", [None, ""])
@pytest.mark.parametrize(
    "descriptor",
    [
        *(
            {"report": int(option)}
            for option in Report
            if option not in (64, 128, 16384, 1 << 27)
        ),
        {"msg_type": 1},
    ],
)
def test_whoever_asks_for_an_answer_says_whereto(
    descriptor: dict[str, Any], reply_to: str | None
) -> None:
    check_put(descriptor, "answers")
    with pytest.raises(MissingReplyTo) as refused:
        check_put(descriptor, reply_to)
    assert refused.value.reason == 2027


@pytest.mark.spec("MD-5")
def test_what_becomes_of_a_message_needs_no_reply_queue() -> None:
    for report in (64, 128, 16384, 134217728, 64 | 134217728):
        check_put({"report": report, "msg_type": 8}, None)


@pytest.mark.spec("MD-3", "MD-6")
@pytest.mark.parametrize("expiry", [0, -2, 1_000_000_000])
def test_an_expiry_that_is_no_span_is_refused(expiry: int) -> None:
    with pytest.raises(WrongExpiry) as refused:
        check_put({}, None, expiry)
    assert refused.value.reason == 2013


@pytest.mark.spec("MD-3")
@pytest.mark.parametrize("expiry", [None, -1, 1, 999_999_999])
def test_an_expiry_that_is_one_is_taken(expiry: int | None) -> None:
    check_put({}, None, expiry)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("colour", 1),
        ("priority", 9),
        ("report", True),
        ("report", "1"),
        ("feedback", 2**31),
        ("format", "ninechars"),
        ("format", "ööööö"),
        ("msg_id", "ab"),
        ("correl_id", "xy" * 24),
        ("group_id", None),
    ],
)
def test_what_is_no_field_or_no_value_of_it_is_refused(name: str, value: Any) -> None:
    with pytest.raises(InvalidMessage, match=name):
        check_put({name: value}, None)
