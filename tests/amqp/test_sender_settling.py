"""What clients say of their deliveries, and what becomes of the entries."""

from __future__ import annotations

import pytest

from broker.amqp.protocol import performatives as p
from broker.amqp.protocol.sections import map_of, split
from broker.amqp.protocol.types.types import Symbol, Timestamp
from broker.amqp.senders.outcomes import FREE_RELEASES, MOST_RELEASES
from broker.models import Claim, DeadLetter, Delayed, Place, Queue, Ready
from broker.monitoring.explain import explain
from broker.queueing.browse import browse
from broker.queueing.put import put, put_many
from broker.sql import database_now
from tests.amqp.getting import Getting, attach, bodies, counts, getting, listener
from tests.amqp.listening import Listening
from tests.console.until import until
from tests.make import make_messages, make_queue, make_setting, seconds

pytestmark = pytest.mark.usefixtures("transactional_db")


@pytest.fixture(autouse=True)
def _map(transactional_db: None) -> None:
    make_queue()
    make_queue("DLQ", address="DLA")
    make_setting("#", dead_letter_address="DLA")


def names(place: Place, queue: str = "orders") -> list[int]:
    """Messages at a place of a queue, in its order."""
    queue_id = Queue.objects.get(name=queue).pk
    return [entry.message_id for entry in browse(queue_id, place)]


def said(here: Listening, client: Getting, state: p.DeliveryState | None) -> None:
    """One message comes, and this is said of it."""
    put("orders", b"x")
    client.grant(1)
    client.say(client.get(), state)
    until(lambda: not Claim.objects.exists())


def test_an_accepted_message_is_gone() -> None:
    with listener() as here:
        said(here, getting(here), p.Accepted())
    assert not Ready.objects.exists()


def test_nothing_is_settled_on_our_side_before_it_is_committed() -> None:
    put_many(make_messages(3))
    with listener() as here:
        client = getting(here)
        client.grant(3)
        client.say(client.get(3), p.Accepted(), settled=False)

        answer = client.answer_to(client.got[0])

        assert not Claim.objects.exists()
        assert answer == p.Accepted()
        assert all(one.settled for one in client.got)


@pytest.mark.spec("DLA-11")
def test_a_rejected_message_is_a_dead_letter_at_once() -> None:
    error = p.Error(Symbol("app:bad"), "no such customer")
    with listener() as here:
        said(here, getting(here), p.Rejected(error))
    letter = DeadLetter.objects.get()
    assert letter.cause == DeadLetter.Cause.REJECTED
    assert letter.error == "app:bad; no such customer"


def test_the_consumer_of_a_dead_letter_reads_why_it_was_rejected() -> None:
    error = p.Error(Symbol("app:bad"), "no such customer")
    with listener() as here:
        client = getting(here)
        put("orders", b"x")
        client.grant(1)
        client.say(client.get(), p.Modified(delivery_failed=True))
        client.grant(1)
        client.say(client.get(), p.Rejected(error))
        letters = attach(client.wire, "DLQ")
        letters.grant(1)
        (letter,) = letters.get()
    told = map_of(split(letter.payload).annotations)
    assert told["x-opt-death-info"] == "app:bad; no such customer"
    assert told["x-opt-death-count"] == 2


def test_a_rejection_is_repeated_without_its_error() -> None:
    put("orders", b"x")
    with listener() as here:
        client = getting(here)
        client.grant(1)
        state = p.Rejected(p.Error("amqp:internal-error", "why"))
        client.say(client.get(), state, settled=False)
        assert client.answer_to(client.got[0]) == p.Rejected()


@pytest.mark.thorough
def test_a_released_message_comes_again_uncounted_and_in_its_place() -> None:
    put_many(make_messages(3))
    with listener() as here:
        client = getting(here)
        client.grant(2)
        first, second = client.get(2)
        client.say([second], p.Released())
        client.say([first], p.Released())
        until(lambda: not Claim.objects.exists())
        client.grant(3)
        again = client.get(3)
        assert bodies(again) == [b"1", b"2", b"3"]
        assert counts(again) == [0, 0, 0]


def test_what_was_released_comes_before_what_was_not_taken_yet() -> None:
    put_many(make_messages(6))
    with listener() as here:
        client = getting(here)
        client.grant(3)
        for _ in range(FREE_RELEASES):  # more are slowed down
            got = client.get(3)
            assert bodies(got) == [b"1", b"2", b"3"]
            client.session.settle(got[1:], p.Modified())
            client.session.settle(got[:1], p.Released())
            client.receiver.grant(3)
            client.wire.send()


def test_a_delivery_that_failed_is_counted() -> None:
    with listener() as here:
        client = getting(here)
        said(here, client, p.Modified(delivery_failed=True))
        client.grant(1)
        assert counts(client.get()) == [1]


@pytest.mark.spec("REDEL-5")
def test_a_delivery_that_failed_waits_as_the_settings_say() -> None:
    make_setting("orders", redelivery_delay_ms=60_000)
    with listener() as here:
        said(here, getting(here), p.Modified(delivery_failed=True))
    assert Delayed.objects.get().backout_count == 1


@pytest.mark.spec("DLA-2")
def test_a_message_that_fails_too_often_is_a_dead_letter() -> None:
    make_setting("orders", max_delivery_attempts=2)
    put("orders", b"poison")
    with listener() as here:
        client = getting(here)
        for count in (0, 1):
            client.grant(1)
            got = client.get()
            assert counts(got) == [count]
            client.say(got, p.Modified(delivery_failed=True))
        until(lambda: DeadLetter.objects.exists())
    assert DeadLetter.objects.get().cause == DeadLetter.Cause.MAX_DELIVERY_ATTEMPTS


def test_a_consumer_chooses_when_a_message_comes_again() -> None:
    at = database_now() + seconds(600)
    annotations = {Symbol("x-opt-delivery-time"): Timestamp(int(at.timestamp() * 1000))}
    with listener() as here:
        state = p.Modified(delivery_failed=True, message_annotations=annotations)
        said(here, getting(here), state)
    entry = Delayed.objects.get()
    assert entry.backout_count == 1
    assert abs(entry.due_at - at) < seconds(5)


def test_a_message_that_is_undeliverable_here_goes_to_another_client() -> None:
    put("orders", b"x")
    with listener() as here:
        client = getting(here)
        client.grant(1)
        client.say(client.get(), p.Modified(undeliverable_here=True))
        until(lambda: not Claim.objects.exists())
        assert client.take_all() == []
        other = getting(here)
        assert other.take_all() == [b"x"]
        assert counts(other.got) == [0]


def test_one_that_waits_is_told_of_what_another_cannot_deliver() -> None:
    put("orders", b"x")
    with listener() as here:
        client, other = getting(here), getting(here)
        client.grant(1)
        got = client.get()
        other.grant(1)
        client.grant(1)
        client.say(got, p.Modified(undeliverable_here=True))
        assert bodies(other.get()) == [b"x"]


def test_a_message_that_all_refuse_waits_and_dies_of_its_last_attempt() -> None:
    make_setting("orders", max_delivery_attempts=3, dead_letter_address="DLA")
    refusal = p.Modified(delivery_failed=True, undeliverable_here=True)
    with listener() as here:
        first, second = getting(here), getting(here)
        said(here, first, refusal)
        (reason,) = explain(Ready.objects.get().id)
        assert reason.code == "undeliverable-here"
        for client in (first, second):
            client.grant(1, drain=True)
        assert first.drained() == []
        again = second.drained()
        assert counts(again) == [1]
        second.say(again, refusal)
        until(lambda: not Claim.objects.exists())
        assert first.take_all() == second.take_all() == []
        assert len(names(Place.READY)) == 1

        third = getting(here)
        third.grant(1)
        third.say(third.get(), refusal)
        letter = until(DeadLetter.objects.first)

    assert letter.cause == DeadLetter.Cause.MAX_DELIVERY_ATTEMPTS
    assert letter.backout_count == 3


def test_a_dead_letter_that_is_refused_stays_where_it_is() -> None:
    with listener() as here:
        wire = here.client()
        said(here, attach(wire), p.Rejected())
        reader = attach(wire, "DLQ", name="letters")
        reader.grant(1)
        reader.say(reader.get(), p.Rejected())
        until(lambda: not Claim.objects.exists())
        assert reader.take_all() == []
        assert len(names(Place.READY, "DLQ")) == 1
        assert attach(wire, "DLQ", name="again").take_all() == [b"x"]


def test_the_default_outcome_of_the_source_counts() -> None:
    with listener() as here:
        client = getting(here, default_outcome=p.Released())
        said(here, client, None)
    assert Ready.objects.get().backout_count == 0


def test_settled_without_an_outcome_it_has_failed() -> None:
    with listener() as here:
        said(here, getting(here), None)
    assert Ready.objects.get().backout_count == 1


def test_the_first_outcome_counts() -> None:
    put("orders", b"x")
    with listener() as here:
        client = getting(here)
        client.grant(1)
        got = client.get()
        client.say(got, p.Accepted(), settled=False)
        client.say(got, p.Rejected())
        until(lambda: not Claim.objects.exists())
    assert not Ready.objects.exists()
    assert not DeadLetter.objects.exists()


def test_what_was_received_in_part_is_no_outcome() -> None:
    put("orders", b"x")
    with listener() as here:
        client = getting(here)
        client.grant(1)
        got = client.get()
        client.say(got, p.Received(0, 0), settled=False)
        client.say(got, p.Accepted())
        until(lambda: not Claim.objects.exists())
    assert not Ready.objects.exists()


@pytest.mark.thorough
def test_a_hot_loop_of_releases_slows_down_and_counts_in_the_end() -> None:
    make_setting("orders", max_delivery_attempts=2)
    put("orders", b"poison")
    with listener() as here:
        client = getting(here)
        clock = here.listener.loop.time
        began_s = here.call(clock)
        for number in range(FREE_RELEASES + 3):
            client.grant(1)
            client.say(client.get(), p.Released())
            if number == FREE_RELEASES:
                assert here.call(clock) - began_s < 2
        client.grant(1)
        client.get()
        slowed_s = here.call(clock) - began_s
        assert slowed_s >= 0.1 + 0.2 + 0.4
        (gets,) = [
            endpoint.context
            for one in here.listener.clients
            for endpoint in one.connection.endpoints()
        ]
        for _ in range(MOST_RELEASES):  # as if it had gone on
            gets.settling.releases.note(Claim.objects.get().ids[0], here.call(clock))
        client.grant(1)
        client.say([client.got[-1]], p.Released())
        assert counts(client.get()) == [1]
        client.say([client.got[-1]], p.Released())
        until(lambda: DeadLetter.objects.exists())


def test_outcomes_of_many_come_together_whatever_their_order() -> None:
    put_many(make_messages(30))
    with listener() as here:
        client = getting(here)
        client.grant(30)
        got = client.get(30)
        client.say(got[::3], p.Accepted())
        client.say(got[1::3], p.Rejected())
        client.say(got[2::3], p.Modified(delivery_failed=True))
        until(lambda: not Claim.objects.exists())
    assert len(names(Place.READY)) == 10
    assert DeadLetter.objects.count() == 10


def test_an_unknown_transaction_counts_as_a_failure() -> None:
    with listener() as here:
        client = getting(here)
        said(here, client, p.TransactionalState(b"none", p.Accepted()))
        client.grant(1)
        assert counts(client.get()) == [1]
