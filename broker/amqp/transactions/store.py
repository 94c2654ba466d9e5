"""Commit of clients' puts, in a database thread."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from django.db import Error as DatabaseError
from django.db import connection, transaction

from broker.amqp.threads import DatabaseAway, is_certain, is_lost
from broker.errors import BrokerError
from broker.queueing.put import NewMessage, put_as_given

logger = logging.getLogger(__name__)

OVERHEAD = 500  # bytes that a message needs besides its body


@dataclass(slots=True)
class Put:
    """The messages of one transfer, usually one."""

    messages: list[NewMessage]
    actor: str
    context: Any = None  # any object that the caller needs with the result


def size_of(message: NewMessage) -> int:
    """The approximate size of a message in memory, in bytes."""
    return message.size_bytes + OVERHEAD


def store(puts: list[Put]) -> list[Exception | None]:
    """Store the messages of several transfers; an error of one does not affect others.

    They share one transaction. If it fails, each half is tried by itself.

    Returns:
        The result of each, in order: None if it is committed, a ``BrokerError`` that
        refuses it, ``DatabaseAway`` if nothing was done. After any other database error
        it is unknown whether it was stored.
    """
    return list(stored(puts))


def stored(puts: Sequence[Put]) -> Iterator[Exception | None]:
    try:
        commit(puts)
    except (BrokerError, DatabaseError) as error:
        if is_lost():
            connection.close()
            kind = DatabaseAway(str(error)) if is_certain(error) else error
            yield from [kind] * len(puts)
        elif len(puts) == 1:
            if isinstance(error, DatabaseError):
                logger.exception("A put failed.")
            yield error
        else:
            half = len(puts) // 2
            yield from stored(puts[:half])
            yield from stored(puts[half:])
    else:
        yield from [None] * len(puts)


def commit(puts: Sequence[Put]) -> None:
    """Store all messages or none. Messages of one actor keep their order."""
    by_actor: dict[str, list[NewMessage]] = defaultdict(list)
    for put in puts:
        by_actor[put.actor] += put.messages
    with nullcontext() if len(by_actor) == 1 else transaction.atomic():
        for actor, messages in by_actor.items():
            put_as_given(messages, actor=actor)
