"""What proton says of its deliveries, and what becomes of the messages."""

from __future__ import annotations

import time
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from django.db.models.functions import Now

from broker.models import Delayed
from tests.amqp.clients.protons import connected, proton, reactor
from tests.amqp.listening import Listening, listener
from tests.console.until import until
from tests.make import make_setting

RELEASED, REJECTED = proton.Delivery.RELEASED, proton.Delivery.REJECTED
DELAY = timedelta(milliseconds=5)


@pytest.mark.case(4)
def test_an_accepted_message_is_gone(here: Listening) -> None:
    with connected(here) as client:
        client.put(1, 2)
        receiver = client.receiver(credit=1)

        client.get(receiver).accept()
        receiver.close()

        assert client.seen() == [2]


@pytest.mark.case(4)
@pytest.mark.parametrize(
    ("state", "said", "count"),
    [
        (RELEASED, {}, 0),
        (proton.Delivery.MODIFIED, {}, 0),
        (proton.Delivery.MODIFIED, {"failed": False}, 0),
        (proton.Delivery.MODIFIED, {"failed": True}, 1),
    ],
)
def test_what_comes_back_is_counted_or_not(
    here: Listening, state: int, said: dict[str, bool], count: int
) -> None:
    with connected(here) as client:
        client.put(1, 2, 3)
        receiver = client.receiver(credit=1)

        client.get(receiver).settle(state, **said)
        receiver.close()

        first = client.get(client.receiver(credit=1)).message
        assert (first.body, first.delivery_count) == (1, count)


@pytest.mark.case(4)
def test_a_rejected_message_is_a_dead_letter_with_its_reason(here: Listening) -> None:
    with connected(here) as client:
        client.put("bad")
        receiver = client.receiver(credit=1)
        condition = proton.Condition("shop:no-apples", "There are no apples.")

        client.get(receiver).settle(REJECTED, condition=condition)

        letters = client.receiver("DLQ", credit=1)
        letter = client.get(letters).message
        assert letter.body == "bad"
        assert letter.annotations["x-opt-death-reason"] == "REJECTED"
        assert letter.annotations["x-opt-death-queue"] == "orders"
        assert letter.properties["_AMQ_ORIG_ADDRESS"] == "orders"


@pytest.mark.case(4)
def test_a_last_attempt_that_failed_and_is_undeliverable_makes_a_dead_letter(
    here: Listening,
) -> None:
    make_setting("orders", max_delivery_attempts=1, dead_letter_address="DLA")
    with connected(here) as client:
        client.put("bad")
        receiver = client.receiver(credit=1)

        client.get(receiver).modify(failed=True, undeliverable=True)

        assert client.get(client.receiver("DLQ", credit=1)).message.body == "bad"


@pytest.mark.case(5)
def test_the_consumer_chooses_when_it_is_redelivered(here: Listening) -> None:
    with connected(here) as client:
        client.put("later")
        receiver = client.receiver(credit=1)
        at_ms = round(time.time() * 1000) + 600_000
        wish = {proton.symbol("x-opt-delivery-time"): proton.timestamp(at_ms)}

        client.get(receiver).modify(failed=True, annotations=wish)

        assert client.drain(receiver) == []
        due_at = until(Delayed.objects.first).due_at
        assert at_ms - 100 <= due_at.timestamp() * 1000 < at_ms + 60_000
        Delayed.objects.update(due_at=Now())
        receiver.flow(1)
        again = client.get(receiver).message
        assert (again.body, again.delivery_count) == ("later", 1)


@pytest.mark.case(5)
def test_annotations_of_a_modified_message_come_with_it_until_it_is_accepted(
    here: Listening,
) -> None:
    make_setting("orders", max_delivery_attempts=3, dead_letter_address="DLA")
    said = {"x-opt-by": "sender", "x-opt-kept": proton.ulong(7)}
    with connected(here) as client:
        client.put("annotated", "plain", annotations=symbolic(said))
        receiver = client.receiver(credit=2)

        first, other = client.get(receiver), client.get(receiver)
        other.modify(failed=True)
        forged = {"x-opt-ibm-user-identifier": "root"}
        note = {"x-opt-by": "one", "x-opt-tries": [proton.ubyte(1), None]} | forged
        first.modify(annotations=symbolic(note))
        receiver.flow(2)
        again = {one.message.body: one for one in (client.get(receiver) for _ in "ab")}
        again["plain"].accept()
        receiver.flow(1)
        again["annotated"].modify(failed=True, annotations=symbolic({"x-opt-by": "2"}))
        third = client.get(receiver)

        assert again["plain"].message.annotations == said
        kept = {"x-opt-by": "one", "x-opt-kept": 7, "x-opt-tries": [1, None]}
        assert again["annotated"].message.annotations == kept
        assert third.message.annotations == kept | {"x-opt-by": "2"}
        tries = third.message.annotations["x-opt-tries"]
        assert type(tries[0]) is proton.ubyte
        third.settle(REJECTED)
        letters = client.receiver("DLQ", reactor.Copy(), credit=1)
        letter = client.get(letters).message.annotations
        assert letter.items() >= (kept | {"x-opt-by": "2"}).items()
        assert letter["x-opt-death-reason"] == "REJECTED"
        (taken,) = client.all("DLQ")
        assert taken.annotations == letter


@pytest.mark.case(6)
def test_what_is_undeliverable_here_goes_to_another(here: Listening) -> None:
    with connected(here) as client:
        client.put("odd")
        receiver = client.receiver(credit=1)

        client.get(receiver).modify(undeliverable=True)

        assert client.drain(receiver) == []
        (other,) = client.all()
        assert other.body == "odd"


@pytest.mark.case(12)
@pytest.mark.spec("POISON-1")
def test_a_poison_message_is_tried_with_delays_and_dies(here: Listening) -> None:
    make_setting(
        "orders",
        max_delivery_attempts=3,
        redelivery_delay_ms=150,
        dead_letter_address="DLA",
    )
    with connected(here) as client:
        client.put("poison")
        receiver = client.receiver(credit=10)
        counts, moments = [], []
        for _ in range(3):
            got = client.get(receiver)
            moments.append(time.monotonic())
            counts.append(got.message.delivery_count)
            got.modify(failed=True)

        letter = client.get(client.receiver("DLQ", credit=1)).message

        assert counts == [0, 1, 2]
        assert all(b - a >= 0.1 for a, b in pairwise(moments))
        assert letter.annotations["x-opt-death-reason"] == "MAX_DELIVERY_ATTEMPTS"


@pytest.mark.case(14)
def test_who_releases_again_and_again_is_slowed_down(here: Listening) -> None:
    with connected(here) as client:
        client.put("hot")
        receiver = client.receiver(credit=100)
        moments = []
        for _ in range(6):
            client.get(receiver).settle(RELEASED)
            moments.append(time.monotonic())

        assert moments[4] - moments[3] >= 0.09
        assert moments[5] - moments[4] >= 0.19


@pytest.mark.case(14)
def test_releasing_for_ever_ends_as_a_dead_letter(
    here: Listening, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("broker.amqp.senders.outcomes.FIRST_DELAY", DELAY)
    make_setting("orders", max_delivery_attempts=2, dead_letter_address="DLA")
    with connected(here) as client:
        client.put("hot")
        letters = client.receiver("DLQ", credit=1)
        receiver = client.receiver(credit=100)
        while not letters.fetcher.has_message:
            client.until(
                lambda: receiver.fetcher.has_message or letters.fetcher.has_message
            )
            while receiver.fetcher.has_message:
                client.get(receiver).settle(RELEASED)

        assert client.get(letters).message.body == "hot"


@pytest.mark.case(13)
def test_what_it_had_seen_counts_and_what_was_only_prefetched_does_not(
    here: Listening,
) -> None:
    """As JMS clients close: what the application has seen, they say, has failed."""
    with connected(here) as client:
        client.put(*range(4))
        receiver = client.receiver(credit=4)
        taken = [client.get(receiver) for _ in range(4)]

        for one in taken[:2]:
            one.modify(failed=True)
        receiver.close()

        again = client.all()
        assert [one.body for one in again] == list(range(4))
        assert [one.delivery_count for one in again] == [1, 1, 0, 0]


@pytest.mark.case(18)
def test_what_is_unsettled_returns_in_order_when_it_closes(here: Listening) -> None:
    with connected(here) as client:
        client.put(*range(10))
        receiver = client.receiver(credit=6)
        for _ in range(6):
            client.get(receiver)

        receiver.close()

        again = client.all()
        assert [one.body for one in again] == list(range(10))
        assert {one.delivery_count for one in again} == {0}


@pytest.mark.case(18)
def test_a_connection_that_closes_gives_all_back(here: Listening) -> None:
    with connected(here) as client:
        client.put(*range(5))
    with connected(here) as client:
        receiver = client.receiver(credit=3)
        for _ in range(3):
            client.get(receiver)
    with connected(here) as client:
        again = client.all()
        assert [one.body for one in again] == list(range(5))
        assert {one.delivery_count for one in again} == {0}


@pytest.mark.case(18)
def test_a_lost_connection_gives_all_back_and_counts(transactional_db: None) -> None:
    with listener() as here:
        with pytest.raises(InterruptedError), connected(here) as client:
            client.put(*range(5))
            receiver = client.receiver(credit=3)
            for _ in range(3):
                client.get(receiver)
            raise InterruptedError
        here.until(lambda: not here.listener.clients)
        with connected(here) as client:
            receiver = client.receiver(credit=5)
            again = [client.get(receiver).message for _ in range(5)]

            assert [one.body for one in again] == list(range(5))
            assert [one.delivery_count for one in again] == [1, 1, 1, 0, 0]


def symbolic(annotations: dict[str, Any]) -> dict[Any, Any]:
    return {proton.symbol(name): value for name, value in annotations.items()}
