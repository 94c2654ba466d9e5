"""The handler of the harness's messages, run by ``broker_dispatch``: a function in
threads, or a coroutine function where many are to run at once.
"""

from __future__ import annotations

import asyncio
import json
import os
import time

from broker.client import Delivery, Reject, UnitOfWork, consumes
from tests.harness.backout import meters
from tests.harness.backout.ending import die_with_parent
from tests.harness.contract import Told

QUEUE = "long_horizon_bench"
PROCESSES = "BACKOUT_HARNESS_PROCESSES"  # environment variable: of the dispatcher
TOLD = Told.read()
# From so many sessions of a process on, they are tasks of an event loop.
MANY = int(os.environ.get("BACKOUT_HARNESS_MANY", "64"))
COUNT = int(os.environ.get(PROCESSES, "0"))  # 0 in the adapter's own process


def begin() -> None:
    """A process of the dispatcher begins: it must end when the harness kills the
    adapter, and its meter tells the adapter that it is there."""
    die_with_parent()
    meters.mine()


if COUNT == 1:
    begin()
elif COUNT:
    os.register_at_fork(after_in_child=begin)


def sessions() -> int:
    """Sessions of each process, so that all of them are as many as the workers asked
    for."""
    return max(1, TOLD.workers // max(1, COUNT))


def work(delivery: Delivery, _: UnitOfWork) -> None:
    job = began(delivery)
    if TOLD.work_ms:
        time.sleep(TOLD.work_ms / 1000)
    meters.mine().completed(age_us(job))


async def work_in_loop(delivery: Delivery, _: UnitOfWork) -> None:
    job = began(delivery)
    if TOLD.work_ms:
        await asyncio.sleep(TOLD.work_ms / 1000)
    meters.mine().completed(age_us(job))


is_many = sessions() >= MANY
consumes(QUEUE, join=False, concurrency=sessions())(work_in_loop if is_many else work)


def began(delivery: Delivery) -> dict[str, int]:
    """The job of a message, unless it fails now."""
    job: dict[str, int] = json.loads(delivery.body)
    meter = meters.mine()
    if TOLD.fails == "terminal-always":
        meter.add(meters.DEAD)
        raise Reject("As the harness asks for.")
    if job["fails_first"] and not delivery.backout_count:
        meter.add(meters.FAILED)
        raise FirstTryError(job["seq"])
    meter.began(age_us(job))
    return job


class FirstTryError(Exception):
    """The first try of a message fails, as the harness asks for."""


def age_us(job: dict[str, int]) -> int:
    return (time.time_ns() - job["put_at_ns"]) // 1000
