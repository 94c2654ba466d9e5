"""Queues, addresses, users and authorities are defined over HTTP."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from broker.models import (
    Address,
    AddressSetting,
    AuditRecord,
    Authority,
    Discarded,
    Queue,
    RecurringMessage,
)
from broker.queueing.put import put
from console import api
from console.accounts import roles
from tests.make import make_queue, make_recurring, make_setting, make_user

pytestmark = pytest.mark.django_db

QUEUE = "/api/v1/queues/orders"
JSON = "application/json"


def test_a_queue_is_defined_again_and_again(ada: Client) -> None:
    wanted = {"max_depth": 7, "max_message_bytes": "2 MB", "backout_queue": "BOQ"}

    first = ada.put(QUEUE, wanted, content_type=JSON)
    records = AuditRecord.objects.count()
    again = ada.put(QUEUE, wanted, content_type=JSON)

    assert (first.status_code, again.status_code) == (200, 200)
    told = first.json()
    (warning,) = told.pop("warnings")
    assert warning.startswith("The backout queue of orders, BOQ, does not exist")
    assert again.json() == {**told, "warnings": []}
    assert first.headers["ETag"] == again.headers["ETag"]
    assert AuditRecord.objects.count() == records
    assert (told["name"], told["address"], told["max_message_bytes"]) == (
        "orders",
        "orders",
        2_000_000,
    )
    assert Address.objects.get().name == "orders"
    assert ada.get(f"{QUEUE}/definition").json() == told
    assert ada.put(QUEUE, {}, content_type=JSON).json()["max_depth"] is None


def test_a_change_requires_what_was_read(ada: Client) -> None:
    make_queue(max_depth=7, backout_queue="BOQ")
    tag = ada.get(f"{QUEUE}/definition").headers["ETag"]

    def change(depth: int | None, **headers: str) -> Any:
        said = {"max_depth": depth}
        return ada.patch(QUEUE, said, content_type=JSON, headers=headers)

    done = change(8, **{"If-Match": tag})
    assert (done.status_code, done.json()["backout_queue"]) == (200, "BOQ")
    late = change(9, **{"If-Match": tag})
    assert (late.status_code, late.json()["code"]) == (412, "not-as-seen")
    assert late.headers["Content-Type"] == "application/problem+json"
    new = ada.put(QUEUE, {}, content_type=JSON, headers={"If-None-Match": "*"})
    assert new.status_code == 412
    gone = ada.delete(QUEUE, headers={"If-Match": tag})
    assert gone.status_code == 412
    assert change(None).json()["max_depth"] is None
    assert ada.patch("/api/v1/queues/none", {}, content_type=JSON).status_code == 404


def test_a_queue_that_holds_messages_is_deleted_by_the_word_only(ada: Client) -> None:
    make_queue()
    put("orders")

    refused = ada.delete(QUEUE)
    assert (refused.status_code, refused.json()["code"]) == (409, "queue-not-empty")
    assert "holds 1 message." in refused.json()["detail"]
    assert refused.json()["reason"] == 2055
    assert ada.delete(f"{QUEUE}?purge=true").json()["name"] == "orders"

    assert not Queue.objects.exists()
    assert Discarded.objects.get().queue == "orders"
    assert ada.delete(QUEUE).status_code == 404


@pytest.mark.parametrize(
    ("path", "said", "status", "why"),
    [
        ("queues/orders", {"depth": 7}, 422, "This field does not exist"),
        ("queues/orders", {"max_depth": "many"}, 422, "integer"),
        ("queues/orders", {"max_depth": -1}, 400, "greater than or equal to 0"),
        ("queues/orders", {"max_message_bytes": "2 miles"}, 400, "is no size"),
        ("queues/orders", {"selector": "a ="}, 400, "selector"),
        ("queues/OLD", {}, 400, "name of another queue alias"),
        ("addresses/OLD", {}, 400, "name of another queue alias"),
        ("users/shop", {"groups": ["kings"]}, 409, "There is no group 'kings'"),
        ("authorities/user~3Anobody/~23", {"may": []}, 409, "There is no user"),
        ("authorities/nobody/~23", {"may": []}, 400, "user:NAME or group:NAME"),
    ],
)
def test_a_wrong_definition_is_refused_with_the_reason(
    ada: Client, path: str, said: dict[str, Any], status: int, why: str
) -> None:
    ada.put("/api/v1/aliases/OLD", {"target": "orders"}, content_type=JSON)

    answer = ada.put(f"/api/v1/{path}", said, content_type=JSON)

    assert (answer.status_code, why in answer.json()["detail"]) == (status, True)


def test_an_address_that_feeds_a_queue_is_not_deleted(ada: Client) -> None:
    make_queue()

    refused = ada.delete("/api/v1/addresses/orders")

    assert (refused.status_code, refused.json()["code"]) == (409, "object-in-use")
    assert "It feeds orders." in refused.json()["detail"]


def test_authorities_are_granted_to_users_and_groups(ada: Client) -> None:
    url = "/api/v1/authorities/group~3Aviewer/orders.~23"

    answer = ada.put(url, {"may": ["put", "get"]}, content_type=JSON)

    told = answer.json()
    assert told.pop("warnings") == []
    assert told == {
        "principal": "group:viewer",
        "pattern": "orders.#",
        "may": ["get", "put"],
    }
    assert Authority.objects.get(pattern="orders.#").may_put
    listed = ada.get("/api/v1/authorities").json()["authorities"]
    assert told in listed


def test_nobody_makes_an_account_that_may_more_than_they(ada: Client) -> None:
    root = make_user("root")
    User.objects.filter(pk=root.pk).update(is_superuser=True)
    url = "/api/v1/users/shop"

    made = ada.put(url, {"groups": ["operator"]}, content_type=JSON)
    stronger = ada.patch("/api/v1/users/root", {"is_active": False}, content_type=JSON)

    assert made.json()["groups"] == ["operator"]
    assert not User.objects.get(username="shop").has_usable_password()
    assert (stronger.status_code, stronger.json()["code"]) == (403, "not-permitted")
    assert User.objects.get(pk=root.pk).is_active


def test_a_queue_that_one_may_not_see_looks_as_if_it_did_not_exist(
    client: Client,
) -> None:
    make_queue(max_depth=7)
    admin = make_user(permissions=tuple(roles.ADMINISTRATOR), pattern="other.#")
    client.force_login(admin)

    same = client.put(QUEUE, {"max_depth": 7}, content_type=JSON)

    assert same.status_code == 404
    assert client.get(f"{QUEUE}/definition").status_code == 404
    assert client.delete(f"{QUEUE}?purge=true").status_code == 404
    assert Queue.objects.get().max_depth == 7


def test_who_may_not_put_there_makes_no_recurring_message(client: Client) -> None:
    there, here = (f"/api/v1/recurring-messages/{one}" for one in ("there", "here"))
    make_recurring("there")
    admin = make_user(permissions=tuple(roles.ADMINISTRATOR), pattern="other.#")
    client.force_login(admin)
    said = {"address": "other.a", "every_s": "5 min", "properties": {"a": [None, 1]}}

    made = client.put(here, said, content_type=JSON)
    refused = client.patch(here, {"address": "orders"}, content_type=JSON)

    assert made.json().items() >= (said | {"every_s": 300, "problem": ""}).items()
    assert (refused.status_code, refused.json()["code"]) == (403, "not-authorized")
    assert client.patch(there, {"priority": 9}, content_type=JSON).status_code == 404
    assert client.get(there).status_code == 404
    assert client.delete(there).status_code == 404
    assert RecurringMessage.objects.get(name="here").address == "other.a"


def test_lists_come_in_pages(ada: Client) -> None:
    for name in ("a", "b", "c"):
        make_queue(name)

    first = ada.get("/api/v1/addresses?limit=2").json()
    rest = ada.get(f"/api/v1/addresses?after={first['next']}").json()

    names = [one["name"] for one in (*first["addresses"], *rest["addresses"])]
    assert names == ["a", "b", "c"]
    assert rest["next"] is None


def test_fields_of_a_setting_are_changed_one_by_one(ada: Client) -> None:
    make_setting("orders", max_delivery_attempts=3, redelivery_delay_ms=9)
    said = {"max_delivery_attempts": 4, "redelivery_delay_ms": None}

    answer = ada.patch("/api/v1/settings/orders", said, content_type=JSON)

    stored = AddressSetting.objects.get()
    assert (stored.max_delivery_attempts, stored.redelivery_delay_ms) == (4, None)
    assert answer.json().items() >= said.items()
    assert ada.get("/api/v1/settings/orders").headers["ETag"] == answer.headers["ETag"]


def test_the_document_has_each_attribute_with_its_help() -> None:
    schemas = api.document()["components"]["schemas"]
    depth = schemas["NewQueue"]["properties"]["max_depth"]
    assert "MAXDEPTH" in depth["description"]
    routing = schemas["NewQueue"]["properties"]["routing_type"]["anyOf"][0]
    assert routing["enum"] == ["multicast", "anycast"]
