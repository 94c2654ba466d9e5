"""What becomes of a dead letter that an operator sends back."""

from __future__ import annotations

import pytest

from broker import operations
from broker.models import (
    DeadLetter,
    Kind,
    Message,
    OperationItem,
    Queue,
    RoutingType,
)
from broker.operations import EVERY_QUEUE, Outcome
from broker.queueing import journal
from broker.transactions.scope import UnitOfWork
from tests.broker.dying import back_out, make_dead_letters, on, plan, start
from tests.make import NOON, make_queue

pytestmark = pytest.mark.django_db

ANYCAST, MULTICAST = RoutingType.ANYCAST, RoutingType.MULTICAST


@pytest.mark.spec("ADMIN-1")
def test_what_is_resubmitted_starts_its_life_anew() -> None:
    make_dead_letters(1, attempts=3)
    start(plan())

    (delivery,) = UnitOfWork(now=NOON).get("orders")

    assert (delivery.backout_count, delivery.delivery_count) == (0, 1)
    assert delivery.body == b"1"
    assert "_BRK_DEATH_REASON" not in delivery.properties
    assert delivery.properties["_BRK_RESUBMIT_COUNT"] == 1


@pytest.mark.spec("ADMIN-1")
def test_only_the_queue_it_died_on_gets_it_back() -> None:
    for name in ("invoices", "audit"):
        make_queue(name, address="events", routing_type=MULTICAST)
    make_dead_letters(1, address="events", queue="invoices")
    audited = on("audit")

    start(plan())

    (copy,) = on("invoices")
    assert on("audit") == audited
    assert Message.objects.get(pk=copy).address == "events"


@pytest.mark.spec("ADMIN-1")
def test_the_original_routing_type_rules_who_gets_it_back() -> None:
    """The copy goes to the address, whose other queue does not take anycast ones."""
    make_queue("orders", routing_type=ANYCAST)
    make_queue("audit", address="orders", routing_type=MULTICAST)
    make_dead_letters(1, routing_type=ANYCAST)

    start(plan(argument=EVERY_QUEUE))

    (copy,) = on("orders")
    assert on("audit") == []
    assert Message.objects.get(pk=copy).routing_type == ANYCAST


@pytest.mark.spec("ADMIN-1")
@pytest.mark.parametrize(("argument", "copies"), [("", 0), (EVERY_QUEUE, 1)])
def test_the_other_queues_of_the_address_get_it_if_the_operator_says_so(
    argument: str, copies: int
) -> None:
    make_queue("orders", routing_type=MULTICAST)
    make_queue("audit", address="orders", routing_type=MULTICAST)
    make_dead_letters(1)
    audited = on("audit")

    start(plan(argument=argument))

    assert len(on("orders")) == 1
    assert len(on("audit")) == len(audited) + copies


@pytest.mark.spec("ADMIN-1")
@pytest.mark.parametrize(
    ("limit", "sent", "why"),
    [
        ({"max_depth": 2}, 2, Outcome.FULL),
        ({"put_inhibited": True}, 0, Outcome.INHIBITED),
    ],
)
@pytest.mark.parametrize("guarded", ["orders", "audit"])
def test_it_stays_if_a_queue_it_would_reach_takes_no_more(
    limit: dict[str, int], sent: int, why: Outcome, guarded: str
) -> None:
    make_queue("orders", routing_type=MULTICAST)
    make_queue("audit", address="orders", routing_type=MULTICAST)
    make_dead_letters(3)
    reader = UnitOfWork(now=NOON)
    reader.get("audit", 3)
    reader.commit()
    Queue.objects.filter(name=guarded).update(**limit)
    operation = plan(argument=EVERY_QUEUE)
    foreseen = operations.preview(operation.pk).counts

    start(operation)

    assert len(on("orders")) == foreseen[Outcome.WILL_GO] == sent
    assert foreseen[why] == 3 - sent
    left = operation.items.exclude(status=OperationItem.Status.DONE)
    assert list(left.values_list("note", flat=True)) == [why.sentence] * (3 - sent)
    assert len(on("DLQ")) == 3 - sent


@pytest.mark.spec("COPY-2", "COPY-3")
def test_the_properties_of_a_resubmitted_copy_tell_of_the_dead_letter_queue() -> None:
    (died,) = make_dead_letters(1, properties={"customer": 17})
    first = Message.objects.get(pk=died).copied_from
    start(plan())

    (delivery,) = UnitOfWork(now=NOON).get("orders")

    assert delivery.properties == {
        "customer": 17,
        "_AMQ_ORIG_ADDRESS": "DLA",
        "_AMQ_ORIG_QUEUE": "DLQ",
        "_AMQ_ORIG_MESSAGE_ID": str(died),
        "_BRK_RESUBMIT_COUNT": 1,
    }
    story = journal.lifeline(delivery.message_id)
    assert story[0].message_id == first, "the first origin is never lost"


@pytest.mark.spec("COPY-2")
def test_a_second_death_tells_of_the_second_life() -> None:
    make_dead_letters(1)
    start(plan())
    (second_life,) = on("orders")
    back_out(error="the disk is full", at=5)

    letter = DeadLetter.objects.order_by("-message_id")[0]

    copy = Message.objects.get(pk=letter.message_id).properties
    assert copy["_AMQ_ORIG_MESSAGE_ID"] == str(second_life)
    assert copy["_AMQ_ORIG_ADDRESS"] == copy["_AMQ_ORIG_QUEUE"] == "orders"
    assert (letter.error, letter.resubmit_count) == ("the disk is full", 1)


def test_the_journal_says_who_resubmitted_under_which_operation() -> None:
    (died,) = make_dead_letters(1)
    operation = start(plan())

    (event,) = [e for e in journal.lifeline(died) if e.kind == Kind.RESUBMIT]

    assert (event.actor, event.detail["operation"]) == ("omar", operation.pk)
    assert event.queue_id == Queue.objects.get(name="DLQ").pk
