"""The journal: what it adds up to while others write, and the story of one message."""

from __future__ import annotations

from typing import Any

import pytest
from django.db.models import F, Sum
from django.db.models.functions import Coalesce
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from broker import operations
from broker.models import (
    Event,
    Kind,
    Message,
    Operation,
    Place,
    RoutingType,
    Tally,
    Watermark,
)
from broker.monitoring import fsck
from broker.queueing import journal
from broker.queueing.put import put, put_many
from broker.settlement.outcomes import BackOut
from broker.transactions.scope import UnitOfWork
from tests.broker.dying import back_out, plan
from tests.broker.elsewhere import Elsewhere
from tests.conftest import empty_the_broker
from tests.make import (
    NOON,
    make_messages,
    make_queue,
    make_setting,
    minutes,
    seconds,
)

K, State = Kind, Operation.State


@pytest.mark.django_db
def test_a_depth_is_its_entries_place_by_place() -> None:
    orders, idle = make_queue("orders"), make_queue("idle")
    put_many(make_messages(5), now=NOON)
    put("orders", deliver_at=NOON + minutes(1), now=NOON)
    work = UnitOfWork(now=NOON)

    work.get("orders", 2)

    depth = journal.depths()[orders.pk]
    assert (depth.ready, depth.claimed, depth.delayed, depth.total) == (3, 2, 1, 6)
    assert idle.pk not in journal.depths()


@pytest.mark.django_db
def test_what_was_ever_done_is_counted_by_its_kind() -> None:
    orders = make_queue("orders")
    put_many(make_messages(3), now=NOON)
    first, second = UnitOfWork(now=NOON), UnitOfWork(now=NOON)
    first.get("orders", 2)
    first.back_out("no such customer")
    second.get("orders", 3)
    second.commit()

    depth = journal.depths()[orders.pk]

    assert depth.done == {K.PUT: 3, K.GET: 5, K.BACK_OUT: 2, K.ACCEPT: 3}
    assert depth.total == 0


def test_what_an_open_transaction_wrote_is_neither_counted_early_nor_lost(
    elsewhere: Elsewhere,
) -> None:
    orders = make_queue("orders")
    elsewhere.begin()
    elsewhere(put, "orders")
    put("orders")

    journal.fold()
    before = journal.depths()[orders.pk].ready
    elsewhere.commit()
    after = journal.depths()[orders.pk].ready
    journal.fold()

    assert (before, after, journal.depths()[orders.pk].ready) == (1, 2, 2)
    assert_tally_is_the_journal_below_its_watermark()


def test_what_was_rolled_back_never_counts(elsewhere: Elsewhere) -> None:
    orders = make_queue("orders")
    put("orders")
    elsewhere.begin()
    elsewhere(put, "orders")
    journal.fold()
    elsewhere.roll_back()

    journal.fold()

    assert journal.depths()[orders.pk].ready == 1
    assert fsck.violations() == []


def test_a_fold_ends_where_the_oldest_open_transaction_begins(
    elsewhere: Elsewhere,
) -> None:
    make_queue("orders")
    elsewhere.begin()
    elsewhere(put, "orders")
    open_since = elsewhere(Event.objects.get).xid
    put("orders")

    journal.fold()

    assert Watermark.objects.get(reader="tally").xid <= open_since
    assert not Tally.objects.exists()


def test_two_folds_at_once_add_nothing_twice(elsewhere: Elsewhere) -> None:
    orders = make_queue("orders")
    put("orders")
    elsewhere.begin()
    elsewhere(journal.fold)

    journal.fold()  # does not wait for the other

    assert journal.depths()[orders.pk].ready == 1
    elsewhere.commit()
    journal.fold()
    assert journal.depths()[orders.pk].ready == 1
    assert_tally_is_the_journal_below_its_watermark()


class Interleaving(RuleBasedStateMachine):
    """Two transactions and a folder, step by step in any order."""

    writers = st.integers(0, 1)

    @initialize()
    def a_queue_with_messages(self) -> None:
        empty_the_broker()
        self.orders = make_queue("orders")
        put_many(make_messages(50))
        self.ready = 50
        self.elsewhere = [Elsewhere(), Elsewhere()]
        self.unsaid = [0, 0]  # what each has put, less what it has got

    def teardown(self) -> None:
        for other in getattr(self, "elsewhere", []):
            other.close()

    @rule(writer=writers)
    def put(self, writer: int) -> None:
        self.begun(writer)(put, "orders")
        self.unsaid[writer] += 1

    @rule(writer=writers)
    def get(self, writer: int) -> None:
        if self.begun(writer)(UnitOfWork().get, "orders"):
            self.unsaid[writer] -= 1

    @rule(writer=writers)
    def commit(self, writer: int) -> None:
        self.begun(writer).commit()
        self.ready += self.unsaid[writer]
        self.unsaid[writer] = 0

    @rule(writer=writers)
    def roll_back(self, writer: int) -> None:
        self.begun(writer).roll_back()
        self.unsaid[writer] = 0

    @rule()
    def put_in_no_transaction(self) -> None:
        put("orders")
        self.ready += 1

    @rule()
    def fold(self) -> None:
        journal.fold()

    @invariant()
    def depths_are_exact_and_the_tally_final(self) -> None:
        if hasattr(self, "orders"):
            assert journal.depths()[self.orders.pk].ready == self.ready
            assert_tally_is_the_journal_below_its_watermark()
            assert fsck.violations() == []

    def begun(self, writer: int) -> Elsewhere:
        other = self.elsewhere[writer]
        if other.transaction is None:
            other.begin()
        return other


@pytest.mark.thorough
def test_depths_are_exact_however_writers_and_folds_interleave(
    transactional_db: None,
) -> None:
    few = settings(max_examples=25, stateful_step_count=25, deadline=None)
    run_state_machine_as_test(Interleaving, settings=few)


@pytest.mark.django_db
@pytest.mark.spec("COPY-3")
def test_a_life_line_goes_through_every_death_and_every_return() -> None:
    orders, dlq = poisonous()
    first = put("orders", b"poison", now=NOON).message_id
    for life in range(3):
        back_out(at=life, actor="invoices.handle")
        if life < 2:
            resubmit(at=life)
    lives = list(Message.objects.order_by("id").values_list("id", flat=True))

    story = journal.lifeline(first)

    died = [(orders, K.GET), (orders, K.DEAD_LETTER), (dlq, K.PUT)]
    returned = [(dlq, K.RESUBMIT), (orders, K.PUT)]
    assert [(event.queue_id, event.kind) for event in story] == [
        (orders, K.PUT), *died, *returned, *died, *returned, *died
    ]  # fmt: skip
    assert (lives[0], len(lives)) == (first, 6)
    assert [event.message_id for event in story if event.kind == K.PUT] == lives
    assert all(journal.lifeline(life) == story for life in lives)


@pytest.mark.django_db
def test_a_life_line_names_who_did_it_and_why() -> None:
    orders, _ = poisonous()
    first = put("orders", now=NOON).message_id
    back_out(actor="invoices.handle")
    resubmit(at=0)

    by_kind = {event.kind: event for event in journal.lifeline(first)}

    death, resubmitted = by_kind[K.DEAD_LETTER], by_kind[K.RESUBMIT]
    copies = Message.objects.filter(pk__gt=first).order_by("id")
    assert death.detail == {
        "error": "no such customer 17",
        "cause": "MAX_DELIVERY_ATTEMPTS",
        "to": "DLA",
        "copy": copies[0].pk,
    }
    assert (death.came_from, death.went_to) == (Place.CLAIMED, None)
    assert (death.actor, death.queue_id) == ("invoices.handle", orders)
    assert resubmitted.detail["copy"] == copies[1].pk
    assert resubmitted.actor == "omar"


@pytest.mark.django_db
def test_a_life_line_tells_of_one_message_and_not_of_those_beside_it() -> None:
    make_queue("orders")
    make_setting("orders", redelivery_delay_ms=1000)
    old = put("orders", now=NOON).message_id
    back_out(error="first")
    new = put("orders", now=NOON).message_id
    both = UnitOfWork(now=NOON + seconds(5))
    assert len(both.get("orders", 1) + both.get("orders", 1)) == 2
    both.back_out(BackOut("second", spread=0))

    last = {one: journal.lifeline(one)[-1].detail for one in (old, new)}

    assert [last[one]["backout_count"] for one in (old, new)] == [2, 1]
    assert {last[one]["due_at"] for one in (old, new)} == {last[old]["due_at"]}


@pytest.mark.django_db
def test_every_message_of_a_large_multicast_put_has_its_life_line() -> None:
    for queue in ("invoices", "audit", "archive"):
        make_queue(queue, address="events", routing_type=RoutingType.MULTICAST)

    receipts = put_many(make_messages(1000, "events"), now=NOON)

    for event in Event.objects.all():
        assert event.ids == sorted(event.ids)
    for receipt in receipts[::100]:
        queues = {event.queue_id for event in journal.lifeline(receipt.message_id)}
        assert queues == set(receipt.queue_ids)


@pytest.mark.parametrize(
    ("detail", "one"),
    [
        ({}, {}),
        ({"error": "full", "cause": "EXPIRED"}, {"error": "full", "cause": "EXPIRED"}),
        ({"copies": [7, 8, 9], "to": "DLA"}, {"copy": 8, "to": "DLA"}),
        ({"backouts": [1, 2, 3]}, {"backout_count": 2}),
        ({"due_at": ["a", "b", "c"], "error": ""}, {"due_at": "b", "error": ""}),
        (
            {
                "role": "source",
                "outcomes": ["TRANSFERRED", "BRANCHED"],
                "others": ["ID:1", "ID:2"],
                "latencies_ms": [5, None],
                "transformed": [False, True],
                "copies": [7, 8],
            },
            {
                "role": "source",
                "outcome": "BRANCHED",
                "other": "ID:2",
                "latency_ms": None,
                "transformed": True,
                "copy": 8,
            },
        ),
    ],
)
def test_lists_of_a_detail_are_narrowed_to_the_one_message(
    detail: dict[str, Any], one: dict[str, Any]
) -> None:
    assert journal.detail_of_one(detail, 1) == one


def poisonous() -> tuple[int, int]:
    """A queue whose first backout kills, and where its dead letters go."""
    orders, dlq = make_queue("orders"), make_queue("DLQ", address="DLA")
    make_setting("orders", max_delivery_attempts=1, dead_letter_address="DLA")
    return orders.pk, dlq.pk


def resubmit(at: int) -> None:
    """Half a minute after the death at that minute."""
    operation = plan()
    operations.change(operation.pk, State.PLANNED, state=State.RUNNING)
    operations.step(operation.pk, now=NOON + minutes(at + 0.5))


def assert_tally_is_the_journal_below_its_watermark() -> None:
    key = ("queue_id", "kind", "from_", "to")
    tally_of = Watermark.objects.get(reader="tally")
    read = Event.objects.filter(xid__lt=tally_of.xid).exclude(xid__in=tally_of.skipped)
    sums = (
        read.annotate(from_=Coalesce("came_from", 0), to=Coalesce("went_to", 0))
        .values_list(*key)
        .annotate(sum=Sum("n"))
    )
    tally = Tally.objects.annotate(from_=F("came_from"), to=F("went_to"))
    assert set(sums) == set(tally.values_list(*key, "entries"))
