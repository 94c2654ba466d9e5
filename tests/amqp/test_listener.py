"""Clients on real sockets: they log in, open, are heard, and go."""

from __future__ import annotations

import logging
import socket
import time

import pytest

from broker.amqp.protocol import conditions
from broker.amqp.protocol.conditions import AmqpError
from broker.amqp.protocol.connection import Connection
from broker.amqp.protocol.events import Attached, Begun, Opened
from broker.amqp.protocol.frames import AMQP_HEADER, SASL, SASL_HEADER, frame
from broker.amqp.protocol.performatives import (
    SaslInit,
    Source,
    Target,
    encode_performative,
)
from broker.amqp.protocol.types.types import Symbol
from broker.models import ClientConnection
from broker.sql.threads import DatabaseAway
from tests.amqp.listening import PASSWORD, Listening, Wire, listener
from tests.make import make_queue

SOLE = Symbol("sole-connection-for-container")
NOT_ESTABLISHED = Symbol("amqp:connection-establishment-failed")


def works(client: Wire) -> None:
    client.connection.begin()
    client.expect(Begun)


def test_a_client_logs_in_opens_and_begins(here: Listening) -> None:
    client = here.client(container_id="first")
    works(client)

    row = ClientConnection.objects.get()
    assert (row.container_id, row.user, row.is_encrypted) == ("first", here.user, False)
    assert row.host.startswith("127.0.0.1:")


def test_the_open_says_what_clients_look_for(here: Listening) -> None:
    remote = here.client().connection.remote

    assert remote is not None
    assert remote.offered_capabilities == (
        *("ANONYMOUS-RELAY", "DELAYED_DELIVERY", "SHARED-SUBS"),
        "sole-connection-for-container",
    )
    assert remote.properties is not None
    assert remote.properties[Symbol("product")] == "Backout"
    assert {type(key) for key in remote.properties} == {Symbol}
    assert set(remote.properties) == {"product", "version", "platform"}
    assert (remote.max_frame_size, remote.channel_max) == (65_536, 255)
    assert remote.idle_time_out == 60_000


def test_a_client_says_all_at_once_and_waits_for_nothing(here: Listening) -> None:
    init = SaslInit("PLAIN", f"\0amelia\0{PASSWORD}".encode())
    login = SASL_HEADER + frame(0, encode_performative(init), kind=SASL)
    wire = here.dial()
    wire.connection.open(container_id="hasty")
    wire.connection.begin()
    wire.socket.sendall(login + wire.connection.outgoing())

    answer = b""
    while AMQP_HEADER not in answer:
        answer += wire.socket.recv(8192)
    wire.take(answer[answer.index(AMQP_HEADER) :])

    wire.expect(Opened)
    wire.expect(Begun)


def test_a_client_begins_attaches_and_asks_for_the_state_in_one_write(
    here: Listening,
) -> None:
    make_queue("orders")
    make_queue("bills")
    client = here.client()
    session = client.connection.begin()
    receiver = session.receiver("hasty", Source("orders"), Target())
    receiver.grant(5, echo=True)

    client.send()

    client.expect(Attached, endpoint=receiver)
    client.works("bills")
    assert (receiver.told_credit, receiver.attached) == (5, True)


@pytest.mark.parametrize(
    "header",
    [b"AMQP\0\0\x09\x01", b"AMQP\0\1\0\0", b"GET / HT", b"\x16\x03\x01\0\xc8\1\0\0"],
)
def test_another_protocol_is_told_which_is_spoken(
    here: Listening, header: bytes
) -> None:
    wire = here.dial()
    wire.socket.sendall(header)

    assert wire.hung_up() == SASL_HEADER


@pytest.mark.thorough
def test_noise_ends_the_connection_that_makes_it(here: Listening) -> None:
    good = here.client(container_id="good")
    noisy = here.client(container_id="noisy")
    noisy.socket.sendall(bytes(range(8, 255)) * 100)

    assert noisy.closed().error is not None
    works(good)
    here.until(lambda: len(here.listener.clients) == 1)


def test_a_client_that_vanishes_in_its_login_leaves_nothing(here: Listening) -> None:
    for said in (b"", SASL_HEADER[:3], SASL_HEADER, SASL_HEADER + b"\0\0\0\x20\2\1"):
        wire = here.dial()
        wire.socket.sendall(said)
        wire.drop()
    here.client().close()  # accepted after all of these

    counts = here.listener.counts
    here.until(lambda: not here.listener.clients)
    here.until(lambda: counts.all == counts.waiting == 0)


def test_a_client_that_vanishes_while_its_password_is_checked(
    here: Listening,
) -> None:
    init = SaslInit("PLAIN", f"\0amelia\0{PASSWORD}".encode())
    wire = here.dial()
    wire.socket.sendall(SASL_HEADER + frame(0, encode_performative(init), kind=SASL))
    wire.drop()

    here.until(lambda: not here.listener.clients)
    works(here.client())


def test_the_same_container_id_is_refused_to_those_who_want_it_alone(
    here: Listening,
) -> None:
    first = here.client(container_id="unique", desired_capabilities=(SOLE,))

    second = here.client(container_id="unique", desired_capabilities=(SOLE,))

    remote, error = second.connection.remote, second.closed().error
    assert remote is not None
    assert remote.properties is not None
    assert remote.properties[NOT_ESTABLISHED] is True
    assert error is not None
    assert error.condition == conditions.INVALID_FIELD
    assert error.info == {"invalid-field": "container-id"}
    works(first)


def test_a_container_id_is_free_again_after_its_close(here: Listening) -> None:
    for _ in range(3):
        client = here.client(container_id="unique", desired_capabilities=(SOLE,))
        works(client)
        client.close()


def test_a_container_id_may_be_had_twice_by_those_who_do_not_mind(
    here: Listening,
) -> None:
    works(here.client(container_id="common"))
    works(here.client(container_id="common"))


@pytest.mark.parametrize("name", ["x" * 1001, "nul\0", "x" * 5000])
def test_a_container_id_that_cannot_be_kept_is_refused(
    here: Listening, name: str
) -> None:
    error = here.client(container_id=name).closed().error

    assert error is not None
    assert error.condition == conditions.INVALID_FIELD


def test_a_mistake_of_ours_ends_one_client_and_is_logged_once(
    here: Listening, caplog: pytest.LogCaptureFixture
) -> None:
    good = here.client(container_id="good")
    unlucky = here.client(container_id="unlucky")
    client = next(one for one in here.listener.clients if one.container_id == "unlucky")

    def divide(_: object) -> None:
        raise ZeroDivisionError

    client.conversation.actions[Begun] = divide
    unlucky.connection.begin()
    error = unlucky.closed().error

    assert error is not None
    assert error.condition == conditions.INTERNAL_ERROR
    mistakes = [one for one in caplog.records if one.levelno >= logging.ERROR]
    assert len(mistakes) == 1
    assert mistakes[0].exc_info is not None
    assert mistakes[0].exc_info[0] is ZeroDivisionError
    works(good)


def test_a_login_while_the_database_is_away_may_be_tried_again(
    here: Listening, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object) -> None:
        raise DatabaseAway("gone fishing")

    with monkeypatch.context() as patch:
        patch.setattr("broker.amqp.clients.identity.credentials.verify", away)
        with pytest.raises(AmqpError, match="code 4"):
            here.dial().authenticate("amelia", PASSWORD)
    works(here.client())


def test_a_listener_that_stops_tells_its_clients(transactional_db: None) -> None:
    with listener() as here:
        clients = [here.client(container_id=str(number)) for number in range(3)]
        silent = here.dial()
        here.until(lambda: here.listener.counts.waiting)
        here.begin_to_stop()

        for client in clients:
            error = client.closed().error
            assert error is not None
            assert error.condition == conditions.CONNECTION_FORCED
        silent.hung_up()
        with pytest.raises(OSError, match="refused"):
            socket.create_connection((here.host, here.port), timeout=5)

    assert not ClientConnection.objects.exists()


@pytest.mark.thorough
def test_a_listener_that_stops_waits_little_for_those_who_do_not_answer(
    transactional_db: None,
) -> None:
    with listener() as here:
        here.client()
        began = time.monotonic()
        here.begin_to_stop().result(60)

        assert time.monotonic() - began < 30


@pytest.mark.thorough
def test_what_comes_after_the_close_is_not_heard(here: Listening) -> None:
    client = here.client(container_id="")
    late = Connection("late", is_server=False)
    late.open()
    client.connection.close()
    client.socket.sendall(client.connection.outgoing() + late.outgoing() * 10)

    client.hung_up()
    here.until(lambda: not here.listener.clients)
