"""What each kind of operation does to entries, ready and delayed."""

from __future__ import annotations

from typing import Any

import pytest

from broker import operations
from broker.errors import NoSuchQueue
from broker.errors.operations import InvalidPriority
from broker.models import (
    DeadLetter,
    Delayed,
    Event,
    Kind,
    Message,
    Operation,
    OperationItem,
    Place,
    Queue,
    Ready,
    RoutingType,
)
from broker.monitoring import fsck
from broker.operations import Chosen, Outcome
from broker.queueing import journal
from broker.queueing.put import NewMessage, put_many
from broker.transactions.scope import UnitOfWork
from tests.broker.dying import back_out, make_dead_letters, on
from tests.broker.ordering import (
    copies_of,
    delayed_on,
    in_the_bin,
    make_orders,
    notes,
    order,
    plan_of,
)
from tests.make import NOON, make_queue, make_setting, minutes, seconds

pytestmark = pytest.mark.django_db

Do = Operation.Kind
Status = OperationItem.Status


@pytest.mark.spec("ADMIN-3", "COPY-1")
def test_a_move_takes_ready_and_delayed_to_one_queue_of_the_address() -> None:
    for name in ("review", "audit"):
        make_queue(name, address="checks", routing_type=RoutingType.MULTICAST)
    ids = make_orders(2, delayed=1, properties={"customer": 17})

    operation = order(Do.MOVE, "review")

    assert on("orders") == delayed_on("orders") == on("audit") == []
    copies = copies_of(operation)
    assert on("review") == copies
    properties = Message.objects.get(pk=copies[2]).properties
    assert properties == {
        "customer": 17,
        "_AMQ_ORIG_ADDRESS": "orders",
        "_AMQ_ORIG_QUEUE": "orders",
        "_AMQ_ORIG_MESSAGE_ID": str(ids[2]),
    }
    assert not DeadLetter.objects.exists()
    assert fsck.sums().moved == 3
    assert fsck.violations() == []


@pytest.mark.spec("ADMIN-3")
@pytest.mark.parametrize("kind", [Do.MOVE, Do.COPY])
def test_a_move_or_copy_to_an_unknown_queue_is_refused_and_leaves_the_source(
    kind: Operation.Kind,
) -> None:
    ids = make_orders(2)

    with pytest.raises(NoSuchQueue):
        order(kind, "nowhere")

    assert on("orders") == ids
    assert not Operation.objects.exists()


def test_a_target_that_goes_after_the_plan_leaves_the_source_untouched() -> None:
    ids = make_orders(1)
    make_queue("review")
    planned = plan_of(Do.MOVE, "review")
    Queue.objects.filter(name="review").delete()

    operation = operations.start(planned.pk, now=NOON)

    assert on("orders") == ids
    assert notes(operation) == [Outcome.NO_WAY_BACK.sentence]


@pytest.mark.spec("ADMIN-3", "COPY-1")
def test_a_copy_leaves_the_original_where_it_is() -> None:
    make_queue("review")
    ids = make_orders(1, delayed=1)

    operation = order(Do.COPY, "review")

    assert (on("orders"), delayed_on("orders")) == (ids[:1], ids[1:])
    copies = copies_of(operation)
    assert on("review") == copies
    assert Message.objects.get(pk=copies[0]).copied_from == ids[0]
    assert journal.lifeline(ids[0])[0].kind == Kind.PUT
    assert not Event.objects.filter(went_to=None).exists(), "nothing ended"
    assert fsck.violations() == []


@pytest.mark.spec("ADMIN-3")
def test_what_is_removed_is_in_the_discard_bin_and_does_not_count_as_killed() -> None:
    ids = make_orders(1, delayed=1)

    order(Do.REMOVE)

    assert on("orders") == delayed_on("orders") == []
    assert in_the_bin() == ids
    sums = fsck.sums()
    assert (sums.removed, sums.discarded, sums.dead_lettered) == (2, 0, 0)
    assert sums.balance == 0
    assert fsck.violations() == []


@pytest.mark.spec("ADMIN-3")
def test_what_is_expired_goes_to_the_expiry_address() -> None:
    make_queue("expired", address="EXPIRY")
    make_setting("orders", expiry_address="EXPIRY")
    ids = make_orders(1, delayed=1)

    operation = order(Do.EXPIRE)

    copies = copies_of(operation)
    assert on("expired") == copies
    letters = DeadLetter.objects.order_by("message_id")
    assert [letter.origin_id for letter in letters] == ids
    assert {letter.cause for letter in letters} == {DeadLetter.Cause.EXPIRED}
    assert fsck.sums().expired == 2
    assert fsck.violations() == []


@pytest.mark.spec("ADMIN-3")
def test_what_is_expired_is_dropped_without_an_expiry_address() -> None:
    make_orders(1, delayed=1)

    operation = order(Do.EXPIRE)

    assert on("orders") == delayed_on("orders") == []
    assert {item.copy_id for item in operation.items.all()} == {None}
    assert fsck.sums().expired == 2


@pytest.mark.spec("ADMIN-2")
def test_what_is_sent_to_the_dead_letters_is_killed_delayed_or_not() -> None:
    make_queue("DLQ", address="DLA")
    make_setting("orders", dead_letter_address="DLA")
    ids = make_orders(1, delayed=1)

    operation = order(Do.DEAD_LETTER)

    assert on("DLQ") == copies_of(operation)
    letters = DeadLetter.objects.order_by("message_id")
    assert [letter.origin_id for letter in letters] == ids
    assert {letter.cause for letter in letters} == {DeadLetter.Cause.OPERATOR}
    assert fsck.sums().dead_lettered == 2
    assert fsck.violations() == []


@pytest.mark.spec("ADMIN-2")
def test_what_is_sent_to_the_dead_letters_is_dropped_where_there_is_no_address() -> (
    None
):
    ids = make_orders(1, delayed=1)

    order(Do.DEAD_LETTER)

    assert on("orders") == delayed_on("orders") == []
    assert in_the_bin() == ids
    assert fsck.sums().discarded == 2


@pytest.mark.spec("ADMIN-2", "DLA-8")
def test_what_is_on_its_own_dead_letter_address_stays_there() -> None:
    make_setting("#", dead_letter_address="orders")
    ids = make_orders(1)

    operation = order(Do.DEAD_LETTER)

    assert on("orders") == ids
    assert notes(operation) == [Outcome.REFUSED.sentence]


@pytest.mark.spec("ADMIN-3")
def test_a_higher_priority_is_got_first_and_the_journal_says_so() -> None:
    first, second, waits = make_orders(2, delayed=1)

    order(Do.PRIORITY, "9", Chosen(queue="orders", ids=(second, waits)))

    assert Delayed.objects.get(id=waits).priority == 9
    (got,) = UnitOfWork(now=NOON + minutes(2)).get("orders")
    assert (got.message_id, got.priority) == (second, 9)
    changed = Event.objects.filter(kind=Kind.REPRIORITIZE).order_by("came_from")
    places = [(event.came_from, event.went_to) for event in changed]
    assert places == [(Place.READY, Place.READY), (Place.DELAYED, Place.DELAYED)]
    assert changed.filter(detail__priority=9).count() == 2
    assert first in on("orders")
    assert fsck.violations() == []


@pytest.mark.spec("ADMIN-3")
@pytest.mark.parametrize("priority", ["10", "-1", "", "4.5", "high", "٣"])
def test_a_priority_is_from_0_to_9(priority: str) -> None:
    make_orders(1)
    with pytest.raises(InvalidPriority):
        order(Do.PRIORITY, priority)
    assert not Operation.objects.exists()


@pytest.mark.spec("ADMIN-4", "REDEL-6")
def test_what_is_delayed_can_be_delivered_now_at_the_head_of_the_queue() -> None:
    first, waits = make_orders(1, delayed=1)

    operation = order(Do.DELIVER)

    assert notes(operation) == [Outcome.NOT_DELAYED.sentence, Status.DONE]
    got = UnitOfWork(now=NOON + minutes(2)).get("orders", 2)
    assert [one.message_id for one in got] == [waits, first]
    (woken,) = Event.objects.filter(kind=Kind.WAKE)
    assert (woken.actor, woken.detail) == (
        "omar",
        {"operation": operation.pk, "backouts": [0]},
    )


@pytest.mark.spec("ADMIN-1")
def test_what_an_operator_moved_away_can_be_resubmitted_from_there() -> None:
    make_queue("review")
    ids = make_orders(2)
    order(Do.MOVE, "review")

    order(Do.RESUBMIT, chosen=Chosen(queue="review"))

    assert on("review") == []
    bodies = [bytes(Message.objects.get(pk=one).body) for one in on("orders")]
    assert bodies == [b"1", b"2"]
    assert set(on("orders")).isdisjoint(ids)


@pytest.mark.spec("ADMIN-1")
def test_what_does_not_say_where_it_came_from_is_not_planned() -> None:
    make_queue("review")
    forged = {"_AMQ_ORIG_QUEUE": "review"}  # without the address
    lost = {"_AMQ_ORIG_ADDRESS": "x", "_AMQ_ORIG_QUEUE": "gone"}
    knows = {"_AMQ_ORIG_ADDRESS": "review", "_AMQ_ORIG_QUEUE": "review"}
    make_queue("orders")
    stays = put_many(
        [NewMessage("orders", b"", properties=p) for p in ({}, forged, lost)], now=NOON
    )
    put_many([NewMessage("orders", b"", properties=knows)], now=NOON)

    operation = order(Do.RESUBMIT)

    assert operation.items.count() == 1
    assert on("orders") == [one.message_id for one in stays]
    assert len(on("review")) == 1


@pytest.mark.spec("ADMIN-1")
def test_a_delayed_dead_letter_is_resubmitted_as_well() -> None:
    make_dead_letters(1)
    make_setting("DLA", redelivery_delay_ms=60_000)
    back_out("DLQ")
    (waits,) = delayed_on("DLQ")

    order(Do.RESUBMIT, chosen=Chosen(ids=(waits,)))

    assert delayed_on("DLQ") == []
    (back,) = UnitOfWork(now=NOON).get("orders")
    assert (back.backout_count, back.delivery_count) == (0, 1)


@pytest.mark.parametrize("kind", [Do.MOVE, Do.COPY])
@pytest.mark.parametrize(
    ("limit", "sent", "why"),
    [
        ({"max_depth": 2}, 2, Outcome.FULL),
        ({"put_inhibited": True}, 0, Outcome.INHIBITED),
    ],
)
def test_a_queue_takes_no_more_than_it_may_by_a_move_or_a_copy(
    kind: Operation.Kind, limit: dict[str, Any], sent: int, why: Outcome
) -> None:
    make_queue("review", **limit)
    make_orders(3)

    operation = order(kind, "review")

    assert notes(operation).count(why.sentence) == 3 - sent
    assert len(on("review")) == sent
    assert len(on("orders")) == (3 if kind == Do.COPY else 3 - sent)


@pytest.mark.parametrize("limit", [{"max_depth": 0}, {"put_inhibited": True}])
def test_dead_letters_have_no_other_place_and_obey_no_limit(
    limit: dict[str, Any],
) -> None:
    make_queue("DLQ", address="DLA", **limit)
    make_setting(dead_letter_address="DLA", max_delivery_attempts=1)
    make_orders(2)
    back_out("orders", limit=1)
    order(Do.DEAD_LETTER)
    assert len(on("DLQ")) == 2


def test_what_has_expired_is_not_moved_but_can_be_removed() -> None:
    make_queue("review")
    make_orders(1, expires_at=NOON + seconds(1))

    assert notes(order(Do.MOVE, "review")) == [Outcome.EXPIRED.sentence]
    assert notes(order(Do.REMOVE)) == [Status.DONE]


def test_what_a_consumer_holds_is_left_to_it() -> None:
    make_queue("review")
    ids = make_orders(2)
    planned = plan_of(Do.MOVE, "review")
    work = UnitOfWork(now=NOON)
    work.get("orders")

    operation = operations.start(planned.pk, now=NOON)

    assert notes(operation) == [Outcome.HELD.sentence, Status.DONE]
    work.commit()
    assert not Ready.objects.filter(id__in=ids).exists()
