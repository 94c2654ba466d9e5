"""What takes a reason or a second person is started with these, and not before."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User

from broker import operations
from broker.errors.operations import (
    ApprovalExpired,
    ApprovalNeeded,
    NotApprovable,
    OwnApproval,
    ReasonNeeded,
)
from broker.models import Approval, AuditRecord, Operation, OperationItem, Queue
from broker.operations import Chosen, Order, approvals
from broker.queueing.put import put_many
from tests.broker.auditing import detail
from tests.broker.dying import on
from tests.make import NOON, make_messages, make_queue, make_user, minutes

pytestmark = pytest.mark.django_db

LATE = timedelta(hours=5)
PLANNED = Operation.State.PLANNED
Kind = Operation.Kind


@pytest.fixture
def omar(db: None) -> User:
    return make_user("omar")


@pytest.fixture
def grace(db: None) -> User:
    return make_user("grace", permissions=(approvals.MAY,))


def messages(count: int = 3, **limits: Any) -> None:
    make_queue(**limits)
    put_many(make_messages(count), now=NOON)


def plan(user: User, *, kind: Kind = Kind.REMOVE, reason: str = "x") -> Operation:
    chosen = Chosen(queue="orders")
    scope = "all of orders"
    return operations.plan(
        user, Order(kind), chosen, scope=scope, reason=reason, now=NOON
    )


def approve(one: Operation, user: User, now: datetime = NOON) -> Approval:
    return operations.approve(one.pk, user, one.approval.seal, now=now)


def start(one: Operation, now: datetime = NOON) -> Operation:
    return operations.start(one.pk, now=now)


def state(one: Operation) -> str:
    return Operation.objects.get(pk=one.pk).state


@pytest.mark.parametrize(("count", "waits"), [(2, False), (3, True)])
def test_what_passes_the_limit_of_its_queue_waits_for_a_second_person(
    omar: User, grace: User, count: int, waits: bool
) -> None:
    messages(count, approval_above=2)
    one = plan(omar)

    assert Approval.objects.exists() == waits
    if waits:
        with pytest.raises(ApprovalNeeded, match="Somebody else has to approve it"):
            start(one)
        assert (state(one), len(on("orders"))) == (PLANNED, count)
        approve(one, grace)

    assert start(one).state == Operation.State.DONE
    assert on("orders") == []


def test_a_queue_without_a_limit_asks_nobody(omar: User) -> None:
    messages(200)
    assert start(plan(omar)).started_at is not None


def test_nobody_approves_what_they_planned(omar: User, grace: User) -> None:
    messages(approval_above=0)
    one = plan(grace)
    with pytest.raises(OwnApproval, match="Ask a second person"):
        approve(one, grace)
    assert Approval.objects.get().approved_at is None


def test_nobody_approves_without_the_permission(omar: User) -> None:
    messages(approval_above=0)
    one = plan(omar)
    with pytest.raises(NotApprovable, match="is missing"):
        approve(one, make_user("eve"))


def test_one_approves_exactly_the_plan_that_one_saw(omar: User, grace: User) -> None:
    messages(approval_above=0)
    one = plan(omar)
    with pytest.raises(NotApprovable, match="not the plan that was looked at"):
        operations.approve(one.pk, grace, "0" * 64, now=NOON)


@pytest.mark.parametrize("change", ["taken away", "put in", "moved", "another deed"])
def test_what_is_not_what_was_approved_is_not_started(
    omar: User, grace: User, change: str
) -> None:
    messages(approval_above=1)
    one = plan(omar)
    approve(one, grace)
    match change:
        case "taken away":
            one.items.earliest("pk").delete()
        case "put in":
            queue_id = Queue.objects.get().pk
            OperationItem.objects.create(
                operation=one, queue_id=queue_id, message_id=999, target=""
            )
        case "moved":
            one.items.update(target="elsewhere")
        case "another deed":
            Operation.objects.update(kind=Kind.EXPIRE)

    with pytest.raises(ApprovalNeeded, match="not the plan that was approved"):
        start(one)

    assert state(one) == PLANNED


def test_seals_differ_wherever_plans_do(omar: User) -> None:
    messages(approval_above=0)
    seals = {plan(omar).approval.seal, plan(omar).approval.seal}
    seals.add(plan(omar, kind=Kind.EXPIRE).approval.seal)
    assert len(seals) == 3
    assert {len(one) for one in seals} == {64}


def test_an_approval_holds_for_a_time(omar: User, grace: User) -> None:
    messages(approval_above=0)
    one, other = plan(omar), plan(omar)

    with pytest.raises(NotApprovable, match="the time to approve it is over"):
        approve(one, grace, NOON + LATE)
    approve(one, grace, NOON + minutes(239))
    approve(other, grace, NOON + minutes(239))
    with pytest.raises(ApprovalExpired, match="expired at 2026-03-14 16:00:00 UTC"):
        start(one, NOON + LATE)

    assert start(other, NOON + minutes(239)).state == Operation.State.DONE


def test_it_is_approved_once_and_only_while_it_is_planned(
    omar: User, grace: User
) -> None:
    messages(approval_above=0)
    one, other = plan(omar), plan(omar)
    approve(one, grace)
    with pytest.raises(NotApprovable, match="was approved already"):
        approve(one, make_user("heidi", permissions=(approvals.MAY,)))
    operations.cancel(other.pk)
    with pytest.raises(NotApprovable, match="was started or cancelled"):
        approve(other, grace)
    with pytest.raises(NotApprovable, match="nobody has to"):
        operations.approve(99999, grace, "")


@pytest.mark.parametrize("loss", ["permission", "account"])
def test_who_approved_must_still_be_allowed_to(
    omar: User, grace: User, loss: str
) -> None:
    messages(approval_above=0)
    one = plan(omar)
    approve(one, grace)
    if loss == "permission":
        grace.user_permissions.clear()
    else:
        User.objects.filter(pk=grace.pk).update(is_active=False)

    with pytest.raises(ApprovalNeeded, match="may no longer"):
        start(one)


def test_a_limit_that_is_set_later_holds_for_what_was_planned_before(
    omar: User, grace: User
) -> None:
    messages()
    one = plan(omar)
    Queue.objects.update(approval_above=0)

    with pytest.raises(ApprovalNeeded, match="plan it again"):
        start(one)
    Queue.objects.update(approval_above=None)
    assert start(one).state == Operation.State.DONE


def test_the_messages_of_each_queue_are_counted_by_themselves(omar: User) -> None:
    messages(2, approval_above=2)
    make_queue("invoices", approval_above=2)
    put_many(make_messages(2, "invoices"), now=NOON)
    ids = tuple(on("orders") + on("invoices"))

    order = Order(Kind.REMOVE)
    one = operations.plan(omar, order, Chosen(ids=ids), scope="4", reason="x", now=NOON)

    assert start(one).state == Operation.State.DONE


def test_an_undo_needs_nobody(omar: User, grace: User) -> None:
    messages(approval_above=0)
    one = plan(omar)
    approve(one, grace)
    start(one)

    undo = operations.plan_undo(omar, one.pk, now=NOON)

    assert Approval.objects.count() == 1
    start(undo)
    assert len(on("orders")) == 3


def test_above_a_limit_there_is_a_reason(omar: User) -> None:
    messages(3, reason_above=2)
    one = plan(omar, reason="")
    with pytest.raises(ReasonNeeded, match="Enter one"):
        start(one)
    assert state(one) == PLANNED
    assert start(plan(omar, reason="a bad release")).started_at is not None


def test_both_people_are_in_the_audit_with_the_seal(omar: User, grace: User) -> None:
    messages(approval_above=0)
    one = plan(omar, reason="a bad release")
    operations.approve(one.pk, grace, one.approval.seal, reason="seen", now=NOON)

    planned, approved = AuditRecord.objects.filter(operation_id=one.pk).order_by("pk")
    assert (planned.act, planned.actor) == ("operation.plan", "omar")
    assert (approved.act, approved.actor) == ("operation.approve", "grace")
    assert approved.reason == "seen"
    assert detail(planned)["seal"] == detail(approved)["seal"] == one.approval.seal
