"""A backout by one statement: what changes before it, changes nothing in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from broker.errors import LockLost
from broker.models import Claim, Kind, Message, Ready
from broker.monitoring import fsck
from broker.queueing import journal
from broker.queueing.get import Delivery
from broker.queueing.put import put, put_many
from broker.settlement import failed_unit
from broker.settlement.outcomes import BackOut, Failure, Reject
from broker.transactions.scope import UnitOfWork
from tests.broker.elsewhere import Elsewhere
from tests.make import make_messages, make_queue, make_setting

pytestmark = pytest.mark.usefixtures("transactional_db")


OUTCOMES = [BackOut("no"), Reject("no")]


@pytest.fixture
def between(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], None]], None]:
    """Has something happen once, after what is to be done was decided."""

    def arrange(happens: Callable[[], None]) -> None:
        left = [happens]

        def late(name: str) -> None:
            act = getattr(failed_unit, name)

            def acts(*args: Any, **kwargs: Any) -> Any:
                if left:
                    left.pop()()
                return act(*args, **kwargs)

            monkeypatch.setattr(failed_unit, name, acts)

        late("put_back")
        late("store_copies")

    return arrange


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_an_entry_that_was_settled_meanwhile_is_not_put_back(
    between: Callable[[Callable[[], None]], None],
    elsewhere: Elsewhere,
    outcome: Failure,
) -> None:
    arrange()
    put_many(make_messages(2))
    work = UnitOfWork()
    first, second = work.get("orders", 2)
    between(lambda: elsewhere(accept, first))

    work.back_out(outcome)

    (left,) = Ready.objects.all()
    message = Message.objects.get(pk=left.id)
    assert (message.first_id or left.id) == second.message_id
    assert left.backout_count == (1 if isinstance(outcome, BackOut) else 0)
    assert not Claim.objects.exists()
    assert fsck.violations() == []


def arrange() -> None:
    make_queue("orders")
    make_queue("DLQ")
    make_setting(dead_letter_address="DLQ")


def accept(delivery: Delivery) -> None:
    """As another thread does that shares the unit of work."""
    work = UnitOfWork()
    work.id, work.held = delivery.uow, 2
    work.accept(delivery)


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_a_unit_of_work_that_ended_meanwhile_is_lost(
    between: Callable[[Callable[[], None]], None],
    elsewhere: Elsewhere,
    outcome: Failure,
) -> None:
    arrange()
    put("orders")
    work = UnitOfWork()
    (delivery,) = work.get("orders")
    other = UnitOfWork()
    other.id, other.held = delivery.uow, 1
    between(lambda: elsewhere(other.commit))

    with pytest.raises(LockLost):
        work.back_out(outcome)

    assert not Ready.objects.exists()
    kinds = [event.kind for event in journal.lifeline(delivery.message_id)]
    assert kinds == [Kind.PUT, Kind.GET, Kind.ACCEPT]
    assert fsck.violations() == []


def test_entries_of_several_queues_follow_their_own_settings() -> None:
    for name in ("orders", "invoices"):
        make_queue(name)
        put(name)
    make_setting("orders", redelivery_delay_ms=60_000)
    work = UnitOfWork()
    work.get("orders")
    work.get("invoices")

    work.back_out("no")

    depths = [depth for _, depth in sorted(journal.depths().items())]
    assert [(one.ready, one.delayed) for one in depths] == [(0, 1), (1, 0)]
    assert fsck.violations() == []
