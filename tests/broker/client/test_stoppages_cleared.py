"""How delivery that stopped starts again, and when it does not."""

from __future__ import annotations

import pytest
from django.conf import settings as configured

from broker.client.dispatch.stoppages import clear
from broker.errors.queues import CauseRemains, NotAuthorized
from broker.models import (
    ConnectionConsumer,
    Queue,
    Ready,
    Stoppage,
)
from broker.monitoring import fsck
from broker.queueing.put import put
from broker.transactions.scope import UnitOfWork
from tests.broker.handling import Seen, broken, handler, running, session, stopped
from tests.console.until import until
from tests.make import NOON, make_authority, make_queue, make_user

pytestmark = pytest.mark.usefixtures("transactional_db")

DLQ = configured.BROKER_DEAD_LETTER_QUEUE


@pytest.mark.spec("ASF-11")
def test_delivery_does_not_start_again_while_the_cause_remains() -> None:
    server = stopped()
    with pytest.raises(CauseRemains, match=f"There is no queue '{DLQ}'"):
        clear("orders")
    assert server.serve() == 0
    assert Stoppage.objects.get().cleared_at is None
    assert Ready.objects.count() == 1
    assert fsck.violations() == []


@pytest.mark.spec("ASF-11")
def test_delivery_starts_again_when_the_cause_is_removed() -> None:
    omar = make_user("omar")
    server = stopped()
    make_queue(DLQ)
    put("orders", b"fine")

    assert clear("orders", user=omar, now=NOON) is True

    stoppage = Stoppage.objects.get()
    assert (stoppage.cleared_at, stoppage.cleared_by) == (NOON, omar)
    assert not server.consumer.is_open()
    assert not ConnectionConsumer.objects.exists()
    assert UnitOfWork().get(DLQ) == []  # it was tried, and undone
    seen = Seen()
    anew = session(handler(seen))
    assert [anew.serve() for _ in range(3)] == [1, 1, 0]
    assert seen.bodies == [b"fine"]
    assert len(UnitOfWork().get(DLQ, 5)) == 1
    assert fsck.violations() == []


@pytest.mark.spec("ASF-11", "POISON-5")
def test_new_connection_consumers_know_nothing_of_what_the_old_ones_had_read() -> None:
    make_queue("orders", backout_threshold=1)
    put("orders", b"poison")
    work = UnitOfWork()
    work.get("orders")
    work.back_out("no")
    seen = Seen()
    with running(handler(seen)):
        until(lambda: Stoppage.objects.exists())
        Queue.objects.filter(name="orders").update(backout_threshold=2)
        clear("orders")
        until(lambda: seen.bodies)
    assert [d.backout_count for d in seen.deliveries] == [1]


@pytest.mark.spec("ASF-11")
def test_a_running_dispatcher_waits_and_goes_on_by_itself() -> None:
    make_queue("orders")
    make_queue("invoices")
    seen, other = Seen(), Seen()
    with running(
        handler(seen, concurrency=2), handler(other, queue="invoices", join=False)
    ):
        broken(priority=9)
        until(lambda: Stoppage.objects.exists())
        put("orders", b"fine")
        put("invoices", b"1")
        until(lambda: other.bodies)
        row = ConnectionConsumer.objects.get(queue__name="orders")
        make_queue(DLQ)
        clear("orders")
        until(lambda: seen.bodies)
        anew = ConnectionConsumer.objects.get(queue__name="orders")
    assert anew.pk != row.pk
    assert seen.bodies == [b"fine"]
    assert len(UnitOfWork().get(DLQ, 5)) == 1


@pytest.mark.spec("ASF-11")
@pytest.mark.parametrize("how", ["gone", "in hand"])
def test_a_message_that_is_not_there_is_no_cause(how: str) -> None:
    stopped()
    work = UnitOfWork()
    work.get("orders")
    if how == "gone":
        work.commit()
    assert clear("orders") is True


@pytest.mark.spec("ASF-11")
def test_the_cause_is_looked_for_on_a_paused_queue_too() -> None:
    stopped()
    Queue.objects.filter(name="orders").update(paused=True)
    with pytest.raises(CauseRemains):
        clear("orders")
    assert Queue.objects.get(name="orders").paused


@pytest.mark.spec("ASF-11", "ASF-1")
def test_what_nobody_wants_may_be_the_cause_that_remains() -> None:
    make_queue("orders")
    put("orders")
    wanting = handler(Seen(), selector="size > 5", retain_unwanted=False)
    session(wanting).serve()
    with pytest.raises(CauseRemains, match="no ConnectionConsumer’s selector"):
        clear("orders")
    session_of_all = ConnectionConsumer.objects.get()
    session_of_all.selector = "JMSPriority = 4"
    session_of_all.save()
    assert clear("orders") is True


def test_to_start_what_runs_changes_nothing() -> None:
    make_queue("orders")
    server = session(handler(Seen()))
    assert clear("orders") is False
    assert server.consumer.is_open()


@pytest.mark.spec("ASF-11")
def test_who_may_not_set_a_queue_does_not_start_it() -> None:
    stopped()
    make_queue(DLQ)
    vera = make_user("vera", granted=("inquire", "browse", "get"))
    with pytest.raises(NotAuthorized):
        clear("orders", user=vera)
    assert Queue.objects.get(name="orders").stopped


@pytest.mark.spec("ASF-11", "POISON-12")
def test_an_authority_that_the_consumer_s_user_lacks_is_a_cause_that_remains() -> None:
    make_queue("orders")
    make_queue(DLQ)
    user = make_user("clearing", granted=("inquire", "get"))
    broken()
    session(handler(Seen(), user=user.username)).serve()

    with pytest.raises(CauseRemains, match="lacks the authority 'put'"):
        clear("orders")
    make_authority(user, "put", "passall", pattern=DLQ)
    assert clear("orders") is True
