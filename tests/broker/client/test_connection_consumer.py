"""ConnectionConsumers: what their handlers never see, and what becomes of it."""

from __future__ import annotations

from typing import Any

import pytest
from django.conf import settings as configured

from broker.client.dispatch import server_session
from broker.errors.mq_codes import Report
from broker.formats.mq.rfh2 import Rfh2
from broker.models import (
    DeadLetter,
    Discarded,
    Message,
    Queue,
    Ready,
    RoutingType,
)
from broker.monitoring import fsck
from broker.queueing import journal, processes, report_messages
from broker.queueing.get import Delivery
from broker.queueing.put import put, put_many
from broker.settlement import settle
from tests.broker.elsewhere import Elsewhere
from tests.broker.handling import Seen, handler, refuse, session
from tests.broker.putting_away import got, header_of, md_of, poisonous, rounds
from tests.console.until import until
from tests.make import (
    make_messages,
    make_queue,
)

pytestmark = pytest.mark.usefixtures("transactional_db")

JOINED_OR_LEASED = pytest.mark.parametrize("join", [True, False])
DLQ = configured.BROKER_DEAD_LETTER_QUEUE
BROKEN: dict[str, Any] = {
    "descriptor": {"format": "MQHRF2"},
    "headers": b"RFH broken",
}
BIG: dict[str, Any] = {"properties": {"size": 9}}
SMALL: dict[str, Any] = {"properties": {"size": 1}}


@pytest.fixture
def dlq() -> Queue:
    return make_queue(DLQ)


@JOINED_OR_LEASED
@pytest.mark.spec("ASF-1", "ASF-9", "ASF-10", "MD-4")
def test_a_message_that_cannot_be_read_goes_to_the_dead_letter_queue(
    dlq: Queue, join: bool
) -> None:
    make_queue("orders")
    put("orders", b"unreadable", **BROKEN)
    put("orders", b"fine")
    seen = Seen()

    rounds(session(handler(seen, join=join)))

    assert seen.bodies == [b"fine"]
    (moved,) = got(DLQ)
    header = header_of(moved)
    assert (header.reason, header.dest_q_name) == (2364, "orders")
    assert header.put_appl_type == 28
    assert header.put_appl_name == "MQ JMS ConnectionConsumer"
    assert (header.format, md_of(moved).format) == ("MQHRF2", "MQDEAD")
    assert DeadLetter.objects.get().cause == DeadLetter.Cause.MALFORMED
    assert fsck.violations() == []


@JOINED_OR_LEASED
@pytest.mark.spec("ASF-1")
def test_headers_that_can_be_read_or_are_unknown_are_no_fault(
    dlq: Queue, join: bool
) -> None:
    make_queue("orders")
    whole = Rfh2(encoding=273, coded_char_set_id=1208, format="MQSTR").to_bytes()
    put("orders", b"1", descriptor={"format": "MQHRF2"}, headers=whole)
    put("orders", b"2", descriptor={"format": "MQCICS"}, headers=b"what ever")
    put("orders", whole + b"3", descriptor={"format": "MQHRF2"})
    seen = Seen()
    rounds(session(handler(seen, join=join)))
    assert seen.bodies == [b"1", b"2", whole + b"3"]


@JOINED_OR_LEASED
@pytest.mark.spec("ASF-1", "ASF-9", "POISON-15")
@pytest.mark.parametrize(
    ("backout_queue", "reason"), [("", 2362), ("nowhere", 2085), ("full", 2053)]
)
def test_poison_goes_to_the_dead_letter_queue_where_its_backout_queue_does_not_have_it(
    dlq: Queue, join: bool, backout_queue: str, reason: int
) -> None:
    make_queue("orders", backout_threshold=1, backout_queue=backout_queue)
    make_queue("full", max_depth=0)
    poisonous()
    seen = Seen()

    rounds(session(handler(seen, join=join)))

    assert seen.bodies == []
    (moved,) = got(DLQ)
    assert header_of(moved).reason == reason
    assert header_of(moved).put_appl_name == "MQ JMS ConnectionConsumer"
    assert (moved.body, moved.backout_count) == (b"poison", 0)
    letter = DeadLetter.objects.get()
    assert (letter.cause, letter.reason) == ("BACKOUT_THRESHOLD", reason)
    assert letter.error == "ValueError: no such customer"


@JOINED_OR_LEASED
@pytest.mark.spec("POISON-15", "ASF-3", "POISON-6")
def test_poison_goes_to_its_backout_queue_first_and_is_not_reported(
    dlq: Queue, join: bool
) -> None:
    make_queue("orders", backout_threshold=2, backout_queue="BOQ")
    make_queue("BOQ")
    make_queue("answers")
    report = int(Report.EXCEPTION | Report.DISCARD_MSG)
    descriptor = {"report": report}
    poisonous(backouts=2, descriptor=descriptor, reply_to="answers")
    rounds(session(handler(Seen(), join=join)))
    (moved,) = got("BOQ")
    assert (moved.body, moved.backout_count) == (b"poison", 0)
    assert md_of(moved).report == report
    assert got("answers") == got(DLQ) == []


@JOINED_OR_LEASED
@pytest.mark.spec("ASF-3")
def test_poison_is_put_away_outside_of_the_handlers_unit_of_work(
    dlq: Queue, join: bool
) -> None:
    """A whole batch is backed out after it; that it is gone stays so."""
    make_queue("orders", backout_threshold=2)
    put_many(make_messages(1))
    poisonous(backouts=2)
    put("orders", b"2")
    seen = Seen(refuse)
    server = session(handler(seen, join=join, batch=10))

    counts = [server.serve(), server.serve()]

    assert counts == [3, 2]
    assert seen.bodies == [b"1"]
    assert [d.body for d in got(DLQ)] == [b"poison"]
    assert [(d.body, d.backout_count) for d in got("orders")] == [(b"1", 1), (b"2", 1)]
    assert fsck.violations() == []


@JOINED_OR_LEASED
@pytest.mark.spec("ASF-3", "UNIFY-12")
def test_what_is_put_away_does_not_delay_or_count_the_others(
    dlq: Queue, join: bool
) -> None:
    orders = make_queue("orders", backout_threshold=1)
    poisonous(priority=9)
    put("orders", b"broken", priority=9, **BROKEN)
    put_many(make_messages(3))
    seen = Seen()
    rounds(session(handler(seen, join=join, batch=2)))
    assert seen.bodies == [b"1", b"2", b"3"]
    assert {d.backout_count for d in seen.deliveries} == {0}
    assert journal.depths()[orders.pk].total == 0


@JOINED_OR_LEASED
@pytest.mark.spec("ASF-3", "UOW-2")
def test_a_server_session_backs_out_what_its_handler_raises_from(join: bool) -> None:
    make_queue("orders")
    put("orders")
    session(handler(Seen(refuse), join=join)).serve()
    assert Ready.objects.get().backout_count == 1


@pytest.mark.spec("ASF-3")
def test_a_session_that_dies_is_backed_out_by_the_system(elsewhere: Elsewhere) -> None:
    make_queue("orders")
    put("orders")

    def die(_: Delivery) -> None:
        processes.resign()
        until(lambda: elsewhere(settle.back_out_overdue, limit=10))

    session(handler(Seen(die), join=False)).serve()
    assert Ready.objects.get().backout_count == 1


@JOINED_OR_LEASED
@pytest.mark.spec("ASF-1", "ASF-2", "ASF-9")
def test_what_nobody_wants_goes_away_if_it_is_not_to_be_retained(
    dlq: Queue, join: bool
) -> None:
    make_queue("orders")
    put("orders", b"big", **BIG)
    put("orders", b"small", **SMALL)
    put("orders", b"of no size")
    big, small = Seen(), Seen()
    of_big = session(
        handler(big, join=join, selector="size > 5", retain_unwanted=False)
    )
    of_small = session(handler(small, join=join, selector="size < 5"))

    rounds(of_big)

    assert big.bodies == [b"big"]
    (moved,) = got(DLQ)
    assert (moved.body, header_of(moved).reason) == (b"of no size", 2363)
    assert DeadLetter.objects.get().cause == DeadLetter.Cause.UNWANTED
    assert small.bodies == []
    rounds(of_small)
    assert small.bodies == [b"small"]


@JOINED_OR_LEASED
@pytest.mark.spec("ASF-2")
@pytest.mark.parametrize(
    ("retains", "routing_type", "others"),
    [
        (True, RoutingType.ANYCAST, "size > 7"),
        (False, RoutingType.MULTICAST, "size > 7"),
        (False, RoutingType.ANYCAST, ""),
    ],
    ids=["retained", "publish/subscribe", "somebody takes everything"],
)
def test_what_nobody_wants_stays_in_any_other_case(
    dlq: Queue, join: bool, retains: bool, routing_type: RoutingType, others: str
) -> None:
    make_queue("orders", routing_type=routing_type)
    put("orders", b"small", **SMALL)
    session(handler(Seen(), selector=others))
    server = session(
        handler(Seen(), join=join, selector="size > 5", retain_unwanted=retains)
    )
    assert server.consumer.other_selectors() is None
    rounds(server)
    assert [(d.body, d.backout_count) for d in got("orders")] == [(b"small", 0)]


@pytest.mark.spec("ASF-1", "ASF-2")
def test_what_is_unwanted_is_found_while_there_is_always_something_wanted(
    dlq: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_session, "SWEEP_S", 0.0)
    make_queue("orders")
    put("orders", b"small", **SMALL)
    put("orders", b"big", **BIG)
    seen = Seen(lambda _: put("orders", b"big", **BIG))
    server = session(handler(seen, selector="size > 5", retain_unwanted=False))
    for _ in range(3):
        assert server.serve() == 1
    assert [d.body for d in got(DLQ)] == [b"small"]


@JOINED_OR_LEASED
@pytest.mark.spec("ASF-4", "ASF-5", "ASF-7", "ASF-9")
@pytest.mark.parametrize("discards", [False, True])
@pytest.mark.parametrize(
    ("asks", "body"),
    [
        (Report.NONE, None),
        (Report.EXCEPTION, b""),
        (Report.EXCEPTION_WITH_DATA, b"x" * 100),
        (Report.EXCEPTION_WITH_FULL_DATA, b"x" * 200),
    ],
)
def test_the_report_field_says_what_becomes_of_a_message_and_who_is_told(
    dlq: Queue, join: bool, discards: bool, asks: Report, body: bytes | None
) -> None:
    orders = make_queue("orders", backout_threshold=1)
    make_queue("answers")
    report = asks | (Report.DISCARD_MSG if discards else Report.NONE)
    descriptor = {"report": int(report)}
    message_id = poisonous(b"x" * 200, descriptor=descriptor, reply_to="answers")

    rounds(session(handler(Seen(), join=join)))

    if discards:
        binned = Discarded.objects.get()
        assert (binned.message_id, binned.reason) == (message_id, 2362)
        assert got(DLQ) == []
    else:
        (moved,) = got(DLQ)
        assert header_of(moved).reason == 2362
    answers = got("answers")
    assert [answer.body for answer in answers] == ([] if body is None else [body])
    for answer in answers:
        md = md_of(answer)
        assert (md.msg_type, md.feedback, md.report) == (4, 2362, 0)
    assert journal.depths()[orders.pk].total == 0
    assert fsck.violations() == []


@pytest.mark.spec("ASF-8", "ASF-13")
def test_a_report_without_a_place_lies_beside_what_it_tells_of(dlq: Queue) -> None:
    make_queue("orders", backout_threshold=1)
    descriptor = {"report": int(Report.EXCEPTION)}
    poisonous(descriptor=descriptor, reply_to="nowhere")
    rounds(session(handler(Seen())))
    message, report = got(DLQ)
    assert (header_of(message).reason, header_of(report).reason) == (2362, 2085)
    assert (md_of(message).feedback, md_of(report).feedback) == (0, 2362)


@pytest.mark.spec("ASF-13")
def test_a_message_is_not_removed_if_its_report_fails_in_the_middle(
    dlq: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_queue("orders", backout_threshold=1)
    make_queue("answers")
    descriptor = {"report": int(Report.EXCEPTION)}
    message_id = poisonous(descriptor=descriptor, reply_to="answers")

    class PowerCutError(Exception):
        pass

    put_on = report_messages.put_on

    def put_and_cut(*args: Any, **kwargs: Any) -> None:
        put_on(*args, **kwargs)
        raise PowerCutError

    monkeypatch.setattr(report_messages, "put_on", put_and_cut)
    session(handler(Seen(), join=False)).serve()

    assert [row.id for row in Ready.objects.all()] == [message_id]
    assert Message.objects.count() == 1
    assert fsck.violations() == []
