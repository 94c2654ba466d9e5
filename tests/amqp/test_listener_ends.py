"""What becomes of a message in the hands of a client, by the way in which it goes."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from django.db import connection, transaction

from broker.amqp.protocol.events import Attached, MessageReceived
from broker.amqp.protocol.performatives import Accepted, Source, Target
from broker.amqp.protocol.sections import split
from broker.models import Authority, ClientConnection, Message, Queue
from broker.monitoring import connections
from broker.queueing.put import put
from tests.amqp.certifying import certify
from tests.amqp.listening import HOST, PASSWORD, Listening, Wire, listener
from tests.amqp.putting import Speaker, message
from tests.console.until import until
from tests.make import make_queue, make_setting, make_user


def count_of_next(client: Wire) -> int:
    """Get a message, without settling it; how often it was backed out before."""
    session = client.connection.begin()
    gets = session.receiver("gets", Source("orders"), Target())
    client.expect(Attached)
    gets.grant(1)
    payload = client.expect(MessageReceived).delivery.payload
    header = split(payload).header
    return header.delivery_count if header is not None else 0


def closes(here: Listening, client: Wire) -> None:
    client.close()


def ends_its_session(here: Listening, client: Wire) -> None:
    client.connection.sessions[0].end()
    client.send()


def is_closed_by_an_operator(here: Listening, client: Wire) -> None:
    row = ClientConnection.objects.get(container_id="first")
    connections.close_connection(row.pk, here.user)
    client.closed()


def may_not_get_any_more(here: Listening, client: Wire) -> None:
    Authority.objects.exclude(user=None).update(may_get=False)  # groups keep theirs


def vanishes(here: Listening, client: Wire) -> None:
    client.drop()


def talks_nonsense(here: Listening, client: Wire) -> None:
    client.socket.sendall(b"\0" * 64)
    client.closed()


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("go", "counted"),
    [
        (closes, 0),
        (ends_its_session, 0),
        (is_closed_by_an_operator, 0),
        (may_not_get_any_more, 0),
        (vanishes, 1),
        (talks_nonsense, 1),
    ],
)
def test_only_those_who_are_lost_have_failed(
    here: Listening, go: Callable[[Listening, Wire], None], counted: int
) -> None:
    make_queue("orders")
    make_setting("orders", redelivery_delay_ms=0)
    user = make_user("bert")
    user.set_password(PASSWORD)
    user.save()
    put("orders", b"once")
    client = here.client(user="bert", container_id="first")
    assert count_of_next(client) == 0

    go(here, client)

    assert count_of_next(here.client(container_id="second")) == counted


@pytest.mark.thorough
def test_a_listener_that_stops_gives_back_what_it_held(transactional_db: None) -> None:
    make_queue("orders")
    put("orders", b"once")
    with listener() as first:
        assert count_of_next(first.client()) == 0
        first.begin_to_stop().result(20)
    with listener(user=first.user) as second:
        assert count_of_next(second.client()) == 0


@pytest.mark.thorough
def test_a_listener_that_stops_stores_nothing_that_it_does_not_confirm(
    transactional_db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client would send that again, and it would be there twice."""
    make_queue("orders")
    with listener() as here:
        wire = here.client()
        client = Speaker(wire)
        sender = client.sender("orders")
        assert client.ask(sender, message()) == Accepted()
        client.credit(sender)
        broker, batches = here.listener, here.listener.settlements
        drain = batches.drain

        async def comes_late() -> None:
            monkeypatch.setattr(batches, "drain", drain)
            client.put(sender, message(b"late"))
            (served,) = broker.clients
            while not (broker.puts.waiting_items or served.hearing.reasons):
                await asyncio.sleep(0)

        monkeypatch.setattr(batches, "drain", comes_late)
        here.begin_to_stop().result(20)
        wire.drop()

    assert Message.objects.count() == 1


def test_a_client_that_goes_while_it_attaches_is_no_trouble(
    here: Listening, caplog: pytest.LogCaptureFixture
) -> None:
    """Its row is gone before that of its endpoint can be written."""
    make_queue("orders")
    client = here.client(container_id="first")
    session = client.connection.begin()

    with transaction.atomic():
        Queue.objects.select_for_update().get(name="orders")
        assert not somebody_waits()
        session.receiver("gets", Source("orders"), Target())
        client.send()
        until(somebody_waits)
        client.drop()
        until(lambda: not ClientConnection.objects.exists())
    here.until(lambda: not here.listener.register.holders)

    assert caplog.messages == []


def somebody_waits() -> bool:
    """For this transaction, in which pg_stat_activity shows nobody who came since."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted"
            " AND pg_backend_pid() = ANY (pg_blocking_pids(pid)))"
        )
        return bool(cursor.fetchone()[0])


@pytest.mark.thorough
def test_a_listener_stops_while_somebody_shakes_hands(
    transactional_db: None, tmp_path: Path
) -> None:
    """Counted from its first byte on, a client is none before the end of the
    handshake."""
    with listener(certificates=certify(tmp_path).server) as here:
        client = socket.create_connection((HOST, here.tls_port))
        until(lambda: here.listener.clients)

    with client:
        assert client.recv(1) == b""
