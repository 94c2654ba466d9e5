"""Patches through the API: planned, looked at, taken away."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from broker.models import Operation, OperationItem, OperationPatch
from broker.monitoring.dead_letters import Letter
from tests.console.conftest import SignIn
from tests.console.edges.test_api import ROOT, problem
from tests.console.letters import die, make_places
from tests.make import make_user

pytestmark = pytest.mark.django_db

EUR = {"body": {"merge": {"currency": "EUR"}}}


@pytest.fixture
def letters() -> list[Letter]:
    make_places()
    bodies = (b'{"currency": "XBT"}', b"no")
    return [die(body=body, content_type="application/json") for body in bodies]


def send(client: Client, method: str, where: str, body: Any) -> Any:
    text = body if isinstance(body, str) else json.dumps(body)
    call = getattr(client, method)
    return call(f"{ROOT}/{where}", text, content_type="application/json")


def test_a_resubmit_is_planned_with_a_patch_and_previewed(
    sign_in: SignIn, letters: list[Letter]
) -> None:
    client = sign_in("operator")
    wanted = {"f": ["queue:DLQ"], "reason": "wrong currency", "patch": EUR}

    told = send(client, "post", "resubmits", wanted).json()

    plan = Operation.objects.get()
    assert (told["operation_id"], told["messages"]) == (plan.pk, 2)
    assert (plan.state, plan.reason) == ("planned", "wrong currency")
    preview = told["preview"]
    assert preview["is_complete"] is True
    assert (preview["looked_at"], preview["total"], preview["fits"]) == (2, 2, 1)
    assert [(one["code"], one["messages"]) for one in preview["left"]] == [
        ("not_json", 1)
    ]
    assert preview["alike"] == [
        {
            "kinds": ["replace /currency"],
            "messages": 1,
            "example": letters[0].message_id,
            "changes": [{"where": "/currency", "before": '"XBT"', "after": '"EUR"'}],
        }
    ]
    assert client.get(f"{ROOT}/operations/{plan.pk}/patch").json() == preview


def test_letters_are_named_by_their_ids(sign_in: SignIn, letters: list[Letter]) -> None:
    client = sign_in("operator")

    told = send(client, "post", "resubmits", {"ids": [letters[1].message_id]}).json()

    assert (told["messages"], told["preview"]) == (1, None)
    assert OperationItem.objects.get().message_id == letters[1].message_id


def test_a_patch_keeps_its_digits(sign_in: SignIn, letters: list[Letter]) -> None:
    client = sign_in("operator")
    told = send(client, "post", "resubmits", {"f": ["queue:DLQ"]}).json()
    patch = '{"body": {"merge": {"price": 12345678901234567890.10}}}'

    answer = send(client, "put", f"operations/{told['operation_id']}/patch", patch)

    assert answer.status_code == 200
    assert "12345678901234567890.10" in OperationPatch.objects.get().document
    wanted = '{"f": ["queue:DLQ"], "patch": ' + patch + "}"
    told = send(client, "post", "resubmits", wanted).json()
    document = OperationPatch.objects.get(pk=told["operation_id"]).document
    assert "12345678901234567890.10" in document


def test_a_patch_is_taken_away(sign_in: SignIn, letters: list[Letter]) -> None:
    client = sign_in("operator")
    plan = send(client, "post", "resubmits", {"f": ["queue:DLQ"], "patch": EUR}).json()
    where = f"operations/{plan['operation_id']}/patch"

    assert client.delete(f"{ROOT}/{where}").json() == plan | {"preview": None}

    assert problem(client.get(f"{ROOT}/{where}"), 404)["code"] == "not-found"
    assert OperationItem.objects.filter(status="planned").count() == 2


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({}, 422, "invalid-request"),
        ({"ids": [1], "f": ["queue:DLQ"]}, 422, "invalid-request"),
        ({"ids": [10**9]}, 409, "not-resubmittable"),
        ({"ids": [0, -1]}, 409, "nothing-chosen"),
        ({"f": ["queue:DLQ"], "patch": {}}, 422, "invalid-patch"),
        ({"f": ["queue:DLQ"], "patch": {"headers": [1]}}, 422, "invalid-patch"),
    ],
)
def test_what_cannot_be_planned_is_a_problem(
    sign_in: SignIn,
    letters: list[Letter],
    body: dict[str, Any],
    status: int,
    code: str,
) -> None:
    answer = send(sign_in("operator"), "post", "resubmits", body)

    assert problem(answer, status)["code"] == code
    assert not Operation.objects.exists()


def test_what_is_no_json_is_a_problem(sign_in: SignIn, letters: list[Letter]) -> None:
    client = sign_in("operator")
    plan = send(client, "post", "resubmits", {"f": ["queue:DLQ"]}).json()

    for text in ("{", '{"a": 1, "a": 2}', "x" * 300_000):
        answer = send(client, "put", f"operations/{plan['operation_id']}/patch", text)
        assert problem(answer, 422)["code"] == "invalid-patch", text[:9]


def test_a_viewer_plans_nothing_and_who_may_not_read_sees_no_values(
    sign_in: SignIn, client: Client, letters: list[Letter]
) -> None:
    operator = sign_in("operator")
    plan = send(operator, "post", "resubmits", {"f": ["queue:DLQ"], "patch": EUR})
    where = f"operations/{plan.json()['operation_id']}/patch"
    viewer = sign_in("viewer")
    assert problem(send(viewer, "put", where, EUR), 403)
    assert problem(send(viewer, "post", "resubmits", {"ids": [1]}), 403)
    vera = make_user(
        "vera",
        permissions=("broker.view_queue", "broker.browse_queue"),
        granted=("inquire",),
    )
    client.force_login(vera)

    assert problem(client.get(f"{ROOT}/{where}"), 403)["code"] == "not-authorized"
