"""Run handlers and tasks of what is ready: in this thread, or by a dispatcher.

``run_ready`` does what a dispatcher does, with its own sessions and units of work. So
outcomes, redelivery and dead letters are the real ones. In a ``TestCase`` all of it is
part of the test's transaction, and is rolled back with it.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import connections, transaction
from django.test import Client
from django.utils import timezone

from broker.client.dispatch.connection_consumer import ConnectionConsumer
from broker.client.dispatch.dispatcher import Dispatcher
from broker.client.dispatch.handlers import Handler, discover
from broker.client.dispatch.server_session import ServerSession
from broker.errors import NoSuchQueue
from broker.errors.units_of_work import RedeliverIn
from broker.formats import moments
from broker.formats.exceptions import concerns_program
from broker.models import Claim, Delayed, Queue, Ready
from broker.queueing.get import Delivery
from broker.sql import database_now

IN_CIRCLES = (
    "More than {} deliveries: handlers put to each other in a circle, or a message that"
    " fails has no limit of attempts. Pass `most` to allow more."
)
NOT_DONE = "After {} s there are still messages on {}."
LOOK_S = 0.01


@dataclass(frozen=True, slots=True)
class Attempt:
    """One delivery to a handler, and how it ended."""

    delivery: Delivery
    error: BaseException | None  # what the handler raised; None: it returned


def run_ready(
    *queues: str,
    until: datetime | timedelta | None = None,
    raises: bool = True,
    most: int = 1000,
) -> list[Attempt]:
    """Run handlers and Django's tasks until nothing is ready, also what they put.

    Args:
        queues: only these; by default all that have a handler.
        until: also what is due by then, a redelivery or a delivery that is delayed:
            a time, or a time from now. Each runs at its own time, as the broker sees
            it; Python's clock stays.
        raises: raise the first error of a handler, when its message is backed out. If
            False, messages are redelivered until they are accepted, delayed or dead.
        most: deliveries after which it gives up.

    Returns:
        The deliveries, in order.

    Raises:
        AssertionError: there were more deliveries than ``most``.
        NoSuchQueue: a queue that is named has no handler.
    """
    run = Run([], raises, most)
    chosen = handlers_of(queues)
    run.all_of(chosen, None)
    if until is not None:
        end, last = at(until), None
        while (due := next_due(chosen)) is not None and due <= end and due != last:
            run.all_of(chosen, due)
            last = due
    return run.attempts


@dataclass(frozen=True, slots=True)
class Run:
    """One call of ``run_ready``."""

    attempts: list[Attempt]
    raises: bool
    most: int

    def all_of(self, handlers: Collection[Handler], now: datetime | None) -> None:
        """Run what is ready at a time; None: now, by the database's clock."""
        while any(self.some_of(one, now) for one in handlers):
            pass

    def some_of(self, handler: Handler, now: datetime | None) -> int:
        """Run all that is ready for a handler; return how many deliveries that were."""
        before = len(self.attempts)
        try:
            consumer = ConnectionConsumer.open(handler)
        except NoSuchQueue:  # this test has not declared it
            return 0
        with closing(consumer), closing(RecordingSession(consumer)) as session:
            session.now = now
            while session.serve():
                self.note(session)
        return len(self.attempts) - before

    def note(self, session: RecordingSession) -> None:
        error = session.error
        self.attempts.extend(Attempt(one, error) for one in session.got.deliveries)
        if error is not None and self.raises:
            raise error
        if len(self.attempts) > self.most:
            raise AssertionError(IN_CIRCLES.format(self.most))


class RecordingSession(ServerSession):
    """A server session that keeps the error of its last round, and does not log it."""

    error: BaseException | None = None

    def serve_round(self) -> int:
        self.error = None
        try:
            with committed():
                refused = self.work_round()
            if refused is not None:
                raise refused
        except RedeliverIn as error:
            self.error = error.__cause__ or error
        except BaseException as error:  # as in ``ServerSession.serve_round``
            if concerns_program(error):
                raise
            self.error = error
        return len(self.got.deliveries)


def handlers_of(queues: Collection[str]) -> list[Handler]:
    """The handlers of these queues, or all, without their limits of rate and number.

    Raises:
        NoSuchQueue: one has no handler.
    """
    if getattr(settings, "TASKS", None):
        # Imported only here, as it needs Django's Tasks or the package django-tasks.
        from broker.client.django_tasks import running  # noqa: PLC0415

        running.register()
    found = discover()
    for queue in queues:
        if queue not in {one.queue for one in found}:
            raise NoSuchQueue(queue)
    return [
        replace(one, max_running=None, rate="")
        for one in found
        if not queues or one.queue in queues
    ]


def at(until: datetime | timedelta) -> datetime:
    """A time of the caller, with its zone."""
    if isinstance(until, timedelta):
        return aware(database_now()) + until
    return aware(until)


def aware(when: datetime) -> datetime:
    return moments.by_clock(when, timezone.get_default_timezone())


def next_due(handlers: Collection[Handler]) -> datetime | None:
    """When the next delayed message of these handlers is due."""
    ids = Queue.objects.filter(name__in={one.queue for one in handlers}).values("pk")
    rows = Delayed.objects.filter(queue_id__in=ids).order_by("due_at")
    due = rows.values_list("due_at", flat=True).first()
    return None if due is None else aware(due)


@contextmanager
def committed() -> Iterator[None]:
    """Run the callbacks of ``on_commit`` that a block registers, as its commit would.

    In a ``TestCase`` nothing else runs them. Elsewhere they have run already.
    """
    lines = connections.all(initialized_only=True)
    before = {line.alias: len(line.run_on_commit) for line in lines}
    yield
    for line in lines:
        start = before.get(line.alias, 0)
        while waiting := line.run_on_commit[start:]:
            del line.run_on_commit[start:]
            for registered in waiting:  # a tuple: savepoints, callback, is it robust
                registered[1]()


@contextmanager
def eager(*queues: str, **options: Any) -> Iterator[None]:
    """Run what a block has put when it ends: callbacks of ``on_commit``, then
    ``run_ready``, which has these arguments."""
    with committed():
        yield
    run_ready(*queues, **options)


class EagerClient(Client):
    """A test client that runs what is ready after each request::

    class OrderTests(TestCase):
        client_class = EagerClient
    """

    def request(self, **request: Any) -> Any:
        with eager():
            return super().request(**request)


class Dispatching:
    """A dispatcher that runs in this process."""

    def __init__(self, queues: Collection[str]) -> None:
        self.queues = queues

    def wait(self, timeout_s: float = 10) -> None:
        """Wait until its queues have no message that is ready or being processed.

        Raises:
            AssertionError: they still have some after that time.
        """
        ids = list(
            Queue.objects.filter(name__in=self.queues).values_list("pk", flat=True)
        )
        end = time.monotonic() + timeout_s
        while any(
            one.objects.filter(queue_id__in=ids).exists() for one in (Ready, Claim)
        ):
            if time.monotonic() > end:
                raise AssertionError(NOT_DONE.format(timeout_s, sorted(self.queues)))
            time.sleep(LOOK_S)


@contextmanager
def dispatching(*queues: str) -> Iterator[Dispatching]:
    """A dispatcher in threads of this process, for tests that commit:
    ``TransactionTestCase`` and ``LiveServerTestCase``.

    Raises:
        RuntimeError: the test is in a transaction, of which other threads see nothing.
    """
    if transaction.get_connection().in_atomic_block:
        raise RuntimeError(
            "A dispatcher sees only what is committed; this test is in a transaction."
            " Use run_ready, or TransactionTestCase."
        )
    handlers = handlers_of(queues)
    running = Dispatcher(handlers)
    running.start()
    try:
        yield Dispatching({one.queue for one in handlers})
    finally:
        running.stop()
