"""Queues are declared and deleted while others declare, and put to them."""

from __future__ import annotations

import pytest

from broker.client import declare_queue
from broker.declarations import Declaration, apply, applying, plan
from broker.declarations.kinds import QUEUE
from broker.errors.queues import QueueNotEmpty
from broker.errors.settings import ObjectInUse
from broker.models import Address, AuditRecord, Queue
from broker.queueing.put import put
from tests.broker.elsewhere import Background, Elsewhere
from tests.make import make_queue

GOING = Declaration(QUEUE, ("orders",), absent=True)


def test_a_put_that_is_not_committed_keeps_its_queue(
    elsewhere: Elsewhere, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A put locks no queue: its entry would be lost with it."""
    monkeypatch.setattr(applying, "PATIENCE", "SET LOCAL lock_timeout = '50ms'")
    make_queue("orders")
    elsewhere.begin()
    elsewhere(put, "orders")

    with pytest.raises(ObjectInUse, match="put or get messages are open"):
        apply(plan([GOING]))
    monkeypatch.undo()
    deleting = Background(lambda: apply(plan([GOING])))
    elsewhere.commit()

    with pytest.raises(QueueNotEmpty, match="holds 1 message"):
        deleting.join()


def test_those_who_declare_the_same_at_once_wait_for_each_other(
    transactional_db: None,
) -> None:
    def declare() -> None:
        declare_queue("orders", dead_letter_address="DLQ", max_depth=9)

    others = [Background(declare) for _ in range(6)]
    for one in others:
        one.join()

    assert sorted(Queue.objects.values_list("name", flat=True)) == ["DLQ", "orders"]
    assert Address.objects.count() == 2
    assert AuditRecord.objects.filter(object_kind="queue").count() == 2
