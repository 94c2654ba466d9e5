"""Security keys: added, named, used and removed; and answers that are none."""

from __future__ import annotations

import pytest
from allauth.mfa.models import Authenticator
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from broker.models import Act
from tests.console.second_factors.factors import (
    SoftKey,
    give_key,
    give_password,
)
from tests.console.second_factors.test_second_factors import (
    ADD_KEY,
    CODE,
    CODES,
    INDEX,
    WRONG,
    half,
    records,
)
from tests.make import make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def vera() -> User:
    return make_user("vera", permissions=("broker.view_queue",))


def test_a_key_is_added_named_used_and_removed(vera: User) -> None:
    client, key = Client(), SoftKey()
    give_password(client, vera)
    options = client.get(ADD_KEY).context["js_data"]["creation_options"]
    said = {"name": "Blue", "credential": key.added(options)}
    assert client.post(ADD_KEY, said)["Location"] == CODES
    row = Authenticator.objects.get(type="webauthn")
    client.post(reverse("mfa_edit_webauthn", args=[row.pk]), {"name": "<b>Red"})
    assert "&lt;b&gt;Red" in client.get(INDEX).content.decode()

    other = half(vera)
    asked = other.get(CODE).context["js_data"]["request_options"]
    answer = key.answer(asked)
    assert other.post(CODE, {"credential": answer})["Location"] == "/"

    third = half(vera)
    third.get(CODE)
    again = third.post(CODE, {"credential": answer})
    assert WRONG in again.content.decode()
    client.post(reverse("mfa_remove_webauthn", args=[row.pk]))
    assert not Authenticator.objects.exists()
    assert give_password(Client(), vera) == "/"
    acts = [act for act, _, outcome in records() if outcome == "done"]
    assert [one for one in acts if "sign" not in one] == [
        "account.create",
        Act.ADD_FACTOR,
        Act.NEW_CODES,
        Act.NAME_KEY,
        Act.REMOVE_FACTOR,
    ]


@pytest.mark.parametrize(
    "credential",
    ["", "null", "[]", "{}", '"x"', "17", '{"id": 5}', '{"response": {}}', "{", "\0"],
)
def test_what_is_no_answer_of_a_key_is_wrong(vera: User, credential: str) -> None:
    give_key(vera)
    client = half(vera)
    client.get(CODE)

    answer = client.post(CODE, {"credential": credential})

    assert answer.status_code == 200
    assert client.get("/").status_code == 302


def test_a_key_answers_the_address_of_the_console_alone(vera: User) -> None:
    key = give_key(vera)
    key.origin = "https://testserver.evil.example"
    client = half(vera)
    asked = client.get(CODE).context["js_data"]["request_options"]

    answer = client.post(CODE, {"credential": key.answer(asked)})

    assert WRONG in answer.content.decode()


def test_nobody_reaches_a_key_of_somebody_else(vera: User) -> None:
    give_key(make_user("omar"))
    row = Authenticator.objects.get()
    client = Client()
    give_password(client, vera)

    for name in ("mfa_edit_webauthn", "mfa_remove_webauthn"):
        assert client.post(reverse(name, args=[row.pk])).status_code == 404
