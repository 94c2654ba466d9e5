"""The numbers of an operation, apart from its page: what is in them, and for whom."""

from __future__ import annotations

import pytest
from django.core.cache import cache
from django.test import Client
from django.urls import reverse

from broker import operations
from broker.models import Operation, Queue
from console.operations import live_progress
from tests.console.conftest import SignIn
from tests.console.letters import make_places
from tests.console.operations.ordering import many, plan, url
from tests.make import make_user

pytestmark = pytest.mark.django_db
DEPTHS = reverse("console:depths")


@pytest.fixture
def orders() -> Queue:
    return make_places()


@pytest.fixture
def started(sign_in: SignIn, orders: Queue) -> tuple[Client, Operation]:
    """150 are to go, and 100 of them are gone."""
    many(150)
    client = sign_in("operator")
    order = plan(client)
    client.post(url("start", order), {"reason": "mended"})
    return client, order


def numbers(client: Client, order: Operation) -> str:
    cache.clear()  # a second is over
    return client.get(DEPTHS, {"operation": order.pk}).content.decode()


def test_each_number_has_a_place_on_the_page(
    started: tuple[Client, Operation],
) -> None:
    client, order = started
    page = client.get(url("operation", order)).content.decode()

    html = numbers(client, order)

    assert 'data-slot="operation-handled" value="100"' in html
    slots = {part.split('"')[0] for part in html.split('data-slot="operation-')[1:]}
    places = {part.split('"')[0] for part in page.split('data-slot="operation-')[1:]}
    assert slots == places
    turn = f'value="{html.split("operation-turn")[1].split(chr(34))[2]}"'
    assert turn in page, "the page has not turned yet"


def test_it_turns_when_the_page_is_another(started: tuple[Client, Operation]) -> None:
    client, order = started

    def turn() -> str:
        return numbers(client, order).split("operation-turn")[1].split('"')[2]

    seen = [turn()]
    operations.pause(order.pk)
    seen.append(turn())
    operations.carry_on(order.pk)
    assert turn() == seen[0]
    operations.step(order.pk)
    seen.append(turn())

    assert len(set(seen)) == 3


def test_who_may_not_see_an_operation_gets_none_of_its_numbers(
    started: tuple[Client, Operation], client: Client
) -> None:
    order = started[1]
    user = make_user(
        "noor",
        permissions=("broker.view_queue",),
        granted=("inquire",),
        pattern="billing",
    )
    client.force_login(user)

    assert "operation-" not in numbers(client, order)


def test_of_an_operation_that_is_gone_there_is_nothing() -> None:
    assert live_progress.look(812) == ""
