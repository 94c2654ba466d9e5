"""Timelines of messages that links carry: both ids, and the way from each to the
other."""

from __future__ import annotations

from typing import Any

import pytest

from broker.bridges.books import Outcome, TransferEntry
from broker.models import DeadLetter, Queue
from broker.monitoring.explain import explain
from broker.queueing import journal
from broker.queueing.put import put
from broker.settlement.outcomes import BackOut
from broker.transactions.scope import UnitOfWork, unit_of_work
from console.messages.detail import story_of
from console.messages.timeline import Life, Road, lives
from tests.broker.bridges.carrying import LINK, bring, carry, old, take, tell
from tests.console.conftest import SignIn
from tests.console.messages.test_messages import page, words
from tests.make import NOON, make_queue, seconds

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def orders() -> Queue:
    make_queue("shipped")
    return make_queue("orders")


def lives_of(message_id: int) -> list[Life]:
    roads = {one.pk: Road(one.pk, one.name) for one in Queue.objects.all()}
    return lives(journal.lifeline(message_id), roads)


def test_what_a_link_took_is_told_with_the_attempt_in_which_it_took_it() -> None:
    put("orders", now=NOON)
    [(source, copy)] = carry(now=NOON + seconds(1))

    one, other = lives_of(source)

    assert [life.message_id for life in (one, other)] == [source, copy]
    assert [step.name for step in one.steps] == ["put", "accept"]
    taken = one.steps[-1]
    assert (taken.attempt, taken.copy) == (1, copy)
    assert taken.actor == f"link {LINK}"
    assert taken.departure
    assert taken.departure.other == f"ID:shipped-{source}"
    assert one.goes_on
    assert (other.was, [step.name for step in other.steps]) == (source, ["put"])
    (hop,) = other.steps[0].hops
    assert (hop.role, hop.other) == ("target", old(source))
    assert other.steps[0].departure is None


def test_a_link_that_took_it_elsewhere_ends_its_life_here() -> None:
    put("orders", now=NOON)
    (source,) = take(other="ID:far")

    (life,) = lives_of(source)
    story = story_of(source)

    assert not life.goes_on
    assert story
    (now,) = story.verdicts
    assert (now.state, now.word) == ("done", "carried")


def test_what_was_backed_out_before_it_was_carried_has_two_attempts() -> None:
    put("orders", now=NOON)
    work = UnitOfWork(now=NOON)
    work.get("orders")
    work.back_out(BackOut("no", at_once=True))
    (source,) = take(now=NOON + seconds(1))

    (life,) = lives_of(source)

    assert [(s.name, len(s.hops)) for s in life.steps] == [
        ("put", 0), ("back_out", 0), ("accept", 1),
    ]  # fmt: skip


def test_a_hop_of_which_the_journal_knows_no_more_is_a_step_of_its_own(
    orders: Queue,
) -> None:
    tell([TransferEntry(orders.pk, 4711, Outcome.TRANSFERRED, "ID:1")], "target")

    (life,) = lives_of(4711)

    assert [(step.name, len(step.hops)) for step in life.steps] == [("transfer", 1)]


def test_the_pages_of_both_messages_lead_to_each_other(sign_in: SignIn) -> None:
    put("orders", now=NOON)
    [(source, copy)] = carry(now=NOON + seconds(1))
    client = sign_in("operator")

    at_source, at_target = page(client, source), page(client, copy)

    assert (
        f"Carried by link {LINK} to ID:shipped-{source} (message {copy} here), 250 ms"
        " after its put"
    ) in words(at_source)
    assert f'<a href="/messages/{copy}/">message {copy}</a> here' in at_source
    assert f"Message {source} has ended on orders: carried" in words(at_source)
    assert "Put on shipped Came by" in words(at_target)
    assert (f"Came by link {LINK} from {old(source)} (message {source} here)") in words(
        at_target
    )
    assert f'<a href="/messages/{source}/">message {source}</a> here' in at_target


ELSEWHERE = [
    (
        {"outcome": Outcome.TRANSFERRED, "other": "ID:far", "latency_ms": None},
        f"Carried by link {LINK} to ID:far.",
        "What to do: Nothing: it is at the target now.",
    ),
    (
        {"outcome": Outcome.NOT_TRANSFERRED, "latency_ms": None},
        f"Taken and not carried by link {LINK}: its transformer refused it.",
        "What to do: Nothing: the transformer of the link wanted it so.",
    ),
    (
        {"outcome": Outcome.SEND_FAILURE, "latency_ms": None},
        f"Taken and not carried by link {LINK}: the target did not take it",
        "fix the cause, then resubmit it",
    ),
]


@pytest.mark.parametrize(("fields", "said", "remedy"), ELSEWHERE)
def test_what_left_by_a_link_says_how_and_what_to_do(
    fields: dict[str, Any], said: str, remedy: str, sign_in: SignIn
) -> None:
    put("orders", now=NOON)
    (source,) = take(**fields)

    found = words(page(sign_in("operator"), source))

    assert "It left orders, " in found
    assert said in found
    assert remedy in found


def test_a_dead_message_says_why_in_words(sign_in: SignIn) -> None:
    make_queue("imq.bridge.jms.dmq")
    dead = bring("imq.bridge.jms.dmq", role="dead", outcome=Outcome.MESSAGE_EXPIRED)
    DeadLetter.objects.create(
        message_id=dead, queue_id=Queue.objects.get(name="imq.bridge.jms.dmq").pk,
        died_at=NOON, origin_id=dead, backout_count=0, resubmit_count=0,
        cause=DeadLetter.Cause.LINK, error="its time to live was over",
        fingerprint="f", pattern="", origin_address="orders", origin_queue="orders",
    )  # fmt: skip

    found = words(page(sign_in("operator"), dead))

    assert (
        f"A dead message of link {LINK} from ID:there: its time to live was over"
    ) in found
    assert "A link of a bridge could not carry it." in found


def test_an_explanation_says_by_which_link_it_left() -> None:
    put("orders", now=NOON)
    [(source, copy)] = carry()

    (one,) = explain(source)

    assert (one.queue, one.code) == ("orders", "taken-by-link")
    assert one.sentence == (
        f"It left orders: carried by link {LINK} to ID:shipped-{source}"
        f" (message {copy} here)."
    )
    assert one.remedy == f"See message {copy}."
    assert one.details == {
        "at": NOON,
        "link": LINK,
        "outcome": "TRANSFERRED",
        "other": f"ID:shipped-{source}",
        "became": copy,
    }


def test_the_page_of_what_a_link_took_leads_to_the_link_or_to_its_copy(
    sign_in: SignIn,
) -> None:
    put("orders", now=NOON)
    (far,) = take(other="ID:far")
    put("orders", now=NOON)
    [(near, copy)] = carry()
    client = sign_in("operator")

    text = words(page(client, far))
    assert "It left orders, " in text
    assert f"Carried by link {LINK} to ID:far" in text
    assert "How it ended" not in text
    assert f"What to do: Nothing: it is at the target now. {LINK}" in text
    text = words(page(client, near))
    assert " has ended on orders: carried" in text
    assert f"It continues as message {copy}." in text


def test_on_the_own_queue_of_a_link_attempts_have_no_limit(sign_in: SignIn) -> None:
    queue = make_queue("bridge.shop.out.resubmit")
    Queue.objects.filter(pk=queue.pk).update(kind=Queue.Kind.INTERNAL)
    number = put(queue.name).message_id
    with unit_of_work() as work:
        work.get(queue.name)

    text = words(page(sign_in("operator"), number))

    assert "Attempt 1: accepted" in text
    assert "of 10" not in text
