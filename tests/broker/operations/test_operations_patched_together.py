"""Repairs among other editors, other workers, and processes that die."""

from __future__ import annotations

import json

import pytest

from broker import operations
from broker.errors.patches import NotRepaired, PatchNotLooked
from broker.models import Message, Operation, OperationItem, OperationPatch
from broker.monitoring import fsck
from broker.operations import Edit, Outcome
from broker.transactions.scope import UnitOfWork
from tests.broker.dying import on, operator, plan
from tests.broker.elsewhere import Elsewhere
from tests.broker.operations.test_operations_together import work_and_die
from tests.broker.ordering import copies_of, notes
from tests.broker.repairing import EUR, body_of, make_broken, patched
from tests.make import NOON

pytestmark = pytest.mark.usefixtures("transactional_db")

Status = OperationItem.Status


@pytest.mark.thorough
def test_a_patched_operation_survives_the_process_that_works_on_it() -> None:
    count = 1000
    make_broken(*[{"n": n, "currency": "XBT"} for n in range(count)])
    planned = patched(EUR)
    operations.start(planned.pk, limit=50)

    work_and_die(steps=3)

    done = planned.items.filter(status=Status.DONE)
    assert 0 < done.count() < count, "it was killed in the middle"
    assert len(on("orders")) == done.count()
    assert fsck.violations() == []
    while operations.step(planned.pk):
        pass
    children = copies_of(planned)
    assert on("orders") == sorted(children)
    assert on("DLQ") == []
    bodies = Message.objects.filter(pk__in=children).values_list("body", flat=True)
    read = [json.loads(bytes(one)) for one in bodies]
    assert {one["currency"] for one in read} == {"EUR"}, "nothing went unpatched"
    assert sorted(one["n"] for one in read) == list(range(count)), "nothing twice"
    assert fsck.violations() == []


def test_of_two_who_send_at_once_one_is_told_that_it_was_not(
    elsewhere: Elsewhere,
) -> None:
    (died,) = make_broken({"a": 1})
    first, second = (
        operations.plan_edit(operator(), died, "DLQ", Edit(body=body))
        for body in (b"first", b"second")
    )
    elsewhere.begin()
    child = elsewhere(operations.start_edit, first.pk)

    with pytest.raises(NotRepaired) as refused:
        operations.start_edit(second.pk)

    elsewhere.commit()
    assert refused.value.why == Outcome.BUSY.sentence
    assert on("orders") == [child]
    assert body_of(child) == b"first"
    second.refresh_from_db()
    assert second.state == Operation.State.PLANNED, "nothing of it was done"


def test_a_child_is_never_seen_as_its_parent_was(elsewhere: Elsewhere) -> None:
    (died,) = make_broken({"a": 1})
    planned = operations.plan_edit(operator(), died, "DLQ", Edit(body=b"fixed"))
    elsewhere.begin()
    elsewhere(operations.start_edit, planned.pk)
    assert UnitOfWork(now=NOON).get("orders") == []

    elsewhere.commit()

    (delivery,) = UnitOfWork(now=NOON).get("orders")
    assert delivery.body == b"fixed"


def test_of_two_workers_one_looks(elsewhere: Elsewhere) -> None:
    make_broken({"currency": "XBT"}, {"currency": "BTC"})
    planned = plan()
    operations.set_patch(planned.pk, json.dumps(EUR))
    elsewhere.begin()
    assert elsewhere(operations.look, planned.pk, limit=1) == 1

    assert operations.look(planned.pk, limit=1) == 0

    elsewhere.commit()
    while operations.look(planned.pk, limit=1):
        pass
    (alike,) = OperationPatch.objects.get().alike
    assert alike["messages"] == 2, "each was counted once"


def test_what_one_starts_another_cannot_patch_meanwhile(elsewhere: Elsewhere) -> None:
    make_broken({"currency": "XBT"})
    planned = plan()
    operations.set_patch(planned.pk, json.dumps(EUR))

    with pytest.raises(PatchNotLooked):
        elsewhere(operations.start, planned.pk)

    while operations.look(planned.pk):
        pass
    operations.start(planned.pk, now=NOON)
    assert notes(planned) == [Status.DONE]
