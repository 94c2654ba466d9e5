"""The settings: an address that is not defined differs from one defined to be none."""

from __future__ import annotations

import pytest
from django.test import Client

from broker.models import AddressSetting
from tests.console.conftest import SignIn

ADD = "/admin/broker/addresssetting/add/"


@pytest.fixture
def ada(sign_in: SignIn) -> Client:
    return sign_in("administrator")


@pytest.mark.parametrize(
    ("typed", "stored", "shown"),
    [
        ({}, None, "not defined here"),
        ({"dead_letter_address": "DLQ"}, "DLQ", "DLQ"),
        ({"no_dead_letter_address": "on"}, "", "none"),
    ],
)
def test_nothing_and_nowhere_are_told_apart(
    ada: Client, typed: dict[str, str], stored: str | None, shown: str
) -> None:
    ada.post(ADD, {"match": "orders.#"} | typed)

    setting = AddressSetting.objects.get()
    change = ada.get(f"/admin/broker/addresssetting/{setting.pk}/change/")
    assert setting.dead_letter_address == stored
    assert shown in ada.get("/admin/broker/addresssetting/").content.decode()
    assert change.context["adminform"].form["no_dead_letter_address"].value() == (
        stored == ""
    )


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        (
            {"dead_letter_address": "DLQ", "no_dead_letter_address": "on"},
            "Name an address, or say that there is none.",
        ),
        ({"dead_letter_address": "orders.#"}, "cannot be its own dead letter"),
        ({"match": "a.#.b"}, "# can only be the last word"),
    ],
)
def test_what_cannot_be_is_refused_in_words(
    ada: Client, typed: dict[str, str], sentence: str
) -> None:
    answer = ada.post(ADD, {"match": "orders.#"} | typed)

    assert sentence in answer.content.decode()
    assert not AddressSetting.objects.exists()
