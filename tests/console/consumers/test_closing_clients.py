"""What the pages ask for is done by a listener, and a real client is told."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from broker.amqp.protocol.events import Attached, Detached
from broker.amqp.protocol.performatives import Source, Target
from broker.models import ClientConnection
from console.accounts import roles
from tests.amqp.listening import listener
from tests.console.edges.wire import (
    LIST,
    REASON,
    close_url,
    make_credential,
    page,
    text,
)
from tests.make import make_queue, make_user

pytestmark = pytest.mark.usefixtures("transactional_db")

FORCED = "amqp:connection:forced"


@pytest.fixture
def omar(client: Client, transactional_db: None) -> Client:
    """Somebody who administers has signed in."""
    permissions = tuple(roles.ROLES["administrator"])
    client.force_login(make_user(permissions=permissions))
    return client


@pytest.mark.thorough
def test_a_listener_closes_what_an_operator_asks_it_to(omar: Client) -> None:
    make_queue("orders")
    with listener() as here:
        shop = here.client(container_id="shop-7")
        shop.connection.begin().receiver("rcv-1", Source("orders"), Target("shop"))
        shop.expect(Attached)
        one = ClientConnection.objects.get()
        here.until(here.listener.register.noted.values)
        (endpoint,) = one.endpoints.all()
        assert "orders gets rcv-1" in text(page(omar))

        omar.post(close_url(endpoint), REASON)
        detached = shop.expect(Detached)
        omar.post(close_url(one), REASON)
        closed = shop.closed()

        assert detached.closed
        assert closed.error is not None
        assert closed.error.condition == FORCED
        assert REASON["reason"] not in str(closed.error)
        here.until(lambda: not here.listener.clients)
    assert "shop-7" not in text(page(omar))


def test_a_credential_made_on_the_page_opens_and_revoked_there_closes(
    omar: Client,
) -> None:
    user = make_credential("other").user
    with listener() as here:
        sent = {
            "name": "shop",
            "owner": user.username,
            "patterns": "#",
            "may_get": "on",
        }
        shown = omar.post("/credentials/new/", sent).content.decode()
        found = re.search(r'<code id="secret">([^<]+)</code>', shown)
        assert found is not None
        shop = here.client(user="shop", password=found[1], container_id="shop-7")
        assert "Credential shop" in text(page(omar, f"{LIST}?q=shop-7"))

        made = ClientConnection.objects.get().credential
        assert made is not None
        omar.post(f"/credentials/{made.name}/revoke/", {"reason": "leaked"})

        closed = shop.closed()
        assert closed.error is not None
        assert closed.error.condition == "amqp:unauthorized-access"
