"""Leases: messages of no process, held between two calls until a deadline."""

from __future__ import annotations

from datetime import timedelta

import pytest

from broker.errors import LockLost
from broker.errors.queues import NotAuthorized
from broker.models import Claim, Message, Queue, Ready, UnitOfWork
from broker.monitoring import fsck
from broker.monitoring.explain import explain
from broker.queueing.put import NewMessage, put, put_many
from broker.settlement import settle
from broker.settlement.outcomes import Accept, BackOut, Reject, Release
from broker.transactions import leases
from tests.make import (
    NOON,
    make_messages,
    make_queue,
    make_setting,
    make_user,
    minutes,
    seconds,
)

pytestmark = pytest.mark.django_db

MINUTE = timedelta(minutes=1)


def taken(queue: Queue, limit: int = 1) -> leases.Lease:
    lease = leases.take(queue, limit=limit, lease_for=MINUTE, now=NOON)
    assert lease is not None
    return lease


def ready() -> list[int]:
    return list(Ready.objects.order_by("pos").values_list("id", flat=True))


def test_what_is_leased_is_nobody_elses_until_it_is_settled(orders: Queue) -> None:
    put_many(make_messages(3), now=NOON)
    lease = taken(orders, limit=2)

    assert [one.body for one in lease.deliveries] == [b"1", b"2"]
    assert lease.until == NOON + MINUTE
    assert len(ready()) == 1

    left = leases.settle(lease.uow, orders.pk, Accept(), now=NOON + seconds(59))

    assert left == []
    assert not UnitOfWork.objects.filter(pk=lease.uow).exists()
    assert len(ready()) == 1
    assert fsck.violations() == []


def test_nothing_ready_leaves_no_lease(orders: Queue) -> None:
    assert leases.take(orders, lease_for=MINUTE, now=NOON) is None
    assert not UnitOfWork.objects.exists()


def test_messages_are_settled_apart(orders: Queue) -> None:
    put_many(make_messages(3), now=NOON)
    lease = taken(orders, limit=3)
    first, second, third = (one.message_id for one in lease.deliveries)

    left = leases.settle(lease.uow, orders.pk, Accept(), ids=[second], now=NOON)
    assert left == [first, third]
    left = leases.settle(lease.uow, orders.pk, Release(), ids=[third], now=NOON)
    assert left == [first]
    left = leases.settle(lease.uow, orders.pk, BackOut("no"), now=NOON)
    assert left == []

    counts = dict(Ready.objects.values_list("id", "backout_count"))
    assert counts == {first: 1, third: 0}
    assert ready() == [first, third]


def test_a_rejected_message_is_a_dead_letter_at_once(orders: Queue) -> None:
    make_queue("DLQ", address="DLA")
    make_setting(dead_letter_address="DLA")
    put("orders", b"x", now=NOON)
    lease = taken(orders)

    leases.settle(lease.uow, orders.pk, Reject("no such customer"), now=NOON)

    (entry,) = Ready.objects.all()
    assert Queue.objects.get(pk=entry.queue_id).name == "DLQ"


def test_what_is_put_with_a_settlement_is_sent_with_it_or_not_at_all(
    orders: Queue,
) -> None:
    make_queue("booked")
    put("orders", now=NOON)
    lease = taken(orders)
    booked = [NewMessage("booked", b"yes")]

    with pytest.raises(LockLost):
        leases.settle(lease.uow, orders.pk, Accept(), ids=[1], puts=booked, now=NOON)
    assert not Message.objects.filter(address="booked").exists()

    leases.settle(lease.uow, orders.pk, Accept(), puts=booked, now=NOON)
    assert Message.objects.get(address="booked").body == b"yes"
    assert [Queue.objects.get(pk=one.queue_id).name for one in Ready.objects.all()] == [
        "booked"
    ]


def test_a_lease_ends_at_its_deadline_also_before_it_is_swept(orders: Queue) -> None:
    put("orders", now=NOON)
    lease = taken(orders)

    for act in (
        lambda: leases.settle(lease.uow, orders.pk, Accept(), now=NOON + MINUTE),
        lambda: leases.renew(lease.uow, MINUTE, now=NOON + MINUTE),
    ):
        with pytest.raises(LockLost):
            act()

    settle.back_out_overdue(limit=10, now=NOON + MINUTE)
    (entry,) = Ready.objects.all()
    assert entry.backout_count == 1
    with pytest.raises(LockLost):
        leases.settle(lease.uow, orders.pk, Accept(), now=NOON)


def test_no_process_has_to_live_for_it(orders: Queue) -> None:
    put("orders", now=NOON)
    lease = taken(orders)

    assert settle.back_out_overdue(limit=10, now=NOON + seconds(59)) == 0
    assert Claim.objects.filter(uow=lease.uow).exists()


def test_a_renewed_lease_goes_on(orders: Queue) -> None:
    put("orders", now=NOON)
    lease = taken(orders)

    until = leases.renew(lease.uow, MINUTE, now=NOON + seconds(30))

    assert until == NOON + seconds(90)
    assert settle.back_out_overdue(limit=10, now=NOON + seconds(61)) == 0
    assert leases.settle(lease.uow, orders.pk, Accept(), now=NOON + seconds(80)) == []


def test_a_selector_chooses_and_what_is_due_is_taken(orders: Queue) -> None:
    put("orders", b"blue", properties={"colour": "blue"}, now=NOON)
    put(
        "orders",
        b"red",
        properties={"colour": "red"},
        deliver_at=NOON + seconds(5),
        now=NOON,
    )

    lease = leases.take(
        orders,
        limit=5,
        lease_for=MINUTE,
        selector="colour = 'red'",
        now=NOON + minutes(1),
    )

    assert lease is not None
    assert [one.body for one in lease.deliveries] == [b"red"]


def test_large_bodies_end_a_get_early(
    orders: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "MOST_BYTES", 25)
    put_many([NewMessage("orders", b"x" * 10) for _ in range(10)], now=NOON)

    lease = taken(orders, limit=10)

    assert len(lease.deliveries) == 3  # the third passes it
    assert len(ready()) == 7


def test_poison_needs_the_authority_of_who_gets(orders: Queue) -> None:
    make_setting(poison_policy="ibm")
    Queue.objects.update(backout_threshold=5)
    put("orders", now=NOON)
    lease = taken(orders)
    leases.settle(lease.uow, orders.pk, BackOut("no"), now=NOON)
    user = make_user(granted=("get",))

    with pytest.raises(NotAuthorized):
        leases.take(orders, lease_for=MINUTE, user=user, now=NOON)

    assert len(ready()) == 1
    assert not UnitOfWork.objects.exists()


def test_a_leased_message_is_explained_as_held(orders: Queue) -> None:
    message_id = put("orders").message_id
    assert leases.take(orders, lease_for=MINUTE, actor="shop") is not None

    (one,) = explain(message_id)

    assert one.code == "locked"
    assert one.sentence.startswith("A consumer of orders has it")
    assert one.details["actor"] == "shop"
