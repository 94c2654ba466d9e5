"""Definitions of RabbitMQ: what a full queue refuses, and what no queue takes."""

from __future__ import annotations

import pytest

from broker.client import put
from broker.errors.queues import QueueFull
from tests.broker.declarations.test_converters import binding, exchange, queue
from tests.broker.declarations.test_rabbitmq import Document, held, set_up

pytestmark = pytest.mark.django_db


def test_what_a_full_queue_refuses_is_no_dead_letter_here() -> None:
    refuses: Document = {"max_length": 1, "overflow": "reject-publish-dlx"}
    text = set_up(
        queues=[queue("orders", **refuses, dead_letter_exchange=""), queue("other")]
    )

    put("orders", b"1")
    with pytest.raises(QueueFull):
        put("orders", b"2")

    assert held() == {"orders": 1}
    assert (
        "queue orders, x-overflow: What is refused becomes a dead letter there; here"
        " the put is refused, and its producer learns of it. Let it put the message"
        " elsewhere, or leave max_depth out."
    ) in text


def with_an_alternate(name: str) -> Document:
    """An exchange that has one as its own argument."""
    return exchange(name, "direct") | {"arguments": {"alternate-exchange": "other"}}


def test_what_no_queue_of_an_exchange_takes_goes_to_its_alternate() -> None:
    """If dead letters of the same address go there too; else it is named."""
    dead: Document = {"dead_letter_exchange": "other"}
    text = set_up(
        queues=[
            queue("eu", **dead, queue_type="quorum", delivery_limit=3),
            *(queue("uk"), queue("lost")),
        ],
        exchanges=[
            *(with_an_alternate("same"), with_an_alternate("apart")),
            exchange("other", "fanout"),
        ],
        bindings=[
            binding("same", "eu", "eu"),
            binding("apart", "uk", "uk"),
            binding("other", "lost", ""),
        ],
    )

    put("same", b"1", subject="eu")
    put("same", b"2", subject="us")
    put("apart", b"3", subject="uk")
    put("apart", b"4", subject="us")

    assert held() == {"eu": 1, "lost": 1, "uk": 1}
    assert "exchange same, alternate-exchange" not in text
    told = "What no queue takes goes to other there, and is dropped here."
    assert f"exchange apart, alternate-exchange: {told}" in text
    assert "set dead_letter_address and send_to_dla_on_no_route for it" in text
