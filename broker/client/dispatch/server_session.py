"""Server sessions: threads that get messages and hand them to a handler. Those of a
handler that is a coroutine function are tasks (``async_session``).

In each round, a session gets messages and checks them. The handler runs only if all of
them can be delivered. Otherwise the session moves the undeliverable messages away and
releases the others, which does not count as a backout; the next round gets these again.
So an undeliverable message is never part of an application's unit of work, and does not
delay other messages.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from datetime import datetime
from functools import cached_property, partial
from types import CoroutineType
from typing import Any, NamedTuple

from django.conf import settings
from django.db import Error as DatabaseError
from django.db import connection, transaction

from broker.client.dispatch import stoppages
from broker.client.dispatch.connection_consumer import ConnectionConsumer
from broker.client.dispatch.limits import OverLimit
from broker.client.dispatch.lookout import Lookout
from broker.client.dispatch.spans import Spans
from broker.client.dispatch.undeliverable import (
    SIGNATURE,
    Blocked,
    NoneOf,
    dispose,
    unfit,
)
from broker.errors import BrokerError
from broker.errors.queues import NotAuthorized
from broker.errors.units_of_work import Reject
from broker.formats.exceptions import concerns_program, is_a, text_of
from broker.formats.selectors.parsing import Selector, parse
from broker.formats.trace_context import trace_id
from broker.monitoring import logs
from broker.queueing import delayed, notifications
from broker.queueing.get import Delivery, Next
from broker.queueing.selective_get import Finder, Search
from broker.settlement import settle
from broker.settlement.outcomes import Release, describe
from broker.settlement.poison import Removing
from broker.transactions.group_commit import GroupCommit
from broker.transactions.scope import UnitOfWork, unit_of_work
from broker.transactions.session import Lent, insist

logger = logging.getLogger(__name__)

BACKED_OUT = "%s was backed out: %s"
NOT_AWAITED = (
    "{} is no async def, but returned a coroutine, which nobody would await. A"
    " decorator of an async def must return an async def."
)
SWEEP_S = 1.0  # unwanted messages are removed at least this often


class Got(NamedTuple):
    """The deliveries of one get."""

    deliveries: list[Delivery]
    # Selectors of which a message must match one, or it is unwanted; None: not checked.
    selectors: list[Selector] | None = None


NOTHING = Got([])


class ServerSession:
    """One thread of a ConnectionConsumer.

    Args:
        consumer: the ConnectionConsumer.
        goes_on: asked after each handler: whether another round follows at once. Then
            the statement that accepts its messages gets the next ones.
    """

    now: datetime | None = None  # for tests; None: the database's clock
    got = NOTHING  # deliveries of this round

    def __init__(
        self, consumer: ConnectionConsumer, goes_on: Callable[[], bool] = bool
    ) -> None:
        self.consumer = consumer
        self.handler = consumer.handler
        self.goes_on = goes_on
        self.sweep: Search | None = None
        self.swept_at = time.monotonic()
        batch = min(self.handler.batch, settings.BROKER_MAX_UNCOMMITTED_MESSAGES)
        self.next = Next(consumer.queue.name, pooled=True, limit=batch)
        self.following: list[Delivery] = []  # got by the commit of the last round
        self.spans = Spans(consumer.handler)
        self.held_s = 0.0  # how long a limit makes this session wait
        self.lookout = consumer.lookout or Lookout(consumer.queue.pk)
        self.is_on_lookout = False

    @cached_property
    def search(self) -> Finder | None:
        """What finds messages for this session; None: it gets the next of its queue."""
        text, limits = self.handler.selector, self.consumer.limits
        search = Search(self.consumer.queue.name, parse(text)) if text else None
        return search if limits is None else limits.within(search)

    def serve(self) -> int:
        """Run one round; return the number of deliveries.

        An exception of the handler backs its unit of work out, and is only logged.

        Raises:
            NotAuthorized: the queue's attributes may not be read; the messages were
                given back.
        """
        with logs.bound(queue=self.consumer.queue.name):
            return self.serve_round()

    def serve_round(self) -> int:
        refused: NotAuthorized | None = None
        try:
            refused = self.work_round()
        except BaseException as error:
            if not self.note_end(error):
                raise
        if refused is not None:
            raise refused
        return len(self.got.deliveries)

    def note_end(self, error: BaseException) -> bool:
        """Log how a round has failed; return whether that is all that is to be done."""
        if is_a(error, DatabaseError) and self.is_cut_off():
            return False
        if is_a(error, BrokerError):
            logger.warning("%s: %s", self.handler.queue, error)
        elif is_a(error, Reject):  # the handler has rejected its message
            logger.info("%s was rejected: %s", self.handler.queue, text_of(error))
        elif concerns_program(error):
            return False
        else:  # any error of a handler is a backout
            self.note_backout(error)
        return True

    def is_cut_off(self) -> bool:
        """Whether the database cannot be used."""
        return not connection.is_usable()

    def work_round(self) -> NotAuthorized | None:
        """Get, and run the handler, in one unit of work; return an error of authority.
        Each exception has backed the unit of work out."""
        self.got = NOTHING
        join, actor = self.handler.join, self.handler.name
        work = None
        try:
            with self.spans, unit_of_work(join=join, actor=actor, now=self.now) as work:
                work.group = self.group
                self.got = self.get(work)
                if self.got.deliveries:
                    self.leave_lookout()
                self.note_busy(1)
                return self.hand_out(self.got, work)
        finally:
            self.note_busy(-1)
            self.following = work.following if work else []

    def note_busy(self, by: int) -> None:
        if self.got.deliveries:
            self.consumer.busy.change(by, time.monotonic())

    def note_backout(self, error: BaseException) -> None:
        """Log a line for people. It is expected that deliveries fail: the stack trace
        is with the message, and here only if tools such as Sentry want it."""
        said = self.handler.queue, describe(error)
        notifications.wake(self.consumer.queue.pk)  # it may be due again soon
        traces: bool = settings.BACKOUT_LOG_TRACES
        try:
            logger.error(BACKED_OUT, *said, exc_info=traces, extra=logs.ids())
        except BaseException:  # noqa: BLE001  # a formatter calls the exception
            logger.error(BACKED_OUT, *said, extra=logs.ids())

    def leave_lookout(self) -> None:
        if self.is_on_lookout:
            self.is_on_lookout = False
            self.lookout.leave()

    def wait(self, stopping: threading.Event, seen: int) -> None:
        """Wait until a limit allows a message; or note when to look again.

        Args:
            stopping: set when the process stops.
            seen: the version of the queue before the last look (``notifications``).
        """
        queue, limits = self.consumer.queue, self.consumer.limits
        if self.held_s and limits:
            limits.wait(stopping, self.held_s)
        elif self.goes_on():
            self.lookout.note_empty(seen, delayed.until_due_s(queue.name))

    def close(self) -> None:
        """Release what the last round got for the next one."""
        for uow in {delivery.uow for delivery in self.following}:
            actor = self.handler.name
            insist(partial(settle.end_if_held, uow, Release(), actor=actor))
        self.following = []

    def hand_out(self, got: Got, work: UnitOfWork) -> NotAuthorized | None:
        """Run the handler, if all messages can be delivered; return an error of
        authority."""
        fit, refused = self.sort_out(got, work)
        if fit:
            for delivery in got.deliveries:
                self.bind_log(delivery)
                self.call(delivery, work)
            self.go_on(work)
        return refused

    def sort_out(self, got: Got, work: UnitOfWork) -> tuple[bool, NotAuthorized | None]:
        """Whether all messages can be delivered; if not, all of them are disposed of or
        released. And an error of authority."""
        try:
            going = self.sift(got)
        except NotAuthorized as refused:
            self.put_away({}, got, work)
            return False, refused
        if going:
            self.put_away(going, got, work)
        return not going, None

    def bind_log(self, delivery: Delivery) -> None:
        """Have log lines name a message. This is not undone after the call, as the log
        of a backout has the ids, too."""
        logs.bind(
            message_id=delivery.message_id,
            unit_of_work=delivery.uow,
            trace_id=trace_id(delivery.properties),
        )

    def go_on(self, work: UnitOfWork) -> None:
        """Have the statement that ends a unit of work get the next messages."""
        if self.search is None and self.goes_on():
            work.then = self.next

    def call(self, delivery: Delivery, work: UnitOfWork) -> None:
        """Call the handler. If it fails, its database session is dropped, as the
        handler may have changed it."""
        session = Lent.now()
        try:
            with self.spans.around(delivery):
                session.watch(partial(self.run_handler, delivery, work))
        except BaseException:
            session.drop()
            self.go_on(work)
            raise

    def run_handler(self, delivery: Delivery, work: UnitOfWork) -> None:
        found = self.consumer.call(delivery, work)
        if type(found) is CoroutineType:  # it would be accepted, and never have run
            found.close()
            raise TypeError(NOT_AWAITED.format(self.handler.name))

    def get(self, work: UnitOfWork) -> Got:
        """Get the next messages: wanted messages first, unwanted messages at least now
        and then."""
        if self.following:
            deliveries, self.following = self.following, []
            work.note(deliveries)
            return Got(deliveries)
        looks = [self.get_matching, self.get_unwanted]
        if time.monotonic() - self.swept_at >= SWEEP_S:
            looks.reverse()
        for look in looks:
            got = look(work)
            if got.deliveries:
                return got
        return NOTHING

    def get_matching(self, work: UnitOfWork) -> Got:
        self.held_s = 0.0
        try:
            return Got(self.take(work, self.search))
        except OverLimit as over:
            self.held_s = over.wait_s
            return NOTHING

    def get_unwanted(self, work: UnitOfWork) -> Got:
        self.swept_at = time.monotonic()
        selectors = self.consumer.other_selectors()
        if selectors is None:
            return NOTHING
        nobody = NoneOf.these(selectors)
        if self.sweep is None or self.sweep.selector != nobody:
            self.sweep = Search(self.consumer.queue.name, nobody)
        return Got(self.take(work, self.sweep), selectors)

    @property
    def group(self) -> GroupCommit | None:
        """The group that this session commits with. Not in a transaction around it, as
        tests have one: the thread of the group would not see what is in it."""
        if self.now is not None or connection.in_atomic_block:
            return None
        return self.consumer.group

    def take(self, work: UnitOfWork, search: Finder | None) -> list[Delivery]:
        group = self.group if search is None else None
        limit = self.lookout.idle() if self.is_on_lookout else 1
        if group is not None and (got := group.get(limit)) is not None:
            if got:
                work.note(got[:1])
                self.lookout.share(got[1:])
            return got[:1]
        queue, batch = self.consumer.queue.name, self.handler.batch
        return work.get(queue, batch, search=search, pooled=True)

    def sift(self, got: Got) -> dict[int, Removing]:
        """The deliveries that cannot be delivered to the handler, by message id."""
        found = {
            delivery.message_id: unfit(
                delivery, self.consumer.attributes, got.selectors
            )
            for delivery in got.deliveries
        }
        return {message_id: one for message_id, one in found.items() if one is not None}

    def put_away(self, going: dict[int, Removing], got: Got, work: UnitOfWork) -> None:
        """Dispose of undeliverable messages, and release the others.

        Once delivery has stopped, all remaining messages are released.
        """
        stopped = False
        for delivery in got.deliveries:
            removing = going.get(delivery.message_id)
            if removing is None or stopped:
                work.release(delivery)
                continue
            user = self.consumer.user
            if work.remove_alone(removing, SIGNATURE, user=user) is not None:
                continue
            about: dict[str, Any] = {"actor": self.handler.name, "now": self.now}
            outcome = dispose(removing, user=user, **about)
            if isinstance(outcome, Blocked):
                with transaction.atomic():
                    work.release(delivery)
                    stoppages.stop(delivery, outcome, user=self.consumer.user)
                stopped = True
            else:
                work.forget(delivery)
