"""What links write into the journal, and that nothing else counts by it."""

from __future__ import annotations

from typing import Any

import pytest

from broker import sql
from broker.bridges.books import Counts, Outcome, TransferEntry, fence
from broker.errors.bridges import LinkTakenOver
from broker.models import Event, Kind, LinkStatus, Place, Queue
from broker.monitoring import counters, fsck
from broker.queueing import hops, journal
from broker.queueing.hops import Hop, hop_of
from broker.queueing.put import put, put_many
from tests.broker.bridges.carrying import LINK, bring, carry, old, take, tell
from tests.broker.bridges.configured_links import make_link
from tests.broker.dying import back_out
from tests.make import NOON, make_messages, make_queue, make_setting, minutes, seconds

pytestmark = pytest.mark.django_db


def transfers() -> list[Any]:
    return list(Event.objects.filter(kind=Kind.TRANSFER).order_by("seq"))


@pytest.fixture
def orders() -> Queue:
    make_queue("shipped")
    return make_queue("orders")


def test_messages_of_one_queue_are_one_event_whose_lists_are_in_step(
    orders: Queue,
) -> None:
    one, two, three = (r.message_id for r in put_many(make_messages(3), now=NOON))
    entries = [
        TransferEntry(orders.pk, three, Outcome.NOT_TRANSFERRED),
        TransferEntry(
            orders.pk, one, Outcome.TRANSFERRED, "ID:1", None, 40, transformed=True
        ),
        TransferEntry(orders.pk, two, Outcome.BRANCHED, "ID:2"),
    ]

    tell(entries, "source")

    (event,) = transfers()
    assert (event.ids, event.n, event.at) == ([one, two, three], 3, NOON)
    assert (event.came_from, event.went_to) == (Place.CLAIMED, Place.CLAIMED)
    assert event.actor == f"link {LINK}"
    assert event.detail == {
        "link": LINK,
        "link_id": 7,
        "role": "source",
        "counted": True,
        "outcomes": ["TRANSFERRED", "BRANCHED", "NOT_TRANSFERRED"],
        "others": ["ID:1", "ID:2", ""],
        "latencies_ms": [40, None, None],
        "transformed": [True, False, False],
    }


def test_where_both_ends_are_here_the_source_names_the_copy_and_alone_counts(
    orders: Queue,
) -> None:
    put("orders", now=NOON)

    [(source, copy)] = carry()

    at_source, at_target = transfers()
    assert at_source.detail["copies"] == [copy]
    assert (at_source.ids, at_target.ids) == ([source], [copy])
    assert at_source.detail["counted"]
    assert not at_target.detail["counted"]
    assert "copies" not in at_target.detail


def test_what_has_a_copy_here_and_what_has_none_are_two_events(orders: Queue) -> None:
    one, two = (r.message_id for r in put_many(make_messages(2), now=NOON))
    entries = [
        TransferEntry(orders.pk, one, Outcome.TRANSFERRED, copy=two),
        TransferEntry(orders.pk, two, Outcome.MESSAGE_EXPIRED),
    ]

    tell(entries, "source")

    found = {event.ids[0]: event.detail.get("copies") for event in transfers()}
    assert found == {one: [two], two: None}


def test_nothing_is_written_of_nothing(orders: Queue) -> None:
    tell([], "source")
    assert transfers() == []


def test_depths_counters_and_the_check_are_as_without_it(orders: Queue) -> None:
    put_many(make_messages(3), now=NOON)
    carry(limit=2)
    bring("orders")

    assert fsck.violations() == []
    assert fsck.sums().balance == 0
    for _ in range(2):  # from the journal, then from its tally
        depth = journal.depths()[orders.pk]
        assert (depth.ready, depth.claimed, depth.total) == (2, 0, 2)
        assert (depth.accepted, depth.accept_attempts) == (2, 2)
        assert depth.done[Kind.TRANSFER] == 3
        found = counters.counted(orders.pk)
        assert (found.message_count, found.messages_added) == (2, 4)
        assert (found.messages_acknowledged, found.acknowledge_attempts) == (2, 2)
        journal.fold()


def test_a_life_line_has_what_is_said_of_its_message_alone(orders: Queue) -> None:
    put_many(make_messages(2), now=NOON)
    (_, (second, copy)) = carry(limit=2, transformed=True)

    hop = next(e for e in journal.events_of(second) if e.kind == Kind.TRANSFER)

    assert hop.detail == {
        "link": LINK,
        "link_id": 7,
        "role": "source",
        "counted": True,
        "outcome": "TRANSFERRED",
        "other": hop.detail["other"],
        "latency_ms": 250,
        "transformed": True,
        "copy": copy,
    }


def test_a_life_line_goes_through_a_link_both_ways_and_on(orders: Queue) -> None:
    make_queue("DLQ", address="DLA")
    make_setting("shipped", max_delivery_attempts=1, dead_letter_address="DLA")
    put_many(make_messages(3), now=NOON)
    (first, _), (source, copy), _ = carry(limit=3)
    back_out("shipped", limit=3)
    letter = next(
        e.detail["copy"] for e in journal.events_of(copy) if "copy" in e.detail
    )

    told = [
        {event.message_id for event in journal.lifeline(one)}
        for one in (source, copy, letter)
    ]

    assert told == [{source, copy, letter}] * 3
    assert first not in told[0]


def test_a_message_from_elsewhere_has_no_source_here(orders: Queue) -> None:
    put("orders", now=NOON)
    carry()
    brought = bring()

    assert {event.message_id for event in journal.lifeline(brought)} == {brought}


def test_a_message_that_no_link_brought_is_not_asked_for_its_source(
    orders: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    message_id = put("orders", now=NOON).message_id
    take()
    asked: list[str] = []
    run = sql.run

    def counted(name: str, parameters: dict[str, Any]) -> list[tuple[Any, ...]]:
        asked.append(name)
        return run(name, parameters)

    monkeypatch.setattr(sql, "run", counted)

    assert len(journal.lifeline(message_id)) == 4
    assert asked == ["lifeline"]


def test_each_outcome_is_said_in_words() -> None:
    outcomes = {one.value for one in Outcome}

    assert outcomes == hops.REMEDIES.keys()
    assert outcomes - {"TRANSFERRED"} == hops.WHY.keys()
    assert outcomes >= {*hops.CARRIED, *hops.IN_DOUBT}


SAID = [
    (Hop("a/b", "source", "TRANSFERRED", "ID:1"), "carried by link a/b to ID:1"),
    (
        Hop("a/b", "source", "TRANSFERRED", "ID:1", copy=7),
        "carried by link a/b to ID:1 (message 7 here)",
    ),
    (
        Hop("a/b", "source", "BRANCHED", "ID:1"),
        "carried by link a/b to ID:1: its transformer sent it to another destination",
    ),
    (Hop("a/b", "target", "TRANSFERRED", "ID:1"), "came by link a/b from ID:1"),
    (
        Hop("a/b", "source", "NOT_TRANSFERRED"),
        "taken and not carried by link a/b: its transformer refused it",
    ),
    (
        Hop("a/b", "source", "COMMIT_FAILURE"),
        "taken by link a/b: the commit failed, and the target may have it or not",
    ),
    (
        Hop("a/b", "dead", "MESSAGE_EXPIRED", "ID:1"),
        "a dead message of link a/b from ID:1: its time to live was over",
    ),
]


@pytest.mark.parametrize(("hop", "sentence"), SAID)
def test_a_hop_is_a_sentence(hop: Hop, sentence: str) -> None:
    assert str(hop) == sentence


def test_a_hop_is_made_of_what_the_journal_says(orders: Queue) -> None:
    put("orders", now=NOON)
    [(source, copy)] = carry(latency_ms=1500)
    of = {
        one: next(e for e in journal.events_of(one) if e.kind == Kind.TRANSFER).detail
        for one in (source, copy)
    }

    there, here = hop_of(of[source]), hop_of(of[copy])

    assert (there.other, here.other) == (f"ID:shipped-{source}", old(source))
    assert (there.copy, here.copy) == (copy, None)
    assert there.latency == seconds(1.5)
    assert there.is_departure
    assert not here.is_departure


def test_counts_are_added_by_who_runs_the_link_and_by_nobody_else() -> None:
    link = make_link("shop", "orders-out")
    LinkStatus.objects.create(link=link, epoch=3)
    later = NOON + minutes(1)

    fence(link.pk, str(link), 3, Counts(received=5, sent=4, expired=1), NOON)
    fence(link.pk, str(link), 3, Counts(received=1, duplicates=1), later)
    fence(link.pk, str(link), 3, Counts(), later)
    with pytest.raises(LinkTakenOver):
        fence(link.pk, str(link), 2, Counts(received=1), later)

    status = LinkStatus.objects.get(link=link)
    assert (status.received, status.sent, status.expired) == (6, 4, 1)
    assert status.duplicates == 1
    assert status.last_transfer_at == NOON, "a duplicate is no transfer"
