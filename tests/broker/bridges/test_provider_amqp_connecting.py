"""Connecting to a provider of AMQP, and what comes of it where it fails."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from broker.amqp.clients.login import Access
from broker.amqp.protocol.frames import SASL_HEADER, frame
from broker.amqp.protocol.performatives import (
    Performative,
    SaslMechanisms,
    SaslOutcome,
    encode_performative,
)
from broker.bridges.providers.amqp import connect
from broker.errors.bridges import (
    AccessRefused,
    BridgeError,
    ProviderLost,
    WrongFactory,
)
from broker.models import ClientConnection
from tests.amqp.certifying import certify
from tests.amqp.launching import login
from tests.amqp.listening import Listening, listener
from tests.broker.bridges.amqp_sessions import (
    ORDERS,
    bodies,
    factory,
    session,
    take,
)
from tests.make import make_messages, make_queue

pytestmark = [
    pytest.mark.usefixtures("transactional_db"),
    pytest.mark.spec("BRIDGE-19"),
]


@pytest.fixture
def here(transactional_db: None) -> Iterator[Listening]:
    make_queue("orders")
    make_queue("stock")
    with listener() as listening:
        yield listening


def refused(port: int, error: type[BridgeError], **fields: Any) -> str:
    """Why nobody can connect."""
    with pytest.raises(error) as raised:
        connect(factory(port, **fields))
    return str(raised.value)


def test_a_wrong_password_is_told_apart_from_a_lost_provider(here: Listening) -> None:
    why = refused(here.port, AccessRefused, password="wrong")
    assert "refuses the user 'amelia'" in why
    assert "wrong" not in why.replace("the wrong", "")


def test_where_nobody_listens_the_provider_is_lost() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    assert "There is no answer from 127.0.0.1" in refused(port, ProviderLost)


def test_a_provider_that_says_nothing_is_lost_within_the_time_limit() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        began = monotonic()
        why = refused(silent.getsockname()[1], ProviderLost, connect_timeout_s=0.3)
    assert "login did not end within 0.3 seconds" in why
    assert monotonic() - began < 10


def said(*performatives: Performative) -> bytes:
    return b"".join(frame(0, encode_performative(one), kind=1) for one in performatives)


@pytest.mark.parametrize(
    ("answer", "error", "why"),
    [
        (b"HTTP/1.1 400 Bad\r\n\r\n", WrongFactory, "does not speak AMQP 1.0"),
        (b"AMQP\0\0\x09\x01", WrongFactory, "rabbitmq_amqp1_0"),
        (
            SASL_HEADER + said(SaslMechanisms(("PLAIN",)), SaslOutcome(4)),
            ProviderLost,
            "accepts no login now",
        ),
        (
            SASL_HEADER + said(SaslMechanisms(("PLAIN",))),
            ProviderLost,
            "closed the connection during login",
        ),
    ],
)
def test_what_answers_may_not_be_what_it_should(
    answer: bytes, error: type[BridgeError], why: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            one, _ = server.accept()
            one.recv(100)
            one.sendall(answer)
            one.shutdown(socket.SHUT_WR)
            while one.recv(100):
                pass
            one.close()

        thread = threading.Thread(target=serve)
        thread.start()
        told = refused(server.getsockname()[1], error)
        thread.join(30)
    assert why in told


@pytest.mark.parametrize(
    ("properties", "why"),
    [
        ({"timeout-s": "soon"}, "timeout-s is 'soon'. Write a number of seconds"),
        ({"idle-timeout": "-1"}, "idle-timeout is '-1'"),
        ({"sasl-mechanisms": "GSSAPI"}, "sasl-mechanisms names 'GSSAPI'"),
        (
            {"sasl-mechanisms": "ANONYMOUS"},
            "by ANONYMOUS, but the server offers",
        ),
    ],
)
def test_a_property_that_cannot_be_used_is_named(
    here: Listening, properties: dict[str, str], why: str
) -> None:
    assert why in refused(here.port, WrongFactory, properties=properties)


def test_a_password_is_not_sent_where_it_need_not_be(transactional_db: None) -> None:
    make_queue("orders")
    with listener(access=Access(scram=True)) as here:
        name, secret = login()
        made = factory(here.port, username=name, password=secret)
        with session(made) as ours:
            assert ours.send(make_messages(1), ORDERS) == [None]
            assert [one.mechanism for one in ClientConnection.objects.all()] == [
                "SCRAM-SHA-256"
            ]
        refused(here.port, AccessRefused, username=name, password="wrong")


def test_a_certificate_is_verified(transactional_db: None, tmp_path: Path) -> None:
    certified = certify(tmp_path)
    make_queue("orders")
    with listener(certificates=certified.server) as here:
        url = f"amqps://localhost:{here.tls_port}"
        trusted = {"ca-file": str(tmp_path / "authority.pem")}
        with session(factory(0, url=url, properties=trusted)) as ours:
            big = make_messages(50)
            for one in big:
                one.body *= 20_000
            assert ours.send(big, ORDERS) == [None] * 50
            got = take(ours.subscribe(ORDERS, prefetch=20), 50, acknowledges=True)
            assert bodies(got) == [one.body for one in big]

        assert "ca-file" in refused(0, WrongFactory, url=url)
        strange = {"ca-file": str(tmp_path / "stranger.pem")}
        why = refused(0, WrongFactory, url=url, properties=strange)
        assert "is not trusted" in why
        missing = {"ca-file": str(tmp_path / "none.pem")}
        why = refused(0, WrongFactory, url=url, properties=missing)
        assert "cannot be used: No such file" in why
        by_number = f"amqps://127.0.0.1:{here.tls_port}"
        assert "not trusted" in refused(
            0, WrongFactory, url=by_number, properties=trusted
        )
