"""The API: what pages show and do, as JSON; who may, and how it refuses."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from broker.models import Operation, Queue
from broker.monitoring import counters
from broker.queueing.put import put, put_many
from broker.transactions.scope import UnitOfWork
from console import api
from console.edges.rest import problems
from tests.console.conftest import SignIn
from tests.console.letters import die, make_places
from tests.console.recorded import deeds
from tests.make import make_messages, make_queue, make_setting, make_user, plan_resubmit

ROOT = "/api/v1"
NOTHING = "There is nothing here, or nothing that you may see."


def problem(answer: Any, status: int) -> dict[str, Any]:
    assert answer.status_code == status, answer.content
    assert answer["Content-Type"] == "application/problem+json"
    told: dict[str, Any] = answer.json()
    assert told["status"] == status
    assert told["title"]
    return told


def test_why_a_message_waits_is_told_with_a_code(
    sign_in: SignIn, orders: Queue
) -> None:
    message_id = put("orders").message_id
    Queue.objects.update(paused=True)

    answer = sign_in("operator").get(f"{ROOT}/messages/{message_id}/explain")

    assert answer.status_code == 200
    told = answer.json()
    assert told["message_id"] == message_id
    assert [one["code"] for one in told["explanations"]] == ["paused", "no-consumer"]
    assert told["explanations"][0]["queue"] == "orders"
    assert told["explanations"][0]["remedy"] == "Resume it under Queues."


def test_moments_are_told_as_such(sign_in: SignIn, orders: Queue) -> None:
    message_id = put("orders").message_id
    UnitOfWork(actor="shop.handle").get("orders")

    (one,) = (
        sign_in("operator")
        .get(f"{ROOT}/messages/{message_id}/explain")
        .json()["explanations"]
    )

    assert one["code"] == "locked"
    assert one["details"]["actor"] == "shop.handle"
    assert one["details"]["until"].endswith("Z")


def test_what_may_not_be_browsed_is_not_explained(
    client: Client, orders: Queue
) -> None:
    message_id = put("orders").message_id
    looks = ("broker.view_queue",)
    client.force_login(make_user(permissions=looks, granted=("inquire",)))

    told = problem(client.get(f"{ROOT}/messages/{message_id}/explain"), 403)

    assert told["code"] == "not-authorized"
    assert told["reason"] == 2035
    assert "'browse' on queue 'orders'" in told["detail"]


@pytest.mark.parametrize("number", [4711, 10**30])
def test_a_message_that_nobody_remembers_is_not_found(
    sign_in: SignIn, number: int
) -> None:
    told = problem(sign_in("operator").get(f"{ROOT}/messages/{number}/explain"), 404)

    assert told["code"] == "not-found"
    assert told["detail"] == NOTHING


@pytest.mark.spec("ADMIN-6")
def test_counters_are_read(
    sign_in: SignIn,
    orders: Queue,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    put_many(make_messages(3))
    UnitOfWork().get("orders")
    client = sign_in("viewer")

    with django_assert_max_num_queries(9):
        answer = client.get(f"{ROOT}/queues/orders/counters")

    told = answer.json()
    assert set(told) == {"queue", "since", *counters.ALL}
    assert (told["messages_added"], told["delivering"]) == (3, 1)
    assert (told["message_count"], told["since"]) == (3, {})


@pytest.mark.spec("ADMIN-6")
def test_counters_are_reset_by_who_may_and_it_is_written_down(
    sign_in: SignIn, orders: Queue
) -> None:
    put_many(make_messages(3))
    client = sign_in("operator")

    answer = client.post(
        f"{ROOT}/queues/orders/counters/reset",
        {"counters": ["messages_added"], "reason": "a new month"},
        content_type="application/json",
    )

    assert answer.json() == {"queue": "orders", "had": {"messages_added": 3}}
    told = client.get(f"{ROOT}/queues/orders/counters").json()
    assert (told["messages_added"], told["message_count"]) == (0, 3)
    assert list(told["since"]) == ["messages_added"]
    (deed,) = deeds()
    assert (deed.actor, deed.reason) == ("operator", "a new month")
    assert deed.details["changed"] == {"messages_added": {"before": 3, "after": 0}}
    every = client.post(
        f"{ROOT}/queues/orders/counters/reset", {}, content_type="application/json"
    )
    assert set(every.json()["had"]) == set(counters.RESETTABLE)


def test_who_may_not_set_the_queue_resets_nothing(
    sign_in: SignIn, client: Client, orders: Queue
) -> None:
    where = f"{ROOT}/queues/orders/counters/reset"
    viewer = sign_in("viewer").post(where, {}, content_type="application/json")
    assert problem(viewer, 403)["code"] == "not-permitted"

    permissions = ("broker.view_queue", "broker.pause_queue")
    client.force_login(make_user(permissions=permissions, granted=("inquire",)))
    told = problem(client.post(where, {}, content_type="application/json"), 403)

    assert (told["code"], told["reason"]) == ("not-authorized", 2035)
    assert "'set'" in told["detail"]
    assert counters.read_counters(orders.pk)[1] == {}


@pytest.mark.parametrize(
    "body", [{"counters": ["delivering"]}, {"counters": []}, {"reason": "x" * 501}]
)
def test_what_is_no_such_counter_is_invalid(
    sign_in: SignIn, orders: Queue, body: dict[str, Any]
) -> None:
    answer = sign_in("operator").post(
        f"{ROOT}/queues/orders/counters/reset", body, content_type="application/json"
    )

    told = problem(answer, 422)
    assert told["code"] == "invalid-request"
    assert told["errors"][0]["where"][0] == "body"


def test_a_forged_request_changes_nothing(orders: Queue) -> None:
    client = Client(enforce_csrf_checks=True)
    user = User.objects.create_superuser("ada", password="correct horse")
    client.force_login(user)

    told = problem(
        client.post(
            f"{ROOT}/queues/orders/counters/reset", {}, content_type="application/json"
        ),
        403,
    )

    assert told["code"] == "csrf-failed"
    assert counters.read_counters(orders.pk)[1] == {}
    token = "a" * 32
    client.cookies["csrftoken"] = token
    answer = client.post(
        f"{ROOT}/queues/orders/counters/reset",
        {},
        content_type="application/json",
        headers={"X-CSRFToken": token},
    )
    assert answer.status_code == 200


def test_a_queue_of_any_name_is_found(sign_in: SignIn) -> None:
    make_queue("eu/orders")
    client = sign_in("viewer")

    told = client.get(f"{ROOT}/queues/eu~2Forders/counters").json()
    nothing = client.get(f"{ROOT}/queues/us~2Forders/counters")

    assert told["queue"] == "eu/orders"
    assert problem(nothing, 404)["detail"] == NOTHING


def test_the_settings_of_an_address_say_who_decided_each(
    sign_in: SignIn, orders: Queue
) -> None:
    make_setting("#", max_delivery_attempts=3)
    make_setting("orders", max_delivery_attempts=5)

    told = sign_in("viewer").get(f"{ROOT}/addresses/orders/settings").json()

    by_field = {one["field"]: one for one in told["settings"]}
    attempts = by_field["max_delivery_attempts"]
    assert (attempts["value"], attempts["decided_by"]) == (5, "orders")
    assert attempts["passed_over"] == [{"match": "#", "value": 3}]
    assert by_field["dead_letter_address"]["decided_by"] is None


def test_settings_are_for_who_may_inquire_a_queue_of_the_address(
    client: Client, db: None
) -> None:
    make_queue("mail", address="news")
    client.force_login(make_user(permissions=("broker.view_queue",), pattern="mail"))

    assert client.get(f"{ROOT}/addresses/news/settings").status_code == 200
    told = problem(client.get(f"{ROOT}/addresses/other/settings"), 404)
    assert told["code"] == "not-found"


@pytest.fixture
def planned(db: None) -> Operation:
    make_places(attempts=1)
    for _ in range(3):
        die(attempts=1)
    return plan_resubmit(make_user("olga"), "all dead letters")


def test_an_operation_says_how_far_it_has_come(
    sign_in: SignIn, planned: Operation
) -> None:
    told = sign_in("viewer").get(f"{ROOT}/operations/{planned.pk}").json()

    assert told["id"] == planned.pk
    assert (told["kind"], told["state"]) == ("resubmit", "planned")
    assert (told["planned"], told["done"], told["skipped"]) == (3, 0, 0)
    assert told["created_by"] == "olga"
    assert told["started_at"] is None


def test_its_items_come_in_pages(sign_in: SignIn, planned: Operation) -> None:
    client = sign_in("viewer")
    where = f"{ROOT}/operations/{planned.pk}/items"

    first = client.get(where, {"limit": 2}).json()
    second = client.get(where, {"limit": 2, "after": first["next"]}).json()

    assert [len(first["items"]), len(second["items"])] == [2, 1]
    assert second["next"] is None
    ids = [one["id"] for one in first["items"] + second["items"]]
    assert ids == sorted(planned.items.values_list("pk", flat=True))
    assert first["items"][0]["queue"] == "DLQ"
    assert client.get(where, {"status": "done"}).json()["items"] == []
    assert problem(client.get(where, {"limit": 501}), 422)["code"] == "invalid-request"


def test_an_operation_on_what_one_may_not_inquire_is_not_shown(
    client: Client, planned: Operation
) -> None:
    client.force_login(make_user(permissions=("broker.view_queue",), pattern="orders"))

    for where in ("", "/items"):
        told = problem(client.get(f"{ROOT}/operations/{planned.pk}{where}"), 404)
        assert told["code"] == "not-found"
    assert problem(client.get(f"{ROOT}/operations/999999"), 404)["code"] == "not-found"


READS = [
    "messages/1/explain",
    "queues/orders/counters",
    "addresses/orders/settings",
    "operations/1",
    "operations/1/items",
    "operations/1/patch",
    "connections",
    "connections/1",
    "credentials",
    "audit",
    "discards",
    "scheduled",
    "tasks",
    "recurring-messages",
    "units-of-work",
    "units-of-work/1",
    "consumers",
    "history",
]


@pytest.mark.parametrize("where", [*READS, "openapi.json"])
def test_nobody_asks_without_having_signed_in(
    client: Client, orders: Queue, where: str
) -> None:
    told = problem(client.get(f"{ROOT}/{where}"), 401)

    assert told["code"] == "not-signed-in"


@pytest.mark.parametrize("where", READS)
def test_nobody_asks_without_the_permission(
    client: Client, orders: Queue, where: str
) -> None:
    client.force_login(make_user())

    assert problem(client.get(f"{ROOT}/{where}"), 403)["code"] == "not-permitted"


def test_every_route_is_described(sign_in: SignIn) -> None:
    answer = sign_in("viewer").get(f"{ROOT}/openapi.json")

    assert answer["Content-Type"] == "application/json"
    schema = answer.json()
    routes = {
        re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", str(one.pattern)) for one in api.urls()
    }
    assert set(schema["paths"]) == {
        f"{ROOT}/{route}" for route in routes - {"", "openapi.json", "{rest}"}
    }
    described = [
        operation
        for methods in schema["paths"].values()
        for operation in methods.values()
    ]
    for operation in described:
        assert operation["summary"]
        assert operation["description"]
        assert set(operation["responses"]) == {"200", *map(str, problems.REFUSED)}
        refused = operation["responses"]["404"]["content"]
        assert list(refused) == ["application/problem+json"]
    names = [one["operationId"] for one in described]
    assert len(set(names)) == len(names) == 209


def test_the_document_loads_nothing_from_elsewhere(sign_in: SignIn) -> None:
    client = sign_in("viewer")

    assert client.get(f"{ROOT}/docs").status_code == 404
    document = client.get(f"{ROOT}/openapi.json").content.decode()
    assert "http:" not in document
    assert "https:" not in document
