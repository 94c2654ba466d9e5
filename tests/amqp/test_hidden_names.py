"""A queue on which a client has no authority is answered for as a missing one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from broker.amqp.protocol import performatives as p
from broker.amqp.protocol.conditions import AmqpError
from tests.amqp.listening import PASSWORD, listener
from tests.amqp.putting import Speaker, message, speaking
from tests.make import make_queue, make_user

pytestmark = pytest.mark.usefixtures("transactional_db")

HIDDEN, MISSING = "hidden1", "missing"  # of one length
Ask = Callable[[Speaker, str], object]


def by_put(client: Speaker, name: str) -> object:
    return told(client.sender, name)


def by_get(client: Speaker, name: str, **more: Any) -> object:
    return told(client.receiver, name, **more)


def by_browse(client: Speaker, name: str) -> object:
    return by_get(client, name, distribution_mode="copy")


def by_topic(client: Speaker, name: str) -> object:
    return by_get(client, name, capabilities=("topic",))


def by_relay(client: Speaker, name: str) -> object:
    outcome = client.ask(client.sender(None), message(to=name))
    assert isinstance(outcome, p.Rejected)
    assert outcome.error is not None
    return repr(outcome.error).replace(name, "…")


def told(attach: Callable[..., object], name: str, **more: Any) -> object:
    """What the client is told of a name, with the name left out."""
    with pytest.raises(AmqpError) as refused:
        attach(name, **more)
    error = refused.value
    return (error.condition, str(error).replace(name, "…"), str(error.info))


@pytest.mark.parametrize("ask", [by_put, by_get, by_browse, by_topic, by_relay])
def test_the_answer_for_a_hidden_queue_is_that_for_a_missing_one(ask: Ask) -> None:
    make_queue(HIDDEN)
    user = make_user("omar", granted=("put", "get"), pattern="bills")
    user.set_password(PASSWORD)
    user.save()
    with listener(user=user) as here, speaking(here) as client:
        assert ask(client, HIDDEN) == ask(client, MISSING)


def test_a_queue_on_which_a_client_has_some_authority_names_the_one_it_lacks() -> None:
    make_queue("bills")
    user = make_user("omar", granted=("put",), pattern="bills")
    user.set_password(PASSWORD)
    user.save()
    with listener(user=user) as here, speaking(here) as client:
        answer = str(by_get(client, "bills"))

    assert "amqp:unauthorized-access" in answer
    assert "lacks the authority 'get'" in answer
