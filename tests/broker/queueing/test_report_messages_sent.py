"""Report messages on their way: to whom, and where else."""

from __future__ import annotations

from typing import Any

import pytest
from django.conf import settings as configured

from broker.client.dispatch.undeliverable import SIGNATURE
from broker.errors.mq_codes import PutApplType, Reason, Report
from broker.errors.queues import NotAuthorized, QueueFull
from broker.formats.mq.chain import chain_of
from broker.formats.mq.descriptor import Descriptor
from broker.formats.mq.mqdlh import DeadLetterHeader
from broker.models import DeadLetter, Message, Queue, RoutingType
from broker.monitoring import fsck
from broker.queueing.put import put
from broker.queueing.report_messages import send
from broker.settlement import expiry
from broker.transactions.scope import UnitOfWork
from tests.broker.originals import BODY, MSG_ID, original
from tests.make import NOON, make_authority, make_queue, make_user, minutes, seconds

DLQ = configured.BROKER_DEAD_LETTER_QUEUE


class Sent:
    """What was put somewhere, as whoever gets it there has it."""

    def __init__(self, queue: str) -> None:
        (self.delivery,) = UnitOfWork(now=NOON + minutes(1)).get(queue, 2)
        data = (self.delivery.headers or b"") + self.delivery.body
        descriptor, content_type = self.delivery.descriptor, self.delivery.content_type
        self.chain = chain_of(descriptor, content_type, data)
        self.md = Descriptor.of(
            self.delivery, broker_name="BACKOUT", now=NOON + minutes(1)
        )


def sending(user: Any = None, **more: Any) -> None:
    send(
        original(Report.EXCEPTION_WITH_DATA, **more),
        Reason.JMS_FORMAT_ERROR,
        signature=SIGNATURE,
        user=user,
        now=NOON,
    )


@pytest.mark.django_db
@pytest.mark.spec("ASF-5", "ASF-9")
def test_a_report_is_put_on_the_queue_that_was_named_and_on_no_other() -> None:
    make_queue("answers", address="talk")
    make_queue("more answers", address="talk")
    make_queue("every answer", address="talk", routing_type=RoutingType.MULTICAST)
    sending()
    assert Sent("answers").md.feedback == 2364
    assert Message.objects.count() == 1
    for other in ("more answers", "every answer"):
        assert UnitOfWork(now=NOON).get(other) == []
    assert fsck.violations() == []


@pytest.mark.django_db
@pytest.mark.spec("ASF-8", "ASF-9", "ASF-10", "MD-4")
@pytest.mark.parametrize(
    ("answers", "more", "reason"),
    [
        (None, {}, 2085),
        ({"max_depth": 0}, {}, 2053),
        ({"put_inhibited": True}, {}, 2051),
        ({"max_message_bytes": 10}, {}, 2030),
        ({}, {"reply_to": None}, 2027),
        ({}, {"descriptor": {"reply_to_q_mgr": "ELSEWHERE"}}, 2087),
    ],
)
def test_a_report_that_its_queue_does_not_take_goes_to_the_dead_letter_queue(
    answers: dict[str, Any] | None, more: dict[str, Any], reason: int
) -> None:
    make_queue(DLQ)
    if answers is not None:
        make_queue("answers", **answers)

    sending(**more)

    sent = Sent(DLQ)
    header, rfh2 = sent.chain.headers
    assert header == DeadLetterHeader(
        reason=reason,
        dest_q_name=more.get("reply_to", "answers") or "",
        dest_q_mgr_name="BACKOUT",
        encoding=546,
        coded_char_set_id=1208,
        format="MQHRF2",
        put_appl_type=28,
        put_appl_name="MQ JMS ConnectionConsumer",
        put_date="20260314",
        put_time="12000000",
    )
    assert rfh2.format == "MQSTR"
    assert (sent.md.format, sent.md.feedback, sent.md.msg_type) == ("MQDEAD", 2364, 4)
    assert sent.delivery.body == BODY[:100]
    letter = DeadLetter.objects.get()
    assert (letter.cause, letter.reason) == (DeadLetter.Cause.REPORT, reason)
    assert fsck.violations() == []


@pytest.mark.django_db
@pytest.mark.spec("ASF-8")
def test_a_queue_manager_may_be_named_if_it_is_this_broker() -> None:
    make_queue("answers")
    sending(descriptor={"reply_to_q_mgr": "BACKOUT"})
    assert Sent("answers").md.feedback == 2364


@pytest.mark.django_db
@pytest.mark.spec("ASF-8", "POISON-12")
def test_who_may_not_put_a_report_puts_it_nowhere() -> None:
    make_queue("answers")
    make_queue(DLQ)
    omar = make_user("omar", granted=())
    with pytest.raises(NotAuthorized):
        sending(user=omar)
    make_authority(omar, "put", "passall", pattern=DLQ)
    sending(user=omar)
    (header, _) = Sent(DLQ).chain.headers
    assert isinstance(header, DeadLetterHeader)
    assert header.reason == 2035


@pytest.mark.django_db
@pytest.mark.spec("ASF-8", "ASF-13")
def test_nothing_is_put_where_no_queue_takes_the_report() -> None:
    make_queue("answers", max_depth=0)
    make_queue(DLQ, max_depth=0)
    with pytest.raises(QueueFull):
        sending()
    assert Message.objects.count() == 0


@pytest.mark.django_db
@pytest.mark.spec("MD-3", "MD-5")
@pytest.mark.parametrize(
    ("report", "body"),
    [
        (Report.EXPIRATION, b""),
        (Report.EXPIRATION_WITH_DATA, BODY[:100]),
        (Report.EXPIRATION_WITH_FULL_DATA, BODY),
    ],
)
def test_an_expired_message_is_reported_by_the_broker_if_that_was_asked_for(
    report: Report, body: bytes
) -> None:
    make_queue("orders")
    make_queue("answers")
    soon = NOON + seconds(1)
    descriptor = {"report": int(report | Report.EXCEPTION), "msg_id": MSG_ID}
    rest: dict[str, Any] = {"expires_at": soon, "priority": 7, "durable": False}
    put("orders", BODY, reply_to="answers", descriptor=descriptor, now=NOON, **rest)
    put("orders", b"silent", reply_to="answers", expires_at=soon, now=NOON)

    expiry.expire(limit=10, now=NOON + minutes(1))

    sent = Sent("answers")
    assert sent.delivery.body == body
    md = sent.md
    assert (md.feedback, md.msg_type, md.report) == (258, 4, 0)
    assert (md.put_appl_type, md.put_appl_name) == (PutApplType.QMGR, "BACKOUT")
    assert (md.priority, md.persistence, md.expiry) == (7, 0, -1)
    assert md.correl_id.hex() == MSG_ID
    assert fsck.violations() == []


@pytest.mark.django_db
@pytest.mark.spec("MD-3")
def test_a_message_expires_whether_or_not_its_report_can_be_put(
    caplog: pytest.LogCaptureFixture,
) -> None:
    orders = make_queue("orders")
    descriptor = {"report": int(Report.EXPIRATION)}
    number = put(
        "orders",
        message_id="ID:7",
        reply_to="nowhere",
        descriptor=descriptor,
        expires_at=NOON + seconds(1),
        now=NOON,
    ).message_id
    assert expiry.expire(limit=10, now=NOON + minutes(1)) == 1
    assert (
        f"No report says that message {number} (ID:7) of queue 'orders' expired: "
        in caplog.text
    )
    assert fsck.violations() == []
    assert Queue.objects.get() == orders
