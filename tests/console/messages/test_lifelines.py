"""Events become steps that a person can read: each attempt one, with its end."""

from __future__ import annotations

from datetime import timedelta

import pytest

from broker import operations
from broker.models import Kind, Queue, RoutingType
from broker.queueing import delayed, journal
from broker.queueing.browse import where_is
from broker.queueing.put import put
from broker.settlement import discards, expiry, hardening
from broker.transactions.scope import UnitOfWork, unit_of_work
from console.messages import detail
from console.messages.timeline import Life, Road, TimelineStep, lives
from tests.console.letters import attempt, die, make_places
from tests.console.poison import make_payments, poison, remove
from tests.make import (
    NOON,
    make_queue,
    make_setting,
    make_user,
    minutes,
    plan_resubmit,
    seconds,
)

pytestmark = pytest.mark.django_db


def lives_of(message_id: int) -> list[Life]:
    roads = {q.pk: Road(q.pk, q.name, limit=2) for q in Queue.objects.all()}
    return lives(journal.lifeline(message_id), roads)


def steps_of(message_id: int) -> list[TimelineStep]:
    (life,) = lives_of(message_id)
    return life.steps


def test_an_attempt_is_one_step_with_its_error_and_what_came_after() -> None:
    make_places(delay_ms=4000)
    message_id = put("orders", now=NOON).message_id
    attempt("ValueError: no", now=NOON + seconds(1))
    attempt(now=NOON + seconds(10))

    sent, first, second = steps_of(message_id)

    assert (sent.name, sent.road.queue, sent.after) == ("put", "orders", None)
    assert (first.name, first.attempt, first.limit) == ("back_out", 1, 2)
    assert (first.error, first.actor) == ("ValueError: no", "shop.handle")
    assert first.began_at == NOON + seconds(1)
    assert first.took == timedelta(milliseconds=12)
    assert first.due_at == NOON + seconds(5.012)
    assert first.waited == seconds(8.988)
    assert first.after == seconds(1)
    assert (second.name, second.attempt) == ("accept", 2)
    assert second.after == seconds(0)


def test_an_attempt_that_runs_has_no_end_yet() -> None:
    make_places()
    message_id = put("orders", now=NOON).message_id
    with unit_of_work(now=NOON) as work:
        work.get("orders")
        *_, last = steps_of(message_id)

    assert (last.name, last.attempt, last.at) == ("get", 1, NOON)


def test_giving_back_is_no_attempt() -> None:
    make_places()
    message_id = put("orders", now=NOON).message_id
    with unit_of_work(now=NOON) as work:
        work.release(work.get("orders")[0])
    attempt()

    assert [(s.name, s.attempt) for s in steps_of(message_id)[1:]] == [
        ("release", 1),
        ("accept", 1),
    ]


def test_a_dead_letter_is_another_life_that_can_go_on() -> None:
    make_places()
    letter = die()
    order = plan_resubmit(make_user(), "one", message_id=letter.message_id)
    operations.start(order.pk)

    one, two, three = lives_of(letter.message_id)

    assert [life.message_id for life in lives_of(one.message_id)] == [
        one.message_id,
        letter.message_id,
        three.message_id,
    ]
    assert (one.was, two.was, three.was) == (None, one.message_id, two.message_id)
    assert [step.name for step in one.steps] == ["put", "back_out", "dead_letter"]
    assert one.steps[-1].attempt == one.attempts == 2
    assert (one.steps[-1].to, one.steps[-1].copy) == ("DLA", two.message_id)
    assert [step.name for step in two.steps] == ["put", "resubmit"]
    assert (two.steps[-1].actor, two.steps[-1].operation) == ("omar", order.pk)
    assert [life.goes_on for life in (one, two, three)] == [True, True, False]


def test_the_same_error_is_not_told_twice() -> None:
    make_places(attempts=4)
    message_id = put("orders", now=NOON).message_id
    for error in ("one", "one", "two"):
        attempt(error)

    assert [step.same_error for step in steps_of(message_id)] == [
        False,
        False,
        True,
        False,
    ]


def test_of_a_long_run_only_its_ends_stand() -> None:
    make_places(attempts=0)
    message_id = put("orders", now=NOON).message_id
    for number in range(30):
        attempt(f"TimeoutError: after {number} s", now=NOON + seconds(number))
    attempt("KeyError: other", now=NOON + minutes(1))

    steps = steps_of(message_id)

    assert [step.attempt for step in steps] == [None, 1, 2, 29, 30, 31]
    assert [step.attempt for step in steps[3].alike] == list(range(3, 29))
    assert not any(step.alike for step in steps[:3] + steps[4:])
    assert steps[3].limit is None


def test_a_short_run_stands_whole() -> None:
    make_places(attempts=0)
    message_id = put("orders", now=NOON).message_id
    for number in range(5):
        attempt("TimeoutError", now=NOON + seconds(number))

    assert len(steps_of(message_id)) == 6


def test_a_message_on_two_queues_has_attempts_on_each() -> None:
    for name in ("left", "right"):
        make_queue(name, address="news", routing_type=RoutingType.MULTICAST)
    message_id = put("news", now=NOON).message_id
    attempt("no", queue="left", now=NOON + seconds(1))
    attempt(queue="right", now=NOON + seconds(2))
    attempt(queue="left", now=NOON + seconds(3))

    assert [(s.road.queue, s.name, s.attempt) for s in steps_of(message_id)][2:] == [
        ("left", "back_out", 1),
        ("right", "accept", 1),
        ("left", "accept", 2),
    ]


def test_a_joined_unit_of_work_leaves_a_backout_without_a_get() -> None:
    step = TimelineStep(Kind.BACK_OUT, NOON, Road(7))

    assert (step.took, step.began_at) == (None, NOON)
    assert step.road.label == "queue 7 (gone)"


def test_what_was_put_for_later_says_how_long_it_waited() -> None:
    make_places()
    message_id = put("orders", deliver_at=NOON + minutes(5), now=NOON).message_id
    delayed.wake_due(limit=1, now=NOON + minutes(6))

    (sent,) = steps_of(message_id)

    assert sent.is_delayed
    assert sent.waited == minutes(6)


def test_expiry_and_discard_are_ends() -> None:
    make_queue()
    make_setting(max_delivery_attempts=1, dead_letter_address="")
    expired = put("orders", expires_at=NOON, now=NOON - seconds(9)).message_id
    expiry.expire(limit=1, now=NOON + seconds(1))
    discarded = put("orders", now=NOON).message_id
    attempt("boom")

    assert steps_of(expired)[-1].name == "expire"
    last = steps_of(discarded)[-1]
    assert (last.name, last.attempt, last.error) == ("discard", 1, "boom")
    assert last.why == "no dead letter address is set"


@pytest.mark.spec("UNIFY-5")
def test_what_its_consumer_moved_away_was_no_attempt() -> None:
    make_payments()
    message_id = poison()
    remove()

    one, two = lives_of(message_id)

    assert [(step.name, step.attempt) for step in one.steps] == [
        ("put", None),
        ("back_out", 1),
        ("back_out", 2),
        ("back_out", 3),
        ("dead_letter", None),
    ]
    moved = one.steps[-1]
    assert moved.is_removal
    assert (moved.cause, moved.reason, moved.backouts) == ("BACKOUT_THRESHOLD", None, 3)
    assert (moved.queues, moved.copy) == (["payments.BOQ"], two.message_id)
    assert moved.actor == "bank.handle"


def test_a_restored_message_begins_to_count_again() -> None:
    lossy = make_queue("lossy")
    make_setting("lossy", max_delivery_attempts=2, dead_letter_address="")
    message_id = put("lossy", now=NOON).message_id
    for second in (1, 2):
        attempt("no", queue="lossy", now=NOON + seconds(second))
    discards.restore(
        message_id, lossy.pk, actor="omar", why="mended", now=NOON + seconds(3)
    )
    attempt(queue="lossy", now=NOON + seconds(4))

    told = steps_of(message_id)

    assert [(step.name, step.attempt) for step in told] == [
        ("put", None),
        ("back_out", 1),
        ("discard", 2),
        ("restore", None),
        ("accept", 1),
    ]
    assert not told[2].is_removal
    assert (told[3].actor, told[3].why) == ("omar", "mended")


def test_a_skipped_backout_goes_on_as_the_same_attempt() -> None:
    make_queue()
    message_id = put("orders", now=NOON).message_id
    work = UnitOfWork(now=NOON)
    work.get("orders", mark=True)
    work.now = NOON + seconds(1)
    work.back_out("no")
    assert work.skipped

    assert [(s.name, s.attempt) for s in steps_of(message_id)[1:]] == [
        ("skip", 1),
        ("get", 1),
    ]
    work.skipped.now = NOON + seconds(3)
    work.skipped.back_out("no again")

    skipped, ended = steps_of(message_id)[1:]

    assert (skipped.error, skipped.took) == ("no", seconds(1))
    assert (ended.name, ended.attempt, ended.error) == ("back_out", 1, "no again")
    assert ended.took == seconds(2)


def test_counts_that_begin_again_do_so_in_the_middle_of_an_attempt() -> None:
    make_queue(harden_backout=False)
    message_id = put("orders", now=NOON).message_id
    attempt("no", now=NOON + seconds(1))
    with unit_of_work(now=NOON + seconds(2)) as work:
        work.get("orders")
        hardening.forget_counts(now=NOON + seconds(3))

    assert [(s.name, s.attempt) for s in steps_of(message_id)[1:]] == [
        ("back_out", 1),
        ("accept", 2),
        ("reset", None),
    ]


def test_a_message_that_is_accepted_while_its_page_is_read_has_its_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its journal is read before its place, and both are not of one moment."""
    make_queue("orders")
    message_id = put("orders", now=NOON).message_id
    work = UnitOfWork(now=NOON)
    assert work.get("orders")

    def late(number: int) -> object:
        if not work.ended:
            work.commit()
        return where_is(number)

    monkeypatch.setattr("console.messages.detail.where_is", late)
    story = detail.story_of(message_id)

    assert story is not None
    assert [now.word for now in story.verdicts] == ["accepted"]
