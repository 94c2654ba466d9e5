"""The provider "another Backout": what it refuses, and with which words."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from broker.bridges.providers import registry
from broker.bridges.providers.backout.session import BackoutSession
from broker.bridges.providers.interface import Destination, Factory
from broker.errors.bridges import (
    AccessRefused,
    ProviderLost,
    SendRefused,
    WrongFactory,
)
from broker.models import Place, Queue
from broker.queueing.browse import browse, whole
from broker.queueing.get import Delivery
from broker.queueing.put import NewMessage
from tests.amqp.certifying import certify
from tests.broker.bridges.other_backout import OtherBackout
from tests.console.ports import HOST
from tests.make import make_messages, make_queue

ORDERS = Destination("orders")


@pytest.fixture
def orders(other: OtherBackout) -> Queue:
    with other.instead():
        return make_queue("orders")


@pytest.fixture
def session(other: OtherBackout, orders: Queue) -> Iterator[BackoutSession]:
    found = connect(other)
    yield found
    found.close()


def connect(other: OtherBackout, **fields: Any) -> BackoutSession:
    found = registry.connect(other.factory(**fields))
    assert isinstance(found, BackoutSession)
    return found


def there(other: OtherBackout, queue: Queue) -> list[Delivery]:
    """What is ready, in the order of gets."""
    with other.instead():
        entries = browse(queue.pk, Place.READY, limit=2000)
        return whole(queue.pk, entries)


def bodies(found: list[Any]) -> list[bytes]:
    return [one.message.body for one in found]


@pytest.mark.thorough
def test_one_message_is_refused_and_the_others_are_sent(
    other: OtherBackout, session: BackoutSession, orders: Queue
) -> None:
    messages = make_messages(5)
    messages[2].subject = "\0"

    outcomes = session.send(messages, ORDERS)

    assert [type(one) for one in outcomes] == [type(None)] * 2 + [SendRefused] + [
        type(None)
    ] * 2
    assert "NUL" in str(outcomes[2])
    assert [one.body for one in there(other, orders)] == [b"1", b"2", b"4", b"5"]


def test_a_message_that_is_too_large_is_refused_alone(
    other: OtherBackout, session: BackoutSession, orders: Queue
) -> None:
    large = NewMessage("orders", bytes(17 * 2**20))

    first, refused, last = session.send(
        [NewMessage("orders", b"a"), large, NewMessage("orders", b"b")], ORDERS
    )

    assert (first, last) == (None, None)
    assert "BACKOUT_MAX_REQUEST_BYTES" in str(refused)
    assert len(there(other, orders)) == 2


def test_a_full_queue_refuses(other: OtherBackout, session: BackoutSession) -> None:
    with other.instead():
        make_queue("small", max_depth=1)

    first, second = session.send(make_messages(2), Destination("small"))

    assert first is None
    assert isinstance(second, SendRefused)


def test_what_is_not_there_is_told(session: BackoutSession) -> None:
    with pytest.raises(WrongFactory, match=r"^other: queue:nowhere: "):
        session.subscribe(Destination("nowhere"))
    with pytest.raises(WrongFactory, match="nowhere"):
        session.send(make_messages(1), Destination("nowhere"))
    with pytest.raises(WrongFactory, match="topic"):
        session.subscribe(Destination("orders", is_topic=True))
    with pytest.raises(WrongFactory, match="selector"):
        session.subscribe(ORDERS, selector="n >")


def test_who_may_not_is_refused(other: OtherBackout, orders: Queue) -> None:
    secret = other.credential("narrow", "booked")
    for password in ("bo_wrong", "", "größe", "a\nb"):
        with pytest.raises(AccessRefused):
            connect(other, password=password)
    session = connect(other, password=secret)
    with pytest.raises(AccessRefused, match="put"):
        session.send(make_messages(1), ORDERS)
    with pytest.raises(WrongFactory, match="nothing that you may see"):
        session.subscribe(ORDERS)
    session.close()


@pytest.mark.parametrize(
    ("fields", "error", "why"),
    [
        ({"url": "http://127.0.0.1:9/"}, ProviderLost, "there is no answer"),
        ({"url": "https://127.0.0.1:{port}/"}, ProviderLost, "connection broke"),
        (
            {"url": "http://127.0.0.1:{port}/api/v1/elsewhere"},
            WrongFactory,
            "no transaction branches",
        ),
        ({"url": "ftp://127.0.0.1/"}, WrongFactory, "https://host/"),
        ({"properties": {"color": "red"}}, WrongFactory, "ca-file, lease-s"),
        ({"properties": {"lease-s": "0"}}, WrongFactory, "seconds"),
        ({"properties": {"lease-s": "soon"}}, WrongFactory, "seconds"),
        (
            {"url": "https://127.0.0.1/", "properties": {"ca-file": "nowhere.pem"}},
            WrongFactory,
            "nowhere.pem",
        ),
    ],
)
def test_a_factory_that_cannot_be_used_is_told(
    other: OtherBackout, fields: dict[str, Any], error: type[Exception], why: str
) -> None:
    if "url" in fields:
        fields = fields | {"url": fields["url"].format(port=other.port)}
    with pytest.raises(error, match=why):
        connect(other, **fields)


class Elsewhere(BaseHTTPRequestHandler):
    """Another server, which has no such page."""

    def do_GET(self) -> None:
        self.send_error(404)

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


def test_a_server_that_is_no_backout_is_told(other: OtherBackout) -> None:
    with HTTPServer((HOST, 0), Elsewhere) as server:
        Thread(target=server.handle_request, daemon=True).start()
        url = f"http://{HOST}:{server.server_port}/"
        with pytest.raises(WrongFactory, match="Correct the URL"):
            connect(other, url=url)


@pytest.mark.parametrize(
    ("trusts", "error", "why"),
    [("stranger", WrongFactory, "not trusted"), ("authority", WrongFactory, "Correct")],
)
def test_who_answers_over_tls_has_to_be_trusted(
    tmp_path: Path, trusts: str, error: type[Exception], why: str
) -> None:
    mine = certify(tmp_path).server
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(mine.certificate, mine.key)
    with HTTPServer((HOST, 0), Elsewhere) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        Thread(target=server.handle_request, daemon=True).start()
        factory = Factory(
            "other",
            "backout",
            url=f"https://localhost:{server.server_port}/",
            properties={"ca-file": str(tmp_path / f"{trusts}.pem")},
        )
        with pytest.raises(error, match=why):
            registry.connect(factory)
