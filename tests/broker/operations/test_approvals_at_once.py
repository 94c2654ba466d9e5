"""Of two people who approve a plan at the same time, one does; it is started once."""

from __future__ import annotations

import threading
from collections.abc import Callable

from django.contrib.auth.models import User
from django.db import connection

from broker import operations
from broker.errors import OperationNotPlanned
from broker.errors.operations import NotApprovable
from broker.models import AuditRecord, Operation, Queue
from broker.operations import Chosen, Order, approvals
from broker.queueing.put import put_many
from broker.security import audit
from tests.make import make_messages, make_queue, make_user


def at_once(*deeds: Callable[[], object]) -> list[str]:
    """What each came to: done, or why not."""
    came_to: list[str] = []
    ready = threading.Barrier(len(deeds))

    def do(deed: Callable[[], object]) -> None:
        ready.wait(30)
        try:
            deed()
            came_to.append("done")
        except (NotApprovable, OperationNotPlanned) as error:
            came_to.append(error.code)
        finally:
            connection.close()

    threads = [threading.Thread(target=do, args=[one]) for one in deeds]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()
    return sorted(came_to)


def approver(name: str) -> User:
    return make_user(name, permissions=(approvals.MAY,))


def test_two_who_approve_and_two_who_start(transactional_db: None) -> None:
    make_queue(approval_above=0)
    put_many(make_messages(5))
    order, chosen = Order(Operation.Kind.REMOVE), Chosen(queue="orders")
    plan = operations.plan(make_user("omar"), order, chosen, scope="all", reason="x")
    seal = plan.approval.seal
    people = [approver("grace"), approver("heidi")]

    approved = at_once(
        *[lambda one=one: operations.approve(plan.pk, one, seal) for one in people]
    )
    begun = at_once(*[lambda: operations.start(plan.pk)] * 2)

    assert approved == ["done", "not-approvable"]
    assert begun == ["done", "operation-not-planned"]
    acts = AuditRecord.objects.filter(operation_id=plan.pk).order_by("number")
    assert [one.act for one in acts] == [
        "operation.plan",
        "operation.approve",
        "operation.start",
    ]
    assert audit.verify()[1] is None
    assert Queue.objects.get().approval_above == 0
