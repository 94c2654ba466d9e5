"""The form of an address setting: what is defined, what is none, and what it is for."""

from __future__ import annotations

import pytest
from django.test import Client
from pytest_django import Settings

from broker.admin.addresses import NOWHERE
from broker.models import AddressSetting
from tests.console.configuration.settings_forms import fields_of, page_of, send
from tests.console.messages.test_messages import words

ADD = "/admin/broker/addresssetting/add/"


@pytest.mark.thorough
@pytest.mark.spec("MATCH-5", "AUTODL-2")
@pytest.mark.parametrize("field", sorted(NOWHERE))
def test_a_text_is_defined_as_something_as_none_or_not_at_all(
    ada: Client, field: str
) -> None:
    tick = NOWHERE[field]
    send(ada, ADD, match="orders.#")
    change = page_of(AddressSetting.objects.get(), "change")

    kept = []
    for typed in ({field: "x"}, {field: "", tick: "on"}):
        send(ada, change, **typed)
        kept.append(getattr(AddressSetting.objects.get(), field))
    send(ada, change)  # as it is shown
    kept.append(getattr(AddressSetting.objects.get(), field))
    shown = fields_of(ada, change)
    del shown[tick]
    ada.post(change, shown)
    kept.append(getattr(AddressSetting.objects.get(), field))
    both = send(ada, change, **{field: "x", tick: "on"})

    assert kept == ["x", "", "", None]
    assert "or say that there is none." in both


@pytest.mark.spec("MATCH-4")
def test_yes_no_and_not_defined_are_three_things(ada: Client) -> None:
    send(ada, ADD, match="orders.#")
    change = page_of(AddressSetting.objects.get(), "change")

    kept = []
    for chosen in ("true", "false", "unknown"):
        send(ada, change, no_expiry=chosen)
        kept.append(AddressSetting.objects.get().no_expiry)

    assert kept == [True, False, None]
    assert "not defined here" in ada.get(change).content.decode()


@pytest.mark.spec("REDEL-8", "AUTODL-8")
def test_the_form_says_what_settings_are_for(ada: Client) -> None:
    said = words(ada.get(ADD).content.decode())

    assert "gives the client time to recover" in said
    assert "A larger factor gives a wider spread" in said
    assert "dead letters of different addresses are separate" in said


@pytest.mark.spec("MATCH-1")
def test_the_form_says_which_characters_patterns_have(
    ada: Client, settings: Settings
) -> None:
    plain = words(ada.get(ADD).content.decode())
    settings.BROKER_WILDCARD_DELIMITER = "/"
    settings.BROKER_LITERAL_MATCH_MARKERS = "()"
    other = words(ada.get(ADD).content.decode())
    refused = send(ada, ADD, match="a/#/b")
    send(ada, ADD, match="(a/#/b)")

    assert (
        "Words separated by . – * matches one word, # at the end matches any" in plain
    )
    assert "separated by / – * matches one" in other
    assert "(…) means its own text." in other
    assert "# can only be the last word" in refused
    assert AddressSetting.objects.get().match == "(a/#/b)"
