"""Handlers of Backout's dispatcher."""

from __future__ import annotations

import asyncio
import time

from broker.client import Delivery, UnitOfWork, consumes
from tests.handlers_bench.tasks import BRIEF_S
from tests.handlers_bench.work import begin, is_poison, note, write_a_row


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


PAUSE_S = 0.03


class PoisonError(Exception):
    """What a poison message raises."""


@consumes("poisoned", join=False, concurrency=16)
def poisoned(delivery: Delivery, _: UnitOfWork) -> None:
    number = begin(delivery.body, delivery.backout_count)
    time.sleep(PAUSE_S)
    if is_poison(number):
        raise PoisonError(number)


@consumes("poisoned_rows", concurrency=8)
def poisoned_rows(delivery: Delivery, work: UnitOfWork) -> None:
    write_a_row(bytes(delivery.body).decode())
    poisoned(delivery, work)


@consumes("leased", join=False)
def leased(delivery: Delivery, work: UnitOfWork) -> None:
    note(delivery.body)
