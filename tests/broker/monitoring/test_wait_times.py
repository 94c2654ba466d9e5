"""Since when messages wait, which are late, and which groups of dead letters grow."""

from __future__ import annotations

from datetime import timedelta

import pytest

from broker.models import DeadLetter, Ready
from broker.monitoring import dead_letters
from broker.monitoring.delayed import scheduled
from broker.monitoring.wait_times import waiting
from broker.queueing.put import put
from broker.transactions.scope import unit_of_work
from tests.console.letters import attempt, die, make_places
from tests.make import NOON, make_queue, make_setting, minutes, seconds

pytestmark = pytest.mark.django_db


def test_the_oldest_is_found_in_any_lane_and_among_what_came_back() -> None:
    queue, other = make_queue(), make_queue("bills")
    make_setting(redelivery_delay_ms=0)
    put("orders", priority=2, now=NOON)
    put("orders", priority=9, now=NOON + minutes(1))
    with unit_of_work(now=NOON + minutes(2)) as work:
        work.get("orders")
        work.back_out("no")
    assert Ready.objects.filter(pos__lt=0).count() == 1

    found = waiting([queue.pk, other.pk], now=NOON + minutes(3))

    assert found[queue.pk].oldest_at == NOON
    assert found[other.pk].oldest_at is None
    Ready.objects.filter(priority=2).delete()
    assert waiting([queue.pk])[queue.pk].oldest_at == NOON + minutes(1)


def test_what_is_due_and_not_ready_is_late_after_a_while() -> None:
    queue = make_queue()
    for number in range(3):
        put("orders", deliver_at=NOON + minutes(number), now=NOON - seconds(1))

    def late(now: object) -> tuple[int, object]:
        one = waiting([queue.pk], now=now)[queue.pk]  # type: ignore[arg-type]
        return one.late, one.late_since

    assert late(NOON + seconds(9)) == (0, None)
    assert late(NOON + seconds(11)) == (1, NOON)
    assert late(NOON + minutes(5)) == (3, NOON)


def test_one_list_of_all_queues_goes_on_where_it_ended() -> None:
    queues = [make_queue(name) for name in ("a", "b", "c")]
    for number in range(12):
        put(
            "abc"[number % 3],
            deliver_at=NOON + seconds(number // 4),
            now=NOON - seconds(1),
        )
    ids = [queue.pk for queue in queues]

    pages, after = [], ""
    while page := scheduled(ids, after=after, limit=5):
        pages.append(page)
        after = page[-1].cursor

    listed = [(one.due_at, one.message_id, one.queue_id) for p in pages for one in p]
    assert [len(page) for page in pages] == [5, 5, 2]
    assert listed == sorted(listed)
    assert len(set(listed)) == 12
    assert {one.queue_id for one in scheduled(ids[:1], limit=50)} == {ids[0]}
    assert scheduled([]) == []


@pytest.mark.parametrize(
    "after", ["x", "1_2", "1_2_x", "1_2_-1", f"1_{2**70}_1", "nan_1_1"]
)
def test_what_is_no_cursor_is_refused(after: str) -> None:
    with pytest.raises((ValueError, OverflowError)):
        scheduled([make_queue().pk], after=after)


def test_why_something_waits_is_known() -> None:
    queue = make_queue()
    make_setting(redelivery_delay_ms=60_000)
    put("orders", now=NOON)
    attempt("no")
    put("orders", deliver_at=NOON + minutes(5), now=NOON)

    first, second = scheduled([queue.pk])

    assert (first.is_redelivery, first.backout_count) == (True, 1)
    assert not second.is_redelivery


def test_groups_that_grew_lately_come_with_their_numbers() -> None:
    make_places(attempts=1)
    old = die("KeyError: old", attempts=1, now=NOON - timedelta(hours=3))
    for number in range(3):
        die(f"ValueError: row {number} is bad", attempts=1, now=NOON + minutes(number))
    die("TypeError: no name", attempts=1, now=NOON)
    on = old.queue_id

    found = dead_letters.growing([on], now=NOON + minutes(10))

    assert [(one.pattern, one.messages) for one in found] == [
        ("ValueError: row {n} is bad", 3),
        ("TypeError: no name", 1),
    ]
    assert found[0].last_died_at == NOON + minutes(3) + seconds(0.012)
    assert dead_letters.growing([], now=NOON + minutes(10)) == []
    assert len(dead_letters.growing([on], limit=1, now=NOON + minutes(10))) == 1


def test_what_was_resubmitted_does_not_grow() -> None:
    make_places(attempts=1)
    letter = die(attempts=1)
    Ready.objects.filter(queue_id=letter.queue_id).delete()
    assert DeadLetter.objects.exists()

    assert dead_letters.growing([letter.queue_id], now=NOON + minutes(2)) == []
