"""Dead letter addresses that lose messages or send them in circles are told."""

from __future__ import annotations

from typing import Any

import pytest

from broker.config.lint import advice
from broker.models import Address, RoutingType
from broker.queueing import delayed
from broker.queueing.put import put
from tests.broker.dying import back_out
from tests.make import NOON, make_queue, make_setting, minutes

pytestmark = pytest.mark.django_db


def told(name: str = "orders") -> dict[str, str]:
    return {one.code: one.sentence for one in advice() if one.queue == name}


@pytest.mark.spec("DLA-3")
@pytest.mark.parametrize("is_there", [False, True])
def test_an_address_without_a_queue_loses_dead_letters(*, is_there: bool) -> None:
    if is_there:
        Address.objects.create(name="DLA")
    setting = make_setting(dead_letter_address="DLA")
    said = told()["dead-letter-address-without-queue"]
    assert ("does not exist" in said) is not is_there
    make_queue("DLQ", address="DLA")
    assert told() == {}
    setting.dead_letter_address = "dla"
    setting.save()
    (found,) = [one for one in advice() if one.queue == "orders"]
    assert found.remedy.endswith("Is DLA meant?")
    setting.auto_create_dead_letter_resources = True
    setting.save()
    assert told() == {}


@pytest.mark.spec("DLA-3")
def test_queues_that_take_only_some_dead_letters_are_told() -> None:
    make_setting(dead_letter_address="DLA")
    make_queue("some", address="DLA", selector="size > 3")
    assert list(told()) == ["dead-letters-match-nothing"]
    make_queue("all", address="DLA", routing_type=RoutingType.MULTICAST)
    assert told() == {}


@pytest.mark.spec("DLA-3")
@pytest.mark.parametrize(
    ("fields", "more", "is_warned"),
    [
        ({"max_delivery_attempts": 3}, {}, True),
        ({"max_delivery_attempts": 3, "poison_policy": "ibm"}, {}, False),
        ({"max_delivery_attempts": -1}, {}, False),
        ({"max_delivery_attempts": 3}, {"dead_letter_address": "DLA"}, False),
        ({"redelivery_delay_ms": 3}, {}, False),
    ],
)
def test_attempts_that_end_nowhere_are_told(
    fields: dict[str, Any], more: dict[str, Any], *, is_warned: bool
) -> None:
    make_queue("DLQ", address="DLA")
    make_setting(**fields)
    make_setting("#", **more)
    assert list(told()) == ["attempts-without-address"] * is_warned


@pytest.mark.parametrize("fields", [{"expiry_delay_ms": 5}, {"max_expiry_delay_ms": 5}])
def test_an_expiry_over_the_dead_letters_is_told(fields: dict[str, int]) -> None:
    make_queue("DLQ", address="DLA")
    make_setting(dead_letter_address="DLA")
    rule = make_setting("#", **fields)
    assert list(told()) == ["dead-letters-expire"]
    rule.delete()
    make_setting("DLA", no_expiry=True, **fields)
    assert told() == {}


@pytest.mark.spec("DLA-8")
def test_what_stays_with_the_dead_letters_is_told_while_it_is_there() -> None:
    make_queue("DLQ", address="DLA")
    make_setting("#", dead_letter_address="DLA", max_delivery_attempts=1)
    assert told("DLQ") == {}
    put("DLA", now=NOON)
    back_out("DLQ")
    assert list(told("DLQ")) == ["dead-letters-stay"]
    delayed.wake_due(limit=9, now=NOON + minutes(1))
    assert told("DLQ") == {}
