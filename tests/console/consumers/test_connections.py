"""The pages of connections: who is there, who may see it, and how one is closed."""

from __future__ import annotations

import html
import re

import pytest
from django.core.cache import cache
from django.db import connection as database
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from pytest_django import Settings

from broker.models import ClientConnection, ClientEndpoint
from broker.monitoring import connections
from broker.monitoring.connections import ClientQuery
from dashboards.live import problems
from tests.console.conftest import SignIn
from tests.console.edges.wire import (
    LIST,
    close_url,
    make_client,
    make_credential,
    make_endpoint,
    make_listener,
    narrowed,
    page,
    text,
)
from tests.make import make_queue, make_user

pytestmark = pytest.mark.django_db

HOSTILE = "<script>x</script>\u202e"


def test_a_client_is_shown_with_all_that_it_has_open(sign_in: SignIn) -> None:
    make_listener()
    make_queue("orders")
    credential = make_credential("shop")
    one = make_client(user=credential.user, credential=credential)
    make_endpoint(
        one,
        "orders",
        name="rcv-1",
        credit=90,
        unsettled=10,
        messages=1234,
        busy_percent=97,
    )
    make_endpoint(one, "invoices", session=2, name="snd-1")
    transactions = ClientEndpoint.Kind.TRANSACTIONS
    make_endpoint(one, "", name="tx", kind=transactions, uncommitted=3)

    shown = page(sign_in("viewer"))

    words = text(shown)
    for fact in (
        *("shop-7", "User shop-user", "Credential shop", "SCRAM-SHA-256"),
        *("10.0.0.7:50123", "yes, by TLS", "QpidJMS 2.6.0", "listener 77 on gate"),
        "3 endpoints in 2 sessions, 1,234 messages, 10 unsettled",
        "orders gets rcv-1 1 90 10 97 % it could use more consumers 1,234",
        "invoices puts snd-1 2 0 0 – 0",
        "none transactions; 3 messages to send at commit tx",
        *("1 shown", "Users with the role operator may close"),
    ):
        assert fact in words
    assert f'href="{reverse("console:queue", args=["orders"])}"' in shown
    assert reverse("console:queue", args=["invoices"]) not in shown
    assert "Close…" not in words


@pytest.mark.parametrize("role", ["viewer", "administrator"])
def test_without_a_listener_one_is_told_how_to_start_one(
    sign_in: SignIn, settings: Settings, role: str
) -> None:
    settings.BROKER_AMQP_HOST = "::"
    settings.BROKER_AMQP_PORT = 5699
    settings.BROKER_AMQP_CERTIFICATE = ""

    shown = page(sign_in(role))

    assert "No listener runs" in text(shown)
    assert "manage.py broker_listen" in shown
    assert ":5699" in shown
    assert "[::]" not in shown
    assert (reverse("console:credentials") in shown) == (role == "administrator")


def test_a_listener_without_clients_says_where_it_is(
    sign_in: SignIn, settings: Settings
) -> None:
    settings.BROKER_AMQP_HOST = "::1"
    settings.BROKER_AMQP_CERTIFICATE = "gate.pem"
    settings.BROKER_AMQPS_PORT = 5671
    make_listener()

    words = text(page(sign_in("viewer")))

    assert "No client is connected." in words
    assert "amqps://[::1]:5671 or amqp://[::1]:" in words


@pytest.mark.parametrize(
    "part",
    ["HOP-7", "shop-user", "shop", "10.0.0.7", "qpid", "scram", "RCV-1", "rder"],
)
def test_a_part_of_what_names_a_client_finds_it(sign_in: SignIn, part: str) -> None:
    make_queue("orders")
    credential = make_credential("shop")
    one = make_client(user=credential.user, credential=credential)
    make_endpoint(one, "orders", name="rcv-1")
    other = {"host": "::1", "product": "rhea", "mechanism": "PLAIN"}
    make_endpoint(make_client("billing", **other), "invoices", name="snd-1")

    words = text(page(sign_in("viewer"), f"{LIST}?q={part}"))

    assert "shop-7" in words
    assert "billing" not in words


def test_where_nothing_is_found_one_is_told_what_there_is(sign_in: SignIn) -> None:
    make_client()

    words = text(page(sign_in("viewer"), f"{LIST}?q=%00<b>"))

    assert "No connection has “<b>”" in words
    assert "There is 1 without this filter." in words


def test_what_was_looked_for_comes_first(sign_in: SignIn) -> None:
    one = make_client()
    for number in range(connections.ENDPOINTS + 5):
        make_endpoint(one, f"queue-{number}")
    make_endpoint(one, "needle")

    client = sign_in("viewer")

    assert "needle" not in page(client)
    words = text(page(client, f"{LIST}?q=needle"))
    assert words.index("needle puts") < words.index("queue-0")
    assert "6 more endpoints" in words


def test_one_sees_the_clients_of_the_queues_that_one_may_see(client: Client) -> None:
    make_queue("eu.orders", address="orders")
    mixed, foreign = make_client("mixed"), make_client("foreign")
    for node in ("orders", "invoices", ""):
        make_endpoint(mixed, node)
    make_endpoint(foreign, "invoices")
    narrowed(client, "eu.#")

    words = text(page(client))

    assert "mixed" in words
    assert "orders puts" in words
    assert "given by each message puts" in words
    assert "2 endpoints in 1 session" in words
    assert "1 more endpoint on queues that you may not see" in words
    assert "invoices" not in words
    assert "foreign" not in words
    assert text(page(client, f"{LIST}?q=invoices")).count("No connection has") == 1
    where = reverse("console:connection", args=[foreign.pk])
    assert client.get(where).status_code == 404
    assert client.get(close_url(foreign)).status_code == 404


def test_one_sees_one_s_own_clients(client: Client) -> None:
    narrowed(client, "nothing")
    user = make_user("other")
    own = client.session["_auth_user_id"]
    make_endpoint(make_client("mine", user_id=own), "orders")
    make_endpoint(make_client("another's", user=user), "orders")

    words = text(page(client))

    assert "mine" in words
    assert "Its endpoints are on queues that you may not see." in words
    assert "another's" not in words


def test_clients_and_their_endpoints_come_in_pages(sign_in: SignIn) -> None:
    for number in range(connections.CONNECTIONS + 1):
        make_client(f"client-{number:02}.")
    last = ClientConnection.objects.get(container_id="client-25.")
    for number in range(101):
        make_endpoint(last, f"queue-{number:03}.")
    client = sign_in("viewer")

    first = page(client)
    (following,) = re.findall(r'href="(\?[^"]*)" rel="next"', first)
    second = page(client, LIST + html.unescape(following))

    assert "client-24." in first
    assert "client-25." not in first
    assert "client-24." not in second
    assert "queue-019." in second
    assert "queue-020." not in second
    assert "81 more endpoints" in text(second)
    own = reverse("console:connection", args=[last.pk])
    (following,) = re.findall(r'href="(\?[^"]*)" rel="next"', page(client, own))
    rest = page(client, own + html.unescape(following))
    assert "queue-100." in rest
    assert "queue-099." not in rest
    for nonsense in ("x", "-1", "²"):
        assert client.get(f"{LIST}?after={nonsense}").status_code == 302
        assert client.get(f"{own}?after={nonsense}").status_code == 200
    assert client.get(f"{LIST}?after={'9' * 30}").status_code == 200


def test_what_clients_call_themselves_is_shown_for_what_it_is(
    sign_in: SignIn,
) -> None:
    long = HOSTILE * 40
    one = make_client(long, host=long, product=long, mechanism=long)
    endpoint = make_endpoint(one, long, name=long)
    client = sign_in("operator")
    for url in (
        *(LIST, f"{LIST}?q=<script>", reverse("console:connection", args=[one.pk])),
        *(close_url(one), close_url(endpoint)),
    ):
        shown = page(client, url)
        assert "<script>x" not in shown
        assert "\u202e" not in shown
        assert HOSTILE * 20 not in html.unescape(shown)
        assert "characters more" in shown


def test_the_page_asks_as_much_for_many_as_for_one(
    sign_in: SignIn, client: Client
) -> None:
    make_listener()
    make_endpoint(make_client(), make_queue("0").name)
    for looker in (sign_in("operator"), narrowed(Client(), "*")):
        page(looker)
        cache.delete(
            problems.key("settings")
        )  # it is kept for seconds, which may end at any time
        with CaptureQueriesContext(database) as one:
            page(looker)
        for number in range(1, 10):
            name = make_queue(f"{looker.session.session_key}{number}").name
            credential = make_credential(f"a{number}{name}")
            made = make_client(
                f"c{number}", user=credential.user, credential=credential
            )
            make_endpoint(made, name)
            make_endpoint(made, "")
        cache.delete(problems.key("settings"))
        with CaptureQueriesContext(database) as many:
            page(looker)
        assert len(many) == len(one)


def test_a_list_is_not_longer_than_it_is_asked_to_be() -> None:
    for _ in range(3):
        one = make_client()
        for node in "abc":
            make_endpoint(one, node)

    found = connections.connections(None, ClientQuery(limit=2, endpoints=2))

    assert [len(one.endpoints) for one in found] == [2, 2]
    assert [one.used.endpoints for one in found] == [3, 3]
    assert all(one.may_close for one in found)
