"""Failures by one statement follow the settings of now, not those that were read."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import connection, transaction

from broker.errors import LockLost
from broker.models import (
    Address,
    AddressSetting,
    Delayed,
    Discarded,
    Queue,
    Ready,
)
from broker.monitoring import fsck
from broker.queueing.put import put, put_many
from broker.queueing.routing import Route
from broker.settlement.outcomes import BackOut, Reject
from broker.settlement.settings_cache import caches, rules_of, settings_cache
from broker.transactions.scope import UnitOfWork
from tests.broker.elsewhere import Elsewhere
from tests.broker.wire import counted
from tests.make import NOON, make_messages, make_queue, make_setting, seconds

pytestmark = pytest.mark.usefixtures("transactional_db")


@pytest.fixture(params=["copy_one", "copy"])
def orders(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Queue:
    """A queue with three attempts, whose policy and route this connection has read.

    Its dead letters are copied by the statement for one message, and by that for many.
    """
    if request.param == "copy":
        monkeypatch.setattr(Route, "taking", lambda *_: [])
    queue = make_queue("orders")
    make_queue("graves", address="DLA")
    make_setting(max_delivery_attempts=3, dead_letter_address="DLA")
    put("orders")
    for _ in range(3):
        fail()
    accept("graves")
    put("orders")
    return queue


def accept(name: str) -> None:
    work = UnitOfWork()
    assert work.get(name)
    work.commit()


def names_of_letters() -> set[str]:
    """The queues that hold dead letters."""
    return set(
        Queue.objects.exclude(name="orders")
        .filter(pk__in=Ready.objects.values("queue_id"))
        .values_list("name", flat=True)
    )


def fail(attempts: int = 1) -> None:
    for _ in range(attempts):
        work = UnitOfWork()
        assert work.get("orders")
        work.back_out("no")


def setting() -> AddressSetting:
    return AddressSetting.objects.get(match="orders")


def change(**fields: object) -> None:
    AddressSetting.objects.filter(match="orders").update(**fields)


def lower_the_limit() -> None:
    change(max_delivery_attempts=1)


def define_it_more_specifically() -> None:
    AddressSetting.objects.update(match="#")
    make_setting("orders", max_delivery_attempts=1)


def delete_what_was_more_specific() -> None:
    setting().delete()
    make_setting("#", max_delivery_attempts=1, dead_letter_address="DLA")


@pytest.mark.parametrize(
    "changes",
    [lower_the_limit, define_it_more_specifically, delete_what_was_more_specific],
)
def test_the_next_failure_follows_a_setting_that_another_process_changed(
    orders: Queue, elsewhere: Elsewhere, changes: Callable[[], None]
) -> None:
    fail()
    elsewhere(changes)

    fail()

    assert names_of_letters() == {"graves"}
    assert fsck.violations() == []


def raise_the_limit() -> None:
    change(max_delivery_attempts=9)


def move_dead_letters() -> None:
    make_queue("others")
    change(dead_letter_address="others")


@pytest.mark.parametrize("outcome", [BackOut("no"), Reject("no")])
def test_an_entry_that_has_expired_is_no_failure(
    orders: Queue, outcome: BackOut | Reject
) -> None:
    accept("orders")
    put("orders", expires_at=NOON + seconds(5), now=NOON)
    work = UnitOfWork(now=NOON)
    assert work.get("orders")
    work.now = NOON + seconds(6)

    work.back_out(outcome)

    assert not Ready.objects.exists()
    assert not Delayed.objects.exists()
    assert fsck.violations() == []


def test_a_setting_that_was_rolled_back_is_not_followed(orders: Queue) -> None:
    with transaction.atomic():
        lower_the_limit()
        fail()
        transaction.set_rollback(True)

    fail(2)

    assert not names_of_letters()
    assert Ready.objects.get().backout_count == 2


def test_the_limit_is_not_that_of_an_attribute_that_was_changed(
    orders: Queue, elsewhere: Elsewhere
) -> None:
    """With a backout threshold, consumers move the message, as in IBM MQ."""
    fail(2)
    elsewhere(lambda: Queue.objects.filter(name="orders").update(backout_threshold=9))

    fail()

    assert Ready.objects.get().backout_count == 3


def test_the_policy_is_that_of_the_name_that_the_address_has_now(
    orders: Queue, elsewhere: Elsewhere
) -> None:
    fail(2)
    elsewhere(lambda: Address.objects.filter(name="orders").update(name="bills"))

    fail()

    assert Ready.objects.get().backout_count == 3


def add_a_queue() -> None:
    address = Address.objects.get(name="DLA")
    Queue.objects.create(name="copies", address=address, routing_type=0)


def choose_by_selector() -> None:
    add_a_queue()
    Queue.objects.filter(name="copies").update(selector="x = 1")


def move_the_queue() -> None:
    other = Address.objects.create(name="another")
    add_a_queue()
    Queue.objects.filter(name="graves").update(address=other)


@pytest.mark.parametrize(
    ("changes", "queues"),
    [
        (raise_the_limit, set()),
        (move_dead_letters, {"others"}),
        (add_a_queue, {"graves", "copies"}),
        (choose_by_selector, {"graves"}),
        (move_the_queue, {"copies"}),
    ],
)
def test_the_last_failure_follows_what_another_process_changed(
    orders: Queue,
    elsewhere: Elsewhere,
    changes: Callable[[], None],
    queues: set[str],
) -> None:
    fail(2)
    elsewhere(changes)

    fail()

    assert names_of_letters() == queues
    assert fsck.violations() == []


def test_a_message_is_discarded_if_its_dead_letter_address_has_lost_its_queue(
    orders: Queue, elsewhere: Elsewhere
) -> None:
    fail(2)
    elsewhere(lambda: Queue.objects.filter(name="graves").delete())

    fail()

    assert Discarded.objects.exists()
    assert fsck.violations() == []


def test_a_deletion_of_the_queue_waits_for_the_dead_letter(
    orders: Queue, elsewhere: Elsewhere
) -> None:
    """The queue is locked as it is compared: see also the interleavings."""
    fail(2)
    elsewhere.begin()
    elsewhere(lambda: list(Queue.objects.select_for_update().filter(name="graves")))
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = '200ms'")
    work = UnitOfWork()
    assert work.get("orders")
    with pytest.raises(Exception, match="lock timeout"):
        work.back_out("no")
    elsewhere.roll_back()


def test_an_auto_created_queue_is_not_idle_any_more(orders: Queue) -> None:
    """Deletion of an idle queue counts from its last use."""
    change(auto_create_dead_letter_resources=True)
    fail(3)
    (made,) = Queue.objects.filter(auto_created=True)
    Queue.objects.filter(pk=made.pk).update(idle_since=NOON)
    put("orders")

    fail(3)

    made.refresh_from_db()
    assert made.idle_since is None
    assert fsck.violations() == []


def test_a_copy_has_the_time_to_live_that_its_address_has_now(
    orders: Queue, elsewhere: Elsewhere
) -> None:
    fail(2)
    elsewhere(lambda: make_setting("DLA", expiry_delay_ms=60_000))

    fail()

    assert Ready.objects.get().expires_at is not None


def test_entries_of_which_some_die_are_settled_one_by_one(orders: Queue) -> None:
    fail(2)
    put_many(make_messages(1))
    work = UnitOfWork()
    assert len(work.get("orders", 2)) == 2

    work.back_out("no")

    assert names_of_letters() == {"graves"}
    assert sorted(Ready.objects.values_list("backout_count", flat=True)) == [0, 1]
    assert fsck.violations() == []


def test_a_delivery_that_was_settled_before_is_not_backed_out(orders: Queue) -> None:
    put_many(make_messages(1))
    work = UnitOfWork()
    first, second = work.get("orders", 2)
    work.accept(first)

    work.back_out("no")

    assert Ready.objects.get().id == second.message_id
    assert fsck.violations() == []


@pytest.mark.parametrize("outcome", [BackOut("no"), Reject("no")])
def test_a_unit_of_work_ends_once(
    orders: Queue, elsewhere: Elsewhere, outcome: BackOut | Reject
) -> None:
    work = UnitOfWork()
    (delivery,) = work.get("orders")
    other = UnitOfWork()
    other.id, other.held = delivery.uow, 1
    elsewhere(other.commit)

    with pytest.raises(LockLost):
        work.back_out(outcome)

    assert not Ready.objects.exists()
    assert fsck.violations() == []


def test_a_refusal_reads_the_settings_once(orders: Queue, elsewhere: Elsewhere) -> None:
    """Refused, the unit of work read, the settings read, and ended."""
    fail()
    elsewhere(lambda: change(redelivery_delay_multiplier=2.0))
    work = UnitOfWork()
    assert work.get("orders")

    with counted() as sent:
        work.back_out("no")

    assert sent.round_trips == 4


def test_a_connection_does_not_remember_all_queues_that_ever_failed(
    orders: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("broker.settlement.settings_cache.MOST_QUEUES", 1)
    bills = make_queue("bills")

    rules_of({bills.pk})

    assert settings_cache().queues.keys() == {bills.pk}
    fail()
    assert settings_cache().queues.keys() == {orders.pk}


def test_another_connection_has_read_nothing(
    orders: Queue, elsewhere: Elsewhere
) -> None:
    assert settings_cache().has_read([orders.pk])
    assert not elsewhere(settings_cache).has_read([orders.pk])
    assert len(caches) >= 2
