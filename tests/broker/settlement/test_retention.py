"""How long messages that have ended stay, by the settings of their addresses."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from broker import operations
from broker.models import Message, RoutingType, Watermark
from broker.queueing.put import put_many
from broker.settlement import retention
from broker.sql import database_now, partitions
from broker.transactions.scope import UnitOfWork
from tests.broker.dying import back_out, operator
from tests.broker.sql.partitioning import (
    OLD,
    WEEKS_LATER,
    accept,
    fill_old_partition,
    ids_go_on_at,
    until_final,
)
from tests.make import (
    NOON,
    make_messages,
    make_queue,
    make_setting,
    minutes,
    plan_resubmit,
    seconds,
)

HOUR_S, DAY_S = 3600, 86_400
IN_ITS_TURN = WEEKS_LATER.replace(minute=OLD % partitions.TURNS)


def addresses() -> list[str]:
    return list(Message.objects.order_by("id").values_list("address", flat=True))


def readers() -> set[str]:
    return set(
        Watermark.objects.filter(reader__startswith=retention.READER).values_list(
            "reader", flat=True
        )
    )


def delete_ended(*, now: datetime) -> int:
    """As one round does when whatever else writes has ended, as autovacuum."""
    until_final()
    return retention.delete_ended(now=now)


@pytest.mark.thorough
def test_what_ended_goes_after_the_retention_of_its_address(
    transactional_db: None,
) -> None:
    make_setting("chatter.#", message_retention_s=HOUR_S)
    for name in ("chatter.eu", "orders"):
        make_queue(name)
    delete_ended(now=NOON)
    for name in ("chatter.eu", "orders"):
        put_many(make_messages(3, name), now=NOON - minutes(90))
        accept(name, 2)

    assert delete_ended(now=NOON + minutes(59)) == 0
    assert delete_ended(now=NOON + minutes(61)) == 2
    assert delete_ended(now=NOON + minutes(61)) == 0

    assert addresses() == ["chatter.eu", "orders", "orders", "orders"]
    accept("chatter.eu", 1)
    assert delete_ended(now=NOON + minutes(61)) == 1, "a later window"


@pytest.mark.thorough
def test_a_message_on_another_queue_stays_until_it_ends_there(
    transactional_db: None,
) -> None:
    make_setting("news", message_retention_s=0)
    for name in ("first", "second"):
        make_queue(name, address="news", routing_type=RoutingType.MULTICAST)
    delete_ended(now=NOON)
    put_many(make_messages(1, "news"), now=NOON)
    accept("first", 1)

    assert delete_ended(now=NOON + seconds(1)) == 0
    accept("second", 1)
    assert delete_ended(now=NOON + seconds(1)) == 1


@pytest.mark.thorough
def test_what_an_undo_may_need_stays(transactional_db: None) -> None:
    make_queue("orders")
    make_queue("DLQ", address="DLA")
    make_setting("#", max_delivery_attempts=1, dead_letter_address="DLA")
    make_setting("DLA", message_retention_s=0)
    delete_ended(now=database_now())
    put_many(make_messages(1))
    back_out("orders")
    order = plan_resubmit(operator(), "all dead letters")
    operations.start(order.pk)
    while operations.step(order.pk):
        pass

    later = database_now() + minutes(1)
    assert delete_ended(now=later) == 0
    assert "DLA" in addresses()


@pytest.mark.django_db
def test_each_retention_has_a_reader_that_begins_with_the_last_of_the_others() -> None:
    retention.register([HOUR_S, 2 * HOUR_S])
    Watermark.objects.filter(reader=f"retention {HOUR_S}").update(xid=70)
    Watermark.objects.filter(reader=f"retention {2 * HOUR_S}").update(xid=50)

    retention.register([HOUR_S, 3 * HOUR_S])

    assert readers() == {f"retention {HOUR_S}", f"retention {3 * HOUR_S}"}
    assert Watermark.objects.get(reader=f"retention {3 * HOUR_S}").xid == 50
    retention.register([])
    assert readers() == set(), "a reader that nobody moves would keep the journal"


@pytest.mark.django_db
def test_a_longer_retention_outlives_the_partition() -> None:
    make_setting("orders", message_retention_s=90 * DAY_S)
    for name in ("orders", "news"):
        make_queue(name)
    fill_old_partition(3)
    put_many(make_messages(4, "news"), now=NOON)
    accept("orders", 3)
    accept("news", 4)
    ids_go_on_at((OLD + 1) * partitions.MESSAGES)
    kept_since = retention.Retentions().retained_since

    another_turn = IN_ITS_TURN + minutes(1)
    partitions.drop_old(now=another_turn, kept_since=kept_since)
    assert len(addresses()) == 7
    partitions.drop_old(now=IN_ITS_TURN, kept_since=kept_since)
    assert addresses() == ["orders"] * 3
    partitions.drop_old(now=IN_ITS_TURN + timedelta(days=29), kept_since=kept_since)
    assert addresses() == ["orders"] * 3
    partitions.drop_old(now=IN_ITS_TURN + timedelta(days=31), kept_since=kept_since)
    assert addresses() == []


@pytest.mark.django_db
def test_a_partition_that_is_mostly_kept_stays_whole() -> None:
    make_setting("orders", message_retention_s=90 * DAY_S)
    for name in ("orders", "news"):
        make_queue(name)
    fill_old_partition(3)
    put_many(make_messages(1, "news"), now=NOON)
    ids_go_on_at((OLD + 1) * partitions.MESSAGES)
    UnitOfWork(now=NOON).get("orders", 3)

    partitions.drop_old(
        now=IN_ITS_TURN, kept_since=retention.Retentions().retained_since
    )

    assert len(addresses()) == 4
