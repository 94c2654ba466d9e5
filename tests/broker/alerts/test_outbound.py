"""The guard around HTTP: what is refused, and what a connection may do."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest
from pytest_django import Settings

from broker.alerts import outbound
from broker.errors.alerts import AddressRefused, NotDelivered
from tests.broker.alerts import receivers
from tests.broker.alerts.receivers import Receiver

LOCAL = ["127.0.0.0/8"]


@pytest.fixture
def receiver(settings: Settings) -> Iterator[Receiver]:
    settings.BACKOUT_ALERT_HTTP = True
    settings.BACKOUT_ALERT_NETWORKS = LOCAL
    with receivers.http() as one:
        yield one


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/",
        "ftp://example.org/",
        "file:///etc/passwd",
        "https://",
        "https://user:secret@example.org/",
        "https://example.org:0/",
        "https://example.org:99999/",
        "https://exa mple.org/",
        "https://example.org/\r\nX: y",
        "https://example.org/ä",
        "https://[::1/",
        "",
    ],
)
def test_urls_that_are_refused(url: str) -> None:
    with pytest.raises(AddressRefused):
        outbound.checked(url)


@pytest.mark.parametrize(
    ("address", "allowed"),
    [
        ("93.184.215.14", True),
        ("2606:2800:21f:cb07:6820:80da:af6b:8b2c", True),
        ("127.0.0.1", False),
        ("127.1.2.3", False),
        ("0.0.0.0", False),
        ("10.0.0.1", False),
        ("172.16.0.1", False),
        ("192.168.1.1", False),
        ("169.254.169.254", False),  # metadata of clouds
        ("100.64.0.1", False),
        ("224.0.0.1", False),
        ("240.0.0.1", False),
        ("255.255.255.255", False),
        ("::1", False),
        ("::", False),
        ("fe80::1%eth0", False),
        ("fd00::1", False),
        ("fd00:ec2::254", False),
        ("ff02::1", False),
        ("::ffff:127.0.0.1", False),
        ("::ffff:93.184.215.14", True),
        ("64:ff9b::7f00:1", False),  # NAT64 of 127.0.0.1
        ("2002:7f00:1::", False),  # 6to4 of 127.0.0.1
    ],
)
def test_addresses_that_are_allowed(address: str, allowed: bool) -> None:
    assert outbound.is_allowed(address) == allowed


def test_a_network_can_be_allowed(settings: Settings) -> None:
    settings.BACKOUT_ALERT_NETWORKS = ["10.1.0.0/16", "fd00::/8"]

    assert outbound.is_allowed("10.1.2.3")
    assert outbound.is_allowed("fd00::1")
    assert not outbound.is_allowed("10.2.0.1")


@pytest.mark.parametrize(
    "host",
    ["localhost", "127.0.0.1", "2130706433", "0x7f.1", "[::1]", "[::ffff:127.0.0.1]"],
)
def test_the_own_machine_is_refused_however_it_is_written(
    host: str, settings: Settings
) -> None:
    settings.BACKOUT_ALERT_HTTP = True
    with receivers.http() as receiver, pytest.raises((AddressRefused, NotDelivered)):
        outbound.post(f"http://{host}:{receiver.port}/", b"", {})

    assert receiver.requests == []


def test_one_forbidden_address_of_a_name_is_enough(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def two(*_: object, **__: object) -> list[tuple[object, ...]]:
        return [(0, 0, 0, "", (one, 443)) for one in ("93.184.215.14", "10.0.0.1")]

    monkeypatch.setattr(socket, "getaddrinfo", two)

    with pytest.raises(AddressRefused, match=r"10\.0\.0\.1"):
        outbound.post("https://example.org/", b"", {})


def test_the_connection_goes_to_the_address_that_was_checked(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that resolves to something else the second time (DNS rebinding)."""
    asked: list[str] = []

    def once(host: str, port: int, **_: object) -> list[tuple[object, ...]]:
        asked.append(host)
        assert asked == ["rebinds.example"], "it is resolved once"
        kind = (socket.AF_INET, socket.SOCK_STREAM, 6, "")
        return [(*kind, ("127.0.0.1", port))]

    monkeypatch.setattr(socket, "getaddrinfo", once)

    def connect(address: tuple[str, int], timeout: float) -> socket.socket:
        assert address[0] == "127.0.0.1", "not a name"
        sock = socket.socket()
        sock.settimeout(timeout)
        sock.connect(address)
        return sock

    monkeypatch.setattr(socket, "create_connection", connect)
    outbound.post(f"http://rebinds.example:{receiver.port}/hook?a=b", b"{}", {"X": "y"})

    (request,) = receiver.requests
    assert (request.path, request.body) == ("/hook?a=b", b"{}")
    assert request.headers["Host"] == f"rebinds.example:{receiver.port}"
    assert request.headers["X"] == "y"


@pytest.mark.parametrize(
    ("status", "permanent"),
    [(302, True), (307, True), (400, True), (404, True), (410, True)]
    + [(status, False) for status in (401, 403, 408, 429, 500, 503)],
)
def test_answers_that_are_no_success(
    receiver: Receiver, status: int, permanent: bool
) -> None:
    receiver.answers.append(status)

    with pytest.raises(NotDelivered, match=str(status)) as refusal:
        outbound.post(f"{receiver.url}?token=secret", b"", {})

    assert refusal.value.permanent == permanent
    assert "secret" not in str(refusal.value)
    assert len(receiver.requests) == 1  # a redirect is not followed


def test_a_side_that_sends_single_bytes_for_ever_is_cut_off(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.BACKOUT_ALERT_HTTP = True
    settings.BACKOUT_ALERT_NETWORKS = LOCAL
    monkeypatch.setattr(outbound, "LIMIT_S", 0.3)
    over = threading.Event()

    def drip(server: socket.socket) -> None:
        line, _ = server.accept()
        line.sendall(b"HTTP/1.1 200 OK\r\nX: ")
        while not over.wait(0.05):
            try:
                line.sendall(b"x")
            except OSError:
                break
        line.close()

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=drip, args=[server])
        thread.start()
        try:
            with pytest.raises(NotDelivered, match="no answer within"):
                outbound.post(f"http://127.0.0.1:{server.getsockname()[1]}/", b"", {})
        finally:
            over.set()
            thread.join()


def test_nobody_listens(settings: Settings) -> None:
    settings.BACKOUT_ALERT_HTTP = True
    settings.BACKOUT_ALERT_NETWORKS = LOCAL
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

    with pytest.raises(NotDelivered, match="refused"):
        outbound.post(f"http://127.0.0.1:{port}/", b"", {})
