"""Closing connections and endpoints: who may, what is asked for, what is kept of it."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.db.models import F
from django.test import Client
from django.urls import reverse

from broker.models import Act, ClientConnection, ClientEndpoint
from broker.monitoring import connections
from tests.console.conftest import SignIn
from tests.console.edges.wire import (
    REASON,
    close_url,
    make_client,
    make_endpoint,
    narrowed,
    page,
    text,
)
from tests.console.recorded import deeds
from tests.make import make_authority, make_queue, make_user, seconds

pytestmark = pytest.mark.django_db

HOSTILE = "<script>x</script>\u202e"


def test_an_operator_closes_a_connection_and_it_is_written_down_who_did(
    sign_in: SignIn,
) -> None:
    one = make_client()
    make_endpoint(one, "orders", unsettled=3)
    client = sign_in("operator")
    assert close_url(one) in page(client)

    asks = text(page(client, close_url(one)))
    answer = client.post(close_url(one), REASON, follow=True)

    assert "Its listener closes the connection within a second" in asks
    assert "Many clients reconnect at once" in asks
    words = text(answer.content.decode())
    assert "Asked to close: the listener does so within a second." in words
    assert "asked to close" in words
    assert "by operator" in words
    assert "closes with the connection" in words
    assert "Close…" not in words
    assert 'hx-trigger="every 1s"' in page(client)
    one.refresh_from_db()
    assert one.close_requested_at is not None
    assert one.close_requested_by is not None
    assert one.close_requested_by.get_username() == "operator"
    (deed,) = deeds()
    assert (deed.act, deed.object_id) == (Act.CLOSE_CONNECTION, str(one.pk))
    assert deed.reason == "it hangs"


def test_an_operator_closes_one_endpoint_and_leaves_the_others(
    sign_in: SignIn,
) -> None:
    make_queue("orders")
    one = make_client()
    chosen = make_endpoint(one, "orders", name="rcv-1", unsettled=3)
    other = make_endpoint(one, "invoices")
    client = sign_in("operator")
    assert close_url(chosen) in page(client)

    asks = text(page(client, close_url(chosen)))
    answer = client.post(close_url(chosen), REASON, follow=True)

    assert "rcv-1: gets from orders" in asks
    assert "other endpoints continue" in asks
    assert text(answer.content.decode()).count("Close… to invoices") == 1
    for row in (one, chosen, other):
        row.refresh_from_db()
    assert one.close_requested_at is other.close_requested_at is None
    assert chosen.close_requested_at is not None
    (deed,) = deeds()
    assert (deed.act, deed.object_name) == (Act.CLOSE_ENDPOINT, str(chosen))


def test_whoever_asked_first_stays_and_it_is_asked_for_once(sign_in: SignIn) -> None:
    one = make_client()
    asked = connections.close_connection(one.pk, make_user("olga"))

    words = text(
        page(sign_in("operator"), reverse("console:connection", args=[one.pk]))
    )
    again = connections.close_connection(one.pk, None)

    assert asked is not None
    assert again == asked
    assert "by olga" in words
    assert "has not answered" not in words


def test_a_listener_that_does_not_answer_is_told_of(sign_in: SignIn) -> None:
    one = make_client()
    connections.close_connection(one.pk, None)
    ClientConnection.objects.update(
        close_requested_at=F("close_requested_at") - seconds(6)
    )
    words = text(page(sign_in("viewer")))
    assert "Its listener has not answered." in words
    assert "a process that has ended" in words


@pytest.mark.parametrize("reason", ["", " "])
def test_nothing_is_closed_without_a_reason(sign_in: SignIn, reason: str) -> None:
    one = make_client()
    client = sign_in("operator")
    client.get(close_url(one))

    answer = client.post(close_url(one), {"reason": reason})

    assert answer.status_code == 422
    assert 'aria-invalid="true"' in answer.content.decode()
    assert not ClientConnection.objects.exclude(close_requested_at=None).exists()
    assert deeds() == []


def test_who_may_only_look_closes_nothing(sign_in: SignIn) -> None:
    one = make_client()
    endpoint = make_endpoint(one)
    client = sign_in("viewer")
    for url in (close_url(one), close_url(endpoint)):
        assert client.get(url).status_code == 403
        assert client.post(url, REASON).status_code == 403
    assert not ClientConnection.objects.exclude(close_requested_at=None).exists()
    assert not ClientEndpoint.objects.exclude(close_requested_at=None).exists()


def test_to_close_one_must_be_allowed_to_set_every_queue_that_is_used(
    client: Client,
) -> None:
    one = make_client()
    orders, invoices = make_endpoint(one, "orders"), make_endpoint(one, "invoices")
    anonymous = make_endpoint(one, "")
    narrowed(client)
    make_authority(client_user(client), "inquire", pattern="invoices")

    shown = page(client)

    assert close_url(orders) in shown
    for hers in (one, invoices, anonymous):
        assert close_url(hers) not in shown
        answer = client.post(close_url(hers), REASON)
        assert answer.status_code == 403
        assert "lacks the authority" in text(answer.content.decode())
    assert client.post(close_url(orders), REASON).status_code == 302
    assert ClientEndpoint.objects.exclude(close_requested_at=None).get() == orders
    assert [one.act for one in deeds()] == [Act.CLOSE_ENDPOINT]


def test_a_client_without_endpoints_is_closed_by_who_may_set_all(
    sign_in: SignIn, client: Client
) -> None:
    permissions = ("broker.view_queue", "broker.close_clientconnection")
    user = make_user(permissions=permissions, granted=())
    mine = make_client(user=user)
    client.force_login(user)
    assert client.post(close_url(mine), REASON).status_code == 403
    assert sign_in("operator").post(close_url(mine), REASON).status_code == 302


def test_what_has_ended_says_so(sign_in: SignIn) -> None:
    one = make_client()
    endpoint = make_endpoint(one)
    client = sign_in("operator")
    gone = close_url(endpoint)
    endpoint.delete()
    answer = client.post(gone, REASON, follow=True)
    assert answer.status_code == 404
    assert "It may have been closed already." in text(answer.content.decode())
    asked = client.get(gone, follow=True)
    assert "That endpoint is closed already." in text(asked.content.decode())

    where = reverse("console:connection", args=[one.pk])
    one.delete()
    for url in (where, gone, where.replace(str(one.pk), "9" * 30)):
        answer = client.get(url)
        assert answer.status_code == 404
        assert "This connection has ended." in text(answer.content.decode())
    again = client.get(where, headers={"HX-Request": "true"})
    assert again.status_code == 200
    assert "hx-get" not in again.content.decode().partition('id="connection"')[2]
    assert connections.close_connection(one.pk, None) is None
    assert connections.close_endpoint(endpoint.pk or 0, None) is None


def client_user(client: Client) -> User:
    return User.objects.get(pk=client.session["_auth_user_id"])
