"""Asynchronous handlers whose connections are lost, or whose process is killed."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections import Counter
from functools import partial

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import connection

from broker.models import Claim, Queue, Ready
from broker.monitoring import fsck
from broker.queueing import processes
from broker.queueing.get import Delivery
from broker.queueing.put import put_many
from broker.settlement import settle
from broker.transactions.scope import UnitOfWork
from tests.amqp.launching import database_url
from tests.broker.async_handling import Noted, drained
from tests.broker.handling import handler, running
from tests.console.until import until
from tests.make import make_messages, make_queue

pytestmark = pytest.mark.usefixtures("transactional_db")

# All sessions but that of this thread, and that of this process's lock.
CUT = """
SELECT count(pg_terminate_backend(pid, 10000)) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
  AND application_name <> %s"""


@pytest.fixture(autouse=True)
def orders(transactional_db: None) -> Queue:
    return make_queue("orders")


def cut() -> None:
    with connection.cursor() as cursor:
        cursor.execute(CUT, [processes.NAME])


def ready() -> int:
    orders = Queue.objects.filter(name="orders").values("pk")
    return Ready.objects.filter(queue_id__in=orders).count()


def has_begun(seen: Noted, count: int) -> bool:
    return len(seen.deliveries) >= count


@pytest.mark.parametrize("puts", [False, True])
def test_a_handler_that_cancels_its_own_task_and_returns_loses_no_message(
    puts: bool,
) -> None:
    """Others wait for answers beside it, and its task goes on with the next one."""
    make_queue("answers")
    put_many(make_messages(40))

    async def cancel(delivery: Delivery, work: UnitOfWork) -> None:
        if puts:
            work.put("answers", delivery.body)
        await asyncio.sleep(0)
        task = asyncio.current_task()
        assert task is not None
        if int(delivery.body) % 3 == 0:
            task.cancel()

    seen = Noted(cancel)
    with running(handler(seen, join=False, concurrency=8)):
        until(lambda: has_begun(seen, 40) and drained())

    assert len({one.message_id for one in seen.deliveries}) == 40
    assert len(seen.deliveries) == 40
    answers = Queue.objects.get(name="answers").pk
    assert Ready.objects.filter(queue_id=answers).count() == (40 if puts else 0)
    assert fsck.violations() == []


@pytest.mark.parametrize("puts", [False, True])
def test_connections_that_are_lost_again_and_again_lose_no_message(
    *, puts: bool
) -> None:
    make_queue("answers")
    put_many(make_messages(300, "orders"))

    async def handle(delivery: Delivery, work: UnitOfWork) -> None:
        await asyncio.sleep(0.02)
        if puts:
            work.put("answers", delivery.body)
        if delivery.message_id % 10 == 0 and not delivery.backout_count:
            raise ValueError("not yet")

    seen = Noted(handle)
    with running(handler(seen, join=False, concurrency=20)):
        for number in (40, 90, 140):
            until(partial(has_begun, seen, number))
            cut()
        until(lambda: not seen.at_once and Claim.objects.count() + ready() <= 3)

    # A lost answer to the end of a single unit of work may leave what it has got for
    # the next one; it ends with the process.
    settle.back_out_overdue(limit=100)
    with running(handler(seen, join=False, concurrency=20)):
        until(drained)
    assert len({one.message_id for one in seen.deliveries}) == 300
    assert Ready.objects.count() == (300 if puts else 0)
    assert fsck.violations() == []


def test_an_asynchronous_method_of_django_works_after_its_connection_was_lost() -> None:
    put_many(make_messages(1, "orders"))
    found: list[int] = []

    async def handle(delivery: Delivery, _: UnitOfWork) -> None:
        found.append(await Queue.objects.acount())
        if not delivery.backout_count:
            await sync_to_async(end_session)()

    with running(handler(Noted(handle), join=False, concurrency=2)):
        until(drained)

    assert found == [1, 1]


def end_session() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")


PROGRAM = """
import asyncio, sys
import django
django.setup()
from broker.client.dispatch.dispatcher import Dispatcher
from broker.client.dispatch.handlers import Handler

async def handle(delivery, work):
    print(delivery.message_id, flush=True)
    await asyncio.sleep(3600)

Dispatcher([Handler("orders", handle, False, 1, 7)]).start()
"""


@pytest.mark.spec("UOW-4")
def test_of_a_killed_process_only_what_it_had_begun_counts_as_an_attempt() -> None:
    put_many(make_messages(20, "orders"))
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        cwd=settings.BASE_DIR,
        env=os.environ | {"DATABASE_URL": database_url()},
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        begun = {int(process.stdout.readline()) for _ in range(7)}
        process.send_signal(signal.SIGKILL)
    assert Claim.objects.count() == 7

    until(lambda: settle.back_out_overdue(limit=100) or not Claim.objects.exists())
    until(lambda: not Claim.objects.exists())

    backouts = Counter(dict(Ready.objects.values_list("id", "backout_count")))
    assert {one for one, count in backouts.items() if count} == begun
    assert set(backouts.values()) == {0, 1}
    assert fsck.violations() == []
