"""A plan is given a time to start, at each door; its page says when, or why not."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from broker.housekeeping.starting import start_due
from broker.models import Authority, Operation, OperationSchedule
from broker.sql import database_now
from tests.console.commanding import run
from tests.console.conftest import SignIn
from tests.console.letters import die, make_places
from tests.console.operations.ordering import plan, said, url

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)


@pytest.fixture
def client(sign_in: SignIn) -> Client:
    make_places()
    die()
    return sign_in("operator")


def send(client: Client, one: Operation, **fields: Any) -> Any:
    return client.post(url("start", one), {"reason": "quiet hours", **fields})


def schedule(one: Operation) -> OperationSchedule:
    return OperationSchedule.objects.get(pk=one.pk)


def test_the_page_starts_it_later_and_says_when(client: Client) -> None:
    one = plan(client)
    assert send(client, one, start_at="1 h 20 m").status_code == 302

    seen = said(client, url("operation", one))
    assert "It starts by itself" in seen
    assert "in 1 h 19 m" in seen or "in 1 h 20 m" in seen
    assert "On behalf of operator" in seen
    assert "starts" in said(client, reverse("console:operations"))

    client.post(url("schedule_operation", one))
    assert "It starts by itself" not in said(client, url("operation", one))
    assert schedule(one).start_at is None


@pytest.mark.parametrize(
    ("text", "why"),
    [("soon", "is no time"), ("2020-01-01 02:00", "that time has passed")],
)
def test_a_time_that_cannot_be_is_said_beside_its_field(
    client: Client, text: str, why: str
) -> None:
    one = plan(client)
    answer = send(client, one, start_at=text)
    assert answer.status_code == 422
    html = answer.content.decode()
    assert why in html
    assert f'value="{text}"' in html
    assert Operation.objects.get().state == Operation.State.PLANNED


def test_the_page_says_why_it_did_not_start(client: Client) -> None:
    one = plan(client)
    send(client, one, start_at="1 h")
    Authority.objects.update(may_get=False)
    start_due(limit=1, now=database_now() + 2 * HOUR)

    seen = said(client, url("operation", one))

    assert "It does not start by itself. operator had set this time" in seen
    assert schedule(one).start_problem in seen
    assert "not started" in seen


def test_rest_and_the_command_line_set_it_and_take_it_away(client: Client) -> None:
    one = plan(client)
    path = f"/api/v1/operations/{one.pk}/schedule"
    answer = client.post(path, {"start_at": "2 h"}, "application/json").json()
    assert answer["schedule"]["start_by"] == "operator"
    assert answer["schedule"]["start_at"] is not None

    command = ("operation", "schedule", one.pk, "--yes", "--user", "operator", "--json")
    told = json.loads(run(*command, "--start-at", "3 h"))
    assert told["schedule"]["start_at"] > answer["schedule"]["start_at"]
    assert json.loads(run(*command))["schedule"]["start_at"] is None
