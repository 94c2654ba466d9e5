"""Handlers of Backout's dispatcher."""

from __future__ import annotations

import asyncio

from broker.client import Delivery, UnitOfWork, consumes
from tests.handlers_bench.tasks import BRIEF_S
from tests.handlers_bench.work import note, write_a_row


@consumes("joined")
def joined(delivery: Delivery, work: UnitOfWork) -> None:
    note(delivery.body)


@consumes("joined_row")
def joined_row(delivery: Delivery, work: UnitOfWork) -> None:
    write_a_row(delivery.body)
    note(delivery.body)


@consumes("async", join=False)
async def in_loop(delivery: Delivery, work: UnitOfWork) -> None:
    note(delivery.body)


@consumes("async_brief", join=False, concurrency=64)
async def brief_in_loop(delivery: Delivery, work: UnitOfWork) -> None:
    """As the task ``brief``."""
    await asyncio.sleep(BRIEF_S)
    note(delivery.body)


@consumes("leased", join=False)
def leased(delivery: Delivery, work: UnitOfWork) -> None:
    note(delivery.body)
