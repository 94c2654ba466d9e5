"""What is asked twice is done once, and answered alike."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client
from psycopg.errors import LockNotAvailable
from pytest_django import Settings

from broker.models import AuditRecord, Credential, Message, Queue, Ready, StoredResponse
from broker.queueing.put import put
from broker.security import credentials
from console import api
from tests.console.conftest import SignIn
from tests.console.edges.test_api import ROOT, problem
from tests.make import make_queue, make_user

pytestmark = pytest.mark.django_db

PUT = "addresses/orders/messages"


@pytest.fixture
def shop() -> Client:
    return machine("shop")


def machine(name: str) -> Client:
    user = make_user(f"{name}-user")
    _, secret = credentials.create(name, user)
    return Client(headers={"Authorization": f"Bearer {secret}"})


def post(client: Client, where: str, body: Any, key: str) -> Any:
    return client.post(
        f"{ROOT}/{where}",
        body,
        content_type="application/json",
        headers={"Idempotency-Key": key},
    )


def test_a_put_that_is_sent_again_is_one_message(shop: Client) -> None:
    make_queue("orders")

    first, again = (post(shop, PUT, {"body": "x"}, "k1") for _ in range(2))
    other = post(shop, PUT, {"body": "x"}, "k2")

    assert first.status_code == again.status_code == 200
    assert first.content == again.content
    assert first["Content-Type"] == again["Content-Type"]
    assert "Idempotency-Replayed" not in first
    assert again["Idempotency-Replayed"] == "true"
    assert other.json() != first.json()
    assert Message.objects.count() == 2


def test_a_get_that_is_sent_again_holds_the_same_messages(shop: Client) -> None:
    make_queue("orders")
    for _ in range(2):
        put("orders")

    first, again = (post(shop, "queues/orders/get", {}, "k") for _ in range(2))

    assert first.json() == again.json()
    assert Ready.objects.count() == 1


def test_a_denial_is_recorded_with_a_key_as_without(shop: Client) -> None:
    make_queue("orders")

    answer = post(shop, "queues/orders/pause", {}, "k")

    assert answer.status_code == 403
    refusal = AuditRecord.objects.get(outcome="refused")
    assert (refusal.act, refusal.object_name) == ("queue.pause", "orders")


def test_a_key_that_comes_with_something_else_is_refused(shop: Client) -> None:
    make_queue("orders")
    make_queue("mail")
    post(shop, PUT, {"body": "x"}, "k")

    for where, body in (
        (PUT, {"body": "y"}),
        ("addresses/mail/messages", {"body": "x"}),
    ):
        told = problem(post(shop, where, body, "k"), 422)
        assert told["code"] == "idempotency-key-reused"
    assert Message.objects.count() == 1


def test_a_key_is_its_askers_own(shop: Client) -> None:
    make_queue("orders")

    ids = {
        post(client, PUT, {"body": "x"}, "k").json()["message_id"]
        for client in (shop, machine("other"))
    }

    assert len(ids) == 2


def test_a_refusal_is_not_kept(shop: Client) -> None:
    problem(post(shop, PUT, {"body": "x"}, "k"), 404)
    make_queue("orders")

    assert post(shop, PUT, {"body": "x"}, "k").status_code == 200


def test_what_was_done_before_a_refusal_is_undone(
    shop: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_queue("orders")
    monkeypatch.setattr("console.messages.api.sending.Queue.objects", None)

    with pytest.raises(AttributeError):
        post(shop, PUT, {"body": "x"}, "k")

    assert not Message.objects.exists()
    assert not StoredResponse.objects.exists()


def test_who_asks_while_the_first_runs_is_told_to_come_again(
    shop: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def held(*_: Any, **__: Any) -> None:
        raise OperationalError("canceling statement") from LockNotAvailable()

    monkeypatch.setattr("broker.operations.idempotency.claim", held)

    told = problem(post(shop, PUT, {"body": "x"}, "k"), 409)
    assert told["code"] == "idempotency-key-in-use"


@pytest.mark.parametrize("key", ["", "x" * 256, "é"])
def test_what_is_no_key_is_refused(shop: Client, key: str) -> None:
    make_queue("orders")

    told = problem(post(shop, PUT, {"body": "x"}, key), 400)

    assert told["code"] == "invalid-idempotency-key"
    assert not Message.objects.exists()


def test_who_is_not_known_leaves_no_key(client: Client) -> None:
    problem(post(client, PUT, {"body": "x"}, "k"), 401)
    assert not StoredResponse.objects.exists()


def test_what_is_too_large_is_refused(shop: Client, settings: Settings) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 100

    for headers in ({}, {"Idempotency-Key": "k"}):
        answer = shop.post(
            f"{ROOT}/{PUT}",
            {"body": "x" * 200},
            content_type="application/json",
            headers=headers,
        )
        assert problem(answer, 413)["code"] == "request-too-large"


def test_people_have_it_too(sign_in: SignIn) -> None:
    make_queue("orders")
    client = sign_in("operator")

    post(client, "queues/orders/pause", {}, "k")
    Queue.objects.update(paused=False)
    again = post(client, "queues/orders/pause", {}, "k")

    assert again.json()["paused"] is True
    assert not Queue.objects.get().paused


def test_a_secret_is_never_kept(sign_in: SignIn) -> None:
    client = sign_in("administrator")
    body = {"name": "shop", "owner": "administrator"}

    assert post(client, "credentials", body, "k").status_code == 200

    assert Credential.objects.count() == 1
    assert not StoredResponse.objects.exists()
    assert post(client, "credentials", body, "k").status_code == 422


def test_all_that_acts_takes_a_key_and_says_so() -> None:
    acts = {
        operation["operationId"]: {one["name"] for one in operation["parameters"]}
        for methods in api.document()["paths"].values()
        for method, operation in methods.items()
        if method == "post"
    }

    without = {name for name, takes in acts.items() if "Idempotency-Key" not in takes}
    assert without == api.SECRET
    assert len(acts) > 10
