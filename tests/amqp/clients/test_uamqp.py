"""uamqp, Microsoft's client before the one in its SDK; by TLS, as it knows no other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.amqp.certifying import Certified
from tests.amqp.listening import Listening, listener

uamqp = pytest.importorskip("uamqp", reason="uamqp is not installed")
authentication = pytest.importorskip("uamqp.authentication")

WITHIN_MS = 30_000
OK = uamqp.constants.MessageState.SendComplete


@pytest.fixture
def secure(transactional_db: None, certified: Certified) -> Iterator[Listening]:
    with listener(certificates=certified.server) as here:
        yield here


def login(here: Listening, certified: Certified, password: str | None = None) -> Any:
    return authentication.SASLPlain(
        "localhost",
        here.user.username,
        password or here.password,
        port=here.tls_port,
        verify=str(certified.folder / "authority.pem"),
    )


def put(here: Listening, certified: Certified, *messages: Any) -> list[Any]:
    """Put messages by a URL; what became of each of them."""
    client = uamqp.SendClient(
        "amqps://localhost/orders",
        auth=login(here, certified),
        msg_timeout=WITHIN_MS,
        debug=False,
    )
    with client:
        client.queue_message(*messages)
        return list(client.send_all_messages(close_on_done=False))


@contextmanager
def getting(
    here: Listening, certified: Certified, queue: str = "orders", **options: Any
) -> Iterator[Any]:
    client = uamqp.ReceiveClient(
        f"amqps://localhost/{queue}",
        auth=login(here, certified),
        timeout=WITHIN_MS,
        **{"prefetch": 10, "auto_complete": False} | options,
    )
    with client:
        yield client


def take(client: Any, count: int = 1) -> list[Any]:
    """So many messages; waited for."""
    taken: list[Any] = []
    while len(taken) < count:
        batch = client.receive_message_batch(count - len(taken), timeout=WITHIN_MS)
        assert batch, f"only {len(taken)} came"
        taken += batch
    return taken


def body(message: Any) -> bytes:
    data = message.get_data()
    return data if isinstance(data, bytes) else b"".join(data)


@pytest.mark.case(1, 2, 28)
def test_it_puts_by_a_url_and_gets(secure: Listening, certified: Certified) -> None:
    properties = uamqp.message.MessageProperties(
        message_id="order-7", subject="apples", correlation_id="c", content_type="text"
    )
    header = uamqp.message.MessageHeader()
    header.durable, header.priority, header.time_to_live = True, 7, 60_000
    message = uamqp.Message(
        b"seven", properties=properties, header=header, application_properties={"n": 5}
    )

    assert put(secure, certified, message) == [OK]

    with getting(secure, certified) as client:
        (got,) = take(client)
        assert body(got) == b"seven"
        assert got.properties.message_id == b"order-7"
        assert got.properties.subject == b"apples"
        assert got.header.priority == 7
        assert got.application_properties == {b"n": 5}
        assert got.accept()


@pytest.mark.case(4)
def test_outcomes(secure: Listening, certified: Certified) -> None:
    put(secure, certified, *[uamqp.Message(f"{n}".encode()) for n in range(4)])
    with getting(secure, certified) as client:
        accepted, rejected, released, modified = take(client, 4)
        accepted.accept()
        rejected.reject(condition=b"shop:no-apples", description=b"None.")
        released.release()
        modified.modify(failed=True, deliverable=False)
    with getting(secure, certified) as client:
        again = take(client, 2)
        counts = {body(one): one.header and one.header.delivery_count for one in again}
        assert counts.keys() == {b"2", b"3"}
        assert not counts[b"2"]
        assert counts[b"3"] == 1
        for one in again:
            one.accept()
    with getting(secure, certified, "DLQ") as client:
        (letter,) = take(client)
        assert body(letter) == b"1"
        assert letter.annotations[b"x-opt-death-reason"] == b"REJECTED"


@pytest.mark.case(18)
def test_what_is_unsettled_comes_back(secure: Listening, certified: Certified) -> None:
    put(secure, certified, *[uamqp.Message(f"{n}".encode()) for n in range(3)])
    with getting(secure, certified) as client:
        take(client, 3)
    with getting(secure, certified) as client:
        assert [body(one) for one in take(client, 3)] == [b"0", b"1", b"2"]


@pytest.mark.case(24)
def test_a_wrong_password_is_refused(secure: Listening, certified: Certified) -> None:
    client = uamqp.SendClient(
        "amqps://localhost/orders", auth=login(secure, certified, "wrong")
    )
    with pytest.raises(uamqp.errors.AMQPError), client:
        client.send_message(uamqp.Message(b"x"))


@pytest.mark.case(26)
def test_a_large_message_is_intact(secure: Listening, certified: Certified) -> None:
    large = bytes(range(256)) * 2400

    assert put(secure, certified, uamqp.Message(large)) == [OK]

    with getting(secure, certified) as client:
        (got,) = take(client)
        assert body(got) == large


@pytest.mark.case(28)
def test_a_batch_is_so_many_messages(secure: Listening, certified: Certified) -> None:
    batch = uamqp.BatchMessage(data=[f"{n}".encode() for n in range(5)])

    assert put(secure, certified, batch) == [OK]

    with getting(secure, certified) as client:
        assert [body(one) for one in take(client, 5)] == [b"0", b"1", b"2", b"3", b"4"]
