"""Poison messages, as the client API's consumers meet them."""

from __future__ import annotations

from functools import partial

import pytest

from broker.client import SessionMode
from broker.config import names
from broker.errors.mq_codes import Report
from broker.errors.queues import NotAuthorized
from broker.models import (
    Authority,
    ModelQueue,
    Queue,
    QueueAlias,
    Ready,
    RoutingType,
    UnitOfWork,
)
from broker.queueing import processes
from broker.queueing.put import put
from tests.broker.receiving import (
    AUTO,
    CLIENT,
    DLQ,
    MODES,
    TRANSACTED,
    binned,
    client,
    consumer,
    counts,
    make_poison,
    put_again,
    put_orders,
    received,
    session,
)
from tests.make import NOON, make_queue, make_setting, make_user, minutes, seconds

pytestmark = pytest.mark.django_db


def rolled_back(times: int, queue: str = "orders") -> list[int]:
    """Receive and roll back, each time with a new consumer; the counts seen."""
    seen = []
    for _ in range(times):
        with session(TRANSACTED) as one:
            message = one.consumer(queue).receive_nowait()
            if message is not None:
                seen.append(message.backout_count)
                one.rollback()
            else:
                one.commit()
    return seen


@pytest.mark.spec("POISON-1", "POISON-4")
def test_without_a_threshold_a_message_comes_back_for_ever() -> None:
    make_poison(0, threshold=0, backout_queue="BOQ")
    make_setting("orders", max_delivery_attempts=-1)
    make_queue("BOQ")
    assert rolled_back(25) == list(range(25))
    assert counts("BOQ") == []


@pytest.mark.spec("POISON-3", "UNIFY-2")
@pytest.mark.parametrize("threshold", [1, 2, 5])
def test_a_threshold_of_n_shows_the_message_n_times(threshold: int) -> None:
    make_queue("BOQ")
    make_poison(0, threshold=threshold, backout_queue="BOQ")
    assert rolled_back(threshold) == list(range(threshold))
    assert counts() == [(b"poison", threshold)]  # nobody has moved it yet
    assert rolled_back(1) == []
    assert counts() == []
    assert counts("BOQ") == [(b"poison", 0)]


@pytest.mark.spec("POISON-2")
def test_the_broker_itself_never_acts_on_the_threshold() -> None:
    make_queue("BOQ")
    make_poison(9, threshold=3, backout_queue="BOQ")
    assert counts() == [(b"poison", 9)]


@pytest.mark.spec("POISON-3", "UNIFY-12")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("prefetch", [1, 9])
def test_a_poison_message_at_the_head_keeps_nothing_from_the_next(
    mode: SessionMode, prefetch: int
) -> None:
    make_queue("BOQ")
    make_poison(backout_queue="BOQ")
    put_orders(2)
    assert received(consumer(mode, prefetch=prefetch)) == [b"1", b"2"]


@pytest.mark.spec("POISON-5", "UNIFY-7")
def test_a_consumer_keeps_what_it_has_read_and_a_new_one_reads_again() -> None:
    make_queue("BOQ")
    orders = make_poison(2, threshold=3, backout_queue="BOQ")
    receiving = consumer(TRANSACTED)
    assert received(receiving) == [b"poison"]
    receiving.session.rollback()  # 3: poison by what it has read

    orders.backout_threshold = 99
    orders.save()
    assert received(consumer(AUTO)) == [b"poison"]  # a new one does not find it so
    put_again(3)
    assert received(receiving) == []
    receiving.session.commit()
    assert counts("BOQ") == [(b"poison", 0)]


@pytest.mark.spec("POISON-5")
def test_nothing_is_read_before_a_message_has_come_back() -> None:
    make_queue("BOQ")
    orders = make_queue("orders", backout_threshold=1, backout_queue="wrong")
    put_orders(2)
    receiving = consumer(TRANSACTED)
    assert received(receiving, 1) == [b"1"]
    assert receiving.attributes is None
    orders.backout_queue = "BOQ"
    orders.save()
    receiving.session.rollback()
    assert received(receiving) == [b"2"]
    receiving.session.commit()
    assert counts("BOQ") == [(b"1", 0)]


@pytest.mark.spec("POISON-11")
@pytest.mark.parametrize("target", ["orders", "shop"])
def test_of_an_alias_the_local_queue_is_asked(target: str) -> None:
    make_queue("BOQ")
    make_queue("orders", address="shop", backout_threshold=2, backout_queue="BOQ")
    QueueAlias.objects.create(name="bestellungen", target=target)
    put("shop", b"poison", now=NOON)
    assert rolled_back(3, "bestellungen") == [0, 1]
    assert counts("BOQ") == [(b"poison", 0)]


@pytest.mark.spec("POISON-11", "POISON-12")
def test_of_a_subscription_the_managed_queue_is_asked() -> None:
    make_queue("BOQ")
    make_queue("anything", address="news", routing_type=RoutingType.MULTICAST)
    for permanent, name in (
        (True, "SYSTEM.DURABLE.MODEL.QUEUE"),
        (False, "SYSTEM.NDURABLE.MODEL.QUEUE"),
    ):
        ModelQueue.objects.update_or_create(
            name=name,
            defaults={
                "permanent": permanent,
                "backout_threshold": 1,
                "backout_queue": "BOQ",
            },
        )
    one = session(TRANSACTED)
    for subscribe in (one.subscribe, partial(one.subscribe_durable, name="mine")):
        receiving = subscribe("news")
        ModelQueue.objects.update(backout_threshold=0)  # too late for these
        put("news", b"poison", now=NOON)
        assert received(receiving) == [b"poison"]
        one.rollback()
        assert received(receiving) == []
        one.commit()
        ModelQueue.objects.update(backout_threshold=1)
        assert received(consumer(AUTO, "BOQ")) == [b"poison"]
        receiving.close()


@pytest.mark.spec("POISON-16")
def test_where_no_threshold_can_be_defined_it_is_twenty() -> None:
    ModelQueue.objects.create(name="MINE", permanent=False)
    temporary = names.open_model("MINE", owner=processes.current())
    make_setting(temporary.address.name, max_delivery_attempts=-1, poison_policy="ibm")
    make_queue(DLQ)
    put(temporary.address.name, b"poison", now=NOON)
    assert rolled_back(21, temporary.name) == list(range(20))
    assert counts(DLQ) == [(b"poison", 0)]


@pytest.mark.spec("POISON-12")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("prefetch", [1, 9])
def test_without_inquire_the_receive_fails_and_the_message_stays(
    mode: SessionMode, prefetch: int
) -> None:
    make_poison(1)
    put_orders(1)
    user = make_user(granted=("get",), pattern="orders")
    receiving = client(user=user).session(mode, prefetch=prefetch).consumer("orders")
    for _ in range(2):
        with pytest.raises(NotAuthorized) as caught:
            receiving.receive_nowait()
        assert caught.value.reason == 2035
    assert counts() == [(b"poison", 1), (b"1", 0)]

    Authority.objects.update(may_inquire=True)
    assert received(receiving) == [b"poison", b"1"]


@pytest.mark.spec("POISON-12")
def test_without_get_there_is_no_consumer() -> None:
    make_queue("orders")
    with pytest.raises(NotAuthorized):
        client(user=make_user(granted=("put", "browse"))).session().consumer("orders")


@pytest.mark.spec("POISON-8")
def test_a_transacted_move_appears_with_the_commit() -> None:
    boq = make_queue("BOQ")
    make_poison(backout_queue="BOQ")
    receiving = consumer(TRANSACTED)
    assert received(receiving) == []
    assert not Ready.objects.filter(queue_id=boq.pk).exists()
    assert counts() == []
    receiving.session.commit()
    assert counts("BOQ") == [(b"poison", 0)]


@pytest.mark.spec("POISON-8", "UOW-2")
def test_a_transacted_move_is_undone_and_counted_and_comes_again() -> None:
    make_queue("BOQ")
    make_poison(2, threshold=2, backout_queue="BOQ")
    receiving = consumer(TRANSACTED)
    for backouts in (3, 4):
        assert received(receiving) == []
        receiving.session.rollback()
        assert counts("BOQ") == []
        assert counts() == [(b"poison", backouts)]
    assert received(receiving) == []
    receiving.session.commit()
    assert counts("BOQ") == [(b"poison", 0)]


@pytest.mark.spec("POISON-8")
def test_a_transacted_move_and_its_neighbours_are_one_unit_of_work() -> None:
    make_queue("BOQ")
    make_poison(2, threshold=2, backout_queue="BOQ")
    put_orders(2)
    receiving = consumer(TRANSACTED)
    assert received(receiving) == [b"1", b"2"]
    receiving.session.commit()
    assert counts() == []
    assert counts("BOQ") == [(b"poison", 0)]


@pytest.mark.spec("POISON-8")
@pytest.mark.parametrize("mode", [AUTO, CLIENT])
def test_a_move_of_no_transaction_stands_at_once(mode: SessionMode) -> None:
    make_queue("BOQ")
    make_poison(backout_queue="BOQ")
    put_orders(1)
    receiving = consumer(mode)
    assert received(receiving) == [b"1"]
    assert counts("BOQ") == [(b"poison", 0)]
    receiving.session.recover()
    assert counts("BOQ") == [(b"poison", 0)]
    assert counts() == ([] if mode is AUTO else [(b"1", 1)])


@pytest.mark.spec("POISON-8")
def test_no_place_at_all_is_the_bin_for_those_who_asked() -> None:
    make_poison()
    assert received(consumer(AUTO)) == []
    assert not UnitOfWork.objects.exists()  # none is left open
    assert counts() == []
    assert binned() == [2362]


@pytest.mark.spec("UNIFY-4")
def test_expiry_comes_before_the_threshold() -> None:
    make_queue("BOQ")
    make_poison(backout_queue="BOQ", expires_at=NOON + seconds(10))
    connection = client(now=NOON + seconds(10))
    receiving = connection.session().consumer("orders")
    assert received(receiving) == []
    assert receiving.attributes is None
    assert counts("BOQ") == []


@pytest.mark.spec("UNIFY-4")
def test_the_selector_comes_before_the_threshold() -> None:
    make_queue("BOQ")
    make_poison(backout_queue="BOQ", properties={"colour": "red"})
    put_orders(1, properties={"colour": "blue"})
    one = session()
    assert received(one.consumer("orders", "colour = 'blue'")) == [b"1"]
    assert counts("BOQ") == []
    assert received(one.consumer("orders", "colour = 'red'")) == []
    assert counts("BOQ") == [(b"poison", 0)]


@pytest.mark.spec("UNIFY-4")
def test_the_threshold_is_looked_at_when_a_delay_is_over() -> None:
    make_queue("BOQ")
    make_queue("orders", backout_threshold=1, backout_queue="BOQ")
    make_setting("orders", redelivery_delay_ms=60_000)
    put_orders(1)
    connection = client()
    receiving = connection.session(TRANSACTED).consumer("orders")
    assert received(receiving) == [b"1"]
    receiving.session.rollback()
    assert received(receiving) == []
    receiving.session.commit()
    assert counts("BOQ") == []
    connection.now = NOON + minutes(1)
    assert received(receiving) == []
    receiving.session.commit()
    assert counts("BOQ") == [(b"1", 0)]


@pytest.mark.spec("UNIFY-2", "UNIFY-4")
def test_the_broker_and_the_consumer_may_both_look() -> None:
    for name in ("BOQ", "DLA"):
        make_queue(name)
    make_setting(
        "orders",
        poison_policy="both",
        max_delivery_attempts=2,
        dead_letter_address="DLA",
    )
    make_poison(0, threshold=3, backout_queue="BOQ")
    assert rolled_back(4) == [0, 1]
    assert counts("DLA") == [(b"poison", 0)]  # at the second rollback itself
    assert counts("BOQ") == []


@pytest.mark.spec("POISON-7", "POISON-8")
def test_report_options_send_a_poison_message_to_the_bin() -> None:
    make_queue(DLQ)
    make_poison(descriptor={"report": int(Report.DISCARD_MSG)})
    assert received(consumer(AUTO)) == []
    assert binned() == [2362]
    assert counts(DLQ) == []


def test_a_paused_queue_gives_nothing_and_its_consumer_waits() -> None:
    orders = make_queue("orders")
    put_orders(1)
    Queue.objects.filter(pk=orders.pk).update(paused=True)
    receiving = consumer()
    assert receiving.receive(timeout_s=0.01) is None
    Queue.objects.filter(pk=orders.pk).update(paused=False)
    assert received(receiving) == [b"1"]
