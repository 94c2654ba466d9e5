"""Confirmations: reports on arrival (COA) and on delivery (COD)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings as configured
from django.db import connection
from django.test.utils import CaptureQueriesContext

from broker.errors import InvalidMessage
from broker.errors.messages import MissingReplyTo, WrongReportOptions
from broker.errors.mq_codes import Reason, Report
from broker.formats.mq.descriptor import Descriptor
from broker.models import DeadLetter, Message, Place, PreparedPut, Queue, RoutingType
from broker.monitoring import fsck
from broker.queueing import browse
from broker.queueing.get import Delivery
from broker.queueing.put import NewMessage, put, put_many
from broker.settlement import batch, expiry
from broker.settlement.confirmations import places_of
from broker.settlement.outcomes import Accept, BackOut
from broker.transactions import leases
from broker.transactions.prefetch import Prefetched
from broker.transactions.prepared import commit_prepared, prepare
from broker.transactions.unit_of_work import UnitOfWork
from tests.make import NOON, make_queue, make_setting, minutes

BODY = bytes(range(250))
COA, COD = Report.COA, Report.COD
DLQ = configured.BROKER_DEAD_LETTER_QUEUE
MULTICAST = RoutingType.MULTICAST

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def orders() -> Queue:
    make_queue("answers")
    return make_queue("orders")


def asking(report: int, address: str = "orders", **more: Any) -> NewMessage:
    described = {"report": int(report)} | more.pop("descriptor", {})
    return NewMessage(
        address, BODY, reply_to="answers", descriptor=described, priority=7, **more
    )


def told(queue: str = "answers") -> list[Delivery]:
    """All reports on a queue, which it keeps."""
    queue_id = Queue.objects.get(name=queue).pk
    return browse.whole(queue_id, browse.browse(queue_id, Place.READY))


def feedbacks(queue: str = "answers") -> list[int]:
    return [(one.descriptor or {}).get("feedback", 0) for one in told(queue)]


def work() -> UnitOfWork:
    return UnitOfWork(now=NOON)


@pytest.mark.spec("REPORT-1", "REPORT-3")
@pytest.mark.parametrize(
    ("report", "size"),
    [(COA, 0), (Report.COA_WITH_DATA, 100), (Report.COA_WITH_FULL_DATA, 250)],
)
def test_an_arrival_is_confirmed_with_the_put(report: int, size: int) -> None:
    (receipt,) = put_many([asking(report, durable=False)], now=NOON)
    (one,) = told()
    (put_one,) = told("orders")
    assert put_one.message_id == receipt.message_id
    original = Descriptor.of(put_one, broker_name="BACKOUT", now=NOON)
    md = Descriptor.of(one, broker_name="BACKOUT", now=NOON)
    assert (md.msg_type, md.feedback, md.report) == (4, 259, 0)
    assert (md.put_appl_type, md.put_appl_name) == (7, "BACKOUT")
    assert md.correl_id == original.msg_id
    assert (one.priority, one.durable, one.body) == (7, False, BODY[:size])
    assert fsck.violations() == []


@pytest.mark.spec("REPORT-1")
def test_an_arrival_in_a_unit_of_work_is_confirmed_at_its_commit() -> None:
    first = work()
    first.send(asking(COA))
    assert feedbacks() == []
    first.commit()
    second = work()
    second.send(asking(COA))
    second.back_out("no")
    assert feedbacks() == [259]


@pytest.mark.spec("REPORT-2")
@pytest.mark.parametrize("prepared", [False, True])
def test_a_delivery_is_confirmed_once_at_the_commit(prepared: bool) -> None:
    put_many([asking(Report.COD_WITH_DATA)], now=NOON)
    for _ in range(2):
        failing = work()
        assert len(failing.get("orders")) == 1
        failing.back_out(BackOut("no", at_once=True))
    last = UnitOfWork(coordinated=True, now=NOON)
    last.get("orders")
    assert feedbacks() == []
    if prepared:
        prepare(last, "x1")
        assert feedbacks() == []
        commit_prepared("x1", now=NOON)
    else:
        last.commit()
    assert feedbacks() == [260]
    assert told()[0].body == BODY[:100]
    assert not PreparedPut.objects.exists()
    assert fsck.violations() == []


def by_one(queue: Queue) -> None:
    one = work()
    one.accept(one.get(queue.name)[0])
    one.commit()


def by_prefetch(queue: Queue) -> None:
    got = Prefetched(queue).get(1, now=NOON)
    ids = [one.message_id for one in got]
    accepted = batch.Settlement(
        got[0].uow, queue.pk, ids, Accept(), wants_cod=bool(places_of(got))
    )
    assert batch.settle([accepted], now=NOON) == [None]


def by_lease(queue: Queue) -> None:
    lease = leases.take(queue, lease_for=timedelta(seconds=9), now=NOON)
    assert lease is not None
    leases.settle(lease.uow, queue.pk, Accept(), now=NOON)


@pytest.mark.spec("REPORT-2")
@pytest.mark.parametrize("way", [by_one, by_prefetch, by_lease])
def test_every_way_to_accept_confirms(way: Any, orders: Queue) -> None:
    put_many([asking(COD)], now=NOON)
    way(orders)
    assert feedbacks() == [260]
    assert fsck.violations() == []


@pytest.mark.spec("REPORT-2", "REPORT-3")
def test_no_other_end_is_confirmed(orders: Queue) -> None:
    both = COA | COD
    make_setting("#", dead_letter_address="DLA", max_delivery_attempts=1)
    make_queue("DLA")
    put_many(
        [
            asking(COD, expires_at=NOON + minutes(1)),
            asking(COD),
            asking(both, descriptor={"format": "MQDEAD"}),
            asking(COD),
        ],
        now=NOON,
    )
    told_of = feedbacks()
    expiry.expire_on("orders", now=NOON + minutes(2))
    one = UnitOfWork(now=NOON + minutes(2))
    (dead,) = one.get("orders")
    one.reject(dead, "no")
    one.get("orders")
    one.commit()
    marked = work()
    marked.get("orders", mark=True)
    marked.back_out("skip")
    assert marked.skipped is not None
    marked.skipped.commit()
    dead_letters = work()
    assert len(dead_letters.get("DLA", 3)) == 1
    dead_letters.commit()
    assert (told_of, feedbacks()) == ([], [])


@pytest.mark.spec("REPORT-3")
@pytest.mark.parametrize("report", [COA, COD])
def test_what_the_reply_queue_refuses_goes_to_the_dead_letter_queue(
    report: int,
) -> None:
    make_queue(DLQ)
    Queue.objects.filter(name="answers").update(put_inhibited=True, guarded=True)
    put_many([asking(report)], now=NOON)
    got = work()
    got.get("orders")
    got.commit()
    letter = DeadLetter.objects.get()
    assert (letter.cause, letter.reason) == (DeadLetter.Cause.REPORT, 2051)
    assert feedbacks(DLQ) == [259 if report == COA else 260]


@pytest.mark.spec("REPORT-3")
def test_a_report_that_goes_nowhere_hinders_nobody(
    caplog: pytest.LogCaptureFixture,
) -> None:
    Queue.objects.filter(name="answers").delete()
    put_many([asking(COA | COD, message_id="ID:17")], now=NOON)
    got = work()
    got.get("orders")
    got.commit()
    assert caplog.text.count("ID:17") == 2
    assert work().get("orders") == []


@pytest.mark.spec("REPORT-4")
def test_each_queue_of_a_topic_is_confirmed_on_its_own() -> None:
    for name in ("news.a", "news.b"):
        make_queue(name, address="news", routing_type=MULTICAST)
    put_many([asking(COA | COD, "news", routing_type=MULTICAST)], now=NOON)
    assert feedbacks() == [259, 259]
    for name in ("news.a", "news.b"):
        got = work()
        got.get(name)
        got.commit()
    assert feedbacks() == [259, 259, 260, 260]


@pytest.mark.spec("REPORT-4")
def test_pan_and_nan_are_handed_on() -> None:
    put_many([asking(Report.PAN | Report.NAN)], now=NOON)
    got = work()
    (one,) = got.get("orders")
    got.commit()
    assert one.descriptor == {"report": 3}
    assert feedbacks() == []


@pytest.mark.spec("REPORT-5")
@pytest.mark.parametrize(
    ("report", "reply_to", "format_", "refused"),
    [
        (256 + 1024, "answers", "", WrongReportOptions),
        (2048 + 8192, "answers", "", WrongReportOptions),
        (0x00040000, "answers", "", WrongReportOptions),
        (0x10000000, "answers", "", WrongReportOptions),
        (int(COD), "answers", "MQXMIT  ", WrongReportOptions),
        (int(COA), None, "", MissingReplyTo),
        (int(Report.PAN), None, "", MissingReplyTo),
        (1.5, "answers", "", InvalidMessage),
    ],
)
def test_wrong_options_are_refused(
    report: int, reply_to: str | None, format_: str, refused: type[Exception]
) -> None:
    described = {"report": report, "format": format_}
    with pytest.raises(refused):
        put("orders", reply_to=reply_to, descriptor=described, now=NOON)
    assert not Message.objects.exists()


@pytest.mark.spec("REPORT-5")
@pytest.mark.parametrize("report", [int(Report.ACTIVITY), 8, 0x40000000, -(2**31)])
def test_an_option_that_may_be_unknown_is_accepted_with_a_warning(report: int) -> None:
    (receipt,) = put_many([asking(report)], now=NOON)
    assert (receipt.completion, receipt.reason) == (1, Reason.UNKNOWN_REPORT_OPTION)
    (one,) = work().get("orders")
    assert one.descriptor == {"report": report}
    (plain,) = put_many([asking(COA)], now=NOON)
    assert (plain.completion, plain.reason) == (0, Reason.NONE)


@pytest.mark.spec("REPORT-1", "REPORT-2")
def test_messages_that_want_none_cost_no_more(orders: Queue) -> None:
    def counted(descriptor: dict[str, Any] | None, way: Any) -> int:
        message = NewMessage("orders", reply_to="answers", descriptor=descriptor)
        with CaptureQueriesContext(connection) as queries:
            put_many([message], now=NOON)
            way(orders)
        return len(queries)

    for way in (by_commit, by_one, by_prefetch, by_lease):
        counted(None, way)  # the process's own rows
        plain = counted(None, way)
        assert counted({"report": int(Report.PAN)}, way) == plain
        assert counted({"report": int(COD)}, way) > plain
    assert counted(None, by_commit) == COMMITTED


def by_commit(queue: Queue) -> None:
    one = work()
    one.get(queue.name)
    one.commit()


# A savepoint around the commit, in the transaction of the test: set and released.
COMMITTED = 2
