"""A loop over the messages of one queue, whose next step accepts the last message.

The statement that accepts a message, or a batch, also gets the next one, so it takes
one round trip, and one flush. There is no other mechanism: each unit of work is a
``UnitOfWork``.

A ``for`` loop does not tell its iterator whether its body raised an exception, or was
left. So the loop stands in a ``with`` block, and the end of that block says how the
last unit of work ends: as with ``unit_of_work``, an exception backs it out, and any
other end, ``break`` and ``return`` included, accepts what the body was given. What it
was not given is released. So nothing is held when the block has ended.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from types import TracebackType
from typing import Any, Self

from django.conf import settings
from django.db import Error as DatabaseError

from broker.config.names import local_queue
from broker.errors import BrokerError, LockLost
from broker.formats.selectors import parse
from broker.models import Queue
from broker.queueing import delayed, notifications, tracing
from broker.queueing.get import Delivery, Next
from broker.queueing.put import NewMessage
from broker.queueing.selective_get import Search
from broker.settlement import settle
from broker.settlement.outcomes import Failure, Release, failure
from broker.transactions.scope import UnitOfWork
from broker.transactions.session import Lent

OUTSIDE = (
    "A consumer loop needs its block: with consumer(...) as deliveries. Without it,"
    " nobody knows whether the last message was processed."
)


def consumer(  # noqa: PLR0913  # each is named where it is used
    queue: str,
    *,
    batch: int = 1,
    selector: str = "",
    timeout_s: float | None = None,
    stop: Callable[[], object] = bool,
    actor: str = "",
    now: datetime | None = None,
) -> Deliveries:
    """The messages of a queue, by priority, for a ``for`` loop in a ``with`` block::

        with consumer("orders") as deliveries:
            for delivery in deliveries:
                deliveries.put("answers", answer(delivery.body))

    Going on to the next message accepts the last one and sends what was put.

    Args:
        queue: name of the queue, or of an alias.
        batch: messages of one unit of work, which are accepted together after the last
            one. What is ready makes a batch: the loop does not wait for more.
        selector: only matching messages are taken.
        timeout_s: the loop ends when no message came for so long; 0: when the queue is
            empty; None: never.
        stop: called before each unit of work, and at least once a second while the
            loop waits; the loop ends when it returns true.
        actor: name that the journal records.
        now: the current time, for tests; the database's clock when not given.

    Raises:
        NoSuchQueue: there is no such queue.
        InvalidSelector: the selector cannot be read.
        ValueError: the batch is smaller than one message.
    """
    if batch < 1:
        raise ValueError("A batch is one message, or more.")
    source = local_queue(queue)
    return Deliveries(
        source,
        batch=batch,
        search=Search(source.name, parse(selector)) if selector else None,
        timeout_s=timeout_s,
        stop=stop,
        actor=actor,
        now=now,
    )


@dataclass(eq=False, kw_only=True)
class Deliveries:
    """The deliveries of a consumer loop; see ``consumer``. Use it in one thread.

    A step of the loop raises what ``UnitOfWork.commit`` raises. A loop that has ended
    by its time-out may be begun again.
    """

    queue: Queue = field(kw_only=False)
    batch: int
    search: Search | None
    timeout_s: float | None
    stop: Callable[[], object]
    actor: str
    now: datetime | None

    def __post_init__(self) -> None:
        # What a commit gets; it cannot search.
        self.next: Next | None = None
        if self.search is None:
            limit = min(self.batch, settings.BROKER_MAX_UNCOMMITTED_MESSAGES)
            self.next = Next(self.queue.name, limit=limit)
        self.work = self.begin()
        self.session = Lent.now()
        # Why the unit of work is backed out when the loop goes on, or ends.
        self.failure: Failure | None = None
        # Deliveries of the unit of work that the body was not given yet.
        self.unread: Iterator[Delivery] = iter(())
        self.is_open = False

    def begin(self) -> UnitOfWork:
        return UnitOfWork(actor=self.actor, now=self.now)

    def put(self, address: str, body: bytes = b"", **fields: Any) -> None:
        """Put a message when the unit of work commits; see ``UnitOfWork.put``."""
        self.send(NewMessage(address, body, **fields))

    def send(self, *messages: NewMessage) -> None:
        """Like ``put``, for message objects: all or none."""
        if self.failure is not None:
            self.carry_out_failure()
            self.work = self.begin()
        self.work.send(*messages)

    def back_out(self, error: BaseException) -> None:
        """Note that the unit of work has failed. It is backed out when the loop goes
        on, or when the block ends; until then it holds its messages.

        Messages of a batch that the body was not given are released, uncounted. The
        statement that backs a single message out also gets the next one, or the same
        one again.
        """
        self.session.take_back()
        # If they cannot be released, they are backed out with the others.
        with suppress(BrokerError, DatabaseError):
            self.release_unread()
        if not self.work.ended:
            self.failure = failure(error)

    def carry_out_failure(self) -> None:
        outcome, self.failure = self.failure, None
        if outcome is not None:
            with suppress(LockLost):  # the system has backed it out before
                self.work.back_out(outcome)

    def __enter__(self) -> Self:
        self.is_open = True
        self.session = Lent.now()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.is_open = False
        if error is not None:
            self.back_out(error)
        self.end()

    def __iter__(self) -> Iterator[Delivery]:
        # A body that has left a loop of this block may begin another one.
        yield from self.unread
        while self.end_and_get():
            yield from self.unread

    def end_and_get(self) -> bool:
        """End the unit of work, and get what the next one reads; return whether there
        is anything: if not, the loop is stopped, or its time is over."""
        self.check_open()
        if not self.go_on(stops=bool(self.stop())):
            self.get()
        return self.work.held > 0

    def check_open(self) -> None:
        if not self.is_open:
            raise ValueError(OUTSIDE)

    def go_on(self, *, stops: bool) -> bool:
        """End the unit of work, and begin the next one; return whether the statement
        that ended it has got something for the next one. If the loop stops, it does
        not try."""
        self.check_open()
        work = self.work
        work.then = None if stops else self.next
        self.end()
        self.work = self.begin()
        self.unread = iter(work.following)
        if work.following:
            self.work.note(work.following)
            tracing.received(self.queue.name, work.following)
        return bool(work.following)

    def end(self) -> None:
        """Accept what the body was given, send its puts, and release the rest; or back
        it out if it has failed."""
        if self.work.ended:
            return
        if self.failure is not None:
            self.carry_out_failure()
            return
        try:
            self.session.check()
            self.release_unread()
        except BaseException as error:
            self.work.then = None  # the loop does not go on
            self.back_out(error)
            self.carry_out_failure()
            raise
        self.work.commit()

    def release_unread(self) -> None:
        unread = list(self.unread)
        if unread:
            ids = [delivery.message_id for delivery in unread]
            which = unread[0].uow, self.queue.pk, ids
            settle.settle_some(*which, Release(), **self.work.about)
        for delivery in unread:
            self.work.forget(delivery)

    def get(self) -> None:
        """Get what is ready; wait if that is nothing, but not longer than the
        time-out."""
        until = self.until()
        while not self.stop():
            version = notifications.version(self.queue.pk)
            wait_s = self.look(until)
            if wait_s is None:
                return
            notifications.wait(self.queue.pk, version, longest_s=wait_s)

    def until(self) -> float:
        """When the loop ends if no message comes, by the monotonic clock."""
        return math.inf if self.timeout_s is None else time.monotonic() + self.timeout_s

    def look(self, until: float) -> float | None:
        """Get what is ready, also what was delayed until now; return how long to wait
        for more. None: there is something, or the time is over."""
        deliveries = self.work.get(self.queue.name, self.batch, search=self.search)
        self.unread = iter(deliveries)
        left_s = until - time.monotonic()
        if deliveries or left_s <= 0:
            return None
        return min(left_s, delayed.until_due_s(self.queue.name))
