"""Messages that reach no queue, where the settings send them to the dead letters."""

from __future__ import annotations

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from broker.errors import NoSuchAddress
from broker.models import (
    Address,
    DeadLetter,
    Delayed,
    Kind,
    Message,
    Queue,
    Ready,
    RoutingType,
)
from broker.monitoring import fsck
from broker.monitoring.dead_letters import groups
from broker.queueing import journal
from broker.queueing.put import Receipt, put, put_many
from broker.transactions.scope import unit_of_work
from tests.broker.dying import on
from tests.make import NOON, make_messages, make_queue, make_setting, minutes

pytestmark = pytest.mark.django_db

MULTICAST = RoutingType.MULTICAST


def make_ground(match: str = "orders", **fields: object) -> None:
    """An address without a queue, and one for its dead letters."""
    Address.objects.create(name="orders")
    policy = {"send_to_dla_on_no_route": True, "dead_letter_address": "DLA"}
    make_setting(match, **policy | fields)


@pytest.mark.spec("DLA-9")
def test_what_reaches_no_queue_is_a_dead_letter_without_a_queue_of_origin() -> None:
    make_ground()
    dlq = make_queue("DLQ", address="DLA")

    receipt = put(
        "orders",
        b"<order/>",
        properties={"customer": 17, "_AMQ_ORIG_QUEUE": "elsewhere"},
        priority=7,
        message_id="ID:1",
        routing_type=RoutingType.ANYCAST,
        expires_at=NOON + minutes(5),
        now=NOON,
    )

    assert receipt.queue_ids == [dlq.pk]
    message = Message.objects.get()
    assert (message.pk, message.address) == (receipt.message_id, "DLA")
    assert (message.routing_type, message.expires_at) == (None, None)
    assert (message.priority, message.message_id) == (7, "ID:1")
    origin_id = message.properties.pop("_AMQ_ORIG_MESSAGE_ID")
    assert int(origin_id) < message.pk
    assert message.properties == {
        "customer": 17,
        "_AMQ_ORIG_ADDRESS": "orders",
        "_AMQ_ORIG_ROUTING_TYPE": 1,
        "_BRK_DEATH_REASON": "NO_ROUTE",
        "_BRK_DEATH_COUNT": 0,
        "_BRK_DEATH_TIME": round(NOON.timestamp() * 1000),
    }
    letter = DeadLetter.objects.get()
    assert (letter.cause, letter.origin_address) == ("NO_ROUTE", "orders")
    assert (letter.origin_queue, letter.origin_id) == ("", int(origin_id))
    assert letter.error == "No queue of orders took it."
    (group,) = groups()
    assert group.cause == "NO_ROUTE"
    assert [event.kind for event in journal.lifeline(message.pk)] == [Kind.PUT]
    assert fsck.violations() == []


@pytest.mark.spec("DLA-9")
def test_by_default_what_reaches_no_queue_is_dropped() -> None:
    make_ground(send_to_dla_on_no_route=None)
    make_queue("DLQ", address="DLA")
    assert put("orders", now=NOON).queue_ids == []
    assert not Message.objects.exists()


@pytest.mark.spec("DLA-9")
def test_what_no_selector_matches_goes_there_and_what_one_matches_does_not() -> None:
    make_ground()
    make_queue("big", address="orders", selector="amount > 100")
    make_queue("DLQ", address="DLA")
    amounts = [1, 500, 2, 700]

    receipts = put_many(
        [*(make_messages(1, properties={"amount": amount})[0] for amount in amounts)],
        now=NOON,
    )

    big, dlq = (Queue.objects.get(name=name).pk for name in ("big", "DLQ"))
    assert [one.queue_ids for one in receipts] == [[dlq], [big], [dlq], [big]]
    ids = [one.message_id for one in receipts]
    assert on("big") == [ids[1], ids[3]]
    assert on("DLQ") == [ids[0], ids[2]], "in the order in which they were sent"


@pytest.mark.spec("DLA-9")
@pytest.mark.parametrize("dla", [None, "", "orders"])
def test_without_a_dead_letter_address_of_another_name_it_is_dropped_and_logged(
    caplog: pytest.LogCaptureFixture, dla: str | None
) -> None:
    make_ground(dead_letter_address=dla)
    make_queue("DLQ", address="DLA")

    assert put("orders", now=NOON).queue_ids == []

    assert not Message.objects.exists()
    assert "1 messages sent to 'orders' reached no queue and are dropped" in caplog.text


@pytest.mark.spec("DLA-9")
@pytest.mark.parametrize("has_queue", [False, True])
def test_what_the_dead_letter_address_does_not_take_is_dropped_without_a_loop(
    caplog: pytest.LogCaptureFixture, has_queue: bool
) -> None:
    make_ground("#")  # for DLA, too
    Address.objects.create(name="DLA")
    if has_queue:
        make_queue("DLQ", address="DLA", selector="_AMQ_ORIG_ADDRESS = 'stocks'")

    assert put("orders", now=NOON).queue_ids == []

    assert not Message.objects.exists()
    assert not DeadLetter.objects.exists()
    why = "has a selector that matches" if has_queue else "'DLA' feeds no queue"
    assert why in caplog.text


@pytest.mark.spec("DLA-9")
def test_every_queue_that_wants_it_takes_it() -> None:
    make_ground()
    for name, selector in [
        ("all", ""),
        ("orders.dead", "_AMQ_ORIG_ADDRESS = 'orders'"),
        ("unrouted", "_BRK_DEATH_REASON = 'NO_ROUTE' AND _AMQ_ORIG_QUEUE IS NULL"),
        ("stocks.dead", "_AMQ_ORIG_ADDRESS = 'stocks'"),
    ]:
        make_queue(name, address="DLA", routing_type=MULTICAST, selector=selector)

    receipt = put("orders", now=NOON)

    names = Queue.objects.filter(pk__in=receipt.queue_ids)
    taken = {"all", "orders.dead", "unrouted"}
    assert set(names.values_list("name", flat=True)) == taken
    assert DeadLetter.objects.count() == 3
    assert fsck.violations() == []


@pytest.mark.spec("DLA-9", "AUTODL-1")
def test_its_resources_make_themselves() -> None:
    make_ground(auto_create_dead_letter_resources=True)
    receipt = put("orders", now=NOON)
    queue = Queue.objects.get(auto_created=True)
    assert (queue.name, queue.address.name) == ("DLQ.orders", "DLA")
    assert receipt.queue_ids == [queue.pk]


@pytest.mark.spec("DLA-9")
def test_it_is_not_there_before_it_is_due() -> None:
    make_ground()
    dlq = make_queue("DLQ", address="DLA")
    put("orders", deliver_at=NOON + minutes(5), now=NOON)
    entry = Delayed.objects.get()
    assert (entry.queue_id, entry.due_at) == (dlq.pk, NOON + minutes(5))


@pytest.mark.spec("DLA-9")
def test_it_exists_if_and_only_if_its_transaction_does() -> None:
    make_ground()
    make_queue("DLQ", address="DLA")

    with transaction.atomic():
        put("orders", now=NOON)
        transaction.set_rollback(True)
    with pytest.raises(ValueError, match="no"), unit_of_work(now=NOON) as work:
        work.put("orders")
        raise ValueError("no")

    assert not Message.objects.exists()
    with unit_of_work(now=NOON) as work:
        work.put("orders")
    assert len(on("DLQ")) == 1


def test_an_address_that_nobody_created_is_still_refused() -> None:
    make_ground("#")
    make_queue("DLQ", address="DLA")
    with pytest.raises(NoSuchAddress):
        put("nothing", now=NOON)
    assert not Ready.objects.exists()


@pytest.mark.spec("DLA-9")
def test_what_is_routed_is_put_without_a_look_at_the_settings() -> None:
    make_queue("orders")
    with CaptureQueriesContext(connection) as queries:
        put("orders", now=NOON)
    assert not [one for one in queries if "addresssetting" in one["sql"]]


def test_a_receipt_of_each_message_is_in_its_place() -> None:
    make_ground()
    make_queue("orders", address="orders", routing_type=MULTICAST)
    dlq = make_queue("DLQ", address="DLA")
    kinds = [MULTICAST, RoutingType.ANYCAST, MULTICAST]
    messages = [make_messages(1, routing_type=kind)[0] for kind in kinds]

    receipts: list[Receipt] = put_many(messages, now=NOON)

    assert [one.queue_ids == [dlq.pk] for one in receipts] == [False, True, False]
