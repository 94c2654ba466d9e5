"""The consumers on the page of a queue: handlers, clients and links as one list."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from broker.bridges.providers.registry import HERE
from broker.client.dispatch.connection_consumer import ConnectionConsumer
from broker.models import ClientEndpoint, LinkState
from console.accounts import roles
from console.queues import queue_consumers
from tests.broker.handling import Seen, handler
from tests.console.bridging import make_link, stand
from tests.console.conftest import SignIn
from tests.console.edges.wire import (
    make_client,
    make_endpoint,
    make_listener,
    page,
    text,
)
from tests.console.hostile import EVIL
from tests.make import make_queue, make_user

pytestmark = pytest.mark.django_db

ORDERS = "/queues/orders/"


def test_whoever_takes_from_a_queue_is_in_one_list_with_their_number(
    sign_in: SignIn,
) -> None:
    make_listener()
    make_queue("orders")
    make_queue("invoices")
    ConnectionConsumer.open(handler(Seen(), concurrency=3))
    ConnectionConsumer.open(handler(Seen(), queue="invoices"))
    shop = make_client()
    make_endpoint(shop, "orders", credit=90, unsettled=10, is_exclusive=True)
    make_endpoint(shop, "orders", kind=ClientEndpoint.Kind.BROWSES)
    make_endpoint(shop, "invoices")
    stand(make_link(), LinkState.STARTED)
    stand(make_link("rest"), LinkState.PAUSED)

    shown = page(sign_in("viewer"), ORDERS)

    words = text(shown)
    assert "Consumers: 3 " in words
    assert "handle_order handler 3 at once application" in words
    assert "shop-7 AMQP, exclusive credit 90, 10 unsettled 10.0.0.7:50123" in words
    assert "shop/out link running" in words
    assert reverse("console:connection", args=[shop.pk]) in shown
    assert reverse("console:link", args=["shop", "out"]) in shown


def test_a_queue_without_consumers_says_which_would_be_there(sign_in: SignIn) -> None:
    make_queue("orders")

    words = text(page(sign_in("viewer"), ORDERS))

    assert "Consumers: 0 None is connected. Handlers, receivers over AMQP" in words


def test_many_are_counted_and_the_first_are_shown(
    sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_queue("orders")
    shop = make_client()
    for _ in range(4):
        make_endpoint(shop, "orders")
    monkeypatch.setattr(queue_consumers, "MOST", 2)

    words = text(page(sign_in("viewer"), ORDERS))

    assert "Consumers: 4 " in words
    assert "The first 2 of 4." in words
    assert words.count("credit 0, 0 unsettled") == 2


def test_a_link_to_a_queue_that_one_may_not_see_is_not_listed(client: Client) -> None:
    make_queue("orders")
    stand(make_link(target="pay", target_at=HERE), LinkState.STARTED)
    viewer = tuple(roles.VIEWER)
    client.force_login(make_user(permissions=viewer, pattern="orders"))

    assert "Consumers: 0 " in text(page(client, ORDERS))


def test_what_a_client_calls_itself_is_text(sign_in: SignIn) -> None:
    make_queue("orders")
    make_endpoint(make_client(EVIL, host=EVIL), "orders")

    shown = page(sign_in("viewer"), ORDERS)

    assert EVIL not in shown
    assert "credit 0, 0 unsettled" in shown
