"""``aput`` and ``aput_many``: puts of asynchronous code, which share commits.

A thread stores all puts that wait, of whichever caller or event loop, by one statement
for each address. Those that come while it commits are in the next commit: there is no
timer, and a single put does not wait. If a put is refused, the others are stored.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple

from asgiref.sync import sync_to_async

from broker.client.asynchronous.joining import in_transaction
from broker.client.asynchronous.threads import (
    RESTS_AFTER_S,
    SharedPool,
    error_of_django,
)
from broker.queueing import tracing
from broker.queueing.put import NewMessage, Receipt, put_as_given
from broker.queueing.store import check
from broker.sql.threads import Pool, tell, with_connection
from broker.transactions.merged_puts import Answer, Put, size_of, store

MOST_MESSAGES = 1000  # of one commit
MOST_BYTES = 16 * 2**20  # of one commit, unless a single put has more


async def aput(
    address: str, body: bytes = b"", *, now: datetime | None = None, **fields: Any
) -> Receipt:
    """Put one message, as ``put`` does, from asynchronous code.

    It is stored when this returns: by a commit of its own or one that it shares with
    other puts. Only if the thread of ``sync_to_async`` is in a transaction is it part
    of that one. If the caller is cancelled, it is unknown whether it was stored.

    Raises:
        NoSuchAddress: the address does not exist.
        MessageTooLarge: the body is above ``BROKER_MAX_MESSAGE_BYTES``.
        InvalidMessage: a header holds NUL, or a property is not JSON.
        django.db.Error: the database failed. If the connection was lost, it is unknown
            whether the message was stored.
    """
    message = NewMessage(address, body, **fields)
    (receipt,) = await tracing.aput([message], partial(stored, now=now))
    return receipt


async def aput_many(
    messages: Sequence[NewMessage],
    *,
    uow: int | None = None,
    actor: str = "",
    now: datetime | None = None,
) -> list[Receipt]:
    """Put messages, all or none, as ``put_many`` does; see ``aput``."""
    return await tracing.aput(messages, partial(stored, uow=uow, actor=actor, now=now))


async def stored(
    messages: Sequence[NewMessage],
    *,
    uow: int | None = None,
    actor: str = "",
    now: datetime | None = None,
) -> list[Receipt]:
    if not messages:
        return []
    check(messages)  # before they are with others, which would have to be tried again
    if await in_transaction():
        store_here = sync_to_async(put_as_given)
        return await store_here(messages, uow=uow, actor=actor, now=now)
    put = Put(list(messages), actor=actor, uow=uow, now=now)
    return await PUTS.use(partial(PutPool.put, put=put))


class Waiting(NamedTuple):
    """A put that waits for the next commit."""

    put: Put
    size: int  # in bytes
    receipts: asyncio.Future[list[Receipt]]


class PutPool(Pool):
    """A thread that stores what waits, again and again."""

    def __init__(self) -> None:
        self.waiting: deque[Waiting] = deque()
        super().__init__("backout-puts", threads=1, rests_after_s=RESTS_AFTER_S)

    def put(self, put: Put) -> asyncio.Future[list[Receipt]]:
        """Let a put wait; for the thread of an event loop."""
        receipts: asyncio.Future[list[Receipt]]
        receipts = asyncio.get_running_loop().create_future()
        size = sum(map(size_of, put.messages))
        self.waiting.append(Waiting(put, size, receipts))
        self.calls.put(self.carry_out)
        return receipts

    def carry_out(self) -> None:
        """Store what waits, and answer. An earlier call may have done so already."""
        group = list(self.taken())
        if not group:
            return
        results: Sequence[Answer]
        try:
            results = with_connection(partial(store, [one.put for one in group]))
        except Exception as error:  # noqa: BLE001  # each caller gets it
            results = [error] * len(group)
        answers = defaultdict(list)
        for one, result in zip(group, results, strict=True):
            answers[one.receipts.get_loop()].append((one.receipts, result))
        for loop, some in answers.items():
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(tell_all, some)

    def taken(self) -> Iterator[Waiting]:
        """The puts of the next commit, without those whose callers are gone."""
        messages = size = 0
        while self.waiting:
            one = self.waiting[0]
            messages += len(one.put.messages)
            size += one.size
            is_full = messages > MOST_MESSAGES or size > MOST_BYTES
            if is_full and messages > len(one.put.messages):
                return
            self.waiting.popleft()
            if not one.receipts.cancelled():
                yield one


def tell_all(answers: Sequence[tuple[asyncio.Future[list[Receipt]], Answer]]) -> None:
    for future, result in answers:
        tell(
            future,
            error_of_django(result) if isinstance(result, Exception) else result,
        )


PUTS: SharedPool[PutPool] = SharedPool(PutPool)
