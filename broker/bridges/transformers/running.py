"""Run a transformer for a message, in this process or in a worker process.

The transformer gets a copy. The original stays unchanged, for the dead message queue if
anything fails.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import fields
from operator import attrgetter
from typing import Any

from broker.bridges.transformers import carrying
from broker.bridges.transformers.checking import checked
from broker.bridges.transformers.failing import described
from broker.bridges.transformers.registry import Context, Outcome, transformer
from broker.bridges.transformers.workers import Worker
from broker.errors.bridges import TransformerFailed
from broker.formats.exceptions import concerns_program
from broker.queueing.store import NewMessage
from broker.transactions.session import Lent

VALUES = attrgetter(*(one.name for one in fields(NewMessage)))


class Mine(threading.local):
    """The worker process of each link's thread; it ends with the thread."""

    def __init__(self) -> None:
        self.worker = Worker()


MINE = Mine()


def transform(
    name: str, message: NewMessage, context: Context, *, time_limit_s: float | None
) -> Outcome:
    """Transform a message, and validate the result.

    Args:
        name: the name of the transformer.
        message: the message, which is not changed.
        context: the link's context.
        time_limit_s: the time limit; then it runs in a worker process, which is killed
            when the time is over. The start of the worker does not count. None: no
            limit, in this thread.

    Raises:
        NoSuchTransformer: there is none of this name.
        TransformerFailed: it raised an error, took too long, or returned an invalid
            result.
    """
    if time_limit_s is None:
        return checked(name, call(name, message, context), message)
    transformer(name)
    try:
        request = carrying.encode_request(name, message, context)
    except (RecursionError, TypeError, ValueError) as error:
        why = f"No worker process can be given the message. {described(error)}"
        raise TransformerFailed(name, why) from error
    answer = MINE.worker.ask(name, request, time_limit_s)
    return checked(name, answer, message)


def close_worker() -> None:
    """End the worker of this thread, if it has one, as its link has stopped."""
    MINE.worker.close()


def call(name: str, message: NewMessage, context: Context) -> object:
    """Call a transformer with a copy of a message; the result is not validated.

    Raises:
        NoSuchTransformer: there is none of this name.
        TransformerFailed: it raised an error.
    """
    transform = transformer(name).transform
    session = Lent.now()
    try:
        outcome = transform(copied(message), context)
        session.check()
    except BaseException as error:
        session.drop()
        if concerns_program(error):
            raise
        raise TransformerFailed(name, described(error)) from error
    return outcome


def copied(message: NewMessage) -> NewMessage:
    """A copy of a message that shares no mutable value with it."""
    copy = NewMessage(*VALUES(message))
    copy.properties = copied_json(copy.properties)
    if copy.descriptor is not None:
        copy.descriptor = copied_json(copy.descriptor)
    return copy


def copied_json(value: Any) -> Any:
    """A deep copy of a JSON value."""
    if isinstance(value, Mapping):
        return {
            name: copied_json(one) if isinstance(one, dict | list) else one
            for name, one in value.items()
        }
    return [copied_json(one) for one in value] if isinstance(value, list) else value
