"""Messages to be transformed, and for whom."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from broker.bridges.transformers.registry import (
    TRANSFORMERS,
    Context,
    Outcome,
    Transformer,
    anything,
    check,
)
from broker.bridges.transformers.running import transform
from broker.errors.bridges import TransformerFailed
from broker.queueing.store import NewMessage

PATIENCE_S = 60.0  # with what is not about time


def make_context(**properties: str) -> Context:
    return Context(properties, "amqp", "this-broker", "harbour", "north")


def make_message(body: bytes = b"body", **fields: Any) -> NewMessage:
    return NewMessage("orders", body, **{"content_type": "text/plain"} | fields)


def apart(
    name: str,
    message: NewMessage | None = None,
    time_limit_s: float = PATIENCE_S,
    **properties: str,
) -> Outcome:
    """What a transformer makes of a message in a worker process."""
    return transform(
        name,
        message or make_message(),
        make_context(**properties),
        time_limit_s=time_limit_s,
    )


def here(name: str, message: NewMessage | None = None, **properties: str) -> Outcome:
    """The same in this process."""
    return transform(
        name, message or make_message(), make_context(**properties), time_limit_s=None
    )


def register(
    patch: pytest.MonkeyPatch, name: str, transform: Callable[..., Any]
) -> None:
    """A transformer of which nothing remains after the test."""
    one = Transformer(name, transform, anything, "")
    patch.setitem(TRANSFORMERS, name, one)


def transformed(name: str, message: NewMessage, asked: Mapping[str, str]) -> NewMessage:
    check(name, asked)
    after = here(name, message, **asked)
    assert isinstance(after, NewMessage)
    return after


def failure(name: str, message: NewMessage, asked: Mapping[str, str]) -> str:
    with pytest.raises(TransformerFailed) as failed:
        here(name, message, **asked)
    return failed.value.why.removeprefix("ValueError: ")


def wrong(name: str, asked: Mapping[str, str]) -> str:
    """What is said at save."""
    with pytest.raises(ValueError, match=r".") as refused:
        check(name, asked)
    return str(refused.value)
