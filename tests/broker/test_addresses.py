"""Which settings an address has."""

from __future__ import annotations

import pytest
from django.core.exceptions import ValidationError

from broker.addresses import DEFAULTS, merge, settings_for
from broker.models import AddressSetting
from tests.make import make_setting


@pytest.mark.spec("MATCH-4", "DLA-6")
def test_each_field_is_decided_by_the_most_specific_setting_that_defines_it() -> None:
    general = AddressSetting(
        match="#", max_delivery_attempts=3, dead_letter_address="DLA"
    )
    specific = AddressSetting(match="stocks.#", max_delivery_attempts=-1)

    merged = merge("stocks.eu", [general, specific])

    assert merged.max_delivery_attempts == -1
    assert merged.dead_letter_address == "DLA"
    assert merged.redelivery_delay_ms == DEFAULTS["redelivery_delay_ms"]


@pytest.mark.spec("MATCH-5")
def test_an_empty_value_is_a_definition() -> None:
    general = AddressSetting(match="#", dead_letter_address="DLA")
    none = AddressSetting(match="orders", dead_letter_address="")

    assert merge("orders", [general, none]).dead_letter_address == ""
    assert merge("others", [general, none]).dead_letter_address == "DLA"


@pytest.mark.django_db
@pytest.mark.spec("MATCH-6", "REDEL-7")
def test_a_change_counts_from_the_next_look_on() -> None:
    setting = make_setting("#", max_delivery_attempts=3)
    assert settings_for("orders").max_delivery_attempts == 3

    AddressSetting.objects.filter(pk=setting.pk).update(max_delivery_attempts=5)
    assert settings_for("orders").max_delivery_attempts == 5

    setting.delete()
    assert settings_for("orders").max_delivery_attempts == 10


@pytest.mark.spec("MATCH-7")
def test_looking_changes_no_setting() -> None:
    settings = [
        AddressSetting(match="foo.#", max_delivery_attempts=2),
        AddressSetting(match="foo.x", redelivery_delay_ms=7),
    ]

    answers = [merge(name, settings) for name in ("foo.x", "foo.0", "foo.1", "foo.x")]

    assert [one.redelivery_delay_ms for one in answers] == [7, 0, 0, 7]
    assert [one.max_delivery_attempts for one in settings] == [2, None]


@pytest.mark.spec("DLA-8")
def test_an_address_cannot_be_its_own_dead_letter_address() -> None:
    with pytest.raises(ValidationError, match="own dead letter"):
        AddressSetting(match="DLA", dead_letter_address="DLA").clean()
