"""Who asks the API: people by their session, machines by a credential."""

from __future__ import annotations

import base64
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from broker.models import Credential
from broker.queueing.put import put
from broker.security import authorities, credentials
from console.accounts import roles
from tests.console.edges.test_api import ROOT, problem
from tests.make import make_queue, make_user

pytestmark = pytest.mark.django_db


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


def basic(name: str, secret: str) -> dict[str, str]:
    pair = base64.b64encode(f"{name}:{secret}".encode()).decode()
    return {"Authorization": f"Basic {pair}"}


@pytest.fixture
def olga() -> User:
    """An operator, with all that operators may."""
    return make_user("olga", permissions=tuple(roles.OPERATOR))


@pytest.fixture
def machine() -> Client:
    """No cookies, and nothing that lets a forged request through."""
    return Client(enforce_csrf_checks=True)


def test_a_credential_is_known_by_its_secret_or_by_its_name_and_secret(
    machine: Client, olga: User
) -> None:
    make_queue("orders")
    credential, secret = credentials.create("shop", olga)

    for headers in (bearer(secret), basic("shop", secret)):
        answer = machine.get(f"{ROOT}/queues/orders", headers=headers)
        assert answer.status_code == 200, answer.content
    assert (
        machine.get(f"{ROOT}/openapi.json", headers=bearer(secret)).status_code == 200
    )

    credential.refresh_from_db()
    assert credential.last_used_at is not None
    assert not machine.cookies


def test_a_wrong_secret_is_refused_even_with_a_session(olga: User) -> None:
    credentials.create("shop", olga)
    client = Client()
    client.force_login(olga)

    for value in ("Bearer bo_0", "Basic c2hvcDp4", "Basic !", "Digest x", "Bearer", ""):
        answer = client.get(f"{ROOT}/queues", headers={"Authorization": value})
        assert problem(answer, 401)["code"] == "not-signed-in", value
        assert answer["WWW-Authenticate"] == 'Bearer realm="Backout"'
    assert client.get(f"{ROOT}/queues").status_code == 200


@pytest.mark.parametrize("how", ["revoked", "expired", "inactive"])
def test_a_credential_that_is_not_good_is_refused(
    machine: Client, olga: User, how: str
) -> None:
    credential, secret = credentials.create("shop", olga)
    match how:
        case "revoked":
            credentials.revoke(credential, None)
        case "expired":
            past = timezone.now() - timedelta(seconds=1)
            Credential.objects.update(expires_at=past)
        case "inactive":
            User.objects.update(is_active=False)

    for headers in (bearer(secret), basic("shop", secret)):
        problem(machine.get(f"{ROOT}/queues", headers=headers), 401)


def test_it_may_at_most_what_its_user_and_its_patterns_allow(
    machine: Client, olga: User
) -> None:
    make_queue("orders")
    make_queue("mail")
    _, secret = credentials.create("shop", olga, patterns="orders", may_browse=False)
    headers = bearer(secret)

    listed = machine.get(f"{ROOT}/queues", headers=headers).json()
    mail = machine.get(f"{ROOT}/queues/mail", headers=headers)
    whole = machine.get(f"{ROOT}/queues/orders/messages?whole=1", headers=headers)

    assert [one["name"] for one in listed["queues"]] == ["orders"]
    assert problem(mail, 404)["code"] == "not-found"
    assert problem(whole, 403)["code"] == "not-authorized"


def test_no_credential_administers_whoever_it_stands_for(machine: Client) -> None:
    ada = User.objects.create_superuser("ada")
    make_queue("orders")
    _, secret = credentials.create("root", ada)
    headers = bearer(secret)

    def post(where: str, body: dict[str, Any]) -> Any:
        return machine.post(
            f"{ROOT}/{where}", body, content_type="application/json", headers=headers
        )

    for where, body in (
        ("credentials", {"name": "more", "owner": "ada"}),
        ("queues/orders/pause", {}),
        ("queues/orders/counters/reset", {}),
        ("settings-document", {"document": "{}"}),
    ):
        assert problem(post(where, body), 403)["code"] == "not-permitted", where
    assert Credential.objects.count() == 1
    assert machine.get(f"{ROOT}/credentials", headers=headers).status_code == 403


def test_a_machine_without_a_user_s_permissions_has_its_authorities(
    machine: Client,
) -> None:
    user = make_user("service", granted=("inquire", "browse"), pattern="orders")
    make_queue("orders")
    put("orders", b"hello")
    _, secret = credentials.create("service", user)

    answer = machine.get(
        f"{ROOT}/queues/orders/messages?whole=1", headers=bearer(secret)
    )

    assert answer.json()["messages"][0]["body"] == "hello"


def test_a_principal_of_a_credential_is_narrowed_wherever_it_is_asked(
    olga: User,
) -> None:
    credential, _ = credentials.create("shop", olga, patterns="orders.#")

    principal = authorities.through(credential)

    assert authorities.may(principal, "put", "orders.eu")
    assert not authorities.may(principal, "put", "mail")
    assert not authorities.may(principal, "set", "orders.eu")
    assert authorities.name_of(principal) == "shop"
    assert authorities.may(User.objects.get(pk=olga.pk), "put", "mail")
