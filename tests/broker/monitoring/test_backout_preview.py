"""What a backout would do is foreseen, and then it does just that."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.db import connection, transaction
from hypothesis import example, given
from hypothesis import strategies as st

from broker import sql
from broker.config.address_settings import Policy
from broker.errors.mq_codes import Report
from broker.models import (
    CountsWhenLost,
    Discarded,
    Message,
    Place,
    Queue,
    Ready,
    RoutingType,
)
from broker.monitoring.backout_preview import (
    Ending,
    Expire,
    Foreseen,
    Uncounted,
    rehearse,
)
from broker.queueing.browse import where_is
from broker.queueing.put import put
from broker.settlement import poison, settle
from broker.settlement.outcomes import BackOut, Release
from broker.settlement.redelivery_policy import (
    BackoutQueue,
    DeadLetter,
    DeadLetterQueue,
    Discard,
    DiscardByReport,
    Park,
    Redeliver,
    Removal,
)
from broker.transactions.administration import entries_of
from broker.transactions.scope import UnitOfWork
from tests.make import NOON, make_queue, make_setting, seconds

AT = NOON + seconds(60)
CHANGES = re.compile(r"^\W*(INSERT|UPDATE|DELETE)|\bFOR (NO KEY|KEY|UPDATE|SHARE)")
RULES = st.fixed_dictionaries(
    {
        "max_delivery_attempts": st.sampled_from([None, -1, 1, 2, 3]),
        "dead_letter_address": st.sampled_from([None, "", "DLA", "orders", "nowhere"]),
        "redelivery_delay_ms": st.sampled_from([None, 0, 10_000]),
        "redelivery_delay_multiplier": st.sampled_from([None, 2.0]),
        "redelivery_collision_avoidance_factor": st.sampled_from([None, 0.5]),
        "max_redelivery_delay_ms": st.sampled_from([None, 15_000]),
        "poison_policy": st.sampled_from([None, *Policy]),
        "auto_create_dead_letter_resources": st.sampled_from([None, True]),
        "expiry_address": st.sampled_from([None, "DLA"]),
        "discard_retention_s": st.sampled_from([None, 0]),
    }
)
LETTER_QUEUES = st.lists(
    st.tuples(
        st.sampled_from(["", "color = 'red'", "_BRK_DEATH_COUNT > 2"]),
        st.sampled_from(RoutingType),
    ),
    max_size=3,
)
ENTRIES = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from(["red", "blue"]), st.booleans()),
    min_size=1,
    max_size=3,
)


def held_by(**about: Any) -> UnitOfWork:
    """A unit of work with entries of ``orders``, as the arguments say."""
    for backouts, color, expires in about["entries"]:
        expires_at = AT - seconds(1) if expires else None
        put("orders", properties={"color": color}, expires_at=expires_at, now=NOON)
        newest = Ready.objects.order_by("-id").values_list("id", flat=True)[0]
        Ready.objects.filter(id=newest).update(
            backout_count=backouts, delivery_count=backouts
        )
    work = UnitOfWork(actor="shop.handle", now=NOON)
    work.get("orders", len(about["entries"]))
    return work


def foreseen(work: UnitOfWork, ending: Ending = Ending.BACK_OUT) -> list[Foreseen]:
    assert work.id is not None
    held = [one.held for one in entries_of(work.id, now=AT)]
    return rehearse(held, work.id, ending, now=AT)


def landed(message_id: int) -> list[str]:
    """The queues that took a copy."""
    copies = Message.objects.filter(copied_from=message_id)
    lands = [there.queue_id for copy in copies for there in where_is(copy.pk)]
    return list(Queue.objects.filter(pk__in=lands).values_list("name", flat=True))


def comes_true(one: Foreseen) -> None:
    """Look whether an entry is where it was to be."""
    names, here = landed(one.entry.id), where_is(one.entry.id)
    backouts = one.entry.backout_count
    match one.outcome:
        case Uncounted():
            places = [(there.place, there.backout_count) for there in here]
            assert places == [(Place.READY, backouts)]
        case Redeliver(after) | Park(after):
            (there,) = here
            assert there.backout_count == one.attempts == backouts + 1
            assert there.place == (Place.DELAYED if after else Place.READY)
            assert there.until == (AT + after if after else None)
            assert one.waits is not None
            assert one.waits.usual == after
        case DeadLetter() | Discard():
            assert here == []
            is_where_it_lands(one, names)
        case Expire(to):
            assert here == []
            assert not names or to
    is_kept = Discarded.objects.filter(message_id=one.entry.id).exists()
    was_discarded = isinstance(one.outcome, Discard | DeadLetter) and not names
    assert is_kept == (was_discarded and one.kept_s > 0)


def is_where_it_lands(one: Foreseen, names: list[str]) -> None:
    """On all queues that were to take it, and on one of those that share."""
    landing = one.landing
    assert landing is not None
    sure = [*landing.on, *filter(None, [landing.made])]
    assert set(sure) <= set(names) <= {*sure, *landing.one_of}
    assert len(names) == len(sure) + bool(landing.one_of)
    assert bool(names) == landing.is_anywhere == (not landing.why_not)


@pytest.mark.thorough
@pytest.mark.parametrize("ending", Ending)
def test_what_is_foreseen_comes_true(db: None, ending: Ending) -> None:
    @given(
        rule=RULES,
        threshold=st.integers(0, 3),
        lost=st.sampled_from(CountsWhenLost),
        letter_queues=LETTER_QUEUES,
        entries=ENTRIES,
    )
    @example(
        rule={"max_delivery_attempts": 2, "dead_letter_address": "DLA"},
        threshold=0,
        lost=CountsWhenLost.OLDEST,
        letter_queues=[("", RoutingType.ANYCAST)] * 2,
        entries=[(1, "red", False), (1, "red", False)],
    )
    def try_one(
        rule: dict[str, Any],
        threshold: int,
        lost: CountsWhenLost,
        letter_queues: list[tuple[str, RoutingType]],
        entries: list[tuple[int, str, bool]],
    ) -> None:
        with transaction.atomic():
            make_queue(backout_threshold=threshold, counts_when_lost=lost)
            make_setting("orders", **rule)
            for number, (selector, routing_type) in enumerate(letter_queues):
                make_queue(
                    f"DLQ {number}",
                    address="DLA",
                    selector=selector,
                    routing_type=routing_type,
                )
            work = held_by(entries=entries)
            assert work.id is not None
            told = foreseen(work, ending)

            if ending is Ending.BACK_OUT:
                done = settle.end(work.id, BackOut("no", spread=0), now=AT)
                counted = [one for one in told if not isinstance(one.outcome, Expire)]
                assert [one.outcome for one in counted] == done
            elif ending is Ending.LOST:
                end_lost_without_spread(work.id)
            else:
                settle.end_if_held(work.id, Release(), now=AT)

            for one in told:
                comes_true(one)
            transaction.set_rollback(True)

    def end_lost_without_spread(uow: int) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("broker.settlement.backout.random.uniform", lambda *_: 0.0)
            settle.end_lost(uow, "gone", now=AT)

    try_one()


def test_the_range_of_a_wait_is_told(db: None) -> None:
    make_queue()
    make_setting(redelivery_delay_ms=1000, redelivery_collision_avoidance_factor=0.5)

    (one,) = foreseen(held_by(entries=[(0, "red", False)]))

    assert one.waits is not None
    assert (one.waits.shortest, one.waits.longest) == (seconds(0.5), seconds(1.5))


def test_the_settings_that_decide_are_named(db: None) -> None:
    make_queue()
    make_setting("#", dead_letter_address="DLA", max_delivery_attempts=9)
    make_setting("orders", max_delivery_attempts=1)

    (one,) = foreseen(held_by(entries=[(0, "red", False)]))

    assert one.decided_by is not None
    assert one.decided_by["max_delivery_attempts"] == "orders"
    assert one.decided_by["dead_letter_address"] == "#"
    assert one.decided_by["redelivery_delay_ms"] == "the built-in default"


DLQ = settings.BROKER_DEAD_LETTER_QUEUE


@pytest.mark.parametrize(
    ("queues", "boq", "report", "removal"),
    [
        (["BOQ", DLQ], "BOQ", 0, BackoutQueue),
        ([DLQ], "BOQ", 0, DeadLetterQueue),
        ([DLQ], "", int(Report.DISCARD_MSG), DiscardByReport),
    ],
)
def test_what_its_next_consumer_does_is_foreseen(
    db: None, queues: list[str], boq: str, report: int, removal: type[Removal]
) -> None:
    make_queue(backout_threshold=3, backout_queue=boq)
    for name in queues:
        make_queue(name)
    put("orders", descriptor={"report": report} if report else None, now=NOON)
    Ready.objects.update(backout_count=2, delivery_count=2)
    work = UnitOfWork(now=NOON)
    work.get("orders")

    (one,) = foreseen(work)
    work.back_out("no")
    after = UnitOfWork(now=AT)
    (delivery,) = after.get("orders")
    removing = poison.Removing(delivery, boq)
    done = poison.take_away(removing, last=poison.Last.DISCARD, now=AT)

    assert isinstance(one.removal, removal)
    assert one.removal == done
    assert (one.threshold, one.attempts) == (3, delivery.backout_count)


def test_a_full_backout_queue_is_foreseen_without_a_lock(db: None) -> None:
    make_queue(backout_threshold=1, backout_queue="BOQ")
    make_queue("BOQ", max_depth=1)
    make_queue(DLQ)
    put("BOQ", b"another's")
    work = held_by(entries=[(0, "red", False)])

    (one,) = foreseen(work)

    assert isinstance(one.removal, DeadLetterQueue)


def test_looking_takes_no_lock_and_changes_nothing(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_queue(backout_threshold=1, backout_queue="BOQ")
    make_queue("BOQ", max_depth=1)
    make_queue("DLQ", address="DLA", selector="a = 1")
    make_setting(
        max_delivery_attempts=1,
        dead_letter_address="DLA",
        poison_policy=Policy.BOTH,
        auto_create_dead_letter_resources=True,
    )
    work = held_by(entries=[(0, "red", False), (1, "blue", True)])
    asked: list[str] = []
    run = sql.run

    def noting(name: str, said: dict[str, Any]) -> Any:
        asked.append(name)
        return run(name, said)

    monkeypatch.setattr(sql, "run", noting)
    with connection.execute_wrapper(refusing_locks):
        for ending in Ending:
            foreseen(work, ending)

    assert set(asked) <= {"unit_entries", "rules", "settings", "held", "depth", "look"}


def refusing_locks(execute: Any, text: str, *rest: Any) -> Any:
    assert not CHANGES.search(text), text
    return execute(text, *rest)


def test_of_a_deleted_queue_entries_are_discarded(db: None) -> None:
    queue = make_queue()
    work = held_by(entries=[(0, "red", False)])
    Queue.objects.filter(pk=queue.pk).delete()

    (one,) = foreseen(work)
    assert work.id is not None
    done = settle.end(work.id, BackOut("no"), now=AT)

    assert [one.outcome] == done == [Discard()]
    assert one.kept_s == timedelta(days=7).total_seconds()
    comes_true(one)
