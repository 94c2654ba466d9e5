"""Handlers that are coroutine functions, for tests."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from broker.models import Claim, Delayed, Queue, Ready
from broker.queueing.get import Delivery
from broker.transactions.scope import UnitOfWork


class Noted:
    """An asynchronous handler, and what it was given."""

    def __init__(self, behaviour: Callable[[Delivery, UnitOfWork], Any]) -> None:
        self.__qualname__ = "handle_order"
        self.behaviour = behaviour
        self.deliveries: list[Delivery] = []
        self.threads: set[str] = set()
        self.at_once = self.most = 0

    async def __call__(self, delivery: Delivery, work: UnitOfWork) -> None:
        self.deliveries.append(delivery)
        self.threads.add(threading.current_thread().name)
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        try:
            await self.behaviour(delivery, work)
        finally:
            self.at_once -= 1


def drained(*queues: str) -> bool:
    """Whether nothing is left on these queues."""
    ids = Queue.objects.filter(name__in=queues or ["orders"]).values("pk")
    every = (Ready, Claim, Delayed)
    return not any(one.objects.filter(queue_id__in=ids).exists() for one in every)


async def nothing(delivery: Delivery, work: UnitOfWork) -> None:
    """A handler."""
