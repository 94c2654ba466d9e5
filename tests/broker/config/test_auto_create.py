"""Auto-created addresses and queues, and their deletion when they are idle."""

from __future__ import annotations

from typing import Any

import pytest
from django.conf import settings
from pytest_django import Settings

from broker import sql, tasks
from broker.config import auto_create
from broker.models import (
    Address,
    ClientConnection,
    ConnectionConsumer,
    Discarded,
    Queue,
    RoutingType,
)
from broker.monitoring import fsck
from broker.queueing import delayed, processes
from broker.queueing.put import put, put_many
from broker.settlement.discards import restore
from broker.transactions.scope import UnitOfWork, unit_of_work
from tests.broker.dying import back_out, on
from tests.make import NOON, make_messages, make_queue, make_setting, minutes

pytestmark = pytest.mark.django_db


@pytest.mark.spec("AUTODL-2", "AUTODL-3")
@pytest.mark.parametrize(
    ("prefix", "suffix", "name"),
    [
        ("DLQ.", "", "DLQ.orders"),
        ("", ".DLQ", "orders.DLQ"),
        ("", "", "orders"),
        ("dead-", "-end", "dead-orders-end"),
    ],
)
def test_a_queue_for_each_origin_is_made(prefix: str, suffix: str, name: str) -> None:
    auto_create.ensure("DLA", origin="orders", prefix=prefix, suffix=suffix)

    queue = Queue.objects.select_related("address").get()
    assert (queue.name, queue.address.name) == (name, "DLA")
    assert queue.routing_type == RoutingType.MULTICAST
    assert queue.selector == "_AMQ_ORIG_ADDRESS = 'orders'"
    assert queue.auto_created
    assert queue.address.auto_created


@pytest.mark.spec("AUTODL-4")
def test_what_is_there_stays_as_it_is() -> None:
    Address.objects.create(name="DLA")
    make("DLA")
    Queue.objects.filter(name="DLQ.orders").update(selector="customer = 17")

    make("DLA")
    make("elsewhere")

    queue = Queue.objects.get()
    assert (queue.address.name, queue.selector) == ("DLA", "customer = 17")
    assert not Address.objects.get(name="DLA").auto_created


@pytest.mark.spec("AUTODL-3")
@pytest.mark.parametrize("name", ["Zoë's ''orders''", "a.b'c", "%s \\ {0} ::", "'"])
def test_any_address_has_a_queue_of_its_own(name: str) -> None:
    make_ground(name)
    put(name, now=NOON)

    back_out(name)

    (queue,) = Queue.objects.filter(auto_created=True)
    assert queue.name == f"DLQ.{name}"
    assert len(on(queue.name)) == 1


def test_long_addresses_have_queues_with_shortened_names() -> None:
    names = ["o" * 254 + end for end in "ab"]
    make_ground(names[0])
    make_queue(names[1])
    for name in names:
        put(name, now=NOON)
        back_out(name)

    made = Queue.objects.filter(auto_created=True).values_list("name", flat=True)
    assert [len(one) for one in made] == [255, 255]
    assert [len(on(one)) for one in made] == [1, 1]
    assert not Discarded.objects.exists()


@pytest.mark.spec("AUTODL-1", "AUTODL-4", "AUTODL-6", "AUTODL-8")
def test_the_first_casualty_of_each_address_makes_a_queue_for_its_like() -> None:
    for name in ("orders", "stocks"):
        make_ground(name)
        put_many(make_messages(3, name), now=NOON)
    everything = make_queue("all", address="casualties")

    for _ in range(3):
        back_out("orders")
        back_out("stocks")

    made = Queue.objects.filter(auto_created=True)
    assert {queue.name for queue in made} == {"DLQ.orders", "DLQ.stocks"}
    assert [len(on(f"DLQ.{name}")) for name in ("orders", "stocks")] == [3, 3]
    assert len(on(everything.name)) == 6, "other queues of the address take theirs"
    for delivery in UnitOfWork(now=NOON).get("DLQ.stocks", 3):
        assert delivery.properties["_AMQ_ORIG_ADDRESS"] == "stocks"
    assert fsck.violations() == []


@pytest.mark.spec("AUTODL-1", "AUTODL-5")
@pytest.mark.parametrize(
    "fields",
    [
        {"auto_create_dead_letter_resources": None},
        {"auto_create_dead_letter_resources": False},
        {"dead_letter_address": None},
        {"dead_letter_address": ""},
        {"dead_letter_address": "orders"},
    ],
)
def test_nothing_is_made_where_nothing_is_to_be(fields: dict[str, Any]) -> None:
    make_ground("orders", **fields)
    put("orders", now=NOON)

    back_out()

    assert not Queue.objects.filter(auto_created=True).exists()
    assert not Address.objects.filter(auto_created=True).exists()


@pytest.mark.spec("AUTODL-2")
def test_an_empty_prefix_that_is_defined_is_a_prefix() -> None:
    make_setting("#", dead_letter_queue_prefix="dead.", dead_letter_queue_suffix="!")
    make_ground("orders", dead_letter_queue_prefix="", dead_letter_queue_suffix=".DLQ")
    put("orders", now=NOON)
    back_out()
    assert len(on("orders.DLQ")) == 1


@pytest.mark.spec("AUTODL-7")
def test_what_made_itself_goes_when_it_is_empty_and_is_made_again() -> None:
    make_ground("orders")
    put_many(make_messages(2), now=NOON)
    back_out()
    first = Queue.objects.get(auto_created=True)

    assert auto_create.delete_idle(now=NOON) == 0, "a letter lies there"
    with unit_of_work(now=NOON) as work:
        work.get("DLQ.orders")
        assert auto_create.delete_idle(now=NOON) == 0, "somebody has it"
    assert auto_create.delete_idle(now=NOON) == 1

    assert not Queue.objects.filter(auto_created=True).exists()
    assert not Address.objects.filter(name="casualties").exists()
    back_out()
    again = Queue.objects.get(auto_created=True)
    assert (again.name, again.address.name) == (first.name, "casualties")
    assert len(on("DLQ.orders")) == 1
    assert fsck.violations() == []


@pytest.mark.spec("AUTODL-7")
def test_it_stays_while_an_entry_waits_or_a_consumer_does() -> None:
    queue = make("casualties")
    put(
        "casualties",
        properties={"_AMQ_ORIG_ADDRESS": "orders"},
        deliver_at=NOON + minutes(1),
        now=NOON,
    )
    assert auto_create.delete_idle(now=NOON) == 0, "one is delayed"
    delayed.wake_due(limit=1, now=NOON + minutes(1))
    with unit_of_work(now=NOON) as work:
        work.get(queue.name)

    def consumer(owner_id: int) -> None:
        ConnectionConsumer.objects.create(
            owner_id=owner_id, queue=queue, handler="", server_sessions=1
        )

    consumer(processes.current())
    assert auto_create.delete_idle(now=NOON) == 0, "server sessions feed on it"
    ConnectionConsumer.objects.all().delete()
    consumer(2**31 - 1)
    assert auto_create.delete_idle(now=NOON) == 1, "theirs died"


@pytest.mark.spec("AUTODL-7")
def test_it_stays_while_a_client_on_the_wire_gets_from_it() -> None:
    queue = make("casualties")
    connection = ClientConnection.objects.create(
        owner_id=processes.current(),
        container_id="shop",
        mechanism="PLAIN",
        host="127.0.0.1:50000",
        is_encrypted=False,
    )
    connection.endpoints.create(session=0, name="gets", kind="gets", queue=queue)
    assert auto_create.delete_idle(now=NOON) == 0, "it waits for the next casualty"
    ClientConnection.objects.update(owner_id=2**31 - 1)
    assert auto_create.delete_idle(now=NOON) == 1, "its listener died"


@pytest.mark.spec("AUTODL-7")
def test_it_stays_while_something_of_it_can_be_restored() -> None:
    make_ground("orders")
    make_setting("casualties", max_delivery_attempts=1, dead_letter_address="")
    put("orders", now=NOON)
    back_out()
    back_out("DLQ.orders")
    binned = Discarded.objects.get()

    assert auto_create.delete_idle(now=NOON) == 0
    restore(binned.message_id, binned.queue_id, now=NOON)
    with unit_of_work(now=NOON) as work:
        assert work.get("DLQ.orders")
    assert auto_create.delete_idle(now=NOON) == 1


@pytest.mark.spec("AUTODL-7")
def test_it_stays_for_as_long_as_its_address_s_setting_says() -> None:
    make_setting("casualties", auto_delete_queues_delay_ms=60_000)
    make_ground("orders")
    put_many(make_messages(2), now=NOON)

    def at(minute: float) -> int:
        return auto_create.delete_idle(now=NOON + minutes(minute))

    def empty() -> None:
        with unit_of_work(now=NOON) as work:
            assert work.get("DLQ.orders")

    back_out()
    assert at(0) == 0
    empty()
    assert at(1) == 0, "idle since now"
    assert at(1.5) == 0
    back_out()  # it is used once more, and that counts
    empty()
    assert at(2.4) == 0
    assert at(3.3) == 0
    assert at(3.5) == 1


@pytest.mark.spec("AUTODL-7")
def test_what_somebody_made_or_made_their_own_stays() -> None:
    make_queue("DLQ", address="DLA", selector="customer = 17")
    mine = make("casualties")
    Queue.objects.filter(pk=mine.pk).update(selector="")
    Address.objects.create(name="nobody's")

    assert auto_create.delete_idle(now=NOON) == 0

    assert Queue.objects.count() == 2
    assert Address.objects.count() == 3


@pytest.mark.spec("AUTODL-7")
def test_all_that_refers_to_a_queue_goes_with_it() -> None:
    text = sql.statement("delete_queue").decode()
    referring = {relation.related_model for relation in Queue._meta.related_objects}
    tables = {model._meta.db_table for model in referring}
    assert {table for table in tables if f"DELETE FROM {table} " not in text} == set()


@pytest.mark.spec("AUTODL-7")
def test_the_scan_runs_as_often_as_is_set() -> None:
    make("casualties")
    (is_due,) = [due for task, due in tasks.DUE if task is tasks.auto_delete]
    assert isinstance(is_due, tasks.Every)
    assert is_due.period_s == settings.BROKER_ADDRESS_QUEUE_SCAN_PERIOD_S == 30
    for _ in range(2):
        tasks.auto_delete()

        assert not Queue.objects.exists()


@pytest.mark.spec("AUTODL-7")
def test_without_a_scan_it_stays(settings: Settings) -> None:
    settings.BROKER_ADDRESS_QUEUE_SCAN_PERIOD_S = -1
    make("casualties")
    tasks.auto_delete()
    assert Queue.objects.exists()


def make(to: str) -> Queue:
    auto_create.ensure(to, origin="orders", prefix="DLQ.", suffix="")
    return Queue.objects.get(name="DLQ.orders")


def make_ground(name: str, **fields: Any) -> None:
    """A queue that gives up at once, and whose letters make their own place."""
    policy = {
        "max_delivery_attempts": 1,
        "dead_letter_address": "casualties",
        "auto_create_dead_letter_resources": True,
    }
    make_queue(name)
    make_setting("#" if "'" in name or len(name) > 99 else name, **policy | fields)
