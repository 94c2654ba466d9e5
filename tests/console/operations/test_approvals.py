"""A plan that takes a second person: how it waits, who may agree, and what is typed."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db.models import F
from django.test import Client
from django.urls import reverse

from broker.models import Approval, AuditRecord, Operation, Queue
from broker.operations.approvals import MAY
from broker.queueing.put import put_many
from console.accounts import roles
from tests.console.conftest import SignIn
from tests.console.messages.test_messages import words
from tests.console.operations.ordering import order, said, started, url
from tests.make import make_messages, make_queue, make_user, minutes

pytestmark = pytest.mark.django_db

WHY = {"reason": "a bad release"}


@pytest.fixture
def plan(db: None) -> Operation:
    """Of omar, an operator, over the limit of orders."""
    make_queue(approval_above=2, reason_above=1)
    make_queue("invoices")
    put_many(make_messages(3))
    return order(signed_in("omar"), "move", to="invoices")


def signed_in(name: str, *more: str) -> Client:
    client = Client()
    user = User.objects.filter(username=name).first()
    permissions = (*roles.ROLES["operator"], *more)
    client.force_login(user or make_user(name, permissions=permissions))
    return client


def approve(client: Client, plan: Operation, **fields: Any) -> Any:
    sent = {"seal": plan.approval.seal, "reason": "I looked"} | fields
    return client.post(url("approve", plan), sent)


def test_a_plan_over_the_limit_waits_and_says_for_whom(plan: Operation) -> None:
    client = signed_in("omar")

    html = client.get(url("operation", plan)).content.decode()

    text = words(html)
    assert "It waits for approval by a second person." in text
    assert "You planned it, so you cannot approve it." in text
    assert "waits for approval" in text
    assert plan.approval.seal[:12] in text
    assert url("approve", plan) not in html
    assert "It must be approved by then." in text, "only a time can be set"
    assert url("cancel", plan) in html
    assert "waits for approval" in said(client, reverse("console:operations"))


def test_another_person_approves_it_and_it_is_started(plan: Operation) -> None:
    grace = signed_in("grace", MAY)
    page = grace.get(url("operation", plan)).content.decode()
    assert plan.approval.seal in page
    assert "Approve this plan of omar" in words(page)

    answer = approve(grace, plan)

    assert answer.status_code == 302
    text = said(signed_in("omar"), url("operation", plan))
    assert "grace approved it" in text
    assert "Reason" in text
    started(signed_in("omar"), plan)
    assert Operation.objects.get(pk=plan.pk).state == Operation.State.DONE


def test_whoever_is_to_approve_it_reads_why(plan: Operation) -> None:
    omar, grace = signed_in("omar"), signed_in("grace", MAY)

    omar.post(url("explain", plan), {"reason": "the orders are test data"})

    assert "Why: the orders are test data" in said(grace, url("operation", plan))
    other = grace.post(url("explain", plan), {"reason": "nonsense"})
    assert other.status_code == 409
    approve(grace, plan)
    assert omar.post(url("explain", plan), {"reason": "x"}).status_code == 409
    answer = omar.post(url("start", plan), {"reason": ""})
    assert answer.status_code == 302
    assert Operation.objects.get().reason == "the orders are test data"


def test_it_is_not_started_before_and_that_is_recorded(plan: Operation) -> None:
    answer = signed_in("omar").post(url("start", plan), WHY)

    assert answer.status_code == 409
    assert "Somebody else has to approve it" in words(answer.content.decode())
    one = AuditRecord.objects.latest("pk")
    assert (one.actor, one.outcome, one.object_kind) == ("omar", "refused", "operation")


def test_nobody_approves_their_own_and_that_is_recorded(plan: Operation) -> None:
    client = signed_in("ada", MAY)
    Operation.objects.update(created_by=User.objects.get(username="ada"))

    page = client.get(url("operation", plan)).content.decode()
    answer = approve(client, plan)

    assert url("approve", plan) not in page
    assert answer.status_code == 403
    assert "Ask a second person to approve it" in words(answer.content.decode())
    assert AuditRecord.objects.latest("pk").is_refused
    assert Approval.objects.get().approved_at is None


def test_who_lacks_the_permission_is_told_who_may(plan: Operation) -> None:
    client = signed_in("eve")
    assert "Users with the role administrator may approve it." in said(
        client, url("operation", plan)
    )
    assert approve(client, plan).status_code == 403


def test_who_could_not_do_it_cannot_approve_it(plan: Operation) -> None:
    eve = make_user("eve", permissions=(MAY,), granted=("inquire",))
    client = Client()
    client.force_login(eve)
    assert approve(client, plan).status_code == 403
    assert Approval.objects.get().approved_at is None


def test_another_plan_than_the_one_that_was_seen_is_refused(plan: Operation) -> None:
    answer = approve(signed_in("grace", MAY), plan, seal="0" * 64)
    assert answer.status_code == 409
    assert "not the plan that was looked at" in words(answer.content.decode())


def test_what_came_too_late_says_so(plan: Operation) -> None:
    Approval.objects.update(expires_at=F("asked_at") - minutes(1))
    client = signed_in("grace", MAY)
    html = client.get(url("operation", plan)).content.decode()
    assert "the time to approve it is over" in words(html)
    assert "Discard it and plan it again." in words(html)
    assert url("approve", plan) not in html
    assert approve(client, plan).status_code == 409


def test_programs_approve_alike(plan: Operation) -> None:
    client = signed_in("grace", MAY)
    where = f"/api/v1/operations/{plan.pk}"
    asked = client.get(where).json()["approval"]
    assert (asked["seal"], asked["approved_by"]) == (plan.approval.seal, None)

    def send(seal: str) -> Any:
        return client.post(
            f"{where}/approve", {"seal": seal}, content_type="application/json"
        )

    assert send("0" * 64).json()["code"] == "not-approvable"
    assert send(asked["seal"]).json()["approval"]["approved_by"] == "grace"
    own = signed_in("omar")
    told = own.post(f"{where}/approve", {"seal": ""}, content_type="application/json")
    assert told.json()["code"] == "not-permitted"


def test_above_its_limit_a_queue_asks_why(plan: Operation) -> None:
    approve(signed_in("grace", MAY), plan)
    answer = signed_in("omar").post(url("start", plan), {"reason": ""})
    assert answer.status_code == 422
    assert "Say why." in words(answer.content.decode())


@pytest.mark.parametrize(
    ("count", "typed", "status"),
    [(100, "", 302), (101, "", 422), (101, "Orders", 422), (101, "orders", 302)],
)
def test_to_remove_many_one_types_the_name_of_the_queue(
    sign_in: SignIn, count: int, typed: str, status: int
) -> None:
    make_queue()
    put_many(make_messages(count))
    client = sign_in("operator")
    one = order(client, "remove")
    asked = said(client, url("operation", one))
    assert ("Type orders to confirm" in asked) == (count > 100)

    answer = client.post(url("start", one), WHY | {"typed": typed})

    assert answer.status_code == status
    if status == 422:
        assert "This does not say orders." in words(answer.content.decode())
        assert Operation.objects.get().state == Operation.State.PLANNED


def test_of_several_queues_the_number_is_typed(sign_in: SignIn) -> None:
    client = sign_in("operator")
    make_queue()
    put_many(make_messages(101))
    one = order(client, "remove")
    other = make_queue("invoices")
    first = one.items.earliest("pk")
    one.items.filter(pk=first.pk).update(queue_id=other.pk)

    assert "Type 101 to confirm" in said(client, url("operation", one))


def test_limits_are_set_under_settings(sign_in: SignIn) -> None:
    client = sign_in("administrator")
    queue = make_queue()
    path = reverse("admin:broker_queue_change", args=[queue.pk])
    assert "Approval above" in words(client.get(path).content.decode())
    assert Queue.objects.get().approval_above is None
