"""``aconsumer``: the consumer loop of asynchronous code.

It is the loop of ``broker.client.consumer_loop``, whose parts run in threads; only the
wait for messages is asynchronous. So no loop that waits holds a thread or a connection.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import datetime
from functools import partial
from types import TracebackType
from typing import Any, Self

from broker.client.asynchronous.parts import Parts
from broker.client.consumer_loop import Deliveries, consumer
from broker.queueing import notifications
from broker.queueing.get import Delivery
from broker.queueing.put import NewMessage

OUTSIDE = (
    "A consumer loop needs its block: async with aconsumer(...) as deliveries. Without"
    " it, nobody knows whether the last message was processed."
)


def aconsumer(  # noqa: PLR0913  # each is named where it is used
    queue: str,
    *,
    batch: int = 1,
    selector: str = "",
    timeout_s: float | None = None,
    stop: Callable[[], object] = bool,
    actor: str = "",
    now: datetime | None = None,
) -> AsyncDeliveries:
    """The messages of a queue, as ``consumer`` has them, for asynchronous code::

        async with aconsumer("orders") as deliveries:
            async for delivery in deliveries:
                await deliveries.aput("answers", await answer(delivery.body))

    The arguments are those of ``consumer``; ``stop`` is called by the event loop. The
    beginning of the block raises what ``consumer`` raises.

    A cancellation backs the message out that the body has, as any exception does. What
    it was not given is released, also what a step gets that is cancelled.
    """
    about: dict[str, Any] = {"selector": selector, "timeout_s": timeout_s}
    about |= {"batch": batch, "stop": stop, "actor": actor, "now": now}
    return AsyncDeliveries(partial(consumer, queue, **about))


class AsyncDeliveries:
    """The deliveries of a consumer loop; see ``aconsumer``. Use it in one task.

    Args:
        make: makes the loop whose parts run in threads.
    """

    def __init__(self, make: Callable[[], Deliveries]) -> None:
        self.make = make
        self.made: Deliveries | None = None
        self.parts = Parts()

    @property
    def loop(self) -> Deliveries:
        if self.made is None or not self.made.is_open:
            raise ValueError(OUTSIDE)
        return self.made

    async def __aenter__(self) -> Self:
        await self.parts.begin()
        self.made = await self.parts.run(self.make)
        await self.parts.run(self.made.__enter__)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.parts.run(self.loop.__exit__, kind, error, traceback)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Delivery:
        # A body that has left a loop of this block may begin another one.
        delivery = next(self.loop.unread, None)
        if delivery is None:
            await self.end_and_get()
            delivery = next(self.loop.unread, None)
        if delivery is None:
            raise StopAsyncIteration
        return delivery

    async def end_and_get(self) -> None:
        """As ``Deliveries.end_and_get``."""
        loop = self.loop
        if await self.parts.run(loop.go_on, stops=bool(loop.stop())):
            return
        until = loop.until()
        while not loop.stop():
            version = notifications.version(loop.queue.pk)
            wait_s = await self.parts.run(loop.look, until)
            if wait_s is None:
                return
            await arrival(loop.queue.pk, version, longest_s=wait_s)

    async def aput(self, address: str, body: bytes = b"", **fields: Any) -> None:
        """Put a message when the unit of work commits; see ``UnitOfWork.put``."""
        await self.asend(NewMessage(address, body, **fields))

    async def asend(self, *messages: NewMessage) -> None:
        """Like ``aput``, for message objects: all or none."""
        await self.parts.run(self.loop.send, *messages)

    async def aback_out(self, error: BaseException) -> None:
        """Note that the unit of work has failed; see ``Deliveries.back_out``."""
        await self.parts.run(self.loop.back_out, error)


async def arrival(queue_id: int, seen: int, *, longest_s: float) -> None:
    """As ``notifications.wait``, without a thread that waits."""
    arrivals = notifications.here()
    here, arrived = asyncio.get_running_loop(), asyncio.Event()

    def note(queue_ids: Iterable[int]) -> None:
        if queue_id in queue_ids:
            with suppress(RuntimeError):  # the loop is closed
                here.call_soon_threadsafe(arrived.set)

    arrivals.subscribe(note)
    try:
        # ``wake_all`` changes the versions that exist, so the queue must have one.
        if arrivals.versions.setdefault(queue_id, 0) == seen:
            async with asyncio.timeout(min(longest_s, notifications.POLL_S)):
                await arrived.wait()
    except TimeoutError:
        return
    finally:
        arrivals.unsubscribe(note)
