"""Which queues of a dead letter address take a letter, and what it then says."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from broker.config.auto_create import selector_for
from broker.formats.selectors import parse
from broker.models import (
    AddressSetting,
    DeadLetter,
    Discarded,
    Kind,
    Message,
    Queue,
    Ready,
    RoutingType,
)
from broker.monitoring import fsck
from broker.queueing import journal
from broker.queueing.provenance import Hop, resubmits
from broker.queueing.put import put, put_many
from broker.transactions.scope import UnitOfWork
from tests.broker.dying import back_out, on
from tests.make import NOON, make_messages, make_queue, make_setting, minutes

pytestmark = pytest.mark.django_db

MULTICAST = RoutingType.MULTICAST


def make_ground(address: str = "DLA", **fields: Any) -> Queue:
    """A queue that gives up at once, and whose dead letters go to an address."""
    policy = {"max_delivery_attempts": 1, "dead_letter_address": address}
    make_setting("orders", **policy | fields)
    return make_queue("orders")


def make_taker(
    name: str, selector: str, routing_type: RoutingType = MULTICAST
) -> Queue:
    return make_queue(name, address="DLA", routing_type=routing_type, selector=selector)


@pytest.mark.spec("DLA-4")
@pytest.mark.parametrize(
    "selector",
    [
        "_AMQ_ORIG_ADDRESS = 'orders'",
        "_AMQ_ORIG_QUEUE = 'orders' AND _AMQ_ORIG_MESSAGE_ID IS NOT NULL",
        "_BRK_DEATH_REASON = 'MAX_DELIVERY_ATTEMPTS' AND _BRK_DEATH_COUNT = 1",
        "customer = 17 AND JMSPriority = 7",
        "JMSExpiration = 0 AND NOT JMSRedelivered",
    ],
)
def test_a_queue_takes_a_letter_that_its_selector_matches(selector: str) -> None:
    """It is the copy that is looked at, and not what it was copied from."""
    make_ground()
    make_taker("some", selector)
    make_taker("others", f"NOT ({selector})")
    soon = NOON + minutes(9)
    put("orders", properties={"customer": 17}, priority=7, expires_at=soon, now=NOON)

    back_out()

    assert (len(on("some")), len(on("others"))) == (1, 0)
    (letter,) = DeadLetter.objects.all()
    assert letter.queue_id == Queue.objects.get(name="some").pk
    assert fsck.violations() == []


@pytest.mark.spec("DLA-4", "DLA-7")
def test_all_queues_that_want_it_have_one_copy_and_all_have_their_old_order() -> None:
    make_ground()
    make_taker("all", "")
    make_taker("odd", "odd = TRUE")
    make_taker("even", "odd = FALSE")
    put_many(
        [
            one
            for number in range(60)
            for one in make_messages(1, properties={"odd": number % 3 == 1})
        ],
        now=NOON,
    )

    back_out(limit=60)

    everything, odd, even = on("all"), on("odd"), on("even")
    assert sorted(odd + even) == everything
    assert len(odd) == 20
    copies = Message.objects.filter(pk__in=everything).order_by("pk")
    origins = [int(one.copied_from or 0) for one in copies]
    assert origins == sorted(origins)
    assert fsck.violations() == []


@pytest.mark.spec("DLA-4")
def test_one_anycast_queue_takes_it_among_those_that_want_it() -> None:
    make_ground()
    for name in ("first", "second"):
        make_taker(name, "_AMQ_ORIG_ADDRESS = 'orders'", RoutingType.ANYCAST)
    make_taker("never", "_AMQ_ORIG_ADDRESS = 'stocks'", RoutingType.ANYCAST)
    make_taker("every", "")
    put_many(make_messages(6), now=NOON)

    back_out(limit=6)

    assert sorted(on("first") + on("second")) == on("every")
    assert on("first")
    assert on("second")
    assert on("never") == []


@pytest.mark.spec("DLA-3", "DLA-12")
@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("", "no dead letter address is set"),
        ("nowhere", "'nowhere' feeds no queue"),
        ("DLA", "no queue of 'DLA' has a selector that matches"),
    ],
)
def test_what_nobody_takes_is_dropped_counted_and_warned_of(
    caplog: pytest.LogCaptureFixture, address: str, why: str
) -> None:
    orders = make_ground(address)
    make_taker("stocks", "_AMQ_ORIG_ADDRESS = 'stocks'")
    message_id = put("orders", now=NOON).message_id

    back_out()

    assert not Ready.objects.exists()
    assert f"1 poison messages of 'orders' are discarded: {why}." in caplog.text
    assert journal.depths()[orders.pk].done[Kind.DISCARD] == 1
    last = journal.lifeline(message_id)[-1]
    assert last.detail["cause"] == "MAX_DELIVERY_ATTEMPTS"
    assert "reason" not in last.detail, "that is IBM MQ's"
    assert Discarded.objects.get().why == why
    assert fsck.violations() == []


@pytest.mark.spec("DLA-3", "DLA-4")
def test_of_one_unit_of_work_some_are_letters_and_the_others_are_dropped() -> None:
    orders = make_ground()
    make_taker("big", "amount > 100")
    amounts = [50, 500, 70, 700]
    put_many(
        [make_messages(1, properties={"amount": one})[0] for one in amounts], now=NOON
    )

    back_out(limit=4)

    letters = Message.objects.filter(pk__in=on("big")).order_by("pk")
    assert [one.properties["amount"] for one in letters] == [500, 700]
    done = journal.depths()[orders.pk].done
    assert (done[Kind.DEAD_LETTER], done[Kind.DISCARD]) == (2, 2)
    assert fsck.violations() == []


@pytest.mark.spec("DLA-5", "EXP-2")
def test_a_letter_expires_by_the_settings_of_its_new_address() -> None:
    make_ground()
    make_taker("mortal", "JMSExpiration > 0")
    make_setting("DLA", expiry_delay_ms=60_000)
    put("orders", expires_at=NOON + minutes(90), now=NOON)

    back_out()

    (copy_id,) = on("mortal")
    assert Message.objects.get(pk=copy_id).expires_at == NOON + minutes(1)
    assert Ready.objects.get().expires_at == NOON + minutes(1)


@pytest.mark.spec("DLA-10")
def test_the_broker_s_own_queues_have_no_limit_of_attempts() -> None:
    orders = make_ground()
    Queue.objects.filter(pk=orders.pk).update(kind=Queue.Kind.INTERNAL)
    make_taker("all", "")
    put("orders", now=NOON)

    for _ in range(20):
        back_out()

    assert (len(on("orders")), on("all")) == (1, [])


NAMES = st.sampled_from(
    [
        "_AMQ_ORIG_ADDRESS",
        "_AMQ_ORIG_QUEUE",
        "_AMQ_ORIG_MESSAGE_ID",
        "_AMQ_ORIG_ROUTING_TYPE",
        "_AMQ_ACTUAL_EXPIRY",
        "_BRK_DEATH_REASON",
        "_BRK_DEATH_COUNT",
        "_BRK_DEATH_TIME",
        "_BRK_RESUBMIT_COUNT",
        "customer",
    ]
)
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**40), 2**40),
    st.floats(allow_nan=False, allow_infinity=False, width=32),
    st.sampled_from(["", "1", "007", "1234567", "٣", "-1", "orders"]),
    st.lists(st.integers(0, 3), max_size=2),
)


@pytest.mark.spec("COPY-1", "COPY-2")
@settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    properties=st.dictionaries(NAMES, VALUES, max_size=6),
    routing_type=st.sampled_from([None, *RoutingType]),
)
def test_what_is_told_beforehand_is_what_is_stored(
    properties: dict[str, Any], routing_type: RoutingType | None
) -> None:
    """Selectors look at a copy before it is made."""
    Queue.objects.all().delete()
    AddressSetting.objects.all().delete()
    make_ground()
    make_queue("both", address="orders", routing_type=MULTICAST)
    make_taker("all", "")
    queue = "both" if routing_type == MULTICAST else "orders"
    receipt = put("orders", properties=properties, routing_type=routing_type, now=NOON)

    back_out(queue)

    stored = Message.objects.get(copied_from=receipt.message_id)
    hop = Hop(
        address="orders",
        queue=queue,
        message_id=receipt.message_id,
        routing_type=routing_type,
        at=NOON,
        cause=DeadLetter.Cause.MAX_DELIVERY_ATTEMPTS,
        backout_count=1,
    )
    sent = Message.objects.get(pk=receipt.message_id).properties
    assert stored.properties == hop.properties_after(sent) | resubmits(sent)


@pytest.mark.spec("COPY-2")
def test_copies_of_copies_tell_of_the_last_hop_alone() -> None:
    for number in range(4):
        make_queue(f"queue{number}", address=f"testAddress{number}")
        make_setting(
            f"testAddress{number}",
            max_delivery_attempts=1,
            dead_letter_address=f"testAddress{number + 1}",
        )
    last = make_queue("last", address="testAddress4")
    put("testAddress0", now=NOON)

    for number in range(4):
        back_out(f"queue{number}")

    (delivery,) = UnitOfWork(now=NOON).get(last.name)
    told = delivery.properties
    assert told["_AMQ_ORIG_ADDRESS"] == "testAddress3"
    assert told["_AMQ_ORIG_QUEUE"] == "queue3"
    hops = [one.kind for one in journal.lifeline(delivery.message_id)]
    assert hops.count(Kind.DEAD_LETTER) == 4, "the journal forgets nothing"


def test_a_selector_with_a_quote_can_be_made_for_any_address() -> None:
    name = "Zoë's ''orders'' \\ % _"
    selector = parse(selector_for(name))
    assert selector.matches({"_AMQ_ORIG_ADDRESS": name})
    assert not selector.matches({"_AMQ_ORIG_ADDRESS": name + "'"})
