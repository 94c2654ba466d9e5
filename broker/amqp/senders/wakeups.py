"""Wake-ups: wake waiting consumers when entries may have come to their queues.

Each queue has two waiting lines: takers, which take any entry, and choosers, which may
leave entries to others. When an entry comes, the first of a line looks; after it, the
next. The takers' line stops when one finds nothing, so that one message does not wake a
thousand consumers. In the choosers' line all look.

Notifications may be lost, and delayed entries fall due without one. So one statement
checks all queues with waiting consumers: once in ``POLL_S``, when an entry falls due,
and soon after a consumer began to wait.
"""

from __future__ import annotations

import asyncio
import logging
import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol

from django.db.models import DateTimeField, Exists, F, Func, OuterRef, Subquery

from broker.models import Delayed, Queue, Ready
from broker.queueing import notifications
from broker.queueing.delayed import AGAIN_S

logger = logging.getLogger(__name__)

QUIET_S = 0.05  # seconds between two checks of all queues
AT_ONCE = 5000  # most queues in one statement


class Waiter(Protocol):
    """A consumer that can wait for entries of a queue."""

    queue_id: int
    chooses: bool  # whether it may leave entries that other consumers take

    def look(self) -> None:
        """Look at the queue; then call ``Waking.looked`` or ``Waking.leave``."""


class QueueState(NamedTuple):
    """The state of a queue."""

    queue_id: int
    is_ready: bool
    due_s: float | None  # seconds until the next delayed entry is due


class WaitingLine:
    """A line of waiters of one queue, in the order in which they began to wait."""

    def __init__(self) -> None:
        # For each waiter, the version of the queue that it has seen.
        self.waiters: OrderedDict[Waiter, int] = OrderedDict()
        self.awake: Waiter | None = None  # the waiter that looks at the queue now
        self.empty_at = -1  # version of the queue at which a waiter found nothing
        self.in_vain: Waiter | None = None  # the waiter that found nothing


class Lines:
    """The two lines of one queue."""

    def __init__(self) -> None:
        self.takers, self.choosers = WaitingLine(), WaitingLine()
        # When the waiters were last woken for ready entries although the queue had not
        # changed. They may be entries that the waiters have left before.
        self.told_at = -math.inf

    def of(self, waiter: Waiter) -> WaitingLine:
        return self.choosers if waiter.chooses else self.takers

    def all(self) -> tuple[WaitingLine, WaitingLine]:
        return self.takers, self.choosers

    def is_left(self) -> bool:
        return not any(line.waiters or line.awake for line in self.all())


class Waking:
    """All waiters of one event loop; for the loop's thread."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        database: Callable[..., asyncio.Future[Any]],
    ) -> None:
        """Create it, stopped.

        Args:
            loop: the event loop, where waiters are woken.
            database: runs a function in a thread that has a connection.
        """
        self.loop = loop
        self.database = database
        self.lines: dict[int, Lines] = {}  # by queue id
        self.lock = threading.Lock()
        self.unheard: set[int] = set()  # ids of changed queues; guarded by the lock
        self.timer: asyncio.TimerHandle | None = None
        self.is_checking = False
        self.checked_at = -QUIET_S
        self.stopped = True

    def start(self) -> None:
        self.stopped = False
        notifications.here().subscribe(self.heard)
        self.check_in(notifications.POLL_S)

    def stop(self) -> None:
        self.stopped = True
        notifications.here().unsubscribe(self.heard)
        if self.timer is not None:
            self.timer.cancel()

    def sleep(self, waiter: Waiter, seen: int) -> bool:
        """Wait until an entry may have come; False if the queue changed meanwhile.

        Args:
            waiter: a consumer that found nothing more.
            seen: ``notifications.version`` of its queue before it looked.
        """
        line = self.line_of(waiter)
        # Add the waiter before the check below, or a change could be missed.
        line.waiters[waiter] = seen
        if line.in_vain is waiter:  # woken, but it got nothing: it stays first
            line.in_vain = None
            line.waiters.move_to_end(waiter, last=False)
        if notifications.version(waiter.queue_id) != seen:
            del line.waiters[waiter]
            return False
        self.check_in(max(0.0, self.checked_at + QUIET_S - self.loop.time()))
        return True

    def looked(self, waiter: Waiter, seen: int, *, found: bool) -> None:
        """Note that a waiter has looked; if it was woken for it, wake the next.

        Args:
            waiter: the consumer that looked.
            seen: ``notifications.version`` of its queue before it looked.
            found: whether it found an entry.
        """
        line = self.line_of(waiter)
        if not found and not waiter.chooses:
            line.empty_at, line.in_vain = seen, waiter
        if line.awake is waiter:
            line.awake = None
            self.wake_next(waiter.queue_id, line)

    def leave(self, waiter: Waiter) -> None:
        """Remove a waiter that no longer waits or looks. May be called at any time."""
        lines = self.lines.get(waiter.queue_id)
        if lines is None:
            return
        for line in lines.all():
            line.waiters.pop(waiter, None)
            if line.in_vain is waiter:
                line.in_vain = None
            if line.awake is waiter:
                line.awake = None
                self.wake_next(waiter.queue_id, line)
        if lines.is_left():
            del self.lines[waiter.queue_id]

    def line_of(self, waiter: Waiter) -> WaitingLine:
        return self.lines.setdefault(waiter.queue_id, Lines()).of(waiter)

    def wake_next(self, queue_id: int, line: WaitingLine) -> None:
        """Wake the first waiter of a line, unless a waiter is awake or the queue has
        not changed."""
        version = notifications.version(queue_id)
        if line.awake is not None or line.empty_at == version:
            return
        first, seen = next(iter(line.waiters.items()), (None, version))
        if first is not None and seen != version:
            del line.waiters[first]
            line.awake = first
            self.loop.call_soon(first.look)

    def heard(self, queue_ids: Iterable[int]) -> None:
        """Handle a notification of changed queues; called in any thread."""
        waited_for = [one for one in queue_ids if one in self.lines]
        if not waited_for:
            return
        with self.lock:
            is_first = not self.unheard
            self.unheard.update(waited_for)
        if is_first:
            try:
                self.loop.call_soon_threadsafe(self.wake_heard)
            except RuntimeError:  # the loop is closed
                return

    def wake_heard(self) -> None:
        with self.lock:
            queue_ids, self.unheard = self.unheard, set()
        for queue_id in queue_ids:
            if (lines := self.lines.get(queue_id)) is not None:
                for line in lines.all():
                    self.wake_next(queue_id, line)

    def check_in(self, delay_s: float) -> None:
        """Check all queues after this delay, unless a check is planned earlier."""
        if self.stopped:
            return
        at = self.loop.time() + delay_s
        if self.timer is not None:
            if self.timer.when() <= at:
                return
            self.timer.cancel()
        self.timer = self.loop.call_at(at, self.check)

    def check(self) -> None:
        self.timer = None
        if self.is_checking:
            self.check_in(QUIET_S)
            return
        queue_ids = [
            queue_id
            for queue_id, lines in self.lines.items()
            if any(line.waiters for line in lines.all())
        ]
        self.checked_at = self.loop.time()
        if not queue_ids:
            self.check_in(notifications.POLL_S)
            return
        self.is_checking = True
        self.database(what_is_on, queue_ids).add_done_callback(self.checked)

    def checked(self, future: asyncio.Future[list[QueueState]]) -> None:
        """Wake waiters whose queues have entries, and plan the next check."""
        self.is_checking = False
        if future.cancelled():
            return
        error = future.exception()
        if error is not None:
            logger.info("The queues could not be checked: %s", error)
            self.check_in(notifications.POLL_S)
            return
        seen = future.result()
        left_s = [one.due_s for one in seen if one.due_s is not None and one.due_s > 0]
        there = [one.queue_id for one in seen if self.is_for_somebody(one)]
        if there:
            notifications.here().note(there)
        self.check_in(max(AGAIN_S, min([notifications.POLL_S, *left_s])))

    def is_for_somebody(self, seen: QueueState) -> bool:
        """Whether to wake the waiters of a queue. If only ready entries are the
        reason, at most once in ``POLL_S``, as the waiters may have left these entries
        before."""
        lines = self.lines.get(seen.queue_id)
        if lines is None:
            return False
        if seen.due_s is not None and seen.due_s <= 0:
            return True
        now_s = self.loop.time()
        if not seen.is_ready or now_s - lines.told_at < notifications.POLL_S * 0.9:
            return False
        lines.told_at = now_s
        return True


def what_is_on(queue_ids: Sequence[int]) -> list[QueueState]:
    """The states of queues; a deleted queue counts as ready, so that its waiters
    look."""
    parts = range(0, len(queue_ids), AT_ONCE)
    return [one for at in parts for one in some(queue_ids[at : at + AT_ONCE])]


def some(queue_ids: Sequence[int]) -> list[QueueState]:
    """The states of some queues. One statement; it reads one index entry for each queue
    and place."""
    clock = Func(function="clock_timestamp", output_field=DateTimeField())
    ready = Ready.objects.filter(queue_id=OuterRef("pk"))
    delayed = Delayed.objects.filter(queue_id=OuterRef("pk")).order_by("due_at")
    found = (
        Queue.objects.filter(pk__in=queue_ids)
        .annotate(
            is_ready=Exists(ready),
            left=Subquery(delayed.values("due_at")[:1]) - clock,
        )
        .values_list("pk", "paused", "is_ready", F("left"))
    )
    seen = {
        queue_id: QueueState(
            queue_id,
            is_ready and not paused,
            None if left is None or paused else left.total_seconds(),
        )
        for queue_id, paused, is_ready, left in found
    }
    return [
        seen.get(queue_id, QueueState(queue_id, is_ready=True, due_s=None))
        for queue_id in queue_ids
    ]
