"""The last resort: delivery that stops, whom that concerns, and how it starts again."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from django.conf import settings as configured

from broker.client.dispatch import stoppages
from broker.client.dispatch.server_session import Got, ServerSession
from broker.errors.mq_codes import Reason, Report
from broker.errors.queues import DeliveryStopped
from broker.models import (
    Discarded,
    Message,
    Ready,
    Stoppage,
)
from broker.monitoring import fsck
from broker.queueing import journal
from broker.queueing.get import Delivery
from broker.queueing.put import put
from broker.transactions.scope import UnitOfWork
from tests.broker.elsewhere import process, said
from tests.broker.handling import Seen, broken, handler, session, stopped
from tests.make import make_queue

pytestmark = pytest.mark.usefixtures("transactional_db")

JOINED_OR_LEASED = pytest.mark.parametrize("join", [True, False])
DLQ = configured.BROKER_DEAD_LETTER_QUEUE
NO_DLQ: dict[str, Any] | None = None
DLQS = pytest.mark.parametrize(
    ("dlq", "reason"),
    [
        (NO_DLQ, Reason.UNKNOWN_OBJECT_NAME),
        ({"max_depth": 0}, Reason.Q_FULL),
        ({"put_inhibited": True}, Reason.PUT_INHIBITED),
        ({"max_message_bytes": 171}, Reason.MSG_TOO_BIG_FOR_Q),
    ],
    ids=["missing", "full", "inhibited", "too short"],
)


@JOINED_OR_LEASED
@DLQS
@pytest.mark.spec("ASF-11")
def test_a_persistent_message_that_can_go_nowhere_stops_delivery(
    join: bool, dlq: dict[str, Any] | None, reason: Reason
) -> None:
    orders = make_queue("orders")
    if dlq is not None:
        make_queue(DLQ, **dlq)
    message_id = broken()
    put("orders", b"fine")
    seen = Seen()
    server = session(handler(seen, join=join, batch=5))

    counts = [server.serve(), server.serve()]

    assert counts == [2, 0]
    assert seen.bodies == []
    stoppage = Stoppage.objects.get()
    assert (stoppage.queue, stoppage.message_id) == (orders, message_id)
    assert (stoppage.reason, stoppage.cleared_at) == (reason, None)
    assert "has headers that cannot be read" in stoppage.why
    orders.refresh_from_db()
    assert orders.stopped
    rows = Ready.objects.order_by("pos").values_list("id", "backout_count")
    assert rows[0] == (message_id, 0)
    assert journal.depths()[orders.pk].ready == 2
    assert fsck.violations() == []


@JOINED_OR_LEASED
@DLQS
@pytest.mark.spec("ASF-11")
def test_a_message_that_is_not_persistent_is_discarded_and_not_reported(
    join: bool, dlq: dict[str, Any] | None, reason: Reason
) -> None:
    make_queue("orders")
    make_queue("answers")
    if dlq is not None:
        make_queue(DLQ, **dlq)
    message_id = broken(durable=False, report=Report.EXCEPTION, reply_to="answers")
    put("orders", b"fine")
    seen = Seen()
    server = session(handler(seen, join=join))

    counts = [server.serve() for _ in range(3)]

    assert (counts, seen.bodies) == ([1, 1, 0], [b"fine"])
    binned = Discarded.objects.get()
    assert (binned.message_id, binned.reason) == (message_id, 2364)
    assert UnitOfWork().get("answers") == []
    assert not Stoppage.objects.exists()
    assert fsck.violations() == []


@JOINED_OR_LEASED
@pytest.mark.parametrize("durable", [True, False])
@pytest.mark.spec("ASF-11", "ASF-13")
def test_a_report_that_can_be_put_nowhere_is_the_last_resort_as_well(
    join: bool, durable: bool
) -> None:
    """The dead letter queue has room for the message, but not for its report, too."""
    make_queue("orders")
    make_queue(DLQ, max_depth=1)
    message_id = broken(durable=durable, report=Report.EXCEPTION, reply_to="nowhere")

    session(handler(Seen(), join=join)).serve()

    assert UnitOfWork().get(DLQ) == []
    if durable:
        assert Stoppage.objects.get().reason == Reason.Q_FULL
        assert Ready.objects.get().id == message_id
    else:
        assert Discarded.objects.get().message_id == message_id
    assert Message.objects.count() == 1
    assert fsck.violations() == []


@pytest.mark.spec("ASF-11", "POISON-15")
@pytest.mark.parametrize("backout_queue", ["", "nowhere"])
def test_poison_stops_delivery_too_and_stays_as_it_is(backout_queue: str) -> None:
    make_queue("orders", backout_threshold=1, backout_queue=backout_queue)
    message_id = put("orders").message_id
    work = UnitOfWork()
    work.get("orders")
    work.back_out("no")
    session(handler(Seen())).serve()
    (row,) = Ready.objects.all()
    assert (row.id, row.backout_count) == (message_id, 1)
    assert Stoppage.objects.get().message_id == message_id


@pytest.mark.spec("ASF-11")
def test_all_connection_consumers_of_the_queue_stop_in_all_processes() -> None:
    make_queue("orders")
    seen = Seen()
    beside = session(handler(seen))
    session(handler(Seen(), selector="JMSPriority = 9", retain_unwanted=False))
    broken()
    session(handler(Seen(), join=False)).serve()
    put("orders", b"fine")

    assert beside.serve() == 0
    assert not beside.consumer.is_open()
    with pytest.raises(DeliveryStopped, match="headers that cannot be read"):
        session(handler(Seen()))
    with process(CONSUME) as other:
        assert said(other) == "DeliveryStopped 0"
    assert seen.bodies == []


CONSUME = """
from broker.client.dispatch.connection_consumer import ConnectionConsumer
from broker.errors import BrokerError
from broker.client.dispatch.handlers import Handler
from broker.transactions.scope import UnitOfWork
try:
    ConnectionConsumer.open(Handler("orders", print, False, 1, 1))
except BrokerError as error:
    got = UnitOfWork().get("orders", 10, pooled=True)
    print(type(error).__name__, len(got), flush=True)
"""


@JOINED_OR_LEASED
@pytest.mark.spec("ASF-11")
def test_once_delivery_has_stopped_the_rest_of_a_batch_is_left_alone(
    join: bool,
) -> None:
    make_queue("orders")
    ids = [broken(), broken(durable=False)]
    session(handler(Seen(), join=join, batch=2)).serve()
    assert sorted(Ready.objects.values_list("id", flat=True)) == ids
    assert not Discarded.objects.exists()


@pytest.mark.spec("ASF-11")
def test_other_queues_and_other_kinds_of_consumers_go_on() -> None:
    make_queue("invoices")
    stopped()
    put("invoices", b"1")
    put("orders", b"fine", priority=9)
    seen = Seen()
    session(handler(seen, queue="invoices")).serve()
    assert seen.bodies == [b"1"]
    (delivery,) = UnitOfWork().get("orders")
    assert delivery.body == b"fine"


@pytest.mark.spec("ASF-11")
def test_a_stop_is_an_error_in_the_log_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    make_queue("orders")
    broken()
    two = [session(handler(Seen())) for _ in range(2)]
    for server in two:
        server.serve()
    (record,) = [r for r in caplog.records if r.name == stoppages.__name__]
    assert record.levelname == "ERROR"
    assert "Delivery from queue orders" in record.getMessage()
    assert f"There is no queue '{DLQ}'" in record.getMessage()


@pytest.mark.spec("ASF-11")
def test_two_sessions_that_stop_a_queue_at_once_stop_it_once() -> None:
    make_queue("orders")
    broken()
    broken()
    works = [UnitOfWork(), UnitOfWork()]
    deliveries = [work.get("orders", pooled=True)[0] for work in works]
    servers = [session(handler(Seen())) for _ in works]
    for server, work, delivery in zip(servers, works, deliveries, strict=True):
        put_away(server, work, delivery)
    assert Stoppage.objects.count() == 1
    assert Ready.objects.count() == 2


def put_away(server: ServerSession, work: UnitOfWork, delivery: Delivery) -> None:
    got = Got([delivery])
    server.put_away(server.sift(got), got, work)
    work.commit()
