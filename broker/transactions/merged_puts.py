"""Puts of several callers, stored together; an error of one does not affect others."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, islice
from typing import Any

from django.db import Error as DatabaseError
from django.db import connection, transaction

from broker.queueing.put import NewMessage, Receipt, put_as_given
from broker.sql.threads import DatabaseAway, is_certain, is_lost

logger = logging.getLogger(__name__)

Answer = list[Receipt] | Exception  # of one put
OVERHEAD = 500  # bytes that a message needs besides its body


@dataclass(slots=True)
class Put:
    """The messages of one caller, all or none of which are stored."""

    messages: Sequence[NewMessage]
    actor: str = ""
    context: Any = None  # any object that the caller needs with the result
    uow: int | None = None
    now: datetime | None = None

    @property
    def about(self) -> tuple[int | None, str, datetime | None]:
        """Puts with the same can be one statement."""
        return self.uow, self.actor, self.now


def size_of(message: NewMessage) -> int:
    """The approximate size of a message in memory, in bytes."""
    return message.size_bytes + OVERHEAD


def store(puts: list[Put]) -> list[Answer]:
    """Store the messages of several callers, in one transaction. If it fails, each half
    is tried by itself.

    Returns:
        The result of each, in order: its receipts if it is committed, the error that
        refuses it, ``DatabaseAway`` if nothing was done. After an error of the database
        that ended the connection it is unknown whether it was stored.
    """
    return list(stored(puts))


def stored(puts: Sequence[Put]) -> Iterator[Answer]:
    try:
        receipts = commit(puts)
    except Exception as error:  # also a TypeError, because of a value of one caller
        if isinstance(error, DatabaseError) and is_lost():
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
        yield from receipts


def commit(puts: Sequence[Put]) -> list[list[Receipt]]:
    """Store all messages or none. Messages of one actor keep their order."""
    alike: dict[Any, list[Put]] = defaultdict(list)
    for put in puts:
        alike[put.about].append(put)
    receipts: dict[int, list[Receipt]] = {}
    with nullcontext() if len(alike) == 1 else transaction.atomic():
        for (uow, actor, now), some in alike.items():
            messages = list(chain.from_iterable(put.messages for put in some))
            found = iter(put_as_given(messages, uow=uow, actor=actor, now=now))
            for put in some:
                receipts[id(put)] = list(islice(found, len(put.messages)))
    return [receipts[id(put)] for put in puts]
