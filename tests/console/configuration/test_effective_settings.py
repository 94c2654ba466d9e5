"""The page that says which settings an address has, and why."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from broker.config.address_settings import ATTRIBUTES, DEFAULTS
from broker.models import AddressSetting, Authority
from broker.settlement.redelivery_schedule import staircase
from console.configuration.effective_settings import as_counted, ending, ordinal, words
from console.configuration.redelivery_chart import draw
from tests.console.conftest import SignIn
from tests.console.messages.test_messages import words as text_of
from tests.make import make_queue, make_rule, make_setting, make_user

PAGE = "/settings/effective/"


@pytest.fixture
def vera(sign_in: SignIn) -> Client:
    return sign_in("viewer")


def shown(client: Client, address: str) -> str:
    return text_of(client.get(PAGE, {"address": address}).content.decode())


@pytest.mark.spec("MATCH-3", "MATCH-4", "MATCH-5")
def test_each_field_says_who_decided_it_and_what_was_passed_over(vera: Client) -> None:
    make_setting("#", max_delivery_attempts=3, dead_letter_address="DLA")
    make_setting("orders.#", max_delivery_attempts=5, redelivery_delay_ms=5000)
    make_setting("orders.eu", dead_letter_address="", no_expiry=True)

    said = shown(vera, "orders.eu")

    assert re.search("Settings that match orders.eu . orders.# . # ", said)
    assert (
        "Max delivery attempts 5 deliveries orders.# is more specific than #."
        " #: 3 deliveries"
    ) in said
    assert "Dead letter address none orders.eu is more specific than #. #: DLA" in said
    assert "Redelivery delay 5 s orders.# alone defines it. –" in said
    assert (
        "Max redelivery delay 50 s No setting defines it: ten times the redelivery"
        " delay." in said
    )
    assert "Arriving messages never expire yes orders.eu alone defines it." in said
    assert "Prefix of their names DLQ. Built-in default." in said


def test_every_field_has_a_title_and_words(vera: Client) -> None:
    assert set(ATTRIBUTES) == set(DEFAULTS)
    said = shown(vera, "orders")
    for one in ATTRIBUTES.values():
        assert one.title in said


@pytest.mark.spec("REDEL-3", "DLA-2")
def test_the_stairs_lead_to_the_dead_letter(vera: Client) -> None:
    make_queue("DLA")
    make_setting(
        "#",
        max_delivery_attempts=4,
        dead_letter_address="DLA",
        redelivery_delay_ms=1000,
        redelivery_delay_multiplier=2.0,
        redelivery_collision_avoidance_factor=0.5,
    )

    answer = vera.get(PAGE, {"address": "orders"})
    said = text_of(answer.content.decode())

    assert "After the 4th failed delivery the message goes to DLA." in said
    assert "1st 1 s 500 ms to 1.5 s 1 s 500 ms to 1.5 s" in said
    assert "2nd 2 s 1 s to 3 s 3 s 1.5 s to 4.5 s" in said
    assert "3rd 4 s 2 s to 6 s 7 s 3.5 s to 10.5 s" in said
    assert "4th the end, 7 s of waiting after the first" in said
    assert answer.content.decode().count('class="stair"') == 3
    assert "style=" not in answer.content.decode(), "the policy of contents forbids it"


@pytest.mark.spec("DLA-1")
def test_without_a_limit_it_says_never_and_what_the_waits_come_to(vera: Client) -> None:
    make_setting("#", max_delivery_attempts=-1, redelivery_delay_ms=10)

    said = shown(vera, "orders")

    assert "Never: a message that always fails is redelivered for ever." in said
    assert "12th 10 ms 120 ms all later ones always 10 ms" in said


@pytest.mark.parametrize(
    ("fields", "fed", "sentence"),
    [
        ({}, set(), "is discarded: no dead letter address is set. It can be restored"),
        ({"discard_retention_s": 0}, set(), "is discarded: no dead letter address is"),
        ({"dead_letter_address": "D"}, {"D"}, "goes to D."),
        (
            {"dead_letter_address": "D"},
            set(),
            "is discarded: D has no queue to take it",
        ),
        ({"dead_letter_address": "orders"}, {"orders"}, "stays: dead letters go here"),
        (
            {"dead_letter_address": "D", "auto_create_dead_letter_resources": True},
            set(),
            "goes to D, on its queue DLQ.orders, which is created automatically.",
        ),
    ],
)
@pytest.mark.spec("DLA-2", "DLA-3", "AUTODL-2")
def test_the_end_is_said_in_a_sentence(
    fields: dict[str, Any], fed: set[str], sentence: str
) -> None:
    given: dict[str, Any] = {"max_delivery_attempts": 2, "discard_retention_s": 604_800}
    given |= {"dead_letter_queue_prefix": "DLQ.", "dead_letter_queue_suffix": ""}
    rule = make_rule(**given | fields)

    said = ending(rule, staircase(rule), fed, "orders")

    assert said.startswith(f"After the 2nd failed delivery the message {sentence}")
    assert ("It cannot be restored." in said) == (fields == {"discard_retention_s": 0})


@pytest.mark.spec("UNIFY-3")
def test_who_counts_is_the_policy_s_to_say(vera: Client) -> None:
    make_queue(backout_threshold=3, backout_queue="poison")
    make_queue("plain", address="orders")
    make_setting("orders", max_delivery_attempts=5, dead_letter_address="")

    by_queue = shown(vera, "orders")
    AddressSetting.objects.update(poison_policy="ibm")
    ibm = shown(vera, "orders")

    assert "After the 5th failed delivery the message is discarded" in by_queue
    assert (
        "On queue orders a consumer moves the message to poison when it gets it after"
        " its 3rd backout. The broker does not count here." in by_queue
    )
    assert "On queue plain" not in by_queue
    assert "Never: a message that always fails" in ibm
    assert "On queue plain no consumer moves it away" in ibm
    rule = as_counted(make_rule(poison_policy="none"))
    assert staircase(rule).limit is None


def test_an_address_that_does_not_exist_is_asked_about_all_the_same(
    vera: Client,
) -> None:
    make_queue()

    assert "There is no address bills." in shown(vera, "bills")
    assert "There is no address" not in shown(vera, "orders")
    assert "There is no delay: it is delivered again at once" in shown(vera, "bills")


def test_the_page_offers_the_addresses_that_one_may_see(
    client: Client, db: None
) -> None:
    for name in ("orders", "bills", "a b&c"):
        make_queue(name)
    make_queue("feed", address="hidden")
    omar = make_user("omar", permissions=("broker.view_queue",), granted=())
    everyone = make_user("vera", permissions=("broker.view_queue",))
    for pattern in ("orders", "feed"):
        Authority.objects.create(user=omar, pattern=pattern, may_inquire=True)

    client.force_login(everyone)
    page = client.get(PAGE).content.decode()
    assert 'href="/settings/effective/?address=a%20b%26c"' in page
    client.force_login(omar)
    page = client.get(PAGE).content.decode()
    assert re.findall(r"\?address=([^\"]+)", page) == ["orders"]
    assert client.get(PAGE, {"address": "orders"}).status_code == 200
    assert client.get(PAGE, {"address": "hidden"}).status_code == 200, "by its queue"
    assert client.get(PAGE, {"address": "bills"}).status_code == 404
    client.force_login(make_user("nobody"))
    assert client.get(PAGE).status_code == 403


def test_what_is_typed_is_shown_for_what_it_is(vera: Client) -> None:
    page = vera.get(PAGE, {"address": "<script>\u202e"}).content.decode()

    assert "<script>\u202e" not in page
    assert "&lt;script&gt;<mark>[U+202E]</mark>" in page
    assert vera.get(PAGE, {"address": "x" * 256}).status_code == 200
    assert "at most 255" in text_of(
        vera.get(PAGE, {"address": "x" * 256}).content.decode()
    )


def test_looking_changes_nothing_and_asks_little(
    vera: Client, django_assert_max_num_queries: Any
) -> None:
    for number in range(30):
        make_setting(f"orders.x{number}.#", max_delivery_attempts=number)
        make_queue(f"q{number}", address="orders")
    before = list(AddressSetting.objects.values())
    vera.get(PAGE, {"address": "orders"})

    with django_assert_max_num_queries(20):
        vera.get(PAGE, {"address": "orders"})

    assert list(AddressSetting.objects.values()) == before
    assert vera.post(PAGE).status_code == 405


def test_numbers_are_said_as_people_say_them() -> None:
    assert [ordinal(one) for one in (1, 2, 3, 4, 11, 12, 13, 21, 112)] == [
        *("1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "112th")
    ]


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("max_delivery_attempts", 0, "no limit"),
        ("max_delivery_attempts", 1, "1 delivery"),
        ("dead_letter_address", "", "none"),
        ("redelivery_delay_ms", 0, "none"),
        ("redelivery_delay_ms", 60_001, "1 min 0.001 s"),
        ("redelivery_delay_multiplier", 1.5, "× 1.5"),
        ("redelivery_collision_avoidance_factor", 0.15, "± 15 %"),
        ("expiry_delay_ms", -1, "none"),
        ("max_expiry_delay_ms", 0, "at once"),
        ("discard_retention_s", 0, "not at all"),
        ("discard_retention_s", 90, "1 min 30 s"),
        ("message_retention_s", 0, "not at all"),
        ("no_expiry", False, "no"),
        ("poison_policy", "none", "none: nobody"),
    ],
)
def test_values_are_said_with_their_units(field: str, value: Any, said: str) -> None:
    assert words(field, value) == said


def test_a_drawing_has_a_bar_as_high_as_its_wait_is_long() -> None:
    rule = make_rule(
        max_delivery_attempts=3, redelivery_delay_ms=1000, redelivery_delay_multiplier=2
    )

    drawing = draw(staircase(rule))
    first, second = drawing.stairs
    flat = draw(staircase(make_rule(max_delivery_attempts=1)))

    assert float(second.height) == pytest.approx(2 * float(first.height), abs=0.2)
    assert float(second.y) + float(second.height) == pytest.approx(
        draw(staircase(rule)).floor
    )
    assert (flat.stairs, flat.width > 0) == ([], True)
