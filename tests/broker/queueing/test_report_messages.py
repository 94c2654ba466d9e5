"""Report messages: whom they are from, what they say, and where they end up."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.client.dispatch.undeliverable import SIGNATURE
from broker.errors.mq_codes import Feedback, Reason, Report
from broker.formats.mq.chain import chain_of
from broker.formats.mq.descriptor import Descriptor
from broker.formats.mq.mqdlh import Signature
from broker.queueing.get import Delivery
from broker.queueing.put import NewMessage
from broker.queueing.report_messages import report_on
from tests.broker.originals import BODY, CORREL_ID, MSG_ID, RFH2, original
from tests.make import NOON, minutes

MALFORMED = Reason.JMS_FORMAT_ERROR
EXCEPTION = Report.EXCEPTION


def built(
    report: int,
    feedback: int = MALFORMED,
    *,
    signature: Signature = SIGNATURE,
    **more: Any,
) -> NewMessage:
    message = asked(report, feedback, signature=signature, **more)
    assert message is not None
    return message


def asked(
    report: int,
    feedback: int = MALFORMED,
    *,
    signature: Signature = SIGNATURE,
    **more: Any,
) -> NewMessage | None:
    return report_on(
        original(report, **more),
        feedback,
        signature=signature,
        broker_name="BACKOUT",
        now=NOON + minutes(1),
    )


def md_of(message: NewMessage) -> Descriptor:
    """The descriptor that whoever reads the report gets."""
    own = {field.name: getattr(message, field.name) for field in fields(message)}
    del own["routing_type"], own["deliver_at"]
    own["client_message_id"] = own.pop("message_id")
    own |= {"uow": 2, "queue_id": 2, "message_id": 18, "delivery_count": 1}
    own |= {"backout_count": 0, "put_at": NOON + minutes(1), "pos": 18}
    return Descriptor.of(Delivery(**own), broker_name="BACKOUT", now=NOON + minutes(2))


@pytest.mark.spec("ASF-5")
@pytest.mark.parametrize("kind", [Report.NONE, Report.EXPIRATION, Report.DISCARD_MSG])
def test_who_asks_for_no_report_gets_none(kind: Report) -> None:
    assert asked(kind) is None


@pytest.mark.spec("ASF-5", "ASF-7")
def test_a_plain_report_has_a_descriptor_and_nothing_else() -> None:
    report = built(EXCEPTION)
    assert (report.body, report.headers, report.properties) == (b"", None, {})
    md = md_of(report)
    assert (md.format, md.encoding, md.coded_char_set_id) == ("", 273, 1208)


@pytest.mark.spec("ASF-5", "ASF-7")
@pytest.mark.parametrize(
    ("report", "body"),
    [
        (Report.EXCEPTION_WITH_DATA, BODY[:100]),
        (Report.EXCEPTION_WITH_FULL_DATA, BODY),
    ],
)
def test_a_report_with_data_has_the_headers_and_some_or_all_of_the_body(
    report: Report, body: bytes
) -> None:
    message = built(report)
    assert message.headers == RFH2
    assert message.body == body
    assert message.content_type == "text/plain"
    md = md_of(message)
    assert (md.format, md.encoding, md.coded_char_set_id) == ("MQHRF2", 546, 1208)
    (header,) = chain_of(message.descriptor, message.content_type, RFH2 + body).headers
    assert header.format == "MQSTR"


@pytest.mark.spec("ASF-5")
@given(size=st.integers(0, 300))
def test_at_most_a_hundred_bytes_of_a_body_are_some_of_it(size: int) -> None:
    message = built(Report.EXCEPTION_WITH_DATA, body=bytes(size))
    assert len(message.body) == min(size, 100)


@pytest.mark.spec("ASF-5")
def test_headers_in_the_body_do_not_count_as_data() -> None:
    """As a sender leaves them there that knows nothing of columns for headers."""
    message = built(Report.EXCEPTION_WITH_DATA, headers=None, body=RFH2 + BODY)
    assert message.body == RFH2 + BODY[:100]


@pytest.mark.spec("ASF-5")
def test_headers_that_cannot_be_read_are_reported_as_they_are() -> None:
    message = built(Report.EXCEPTION_WITH_DATA, headers=b"RFH bad")
    assert (message.headers, message.body) == (b"RFH bad", BODY[:100])


@pytest.mark.spec("ASF-6")
@pytest.mark.parametrize("passes_msg_id", [False, True])
@pytest.mark.parametrize("passes_correl_id", [False, True])
def test_the_identifiers_of_a_report_are_those_that_were_asked_for(
    passes_msg_id: bool, passes_correl_id: bool
) -> None:
    options = EXCEPTION
    options |= Report.PASS_MSG_ID if passes_msg_id else Report.NONE
    options |= Report.PASS_CORREL_ID if passes_correl_id else Report.NONE

    report = built(options)

    md = md_of(report)
    assert (md.msg_id.hex() == MSG_ID) is passes_msg_id
    assert (report.message_id == f"ID:{MSG_ID}") is passes_msg_id
    expected = CORREL_ID if passes_correl_id else MSG_ID
    assert md.correl_id.hex() == expected
    assert report.correlation_id == f"ID:{expected}"


@pytest.mark.spec("ASF-6")
def test_a_msg_id_that_the_broker_made_correlates_too() -> None:
    plain = original(client_message_id=None, descriptor={"msg_id": None})
    was = Descriptor.of(plain, broker_name="BACKOUT", now=NOON)
    report = built(EXCEPTION, client_message_id=None, descriptor={"msg_id": None})
    assert md_of(report).correl_id == was.msg_id
    assert report.correlation_id == was.jms_message_id


@pytest.mark.spec("ASF-6")
def test_a_jms_message_id_of_any_form_is_the_correlation_id() -> None:
    report = built(EXCEPTION, client_message_id="ID:of-an-order")
    assert report.correlation_id == "ID:of-an-order"
    assert md_of(report).correl_id.hex() == MSG_ID


@pytest.mark.spec("ASF-7", "ASF-10", "MD-8")
@pytest.mark.parametrize("durable", [True, False])
def test_the_descriptor_of_a_report_field_by_field(durable: bool) -> None:
    report = built(Report.EXCEPTION_WITH_FULL_DATA, durable=durable)
    assert md_of(report) == Descriptor(
        report=0,
        msg_type=4,
        expiry=-1,
        feedback=2364,
        encoding=546,
        coded_char_set_id=1208,
        format="MQHRF2",
        priority=7,
        persistence=int(durable),
        msg_id=b"AMQ " + b"BACKOUT     " + (18).to_bytes(8, "big"),
        correl_id=bytes.fromhex(MSG_ID),
        backout_count=0,
        reply_to_q="",
        reply_to_q_mgr="",
        put_appl_type=28,
        put_appl_name="MQ JMS ConnectionConsumer",
        put_date="20260314",
        put_time="12010000",
    )


@pytest.mark.spec("ASF-7")
@pytest.mark.parametrize(
    ("options", "report", "expiry"),
    [
        (Report.NONE, 0, -1),
        (Report.DISCARD_MSG, 0, -1),
        (Report.PASS_DISCARD_AND_EXPIRY, 0, 1800),
        (
            Report.PASS_DISCARD_AND_EXPIRY | Report.DISCARD_MSG,
            Report.DISCARD_MSG,
            1800,
        ),
    ],
)
def test_discard_and_expiry_are_passed_on_if_that_was_asked_for(
    options: Report, report: int, expiry: int
) -> None:
    md = md_of(built(EXCEPTION | options))  # read three minutes before it expires
    assert (md.report, md.expiry) == (report, expiry)


@pytest.mark.spec("ASF-7")
def test_an_unlimited_expiry_is_passed_on_as_such() -> None:
    options = EXCEPTION | Report.PASS_DISCARD_AND_EXPIRY
    assert built(options, expires_at=None).expires_at is None


@pytest.mark.spec("MD-3")
def test_the_report_of_an_expiry_that_is_passed_on_lives_for_a_minute() -> None:
    options = Report.EXPIRATION | Report.PASS_DISCARD_AND_EXPIRY
    report = built(options, Feedback.EXPIRATION)
    assert report.expires_at == NOON + minutes(2)
