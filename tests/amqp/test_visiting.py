"""Clients that connect as nobody, and show a token then."""

from __future__ import annotations

import time
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from hmac import digest
from urllib.parse import quote_plus

import pytest

from broker.amqp.clients import cbs
from broker.amqp.clients.login import Access
from broker.amqp.protocol import performatives as p
from broker.amqp.protocol.conditions import AmqpError
from broker.amqp.protocol.events import MessageReceived
from broker.amqp.protocol.sections import Properties, encode_section, map_of, split
from broker.amqp.protocol.types.encoding import encode
from broker.models import ClientConnection, Credential
from broker.security import credentials
from tests.amqp.listening import Listening, listener
from tests.amqp.putting import Speaker
from tests.console.until import until
from tests.make import make_queue, make_user

NOBODY = {"mechanisms": ("ANONYMOUS",), "user": "", "password": ""}


@pytest.fixture
def here(transactional_db: None) -> Iterator[Listening]:
    with listener(access=Access(cbs=True)) as listening:
        yield listening


def token(name: str, secret: str, *, until_s: float | None = None) -> str:
    """As Microsoft's clients make it."""
    audience = quote_plus("sb://localhost/orders")
    until_s = time.time() + 600 if until_s is None else until_s
    signed = f"{audience}\n{int(until_s)}".encode()
    signature = quote_plus(b64encode(digest(secret.encode(), signed, sha256)))
    return (
        f"SharedAccessSignature sr={audience}&sig={signature}&se={int(until_s)}"
        f"&skn={quote_plus(name)}"
    )


def shown(client: Speaker, written: object, operation: str = "put-token") -> int:
    """Put a token; the status of the answer."""
    answers = client.receiver(cbs.NODE, credit=1)
    sender = client.sender(cbs.NODE)
    said = {"operation": operation, "type": "jwt", "name": "sb://localhost/orders"}
    payload = (
        encode(Properties(message_id="m"))
        + encode_section(0x74, said)
        + encode_section(0x77, written)
    )
    assert client.ask(sender, payload) == p.Accepted()
    got = client.wire.expect(MessageReceived, receiver=answers).delivery
    status = map_of(split(got.payload).application_properties)["status-code"]
    client.detach(answers)
    client.detach(sender)
    return int(status)


def visitor(here: Listening) -> Speaker:
    return Speaker(here.client(**NOBODY))


def shop(here: Listening, **fields: object) -> str:
    """The secret of a credential of that name."""
    return credentials.create("shop", here.user, **fields)[1]  # type: ignore[arg-type]


def test_a_token_lets_in_as_its_credential(here: Listening) -> None:
    make_queue("orders")
    secret = shop(here)
    client = visitor(here)
    assert not ClientConnection.objects.exists()

    assert shown(client, token("shop", secret)) == 202

    assert client.ask(client.sender("orders")) == []
    connection = ClientConnection.objects.get()
    assert connection.credential == Credential.objects.get()
    assert connection.mechanism == "CBS"


def test_nothing_else_is_there_before_the_token(here: Listening) -> None:
    make_queue("orders")
    client = visitor(here)

    for attach in (client.sender, client.receiver):
        with pytest.raises(AmqpError) as refusal:
            attach("orders")
        assert refusal.value.condition == "amqp:unauthorized-access"
    with pytest.raises(AmqpError):
        client.sender(target=p.Coordinator())


def test_a_token_that_is_not_good_lets_nobody_in(here: Listening) -> None:
    secret = shop(here)
    client = visitor(here)

    assert shown(client, token("shop", "bo_" + "0" * 64)) == 401
    assert shown(client, token("nobody", secret)) == 401
    assert shown(client, token("shop", secret, until_s=time.time() - 1)) == 401
    assert shown(client, token("shop", secret).replace("orders", "bills")) == 401
    assert shown(client, "SharedAccessSignature sr=x") == 400
    assert shown(client, 5) == 400
    assert shown(client, token("shop", secret), operation="delete-token") == 400
    assert not ClientConnection.objects.exists()
    assert shown(client, token("shop", secret)) == 202


def test_a_credential_bounds_what_a_token_is_good_for(here: Listening) -> None:
    make_queue("orders")
    make_queue("bills")
    client = visitor(here)
    assert shown(client, token("shop", shop(here, patterns="orders"))) == 202

    assert client.sender("orders").attached
    with pytest.raises(AmqpError):
        client.sender("bills")


def test_another_credential_cannot_take_a_connection_over(here: Listening) -> None:
    client = visitor(here)
    assert shown_twice(client, token("shop", shop(here)), other(here)) == [202, 401]


def other(here: Listening) -> str:
    another = make_user("omar")
    return token("omar-1", credentials.create("omar-1", another)[1])


def shown_twice(client: Speaker, *tokens: str) -> list[int]:
    """By the same two endpoints, as clients refresh theirs."""
    answers, sender = client.receiver(cbs.NODE, credit=9), client.sender(cbs.NODE)
    statuses = []
    for one in tokens:
        said = encode_section(0x74, {"operation": "put-token"})
        client.ask(sender, said + encode_section(0x77, one))
        got = client.wire.expect(MessageReceived, receiver=answers).delivery
        answer = map_of(split(got.payload).application_properties)
        statuses.append(int(answer["status-code"]))
    return statuses


def test_a_token_that_expires_ends_the_connection(here: Listening) -> None:
    secret = shop(here)
    client = visitor(here)
    soon = token("shop", secret, until_s=time.time() + 30)
    assert shown_twice(client, soon) == [202]

    here.later(30)
    closed = client.wire.closed()

    assert closed.error is not None
    assert closed.error.condition == "amqp:connection:forced"


def test_a_newer_token_keeps_the_connection(here: Listening) -> None:
    make_queue("orders")
    secret = shop(here)
    client = visitor(here)
    first = token("shop", secret, until_s=time.time() + 30)
    assert shown_twice(client, first, token("shop", secret)) == [202, 202]

    here.later(30)

    assert client.sender("orders").attached


def test_a_credential_that_is_revoked_ends_its_connections(here: Listening) -> None:
    client = visitor(here)
    assert shown(client, token("shop", shop(here))) == 202

    credentials.revoke(Credential.objects.get(), None)

    assert client.wire.closed().error is not None


def test_a_visitor_has_the_time_of_a_login(transactional_db: None) -> None:
    with listener(access=Access(cbs=True), login_timeout_s=30) as here:
        client = here.client(**NOBODY)
        here.later(30)
        client.hung_up()
        client.drop()
        here.until(lambda: not here.listener.clients)


def test_a_visitor_has_the_bytes_of_a_login(here: Listening) -> None:
    client = visitor(here)
    sender = client.sender(cbs.NODE)
    sender.send(encode_section(0x77, "x" * 10_000), tag=b"t")
    client.wire.send()

    assert client.wire.closed().error is not None
    until(lambda: here.call(lambda: not here.listener.counts.waiting))


def test_nobody_visits_where_it_is_not_allowed(transactional_db: None) -> None:
    with listener(access=Access()) as here, pytest.raises(AmqpError):
        here.client(**NOBODY)
