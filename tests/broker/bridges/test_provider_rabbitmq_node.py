"""A RabbitMQ that is killed, short of memory, encrypted, or idle: one of our own."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from broker.bridges.providers import rabbitmq_wire
from broker.bridges.providers.interface import Destination
from broker.bridges.providers.rabbitmq import RabbitMQSession, connect
from broker.errors.bridges import ProviderLost, WrongFactory
from broker.queueing.store import NewMessage
from tests.broker.bridges import rabbitmq_machine as machine
from tests.broker.bridges import rabbitmq_node
from tests.broker.bridges.rabbitmq_machine import bodies, factory, take
from tests.broker.bridges.rabbitmq_node import Node
from tests.console.until import until

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        not rabbitmq_node.is_installed(), reason="no RabbitMQ is installed"
    ),
]
LARGEST_BYTES = 4096


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a key, and a certificate that signs itself."""
    folder = tmp_path_factory.mktemp("tls")
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    (folder / "certificate").write_bytes(certificate.public_bytes(pem))
    (folder / "key").write_bytes(
        key.private_bytes(
            pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    return folder


@pytest.fixture(scope="module")
def tls_port() -> int:
    return rabbitmq_node.free_port()


@pytest.fixture(scope="module")
def node(
    tmp_path_factory: pytest.TempPathFactory, tls: Path, tls_port: int
) -> Iterator[Node]:
    settings = {
        "max_message_size": str(LARGEST_BYTES),
        "listeners.ssl.local": f"127.0.0.1:{tls_port}",
        "ssl_options.certfile": str(tls / "certificate"),
        "ssl_options.keyfile": str(tls / "key"),
        "ssl_options.verify": "verify_none",
    }
    started = rabbitmq_node.start(tmp_path_factory.mktemp("node"), settings=settings)
    yield started
    started.kill()


@pytest.fixture
def orders(node: Node) -> Iterator[Destination]:
    with machine.queue(port=node.port) as made:
        yield made


@pytest.fixture
def session(node: Node) -> Iterator[RabbitMQSession]:
    with machine.session(node.port) as opened:
        yield opened


@pytest.mark.spec("BRIDGE-19", "BRIDGE-20")
def test_a_kill_while_sending_loses_nothing_that_was_confirmed(
    node: Node, orders: Destination, session: RabbitMQSession
) -> None:
    confirmed: list[bytes] = []
    some_are = threading.Event()

    def kill() -> None:
        some_are.wait()
        node.kill()

    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(ProviderLost):
        while True:
            batch = machine.numbered(orders, 100)
            for one in batch:
                one.body = f"{len(confirmed)} {one.body.decode()}".encode()
            assert session.send(batch, orders) == [None] * 100
            confirmed += [one.body for one in batch]
            if len(confirmed) > 1000:
                some_are.set()
    killer.join()
    node.start()

    with machine.session(node.port) as again:
        subscription = again.subscribe(orders, prefetch=len(confirmed))
        arrived = bodies(take(subscription, len(confirmed)))
    assert arrived == confirmed


@pytest.mark.spec("BRIDGE-19", "BRIDGE-20")
def test_a_kill_while_receiving_loses_nothing(
    node: Node, orders: Destination, session: RabbitMQSession
) -> None:
    session.send(machine.numbered(orders, 100), orders)
    subscription = session.subscribe(orders, prefetch=50)
    subscription.acknowledge(take(subscription, 20))
    held = take(subscription, 20)

    node.kill()

    with pytest.raises(ProviderLost):
        subscription.acknowledge(held)
    with pytest.raises(ProviderLost):
        subscription.receive(1, 1)
    node.start()
    # It answers an acknowledgement before that is on its disk, so a few come again.
    many = machine.waiting(orders, node.port)
    with machine.session(node.port) as again:
        got = bodies(take(again.subscribe(orders, prefetch=100), many))
    assert 80 <= many <= 100
    assert got == [str(number).encode() for number in range(100 - many, 100)]


def test_a_message_that_is_too_large_there_is_refused_alone(
    node: Node, orders: Destination, session: RabbitMQSession
) -> None:
    sent = machine.numbered(orders, 300)
    sent[150].body = b"x" * (LARGEST_BYTES + 1)

    refused = session.send(sent, orders)

    assert [place for place, one in enumerate(refused) if one] == [150]
    assert "larger than configured max size" in str(refused[150])
    many = machine.waiting(orders, node.port)  # those of which nothing was known twice
    arrived = bodies(take(session.subscribe(orders, prefetch=many), many))
    in_order = dict.fromkeys(arrived)
    assert [*in_order] == [one.body for one in sent if one is not sent[150]]
    assert session.send(sent[:1], orders) == [None]


def test_who_publishes_waits_while_memory_is_short_and_who_consumes_does_not(
    node: Node,
    orders: Destination,
    session: RabbitMQSession,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("broker.bridges.providers.rabbitmq_publishing.PATIENCE_S", 1)
    session.send(machine.numbered(orders, 2), orders)
    subscription = session.subscribe(orders, prefetch=2)
    received = take(subscription, 2)
    node.control("set_vm_memory_high_watermark", "absolute", "1")
    try:
        with pytest.raises(ProviderLost, match="memory or disk"):
            session.send(machine.numbered(orders, 1), orders)
        subscription.acknowledge(received)
    finally:
        node.control("set_vm_memory_high_watermark", "0.4")

    with machine.session(node.port) as again:
        assert again.subscribe(orders).receive(1, 0.2) in ([], [received[0]])


def test_a_certificate_is_checked(
    node: Node, orders: Destination, tls: Path, tls_port: int
) -> None:
    url = f"amqps://localhost:{tls_port}"
    with pytest.raises(WrongFactory, match="property ca-file"):
        connect(factory(url=url))

    trusted = {"ca-file": str(tls / "certificate")}
    with machine.session(url=url, properties=trusted) as session:
        sent = machine.numbered(orders, 300)
        assert session.send(sent, orders) == [None] * 300
        subscription = session.subscribe(orders, prefetch=100)
        got: list[bytes] = []
        while len(got) < 300:
            batch = take(subscription, 50)
            subscription.acknowledge(batch)
            got += bodies(batch)
        assert subscription.receive(1, 0.1) == []
    assert got == [one.body for one in sent]


@pytest.mark.spec("BRIDGE-18")
def test_a_session_that_nobody_uses_stays_connected(
    node: Node, orders: Destination, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rabbitmq_wire, "HEARTBEAT_S", 1)
    monkeypatch.setattr(rabbitmq_wire, "PULSE_S", 0.1)
    monkeypatch.setattr(rabbitmq_wire, "TICK_S", 0.1)
    with machine.session(node.port) as session:
        session.send(machine.numbered(orders, 1), orders)
        subscription = session.subscribe(orders)
        began = datetime.now(UTC)

        # RabbitMQ drops who has been silent for two intervals.
        until(lambda: datetime.now(UTC) - began > timedelta(seconds=5))

        assert session.send(machine.numbered(orders, 1), orders) == [None]
        (received,) = take(subscription, 1)
        assert not received.redelivered
        subscription.acknowledge([received])


@pytest.mark.parametrize("who_waits", ["receiving", "a thread"])
def test_a_server_that_falls_silent_is_noticed(
    node: Node, orders: Destination, monkeypatch: pytest.MonkeyPatch, who_waits: str
) -> None:
    monkeypatch.setattr(rabbitmq_wire, "HEARTBEAT_S", 1)
    monkeypatch.setattr(rabbitmq_wire, "PULSE_S", 0.1)
    monkeypatch.setattr(rabbitmq_wire, "TICK_S", 0.1)
    with machine.session(node.port) as session:
        subscription = session.subscribe(orders)
        node.freeze()
        try:
            if who_waits == "a thread":
                consuming = session.consuming
                assert consuming is not None
                until(lambda: consuming.broken, 20)
            with pytest.raises(ProviderLost):
                subscription.receive(1, 20)
        finally:
            node.thaw()

    with machine.session(node.port) as again:
        assert again.send([NewMessage(orders.name)], orders) == [None]
