"""Each act at each door, by those who may not: the same answer, and nothing changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from broker.acts import ACTS, may
from broker.acts.queues import PauseQueue, ResetCounters, ResumeQueue, StartDelivery
from broker.models import AuditRecord, CounterReset, Queue, QueueAlias
from tests.console.act_doors import (
    COMMANDS,
    DECLARED,
    PAGES,
    refusals,
    routes,
    through_rest,
)
from tests.console.conftest import SignIn
from tests.make import make_queue, make_user

pytestmark = pytest.mark.django_db

TOO_LONG = "x" * 501
REQUESTS: dict[str, Callable[..., Any]] = {  # by act; keywords are further fields
    "pause_queue": lambda **more: PauseQueue("orders", **more),
    "resume_queue": lambda **more: ResumeQueue("orders", **more),
    "reset_counters": lambda **more: ResetCounters("orders", **more),
    "start_delivery": lambda **_: StartDelivery("orders"),
}
EVERY = pytest.mark.parametrize("name", sorted(REQUESTS))


def state() -> list[Any]:
    """What the acts here would change."""
    return [
        *Queue.objects.values_list("name", "paused", "paused_until", "stopped"),
        *CounterReset.objects.values_list(),
    ]


def assert_refused(user: User, name: str, status: int, said: str, **more: Any) -> None:
    """REST and the page answer with one status, commands with 1; all say the same, and
    each attempt is one record."""
    one, before = DECLARED[name], state()

    answers = list(refusals(user, one, REQUESTS[name](**more)))

    assert [one.status for one in answers] == [status, status, 1]
    for answer in answers:
        if status != 404 or answer.door == "command":
            assert said in answer.said.replace("&#x27;", "'"), answer
    assert state() == before
    records = AuditRecord.objects.filter(outcome="refused").order_by("pk")
    told = [(record.act, record.actor) for record in records]
    assert told == [(one.recorded_as, user.get_username())] * len(answers)


def test_each_act_is_tried_and_has_all_doors() -> None:
    names = {one.name for one in ACTS.values()}
    assert names == set(REQUESTS) == set(COMMANDS) == set(PAGES)
    assert names <= set(routes())


@EVERY
def test_without_the_permission(name: str) -> None:
    make_queue("orders")
    user = make_user("vera", granted=("inquire", "set"))
    assert_refused(
        user, name, 403, f"permission {DECLARED[name].permission} is missing"
    )


@EVERY
def test_a_queue_that_is_hidden_is_missing(name: str) -> None:
    make_queue("orders")
    user = make_user("vera", permissions=(DECLARED[name].permission,), granted=())
    assert_refused(user, name, 404, "There is no queue 'orders'")


@EVERY
def test_a_queue_that_is_not_there(name: str) -> None:
    user = make_user(
        "vera", permissions=(DECLARED[name].permission,), granted=("inquire", "set")
    )
    assert_refused(user, name, 404, "There is no queue 'orders'")


@EVERY
def test_without_an_authority(name: str) -> None:
    make_queue("orders")
    user = make_user(
        "vera", permissions=(DECLARED[name].permission,), granted=("inquire",)
    )
    assert_refused(user, name, 403, "lacks the authority 'set'")


@pytest.mark.parametrize("name", ["pause_queue", "resume_queue", "reset_counters"])
def test_a_reason_that_is_too_long(name: str) -> None:
    make_queue("orders")
    user = make_user(
        "vera", permissions=(DECLARED[name].permission,), granted=("inquire", "set")
    )
    assert_refused(user, name, 422, "500 characters", reason=TOO_LONG)


@EVERY
def test_an_alias_is_a_name_for_the_api_and_commands_and_has_no_page(
    name: str, sign_in: SignIn
) -> None:
    make_queue("orders")
    QueueAlias.objects.create(name="sales", target="orders")
    operator = sign_in("operator")
    url = reverse(PAGES[name], args=["sales"])

    pages = {operator.post(url).status_code, operator.get(url).status_code}

    assert pages <= {302, 404, 405}
    one = DECLARED[name]
    user = User.objects.get(username="operator")
    request = replace(REQUESTS[name](), queue="sales")
    assert through_rest(user, one, request).json()["queue"] == "orders"


def test_who_may_and_who_may_not_is_told_without_an_order() -> None:
    make_queue("orders")
    before = state()
    vera = make_user("vera", granted=("inquire",))
    ada = make_user("ada", permissions=("broker.pause_queue",))

    why = may(vera, PauseQueue("orders"))

    assert why is not None
    assert why.startswith("The permission broker.pause_queue is missing.")
    assert may(ada, PauseQueue("orders")) is None
    assert may(None, PauseQueue("orders")) is None
    assert state() == before
    assert not AuditRecord.objects.filter(outcome="refused").exists()
