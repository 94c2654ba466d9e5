"""``aunit_of_work``: a unit of work of asynchronous code."""

from __future__ import annotations

from datetime import datetime
from types import TracebackType
from typing import Any, Self

from broker.client.asynchronous.parts import Parts
from broker.queueing.get import Delivery
from broker.queueing.put import NewMessage
from broker.settlement.outcomes import Failure
from broker.transactions.scope import UnitOfWork, unit_of_work

OUTSIDE = "A unit of work needs its block: async with aunit_of_work(...) as work."


def aunit_of_work(*, actor: str = "", now: datetime | None = None) -> AsyncUnitOfWork:
    """A unit of work that commits at the end of its block, and is backed out if the
    block raises an exception or is cancelled, as that of ``unit_of_work``::

        async with aunit_of_work() as work:
            for delivery in await work.aget("orders", limit=10):
                await work.aput("answers", delivery.body)

    It cannot be joined to a transaction: none lasts over an ``await``.

    Args:
        actor: name that the journal records.
        now: the current time, for tests.
    """
    return AsyncUnitOfWork(actor=actor, now=now)


class AsyncUnitOfWork:
    """An open unit of work; see ``aunit_of_work``. Use it in one task.

    Its methods are those of ``UnitOfWork``, and raise what these raise.
    """

    def __init__(self, *, actor: str, now: datetime | None) -> None:
        self.manager = unit_of_work(actor=actor, now=now)
        self.parts = Parts()
        self.begun: UnitOfWork | None = None

    @property
    def work(self) -> UnitOfWork:
        if self.begun is None:
            raise ValueError(OUTSIDE)
        return self.begun

    async def __aenter__(self) -> Self:
        await self.parts.begin()
        self.begun = await self.parts.run(self.manager.__enter__)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.parts.run(self.manager.__exit__, kind, error, traceback)

    async def aget(self, queue: str, limit: int = 1) -> list[Delivery]:
        """Claim up to ``limit`` entries; an empty list if nothing is ready."""
        return await self.parts.run(self.work.get, queue, limit)

    async def aput(self, address: str, body: bytes = b"", **fields: Any) -> None:
        """Put a message at commit."""
        await self.asend(NewMessage(address, body, **fields))

    async def asend(self, *messages: NewMessage) -> None:
        """Like ``aput``, for message objects: all or none."""
        await self.parts.run(self.work.send, *messages)

    async def aaccept(self, delivery: Delivery) -> None:
        """Accept one delivery before the others."""
        await self.parts.run(self.work.accept, delivery)

    async def arelease(self, delivery: Delivery) -> None:
        """Release one delivery, without counting a backout."""
        await self.parts.run(self.work.release, delivery)

    async def areject(self, delivery: Delivery, error: str) -> None:
        """Dead-letter one delivery at once."""
        await self.parts.run(self.work.reject, delivery, error)

    async def acommit(self) -> None:
        """Accept all entries and send all puts before the end of the block."""
        await self.parts.run(self.work.commit)

    async def aback_out(self, error: str | Failure) -> None:
        """Back out all entries, and drop the puts, before the end of the block."""
        await self.parts.run(self.work.back_out, error)
