"""Deliveries that end one by one: of many consumers, in one transaction."""

from __future__ import annotations

from datetime import timedelta

import pytest

from broker.amqp.messages.modified_annotations import added_to
from broker.models import (
    Claim,
    DeadLetter,
    Delayed,
    Discarded,
    Event,
    Kind,
    Message,
    Ready,
)
from broker.queueing import delayed, journal
from broker.queueing.put import put_many
from broker.settlement.annotations import MOST_BYTES, annotations_of
from broker.settlement.batch import settle
from broker.settlement.outcomes import Accept, BackOut, Reject, Release
from broker.transactions.prefetch import Prefetched
from tests.broker.taking_ahead import (
    consumer,
    ground,
    healthy,
    kinds,
    of,
)
from tests.broker.wire import counted
from tests.make import NOON, make_messages, minutes, seconds

SPEC = pytest.mark.spec
DB = pytest.mark.django_db
WHY = "no such customer 17"


@DB
@SPEC("UOW-1")
def test_what_is_accepted_is_gone_and_the_rest_stays_held() -> None:
    ground()
    _, (one, two, three) = consumer()

    assert settle([of(Accept(), one, three)], actor="omar", now=NOON) == [None]

    (claim,) = Claim.objects.all()
    assert claim.ids == [two.message_id]
    accepted = Event.objects.get(kind=Kind.ACCEPT)
    assert accepted.ids == [one.message_id, three.message_id]
    assert (accepted.uow, accepted.actor, accepted.n) == (one.uow, "omar", 2)
    assert healthy()


@DB
@SPEC("UOW-4")
def test_what_is_released_comes_first_again_uncounted() -> None:
    ground()
    _, (one, two, three) = consumer()

    settle([of(Release(), one, three)], now=NOON)

    _, back = consumer()
    assert [each.message_id for each in back] == [one.message_id, three.message_id]
    assert [each.backout_count for each in back] == [0, 0]
    assert [each.delivery_count for each in back] == [2, 2]
    assert kinds(two)[-1] == Kind.GET
    assert healthy()


@DB
def test_what_is_released_for_a_while_waits_as_long_uncounted() -> None:
    ground(1)
    _, (one,) = consumer()

    settle([of(Release(seconds(30)), one)], now=NOON)

    entry = Delayed.objects.get()
    assert (entry.due_at, entry.backout_count) == (NOON + seconds(30), 0)
    assert healthy()


@DB
@SPEC("UOW-2", "REDEL-1")
def test_what_is_backed_out_is_counted_and_waits_as_the_settings_say() -> None:
    ground(redelivery_delay_ms=10_000)
    _, (one, *_) = consumer()

    settle([of(BackOut(WHY), one)], now=NOON)

    entry = Delayed.objects.get()
    assert (entry.id, entry.backout_count) == (one.message_id, 1)
    assert entry.due_at == NOON + seconds(10)
    assert journal.last_error(one.queue_id, one.message_id) == WHY
    assert Claim.objects.get().ids == [one.message_id + 1, one.message_id + 2]
    assert healthy()


@DB
@pytest.mark.parametrize(
    ("outcome", "waits"),
    [
        (BackOut(WHY, at_once=True), None),
        (BackOut(WHY, delay=minutes(2)), minutes(2)),
        (BackOut(WHY, delay=timedelta(0)), None),
        (BackOut(WHY, delay=-minutes(2)), None),
        (BackOut(WHY, delay=timedelta.max), timedelta(days=36_500)),
        (BackOut(WHY, delay=minutes(2), at_once=True), minutes(2)),
    ],
)
def test_a_consumer_may_say_how_long_a_message_waits(
    outcome: BackOut, waits: timedelta | None
) -> None:
    ground(1, redelivery_delay_ms=10_000)
    _, (one,) = consumer()

    assert settle([of(outcome, one)], now=NOON) == [None]

    if waits is None:
        assert Ready.objects.get().backout_count == 1
    else:
        entry = Delayed.objects.get()
        assert (entry.due_at, entry.backout_count) == (NOON + waits, 1)
    assert healthy()


@DB
@SPEC("DLA-2")
@pytest.mark.parametrize("delay", [None, minutes(1)])
def test_the_last_attempt_makes_a_dead_letter_whatever_delay_was_asked_for(
    delay: timedelta | None,
) -> None:
    ground(2, max_delivery_attempts=1)
    _, (one, two) = consumer()

    settle([of(BackOut(WHY, delay=delay), one)], now=NOON)

    letter = DeadLetter.objects.get()
    assert (letter.origin_id, letter.error) == (one.message_id, WHY)
    assert (letter.cause, letter.backout_count) == ("MAX_DELIVERY_ATTEMPTS", 1)
    assert Claim.objects.get().ids == [two.message_id]
    assert healthy()


@DB
@SPEC("DLA-11")
def test_what_is_rejected_is_a_dead_letter_at_once() -> None:
    ground(2, max_delivery_attempts=-1)
    _, (one, two) = consumer()

    settle([of(Reject("amqp:not-allowed: no\0"), one)], now=NOON)

    letter = DeadLetter.objects.get()
    assert (letter.origin_id, letter.cause) == (one.message_id, "REJECTED")
    assert letter.error == "amqp:not-allowed: no\\0"
    told = Message.objects.get(pk=letter.message_id).properties
    assert (told["_BRK_DEATH_ERROR"], told["_BRK_DEATH_COUNT"]) == (letter.error, 1)
    assert Claim.objects.get().ids == [two.message_id]
    assert healthy()


@DB
def test_what_is_rejected_without_a_dead_letter_address_is_in_the_bin() -> None:
    ground(1, dead_letter_address="")
    _, (one,) = consumer()

    settle([of(Reject(WHY), one)], now=NOON)

    assert Discarded.objects.get().message_id == one.message_id
    assert healthy()


@DB
@SPEC("EXP-6")
def test_what_expired_meanwhile_is_not_counted_but_ends() -> None:
    queue = ground(0)
    put_many(make_messages(1, expires_at=NOON + seconds(1)), now=NOON)
    _, (one,) = consumer()

    settle([of(BackOut(WHY), one)], now=NOON + seconds(2))

    assert kinds(one)[-1] == Kind.EXPIRE
    assert journal.depths()[queue.pk].total == 0
    assert healthy()


@DB
def test_an_order_of_backouts_is_the_order_of_arrival() -> None:
    ground(4)
    ours, got = consumer()

    settle([of(BackOut(WHY), got[2]), of(Release(), got[1])], now=NOON)
    settle([of(BackOut(WHY), got[0])], now=NOON)

    again = ours.get(9, now=NOON)
    assert [one.message_id for one in again] == [one.message_id for one in got[:3]]
    assert [one.backout_count for one in again] == [1, 0, 1]


@DB
def test_what_waited_by_its_consumer_s_wish_comes_when_it_is_due() -> None:
    ground(1)
    ours, (one,) = consumer()
    settle([of(BackOut(WHY, delay=minutes(5)), one)], now=NOON)

    assert ours.get(9, now=NOON + minutes(4)) == []
    assert delayed.wake_due(limit=9, now=NOON + minutes(4)) == 0
    (again,) = ours.get(9, now=NOON + minutes(5))
    assert (again.message_id, again.backout_count) == (one.message_id, 1)


@DB
def test_hundreds_of_claims_are_settled_in_any_order() -> None:
    one = Prefetched(ground(1000))
    got = [delivery for _ in range(5) for delivery in one.get(150, now=NOON)]
    got += one.get(250, now=NOON)
    assert len(got) == 1000

    half = got[1::2] + got[-2::-4]
    accepts = [of(Accept(), delivery) for delivery in half]
    assert settle(accepts, now=NOON) == [None] * 750

    left = sorted(one for claim in Claim.objects.all() for one in claim.ids)
    gone = {delivery.message_id for delivery in half}
    assert left == [d.message_id for d in got if d.message_id not in gone]
    assert all(claim.ids == sorted(claim.ids) for claim in Claim.objects.all())
    assert Event.objects.filter(kind=Kind.ACCEPT).count() == 1
    assert healthy()


@DB
def test_a_claim_keeps_what_it_knows_of_the_entries_that_stay() -> None:
    ground(0)
    later = NOON + minutes(9)
    put_many(make_messages(1, priority=9), now=NOON)
    put_many(make_messages(2, priority=2, expires_at=later), now=NOON)
    put_many(make_messages(1, priority=7), now=NOON)
    ours, got = consumer()
    settle([of(BackOut(WHY), *got[2:])], now=NOON)
    again = ours.get(9, now=NOON)
    before = {
        one.message_id: (one.priority, one.backout_count, one.delivery_count)
        for one in [*got[:2], *again]
    }

    settle([of(Accept(), got[0]), of(Accept(), again[0])], now=NOON)

    held = {
        one[0]: one[1:]
        for claim in Claim.objects.all()
        for one in zip(
            claim.ids,
            claim.priorities,
            claim.backout_counts,
            claim.delivery_counts,
            claim.expiries,
            strict=True,
        )
    }
    expiry = {got[1].message_id: None, again[1].message_id: later}
    assert held == {one: (*before[one], expiry[one]) for one in expiry}


@DB
def test_annotations_are_combined_and_not_beyond_what_is_kept(
    caplog: pytest.LogCaptureFixture,
) -> None:
    ground()
    client, (one, two, three) = consumer()
    noted = Release(annotations=(("x-a", b"1"), ("x-b", b"1")))
    huge = Release(annotations=(("x", bytes(MOST_BYTES // 2)),))

    settle([of(noted, one, two)], now=NOON)
    assert not caplog.messages
    again = client.get(2, now=NOON)
    failed = BackOut(WHY, annotations=(("x-a", b"2"),))
    settle([of(failed, again[0]), of(huge, again[1]), of(huge, three)], now=NOON)

    kept = annotations_of(one.queue_id, [one.message_id, two.message_id, 1])
    assert {key: dict(said) for key, said in kept.items()} == {
        one.message_id: {"x-a": b"2", "x-b": b"1"},
        two.message_id: {"x-a": b"1", "x-b": b"1"},
    }
    (found,) = caplog.messages
    assert f"{three.message_id} (" in found
    assert found.endswith("of 'orders'.")


@DB
def test_nothing_is_asked_for_the_annotations_of_a_first_delivery() -> None:
    ground()
    _, got = consumer()

    with counted() as sent:
        assert added_to(got) == {}

    assert sent.round_trips == 0
