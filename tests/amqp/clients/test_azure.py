"""azure-servicebus, Microsoft's SDK: it logs in with tokens, and wants TLS or its word
that this is an emulator."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Any

import pytest

from broker.amqp.clients.login import Access
from broker.models import Credential
from broker.security import credentials
from tests.amqp.listening import Listening, listener
from tests.make import make_setting

pytestmark = pytest.mark.long  # it waits a second at each attach

servicebus = pytest.importorskip(
    "azure.servicebus", reason="azure-servicebus is not installed"
)
exceptions = pytest.importorskip("azure.servicebus.exceptions")

WITHIN_S = 30


@pytest.fixture
def here(transactional_db: None) -> Iterator[Listening]:
    with listener(access=Access(cbs=True)) as listening:
        yield listening


@pytest.fixture
def azure(here: Listening) -> Iterator[Any]:
    """A client of the SDK that is the credential ``shop``."""
    _, secret = credentials.create("shop", here.user)
    with client_of(here, secret) as client:
        yield client


def client_of(here: Listening, secret: str, name: str = "shop") -> Any:
    return servicebus.ServiceBusClient.from_connection_string(
        f"Endpoint=sb://{here.host}:{here.port};SharedAccessKeyName={name};"
        f"SharedAccessKey={secret};UseDevelopmentEmulator=true;",
        retry_total=0,
    )


def put(azure: Any, *bodies: str, queue: str = "orders", **fields: Any) -> None:
    with azure.get_queue_sender(queue) as sender:
        sender.send_messages(
            [servicebus.ServiceBusMessage(body, **fields) for body in bodies]
        )


def take(receiver: Any, count: int = 1) -> list[Any]:
    taken: list[Any] = []
    while len(taken) < count:
        more = receiver.receive_messages(count - len(taken), max_wait_time=WITHIN_S)
        assert more, f"only {len(taken)} came"
        taken += more
    return taken


@pytest.mark.case(1, 2, 24)
def test_it_logs_in_with_a_token_puts_and_gets(azure: Any) -> None:
    said: dict[str, Any] = {
        "message_id": "order-7",
        "correlation_id": "c",
        "subject": "apples",
        "content_type": "text/plain",
        "application_properties": {"tenant": "t7", "size": 3},
    }
    put(azure, "seven", **said)
    with azure.get_queue_receiver("orders") as receiver:
        (got,) = take(receiver)
        assert str(got) == "seven"
        assert (got.message_id, got.correlation_id) == ("order-7", "c")
        assert (got.subject, got.content_type) == ("apples", "text/plain")
        assert got.application_properties == {b"tenant": b"t7", b"size": 3}
        receiver.complete_message(got)


@pytest.mark.case(4)
def test_complete_and_abandon(azure: Any) -> None:
    put(azure, "1", "2")
    with azure.get_queue_receiver("orders") as receiver:
        first, second = take(receiver, 2)
        assert first.locked_until_utc.year == 9999
        receiver.complete_message(first)
        receiver.abandon_message(second)
        (again,) = take(receiver)
        assert (str(again), again.delivery_count) == ("2", 1)
        receiver.complete_message(again)


@pytest.mark.case(4)
def test_a_dead_letter_has_its_reason(azure: Any) -> None:
    put(azure, "bad")
    with azure.get_queue_receiver("orders") as receiver:
        (got,) = take(receiver)
        receiver.dead_letter_message(
            got, reason="no-apples", error_description="There are none."
        )
    with azure.get_queue_receiver("DLQ") as letters:
        (letter,) = take(letters)
        assert str(letter) == "bad"
        annotations = letter.raw_amqp_message.annotations
        assert annotations[b"x-opt-death-reason"] == b"REJECTED"
        letters.complete_message(letter)


@pytest.mark.case(12)
def test_a_message_that_is_abandoned_too_often_is_a_dead_letter(azure: Any) -> None:
    make_setting("orders", max_delivery_attempts=2, dead_letter_address="DLA")
    put(azure, "poison")
    with azure.get_queue_receiver("orders") as receiver:
        for _ in range(2):
            receiver.abandon_message(take(receiver)[0])
    with azure.get_queue_receiver("DLQ") as letters:
        assert str(take(letters)[0]) == "poison"


@pytest.mark.case(3)
def test_receive_and_delete(azure: Any) -> None:
    put(azure, "1")
    mode = servicebus.ServiceBusReceiveMode.RECEIVE_AND_DELETE
    with azure.get_queue_receiver("orders", receive_mode=mode) as receiver:
        assert str(take(receiver)[0]) == "1"


@pytest.mark.case(18)
def test_what_is_unsettled_comes_back(azure: Any) -> None:
    put(azure, "1", "2")
    with azure.get_queue_receiver("orders") as receiver:
        take(receiver, 2)
    with azure.get_queue_receiver("orders") as receiver:
        assert [str(one) for one in take(receiver, 2)] == ["1", "2"]


@pytest.mark.case(22)
def test_a_message_is_scheduled(azure: Any) -> None:
    at = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=1)
    put(azure, "later", scheduled_enqueue_time_utc=at)
    with azure.get_queue_receiver("orders") as receiver:
        (got,) = take(receiver)
        assert str(got) == "later"
        assert datetime.datetime.now(datetime.UTC) >= at - datetime.timedelta(
            seconds=0.1
        )
        receiver.complete_message(got)


@pytest.mark.case(23)
def test_what_is_not_there_is_refused(azure: Any) -> None:
    with pytest.raises(exceptions.ServiceBusError):
        put(azure, "x", queue="nowhere")
    put(azure, "still here")


@pytest.mark.case(24)
@pytest.mark.parametrize("wrong", ["secret", "name", "revoked"])
def test_a_token_that_is_not_good_is_refused(here: Listening, wrong: str) -> None:
    credential, secret = credentials.create("shop", here.user)
    if wrong == "revoked":
        credentials.revoke(credential, None)
    name = "nobody" if wrong == "name" else "shop"
    secret = "bo_" + "0" * 64 if wrong == "secret" else secret
    refused = pytest.raises(exceptions.ServiceBusAuthenticationError)
    with client_of(here, secret, name) as client, refused:
        put(client, "x")
    assert Credential.objects.get().last_used_at is None


@pytest.mark.case(26)
def test_a_large_message_is_intact(azure: Any) -> None:
    put(azure, "x" * 600_000)
    with azure.get_queue_receiver("orders") as receiver:
        assert len(str(take(receiver)[0])) == 600_000


@pytest.mark.case(28)
def test_a_batch_is_so_many_messages(azure: Any) -> None:
    with azure.get_queue_sender("orders") as sender:
        batch = sender.create_message_batch()
        for number in range(20):
            batch.add_message(servicebus.ServiceBusMessage(str(number)))
        sender.send_messages(batch)
    with azure.get_queue_receiver("orders", prefetch_count=20) as receiver:
        got = take(receiver, 20)
        assert [str(one) for one in got] == [str(number) for number in range(20)]
        for one in got:
            receiver.complete_message(one)
