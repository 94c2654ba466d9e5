"""Which settings an address has, and why."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from hypothesis import given
from hypothesis import strategies as st

from broker.config.address_settings import (
    DEFAULTS,
    decided,
    decisions,
    merge,
    settings_for,
)
from broker.models import AddressSetting
from broker.settlement.redelivery_policy import longest_delay_ms
from tests.make import make_setting

RULES = st.lists(
    st.builds(
        AddressSetting,
        match=st.sampled_from(["a.b", "a.*", "*.b", "a.#", "#", "z"]),
        max_delivery_attempts=st.none() | st.integers(-1, 9),
        dead_letter_address=st.none() | st.sampled_from(["", "DLA"]),
        no_expiry=st.none() | st.booleans(),
        redelivery_delay_ms=st.none() | st.integers(0, 9),
    ),
    unique_by=lambda one: one.match,
)


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


@pytest.mark.spec("REDEL-2", "DLA-1")
def test_where_nothing_is_set_the_defaults_are_the_manual_s() -> None:
    merged = merge("orders", [])

    assert merged.redelivery_delay_ms == 0
    assert merged.redelivery_delay_multiplier == 1.0
    assert merged.redelivery_collision_avoidance_factor == 0.0
    assert longest_delay_ms(merged) == 0
    assert (merged.max_delivery_attempts, merged.dead_letter_address) == (10, "")


@pytest.mark.spec("REDEL-2", "MATCH-4")
def test_the_longest_delay_follows_from_the_merged_delay() -> None:
    general = AddressSetting(match="#", redelivery_delay_ms=100)
    specific = AddressSetting(match="orders", redelivery_delay_ms=700)
    capped = AddressSetting(match="bills", max_redelivery_delay_ms=5)

    assert longest_delay_ms(merge("orders", [general, specific])) == 7000
    assert longest_delay_ms(merge("others", [general, specific])) == 1000
    assert longest_delay_ms(merge("bills", [general, capped])) == 5


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
    assert decisions("orders")[0].value == 5

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


@pytest.mark.spec("MATCH-7")
@given(rules=RULES, shuffled=st.randoms(use_true_random=False))
def test_neither_the_order_nor_an_earlier_question_changes_an_answer(
    rules: list[AddressSetting], shuffled: Any
) -> None:
    before = [fields_of(one) for one in deepcopy(rules)]
    asked = ["a.b", "z", "a.c", "c.b", "a.b"]

    first = [fields_of(merge(address, rules)) for address in asked]
    mixed = rules[:]
    shuffled.shuffle(mixed)
    again = [fields_of(merge(address, mixed)) for address in reversed(asked)]

    assert first == again[::-1]
    assert [fields_of(one) for one in rules] == before


@pytest.mark.spec("MATCH-3", "MATCH-4")
def test_a_decision_says_who_decided_and_what_was_passed_over() -> None:
    rules = [
        AddressSetting(match="#", max_delivery_attempts=3, dead_letter_address="DLA"),
        AddressSetting(match="orders.*", max_delivery_attempts=5),
        AddressSetting(match="orders.eu", max_delivery_attempts=-1),
        AddressSetting(match="bills", max_delivery_attempts=7),
    ]

    found = {one.field: one for one in decided("orders.eu", rules)}

    attempts = found["max_delivery_attempts"]
    assert (attempts.value, attempts.decided_by) == (-1, "orders.eu")
    assert [(one.match, one.value) for one in attempts.passed_over] == [
        ("orders.*", 5),
        ("#", 3),
    ]
    assert attempts.why == "orders.eu is more specific than orders.*, #."
    assert found["dead_letter_address"].why == "# alone defines it."
    assert found["no_expiry"].decided_by is None
    assert "built-in default" in found["no_expiry"].why
    assert list(found) == list(DEFAULTS)


@given(RULES)
def test_what_is_decided_is_what_is_merged(rules: list[AddressSetting]) -> None:
    merged = merge("a.b", rules)

    assert fields_of(merged) == {one.field: one.value for one in decided("a.b", rules)}


@pytest.mark.spec("DLA-8")
def test_an_address_cannot_be_its_own_dead_letter_address() -> None:
    with pytest.raises(ValidationError, match="own dead letter"):
        AddressSetting(match="DLA", dead_letter_address="DLA").clean()


@pytest.mark.spec("REDEL-2", "DLA-1")
@pytest.mark.parametrize(
    ("field", "good", "bad", "advice"),
    [
        ("max_delivery_attempts", [-1, 0, 1], [-2], "-1 for no limit"),
        ("redelivery_delay_ms", [0, 1], [-1], "Give 0 for none"),
        ("max_redelivery_delay_ms", [0, 1], [-1], "Give 0 for none"),
        ("auto_delete_queues_delay_ms", [0, 1], [-1], "Give 0 for none"),
        ("discard_retention_s", [0, 1], [-1], "Give 0 for none"),
        ("message_retention_s", [0, 1], [-1], "Give 0 for none"),
        (
            "redelivery_delay_multiplier",
            [0.1, 1, 7.5],
            [0, -1, float("nan"), float("inf")],
            "must be above 0",
        ),
        (
            "redelivery_collision_avoidance_factor",
            [0, 0.5, 1],
            [-0.1, 1.1, float("nan")],
            "must be from 0 to 1",
        ),
        ("expiry_delay_ms", [-1, 0, 1], [-2], "or -1 for none"),
        ("min_expiry_delay_ms", [-1, 0, 1], [-2], "or -1 for none"),
        ("max_expiry_delay_ms", [-1, 0, 1], [-2], "or -1 for none"),
    ],
)
def test_what_is_out_of_range_is_refused_with_what_to_do(
    field: str, good: list[float], bad: list[float], advice: str
) -> None:
    for value in good:
        AddressSetting(match="#", **{field: value}).clean_fields()
    for value in bad:
        with pytest.raises(ValidationError) as refused:
            AddressSetting(match="#", **{field: value}).clean_fields()
        assert list(refused.value.message_dict) == [field]
        assert advice in str(refused.value)


@pytest.mark.spec("REDEL-8", "AUTODL-8")
@pytest.mark.parametrize(
    ("field", "purpose"),
    [
        ("redelivery_delay_ms", "gives the client time to recover"),
        ("redelivery_delay_ms", "thrashing"),
        ("redelivery_collision_avoidance_factor", "collided on the same resource"),
        ("redelivery_collision_avoidance_factor", "larger factor gives a wider"),
        ("auto_create_dead_letter_resources", "different addresses are separate"),
        ("auto_create_dead_letter_resources", "no settings or queues need to be"),
    ],
)
def test_what_a_setting_is_for_is_said_where_it_is_set(
    field: str, purpose: str
) -> None:
    assert purpose in str(AddressSetting._meta.get_field(field).help_text)  # type: ignore[union-attr]


def fields_of(setting: AddressSetting) -> dict[str, Any]:
    return {name: getattr(setting, name) for name in DEFAULTS}
