"""An operation starts at its time, once, on behalf of who set the time, or says why
not."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User

from broker import operations, tasks
from broker.acts import act
from broker.acts.operations.control import (
    CancelOperation,
    ScheduleOperation,
    StartOperation,
)
from broker.acts.operations.plans import ApproveOperation
from broker.acts.operations.states import OperationState
from broker.errors import OperationNotPlanned
from broker.errors.operations import InvalidStart, ReasonMissing
from broker.housekeeping.starting import start_due
from broker.models import (
    Act,
    AuditRecord,
    Authority,
    Operation,
    OperationSchedule,
    Queue,
)
from broker.operations import Chosen, Only, Order
from broker.operations.approvals import MAY
from broker.queueing.put import put_many
from broker.security import authorities, credentials
from broker.sql import database_now
from console.accounts import roles
from tests.broker.dying import on
from tests.make import make_messages, make_queue, make_user, minutes

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)
Kind, State = Operation.Kind, Operation.State


@pytest.fixture
def omar(db: None) -> User:
    make_queue("done")
    make_queue()
    put_many(make_messages(3))
    return make_user("omar", permissions=(*roles.ROLES["operator"],))


def planned(user: User, kind: Operation.Kind = Operation.Kind.MOVE) -> int:
    order = Order(kind, "" if kind == Kind.REMOVE else "done")
    chosen = Chosen(queue="orders")
    return operations.plan(user, order, chosen, scope="all of orders").pk


def later(number: int, user: User, **fields: object) -> OperationState:
    at = database_now() + HOUR
    request = ScheduleOperation(number, **{"start_at": at, **fields})  # type: ignore[arg-type]
    answer: OperationState = act(user, request)
    return answer


def due() -> int:
    """Start what is due when its hour is over; return how many were looked at."""
    return start_due(limit=9, now=database_now() + HOUR + minutes(1))


def state(number: int) -> str:
    return Operation.objects.get(pk=number).state


def problem(number: int) -> str:
    return OperationSchedule.objects.get(pk=number).start_problem


def test_it_starts_at_its_time_and_not_before(omar: User) -> None:
    number = planned(omar)
    answer = later(number, omar, reason="quiet hours", pace=7)

    assert (answer.state, answer.schedule.start_by) == (State.PLANNED, "omar")
    assert answer.schedule.start_at is not None
    assert f"Starts at {answer.schedule.start_at:%Y-%m-%d %H:%M:%S} UTC." in str(answer)
    assert start_due(limit=9) == 0
    assert len(on("orders")) == 3
    assert (due(), due()) == (1, 0), "once"

    assert state(number) in (State.RUNNING, State.DONE)
    assert OperationSchedule.objects.get(pk=number).pace == 7
    record = AuditRecord.objects.get(act=Act.START)
    assert (record.actor_kind, record.actor) == (AuditRecord.Actor.USER, "omar")
    assert record.reason == "quiet hours"
    assert AuditRecord.objects.filter(act=Act.ALTER).count() == 1


def test_the_housekeeping_starts_it_and_may_run_twice(omar: User) -> None:
    number = planned(omar)
    later(number, omar)
    assert not operations.left().to_step
    OperationSchedule.objects.update(start_at=database_now())
    assert operations.left().to_step

    for _ in range(2):
        tasks.step_operations()

    assert (state(number), on("orders"), len(on("done"))) == (State.DONE, [], 3)
    assert AuditRecord.objects.filter(act=Act.START).count() == 1


def test_it_is_moved_taken_away_started_at_once_or_cancelled(omar: User) -> None:
    moved, none, at_once, cancelled = (planned(omar, Kind.COPY) for _ in range(4))
    for number in (moved, none, at_once, cancelled):
        later(number, omar, reason="x")
    later(moved, omar, start_at=database_now() + 3 * HOUR)
    assert later(none, omar, start_at=None).schedule.start_by is None
    act(omar, StartOperation(at_once))
    act(omar, CancelOperation(cancelled))

    assert due() == 0
    assert state(moved) == state(none) == State.PLANNED
    for number in (at_once, cancelled):
        with pytest.raises(OperationNotPlanned):
            later(number, omar)


@pytest.mark.parametrize("lost", ["permission", "authority", "account", "credential"])
def test_who_may_no_longer_start_it_does_not(omar: User, lost: str) -> None:
    number = planned(omar)
    credential, _ = credentials.create("night", omar, by=omar)
    is_bot = lost == "credential"
    later(number, authorities.through(credential) if is_bot else omar)  # type: ignore[arg-type]
    match lost:
        case "permission":
            omar.user_permissions.clear()
        case "authority":
            Authority.objects.all().delete()
        case "account":
            User.objects.update(is_active=False)
        case _:
            credentials.revoke(credential, omar)

    assert (due(), due()) == (1, 0), "it does not try again"

    assert (state(number), len(on("orders"))) == (State.PLANNED, 3)
    assert problem(number)
    refused = AuditRecord.objects.get(act=Act.START)
    assert refused.outcome == AuditRecord.Outcome.REFUSED
    assert refused.object_id == str(number)


def test_a_credential_starts_what_it_may(omar: User) -> None:
    number = planned(omar)
    credential, _ = credentials.create("night", omar, by=omar)
    later(number, authorities.through(credential))  # type: ignore[arg-type]

    due()

    assert state(number) == State.DONE
    assert AuditRecord.objects.get(act=Act.START).actor == "night"


@pytest.mark.parametrize("is_approved", [True, False])
def test_it_starts_only_if_it_is_approved_by_then(
    omar: User, is_approved: bool
) -> None:
    Queue.objects.filter(name="orders").update(approval_above=2)
    number = planned(omar)
    later(number, omar)
    if is_approved:
        grace = make_user("grace", permissions=(*roles.ROLES["operator"], MAY))
        seal = Operation.objects.get(pk=number).approval.seal
        act(grace, ApproveOperation(number, seal))

    due()

    assert state(number) == (State.DONE if is_approved else State.PLANNED)
    assert problem(number) == "" or "a second person must approve it" in problem(number)
    assert is_approved == (problem(number) == "")


def test_a_plan_that_was_changed_needs_a_new_time(omar: User) -> None:
    number = planned(omar)
    later(number, omar)
    operations.narrow(number, Only(2))

    assert due() == 0
    assert "Set the time again" in problem(number)
    assert later(number, omar).schedule.start_problem == ""
    assert due() == 1
    assert (state(number), len(on("orders"))) == (State.DONE, 1)


def test_a_time_at_which_it_could_not_start_is_refused(omar: User) -> None:
    number, now = planned(omar), database_now()
    for at, why in ((now, "has passed"), (now + 400 * 24 * HOUR, "more than a year")):
        with pytest.raises(InvalidStart, match=why):
            later(number, omar, start_at=at)
    with pytest.raises(ReasonMissing):
        later(planned(omar, Kind.REMOVE), omar)
    Queue.objects.filter(name="orders").update(approval_above=0)
    with pytest.raises(InvalidStart, match="its approval expires before"):
        later(planned(omar), omar, start_at=now + 5 * HOUR)
    assert not OperationSchedule.objects.filter(start_at__isnull=False).exists()
