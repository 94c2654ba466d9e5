"""Messages whose time to live is over, wherever they are when it ends."""

from __future__ import annotations

import pytest

from broker.models import DeadLetter, Kind, Message, Place, Queue, Ready, RoutingType
from broker.monitoring import fsck
from broker.queueing import delayed, journal
from broker.queueing.put import put, put_many
from broker.settlement import expiry, settle
from broker.settlement.outcomes import Release
from broker.transactions.scope import UnitOfWork
from tests.make import NOON, make_messages, make_queue, make_setting, minutes, seconds

pytestmark = pytest.mark.django_db

SOON = NOON + minutes(1)


@pytest.fixture
def expired() -> Queue:
    """Where expired messages of orders go."""
    make_setting("orders", expiry_address="EXP")
    return make_queue("expired", address="EXP")


@pytest.mark.spec("EXP-1")
def test_an_expired_message_is_not_delivered_even_where_no_sweep_ran(
    orders: Queue,
) -> None:
    put("orders", b"late", priority=9, expires_at=SOON, now=NOON)
    put("orders", b"for ever", now=NOON)

    just_in_time = UnitOfWork(now=SOON - seconds(1)).get("orders")[0]
    settle.settle_some(
        just_in_time.uow, orders.pk, [just_in_time.message_id], Release()
    )
    too_late = UnitOfWork(now=SOON).get("orders", 2)

    assert just_in_time.body == b"late"
    assert [delivery.body for delivery in too_late] == [b"for ever"]


@pytest.mark.spec("EXP-1")
def test_a_message_that_was_expired_when_it_was_put_is_never_delivered(
    orders: Queue,
) -> None:
    put("orders", expires_at=NOON, now=NOON)
    assert UnitOfWork(now=NOON).get("orders") == []
    assert expiry.expire(limit=10, now=NOON) == 1


@pytest.mark.spec("EXP-1")
def test_the_sweep_takes_what_expired_and_leaves_the_rest(orders: Queue) -> None:
    put_many(make_messages(2, expires_at=SOON), now=NOON)
    put_many(make_messages(2, expires_at=SOON + seconds(1)), now=NOON)
    put_many(make_messages(2), now=NOON)

    swept = expiry.expire(limit=10, now=SOON)

    depth = journal.depths()[orders.pk]
    assert (swept, depth.ready, depth.done[Kind.EXPIRE]) == (2, 4, 2)
    assert expiry.expire(limit=10, now=SOON) == 0


def test_a_sweep_ends_the_longest_expired_first_and_no_more_than_its_limit(
    orders: Queue,
) -> None:
    for age in (1, 3, 2):
        put("orders", str(age).encode(), expires_at=SOON - seconds(age), now=NOON)

    assert expiry.expire(limit=2, now=SOON) == 2

    left = Message.objects.get(pk=Ready.objects.get().id)
    assert bytes(left.body) == b"1"


@pytest.mark.spec("EXP-1", "COPY-1", "COPY-4")
def test_an_expired_message_goes_to_its_expiry_address(
    orders: Queue, expired: Queue
) -> None:
    receipt = put(
        "orders",
        b"late",
        properties={"customer": 17},
        routing_type=RoutingType.ANYCAST,
        expires_at=SOON,
        now=NOON,
    )

    expiry.expire(limit=10, now=SOON + seconds(2))

    (copy,) = UnitOfWork(now=SOON + minutes(60)).get("expired")
    at_ms = int((SOON + seconds(2)).timestamp()) * 1000
    assert copy.properties == {
        "customer": 17,
        "_AMQ_ORIG_ADDRESS": "orders",
        "_AMQ_ORIG_QUEUE": "orders",
        "_AMQ_ORIG_MESSAGE_ID": str(receipt.message_id),
        "_AMQ_ORIG_ROUTING_TYPE": 1,
        "_AMQ_ACTUAL_EXPIRY": at_ms,
        "_BRK_DEATH_REASON": "EXPIRED",
        "_BRK_DEATH_COUNT": 0,
        "_BRK_DEATH_TIME": at_ms,
    }
    assert (copy.body, copy.expires_at, copy.backout_count) == (b"late", None, 0)
    letter = DeadLetter.objects.get()
    assert (letter.cause, letter.error) == ("EXPIRED", expiry.REASON)
    assert fsck.violations() == []


@pytest.mark.spec("COPY-2")
def test_expired_and_then_dead_the_copy_tells_of_the_expiry_address(
    orders: Queue, expired: Queue
) -> None:
    make_queue("DLQ", address="DLA")
    make_setting("EXP", max_delivery_attempts=1, dead_letter_address="DLA")
    put("orders", expires_at=SOON, now=NOON)
    expiry.expire(limit=10, now=SOON)
    work = UnitOfWork(now=SOON)
    (hop,) = work.get("expired")
    work.back_out("no such customer")

    (copy,) = UnitOfWork(now=SOON).get("DLQ")

    assert copy.properties["_AMQ_ORIG_ADDRESS"] == "EXP"
    assert copy.properties["_AMQ_ORIG_QUEUE"] == "expired"
    assert copy.properties["_AMQ_ORIG_MESSAGE_ID"] == str(hop.message_id)
    assert copy.properties["_BRK_DEATH_REASON"] == "MAX_DELIVERY_ATTEMPTS"
    assert "_AMQ_ACTUAL_EXPIRY" not in copy.properties


@pytest.mark.spec("EXP-1")
@pytest.mark.parametrize("address", ["", "EXP", "orders"])
def test_what_no_expiry_address_takes_is_dropped_with_a_warning(
    orders: Queue, address: str, caplog: pytest.LogCaptureFixture
) -> None:
    make_setting("orders", expiry_address=address)
    message_id = put("orders", expires_at=SOON, now=NOON).message_id

    expiry.expire(limit=10, now=SOON)

    last = journal.lifeline(message_id)[-1]
    assert (last.kind, last.came_from, last.went_to) == (Kind.EXPIRE, Place.READY, None)
    assert journal.depths()[orders.pk].total == 0
    assert journal.depths()[orders.pk].done[Kind.EXPIRE] == 1
    assert [one for one in caplog.records if one.levelname == "WARNING"]


@pytest.mark.spec("EXP-5")
def test_what_expired_in_the_hands_of_a_consumer_is_not_delivered_again(
    orders: Queue, expired: Queue
) -> None:
    put("orders", expires_at=SOON, now=NOON)
    work = UnitOfWork(now=NOON)
    work.get("orders")
    work.now = SOON

    outcomes = work.back_out("no such customer")

    assert outcomes == []
    assert UnitOfWork(now=SOON).get("orders") == []
    (copy,) = UnitOfWork(now=SOON).get("expired")
    assert copy.properties["_BRK_DEATH_REASON"] == "EXPIRED"


@pytest.mark.spec("EXP-5")
def test_an_expired_message_expires_rather_than_dies(
    orders: Queue, expired: Queue
) -> None:
    """Its last attempt fails after its time: nobody needs to mend anything."""
    make_queue("DLQ", address="DLA")
    make_setting("#", max_delivery_attempts=1, dead_letter_address="DLA")
    put("orders", expires_at=SOON, now=NOON)
    work = UnitOfWork(now=NOON)
    work.get("orders")
    work.now = SOON
    work.back_out("no such customer")
    assert Ready.objects.get().queue_id == expired.pk


@pytest.mark.spec("EXP-5")
def test_what_expires_while_it_is_delayed_is_expired_by_the_sweep(
    orders: Queue, expired: Queue
) -> None:
    put("orders", expires_at=SOON, deliver_at=SOON + minutes(9), now=NOON)

    expiry.expire(limit=10, now=SOON)

    assert delayed.wake_due(limit=10, now=SOON + minutes(9)) == 0
    assert Ready.objects.get().queue_id == expired.pk
    assert journal.depths()[orders.pk].delayed == 0


@pytest.mark.spec("EXP-5")
def test_what_is_due_and_expired_at_once_is_not_delivered(orders: Queue) -> None:
    put("orders", expires_at=SOON, deliver_at=SOON, now=NOON)
    delayed.wake_due(limit=10, now=SOON)
    assert UnitOfWork(now=SOON).get("orders") == []


def test_nothing_expires_under_its_holder(orders: Queue) -> None:
    put_many(make_messages(2, expires_at=SOON), now=NOON)
    work = UnitOfWork(now=NOON)
    work.get("orders", 2)

    swept = expiry.expire(limit=10, now=SOON + minutes(3))

    work.now = SOON + minutes(3)
    work.commit()
    assert swept == 0
    assert journal.depths()[orders.pk].done[Kind.ACCEPT] == 2


def test_what_is_released_after_its_time_is_not_delivered_again(orders: Queue) -> None:
    put("orders", expires_at=SOON, now=NOON)
    work = UnitOfWork(now=NOON)
    (delivery,) = work.get("orders")
    work.now = SOON
    work.release(delivery)
    assert UnitOfWork(now=SOON).get("orders") == []
    assert expiry.expire(limit=10, now=SOON) == 1


def test_what_expires_with_its_consumer_s_process_is_expired_by_the_sweep(
    orders: Queue, expired: Queue
) -> None:
    put("orders", expires_at=SOON, now=NOON)
    UnitOfWork(now=NOON).get("orders")
    settle.back_out_overdue(limit=10, now=NOON + minutes(6))
    assert Ready.objects.get().queue_id == expired.pk


def test_a_deleted_queue_does_not_stop_the_sweep_of_others(orders: Queue) -> None:
    doomed = make_queue("doomed")
    for queue in ("doomed", "orders"):
        put(queue, expires_at=SOON, now=NOON)
    doomed.delete()

    expiry.expire(limit=10, now=SOON)

    assert journal.depths()[orders.pk].total == 0


@pytest.mark.spec("UNIFY-11", "MD-3")
@pytest.mark.parametrize(
    ("threshold", "policy", "goes_there"),
    [(0, None, 1), (3, None, 0), (3, "both", 1), (0, "ibm", 0), (0, "none", 1)],
)
def test_by_the_rules_of_ibm_mq_what_expires_is_dropped(
    threshold: int, policy: str | None, goes_there: int
) -> None:
    make_queue("payments", backout_threshold=threshold)
    make_queue("late")
    make_setting("payments", expiry_address="late", poison_policy=policy)
    put("payments", expires_at=SOON, now=NOON)
    expiry.expire(limit=10, now=SOON)
    assert len(UnitOfWork(now=SOON).get("late")) == goes_there
    assert UnitOfWork(now=SOON).get("payments") == []
    assert fsck.violations() == []
