"""One message through one transformer, in this process or in a worker.

The transformer gets a copy. The message itself stays as it was: if anything goes wrong,
it is what the dead message queue gets.
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
from broker.queueing.store import NewMessage

VALUES = attrgetter(*(one.name for one in fields(NewMessage)))


class Mine(threading.local):
    """The worker of each thread that runs a link; it ends with the thread."""

    def __init__(self) -> None:
        self.worker = Worker()


MINE = Mine()


def transform(
    name: str, message: NewMessage, context: Context, *, time_limit_s: float | None
) -> Outcome:
    """What a transformer makes of a message.

    Args:
        name: of the transformer.
        message: which stays as it is.
        context: for whom.
        time_limit_s: how long it may take, in a worker process that is killed then. To
            start the worker takes seconds, which do not count. None: as long as it
            likes, in this thread.

    Raises:
        NoSuchTransformer: there is none of this name.
        TransformerFailed: it raised, took too long, or returned what cannot be sent.
    """
    if time_limit_s is None:
        return checked(name, call(name, message, context), message)
    transformer(name)
    try:
        request = carrying.asked(name, message, context)
    except (RecursionError, TypeError, ValueError) as error:
        why = f"No worker process can be given the message. {described(error)}"
        raise TransformerFailed(name, why) from error
    answer = MINE.worker.ask(name, request, time_limit_s)
    return checked(name, answer, message)


def close_worker() -> None:
    """End the worker of this thread, if it has one: its link has stopped."""
    MINE.worker.close()


def call(name: str, message: NewMessage, context: Context) -> object:
    """What a transformer returns for a copy of a message, whatever that is.

    Raises:
        NoSuchTransformer: there is none of this name.
        TransformerFailed: it raised.
    """
    transform = transformer(name).transform
    try:
        return transform(copied(message), context)
    except (Exception, SystemExit) as error:
        raise TransformerFailed(name, described(error)) from error


def copied(message: NewMessage) -> NewMessage:
    """A message that shares nothing that can change with the other."""
    copy = NewMessage(*VALUES(message))
    copy.properties = copied_json(copy.properties)
    if copy.descriptor is not None:
        copy.descriptor = copied_json(copy.descriptor)
    return copy


def copied_json(value: Any) -> Any:
    """A JSON value that shares no list and no object with the other."""
    if isinstance(value, Mapping):
        return {
            name: copied_json(one) if isinstance(one, dict | list) else one
            for name, one in value.items()
        }
    return [copied_json(one) for one in value] if isinstance(value, list) else value
