"""The way to the first message: each step with its link, ticked by facts."""

from __future__ import annotations

import pytest
from django.test import Client

from broker.queueing.put import put
from broker.transactions.scope import unit_of_work
from tests.console.conftest import SignIn
from tests.console.edges.wire import make_credential
from tests.make import make_queue

pytestmark = pytest.mark.django_db


def steps(client: Client) -> dict[str, bool]:
    """The steps of the first page, and whether each is done."""
    context = client.get("/").context
    return {one.key: one.is_done for one in context["steps"]}


def test_an_administrator_is_led_from_nothing_to_a_first_message(
    sign_in: SignIn,
) -> None:
    ada = sign_in("administrator")
    assert steps(ada) == {"queue": False, "credential": False}
    make_queue("orders")
    make_queue("DLQ")
    assert steps(ada) == {
        "queue": True, "credential": False, "send": False, "receive": False,
    }  # fmt: skip
    make_credential("shop")
    assert steps(ada)["credential"]
    put("orders", b"hello")
    assert steps(ada)["send"]
    html = ada.get("/").content.decode()
    assert 'href="/queues/orders/connect/"' in html
    assert 'href="/queues/orders/send/"' in html

    with unit_of_work() as work:
        list(work.get("orders"))

    assert steps(ada) == {}
    assert "Your first message" not in ada.get("/").content.decode()


def test_others_see_only_what_they_may_do(sign_in: SignIn) -> None:
    omar = sign_in("operator")
    assert steps(omar) == {}, "there is no queue yet"
    make_queue("orders")

    assert steps(omar).keys() == {"send", "receive"}
    assert steps(sign_in("viewer")) == {}
