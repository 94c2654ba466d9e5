"""Out of the discard bin again: the same message, if its queue takes it."""

from __future__ import annotations

from typing import Any

import pytest

from broker.errors import BrokerError, NoSuchQueue
from broker.errors.discards import DiscardedExpired, NotInDiscardBin
from broker.errors.queues import (
    MessageTooBigForQueue,
    NotAuthorized,
    PutInhibited,
    QueueFull,
)
from broker.models import Discarded, Kind, Message, Queue, Ready, RoutingType
from broker.monitoring import fsck
from broker.queueing import journal
from broker.queueing.put import put
from broker.security import authorities
from broker.settlement import discards
from broker.transactions.scope import UnitOfWork
from tests.broker.dying import back_out, on
from tests.broker.elsewhere import Background, Elsewhere
from tests.broker.monitoring.test_fsck import somebody_waits
from tests.broker.settlement.test_discards import (
    WEEK,
    binned,
    make_lossy,
    restore,
    throw_away,
)
from tests.console.until import until
from tests.make import NOON, make_queue, make_setting, make_user, minutes


@pytest.fixture
def lossy(db: None) -> Queue:
    return make_lossy()


def test_a_restored_message_is_the_same_one_and_was_never_backed_out(
    lossy: Queue,
) -> None:
    put("lossy", now=NOON)  # waits all the while
    message_id = throw_away(body=b"precious", priority=6)
    waiting = put("lossy", priority=6, now=NOON).message_id

    restore(message_id, lossy, actor="omar", why="mended")

    work = UnitOfWork(now=NOON + minutes(2))
    first, second, _ = work.get("lossy", 3)
    assert (first.message_id, first.body) == (message_id, b"precious")
    assert (first.backout_count, first.delivery_count) == (0, 2)
    assert second.message_id == waiting
    assert not Discarded.objects.exists()
    event = journal.lifeline(message_id)[-2]
    assert (event.kind, event.actor, event.at) == (
        Kind.RESTORE,
        "omar",
        NOON + minutes(1),
    )
    assert event.detail == {"why": "mended", "backout_count": 0}
    assert fsck.violations() == []


def test_a_message_can_be_discarded_and_restored_again_and_again(lossy: Queue) -> None:
    message_id = throw_away()
    for minute in (1, 2):
        restore(message_id, lossy, now=NOON + minutes(minute))
        assert back_out("lossy", at=minute)
        assert binned() == [message_id]
        assert fsck.violations() == []
    assert fsck.sums().balance == 0


def test_the_bin_of_one_queue_is_not_that_of_another(db: None) -> None:
    left = make_queue("left", address="news", routing_type=RoutingType.MULTICAST)
    right = make_queue("right", address="news", routing_type=RoutingType.MULTICAST)
    make_setting("news", max_delivery_attempts=1)
    message_id = put("news", now=NOON).message_id
    back_out("left")
    back_out("right")

    restore(message_id, right)

    assert (on("left"), on("right")) == ([], [message_id])
    assert [one.queue_id for one in discards.discarded()] == [left.pk]


def test_what_the_bin_does_not_have_is_not_restored(lossy: Queue) -> None:
    message_id = throw_away()

    with pytest.raises(NotInDiscardBin, match=f"does not have message {message_id}"):
        restore(message_id, lossy, now=NOON + WEEK)
    assert binned() == [message_id]

    restore(message_id, lossy)
    with pytest.raises(NotInDiscardBin):
        restore(message_id, lossy)
    assert on("lossy") == [message_id]


def test_a_message_of_a_deleted_queue_stays_in_the_bin(lossy: Queue) -> None:
    message_id = throw_away()
    Queue.objects.filter(pk=lossy.pk).delete()

    with pytest.raises(NoSuchQueue):
        restore(message_id, lossy)

    (one,) = discards.discarded()
    assert (one.queue, one.is_orphan) == ("lossy", True)


FULL: list[tuple[dict[str, Any], type[BrokerError]]] = [
    ({"max_depth": 1}, QueueFull),
    ({"put_inhibited": True}, PutInhibited),
    ({"max_message_bytes": 7}, MessageTooBigForQueue),
]


@pytest.mark.parametrize(("limits", "error"), FULL)
def test_a_queue_that_does_not_take_it_leaves_it_in_the_bin(
    lossy: Queue, limits: dict[str, Any], error: type[BrokerError]
) -> None:
    message_id = throw_away(body=b"1234", headers=b"5678")
    put("lossy", now=NOON)
    Queue.objects.update(**limits)

    with pytest.raises(error):
        restore(message_id, lossy)

    assert binned() == [message_id]
    assert fsck.violations() == []


def test_a_message_that_fits_is_restored_to_a_limited_queue(lossy: Queue) -> None:
    message_id = throw_away(body=b"1234", headers=b"5678")
    Queue.objects.update(max_depth=1, max_message_bytes=8)

    restore(message_id, lossy)

    assert on("lossy") == [message_id]


def test_what_expired_in_the_bin_can_only_be_read(lossy: Queue) -> None:
    message_id = throw_away(expires_at=NOON + minutes(1), body=b"late")

    with pytest.raises(DiscardedExpired, match="expired at 2026-03-14 12:01:00 UTC"):
        restore(message_id, lossy, now=NOON + minutes(1))

    assert bytes(Message.objects.get().body) == b"late"
    restore(message_id, lossy, now=NOON)
    assert Ready.objects.get().expires_at == NOON + minutes(1)


def test_who_may_not_put_may_not_restore(lossy: Queue) -> None:
    message_id = throw_away()
    everything_else = tuple(one for one in authorities.ALL if one != "put")

    with pytest.raises(NotAuthorized):
        restore(message_id, lossy, user=make_user(granted=everything_else))
    assert binned() == [message_id]

    restore(message_id, lossy, user=make_user("pete", granted=("put",)))
    assert on("lossy") == [message_id]


def test_of_several_each_is_restored_or_says_why_not(lossy: Queue) -> None:
    (first, second, third) = (throw_away(at=minute) for minute in range(3))
    Queue.objects.update(max_depth=1)

    outcomes = discards.restore_each(
        [(third, lossy.pk), (first, lossy.pk), (first, lossy.pk), (0, lossy.pk)],
        now=NOON + minutes(3),
    )

    said = [(one.message_id, one.error and one.error.code) for one in outcomes]
    assert said == [
        (0, "not-in-discard-bin"),
        (first, None),
        (third, "queue-full"),
    ]
    assert on("lossy") == [first]
    assert binned() == [third, second]
    assert fsck.violations() == []


def test_of_two_who_restore_at_once_one_does(elsewhere: Elsewhere) -> None:
    lossy = make_lossy()
    message_id = throw_away()
    elsewhere.begin()
    elsewhere(restore, message_id, lossy)
    errors: list[BrokerError | None] = []

    def restore_too() -> None:
        (outcome,) = discards.restore_each(
            [(message_id, lossy.pk)], now=NOON + minutes(1)
        )
        errors.append(outcome.error)

    other = Background(restore_too)
    until(somebody_waits)
    elsewhere.commit()
    other.join()

    assert [type(error) for error in errors] == [NotInDiscardBin]
    assert on("lossy") == [message_id]
