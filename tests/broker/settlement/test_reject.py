"""Consumers that want no other attempt."""

from __future__ import annotations

from typing import Any

import pytest

from broker.client.dispatch import connection_consumer, server_session
from broker.client.dispatch.handlers import Handler
from broker.errors import LockLost
from broker.errors.units_of_work import Reject
from broker.models import AddressSetting, DeadLetter, Discarded, Kind, Queue, Ready
from broker.monitoring import fsck
from broker.queueing import delayed, journal
from broker.queueing.get import Delivery
from broker.queueing.put import put, put_many
from broker.transactions.scope import UnitOfWork, unit_of_work
from tests.broker.dying import back_out, on
from tests.make import NOON, make_messages, make_queue, make_setting, minutes

Policy = AddressSetting.PoisonPolicy

SPEC = pytest.mark.spec("DLA-11")
REAL = pytest.mark.usefixtures("transactional_db")
WHY = "There is no customer 17."


def make_ground(**fields: Any) -> Queue:
    make_queue("DLQ", address="DLA")
    policy = {"dead_letter_address": "DLA", "redelivery_delay_ms": 60_000}
    make_setting("orders", **policy | fields)
    return make_queue("orders")


@SPEC
@pytest.mark.django_db
@pytest.mark.parametrize("backouts", [0, 3])
def test_one_delivery_is_a_dead_letter_at_once_and_the_rest_goes_on(
    backouts: int,
) -> None:
    make_ground(max_delivery_attempts=-1)
    put_many(make_messages(2), now=NOON)
    for number in range(backouts):
        back_out(limit=2, at=number * 2)
        settle_delays(number * 2 + 1)
    work = UnitOfWork(now=NOON + minutes(30))
    bad, good = work.get("orders", 2)

    work.reject(bad, WHY)
    work.commit()

    letter = DeadLetter.objects.get()
    assert (letter.cause, letter.error) == ("REJECTED", WHY)
    assert (letter.origin_id, letter.backout_count) == (bad.message_id, backouts + 1)
    (copy,) = UnitOfWork(now=NOON).get("DLQ", 9)
    assert copy.properties["_BRK_DEATH_REASON"] == "REJECTED"
    assert not on("orders")
    kinds = [one.kind for one in journal.lifeline(good.message_id)]
    assert kinds[-1] == Kind.ACCEPT
    assert fsck.violations() == []
    with pytest.raises(LockLost):
        work_of(bad).reject(bad, WHY)


@SPEC
@REAL
@pytest.mark.parametrize("join", [False, True])
def test_what_a_handler_rejects_is_put_aside_with_its_whole_unit_of_work(
    join: bool,
) -> None:
    make_ground()
    put_many(make_messages(3), now=NOON)

    with (
        pytest.raises(Reject),
        unit_of_work(join=join, now=NOON) as work,
    ):
        work.get("orders", 2)
        work.put("orders", b"never sent")
        work.get("orders", 1)
        raise Reject(WHY)

    assert not on("orders")
    assert len(on("DLQ")) == 3
    letters = DeadLetter.objects.values_list("cause", "error", "backout_count")
    assert set(letters) == {("REJECTED", WHY, 1)}
    assert fsck.violations() == []


@SPEC
@REAL
@pytest.mark.parametrize("join", [False, True])
def test_a_consumer_s_handler_may_reject(join: bool) -> None:
    make_ground()
    put("orders", b"1", now=None)

    def handle(delivery: Delivery, work: UnitOfWork) -> None:
        raise Reject(WHY)

    handler = Handler("orders", handle, join=join, batch=1, concurrency=1)
    consumer = connection_consumer.ConnectionConsumer.open(handler)
    server_session.ServerSession(consumer).serve()
    consumer.close()

    assert (on("orders"), len(on("DLQ"))) == ([], 1)


@SPEC
@REAL
def test_a_rejection_outlives_the_handler_s_own_transaction() -> None:
    """The database ends it before the entries can be counted in it."""
    make_ground()
    put("orders", now=NOON)

    with pytest.raises(Reject), unit_of_work(join=True, now=NOON) as work:
        make_queue("other")  # so that there is no savepoint
        work.get("orders")
        raise Reject(WHY)

    assert (on("orders"), len(on("DLQ"))) == ([], 1)
    assert not Queue.objects.filter(name="other").exists()


@SPEC
@pytest.mark.django_db
@pytest.mark.spec("DLA-3")
def test_without_a_dead_letter_address_it_is_discarded(
    caplog: pytest.LogCaptureFixture,
) -> None:
    make_ground(dead_letter_address="")
    put("orders", now=NOON)
    work = UnitOfWork(now=NOON)
    (delivery,) = work.get("orders")

    work.reject(delivery, WHY)

    assert not Ready.objects.exists()
    assert Discarded.objects.get().message_id == delivery.message_id
    last = journal.lifeline(delivery.message_id)[-1]
    assert (last.kind, last.detail["cause"]) == (Kind.DISCARD, "REJECTED")
    assert "no dead letter address is set" in caplog.text


@SPEC
@pytest.mark.django_db
@pytest.mark.parametrize("policy", list(Policy))
def test_with_a_dead_letter_address_it_goes_there_whatever_the_policy(
    policy: AddressSetting.PoisonPolicy,
) -> None:
    make_ground(poison_policy=policy)
    put("orders", now=NOON)
    with pytest.raises(Reject), unit_of_work(now=NOON) as work:
        work.get("orders")
        raise Reject(WHY)
    assert len(on("DLQ")) == 1


@SPEC
@pytest.mark.django_db
@pytest.mark.spec("UNIFY-5")
def test_under_ibm_s_policy_without_one_the_threshold_goes_on_deciding() -> None:
    Queue.objects.filter(pk=make_ground(dead_letter_address="").pk).update(
        backout_threshold=3
    )
    put("orders", now=NOON)
    with pytest.raises(Reject), unit_of_work(now=NOON) as work:
        work.get("orders")
        raise Reject(WHY)
    settle_delays(2)
    assert Ready.objects.get().backout_count == 1


@SPEC
@pytest.mark.django_db
@pytest.mark.spec("DLA-8")
def test_what_is_rejected_where_dead_letters_go_stays_there(
    caplog: pytest.LogCaptureFixture,
) -> None:
    make_ground()
    make_setting("#", dead_letter_address="DLA")
    put("DLA", now=NOON)
    with pytest.raises(Reject), unit_of_work(now=NOON) as work:
        work.get("DLQ")
        raise Reject(WHY)
    settle_delays(1)
    assert len(on("DLQ")) == 1
    assert "stays there" in caplog.text


def settle_delays(at: float) -> None:
    delayed.wake_due(limit=100, now=NOON + minutes(at))


def work_of(delivery: Delivery) -> UnitOfWork:
    work = UnitOfWork(now=NOON)
    work.id, work.held = delivery.uow, 1
    return work
