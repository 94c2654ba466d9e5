"""Limits of a handler over all processes: how many messages at once, and how often.

The state of the limits is one row of the database. A session locks it, looks whether it
may begin, gets, and notes what it began, in one transaction. So nothing is claimed that
may not begin: other messages stay ready, and no attempt is counted. A unit of work
counts until it has ended; that of a dead process ends when it is backed out.

The rate spaces messages evenly, by the database's clock. It is the generic cell rate
algorithm: the row has the time of the next message.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta

from django.core.exceptions import ImproperlyConfigured

from broker import sql
from broker.formats.quantities import read_duration
from broker.models import HandlerLimit, Queue
from broker.queueing import notifications
from broker.queueing.get import Delivery, commits_how
from broker.queueing.selective_get import Finder
from broker.sql.fencing import short_transaction

RATE = re.compile(r"([1-9]\d{0,8})/([a-z]+)")
NO_TIME = timedelta(0)
SLACK = timedelta(milliseconds=100)  # late starts are made up for, up to this time
NO_RATE = (
    "{!r} is no rate: write a number and a unit of time (s, min, h, d), as 100/min."
)
NO_NUMBER = "max_running must be 1 or more, not {!r}."


class OverLimit(Exception):
    """A session may not begin now.

    Args:
        wait_s: seconds after which it may ask again.
    """

    def __init__(self, wait_s: float) -> None:
        super().__init__(wait_s)
        self.wait_s = wait_s


def interval(rate: str) -> timedelta:
    """The time from one message to the next; zero without a rate.

    Raises:
        ImproperlyConfigured: the text is no rate.
    """
    if not rate:
        return NO_TIME
    every = NO_TIME
    if form := RATE.fullmatch(rate):
        with suppress(ValueError):
            every = timedelta(seconds=read_duration(f"1 {form[2]}")) / int(form[1])
    if not every:  # no rate, or more than one in a microsecond
        raise ImproperlyConfigured(NO_RATE.format(rate))
    return every


def check(max_running: int | None, rate: str) -> None:
    """Refuse limits that are none.

    Raises:
        ImproperlyConfigured: a limit is no number, or not positive.
    """
    if max_running is not None and max_running < 1:
        raise ImproperlyConfigured(NO_NUMBER.format(max_running))
    interval(rate)


class SharedLimits:
    """The limits of one handler, for the sessions of this process."""

    def __init__(
        self, queue: Queue, handler: str, *, max_running: int | None, rate: str
    ) -> None:
        self.queue_id = queue.pk
        self.handler = handler
        self.max_running = max_running
        self.every = interval(rate)
        self.lock = threading.Lock()
        self.waiting = 0  # sessions of this process that wait
        HandlerLimit.objects.get_or_create(queue=queue, handler=handler)

    def within(self, search: Finder | None) -> Finder:
        """A get that keeps to the limits."""
        return Admission(self, search)

    def wait(self, stopping: threading.Event, wait_s: float) -> None:
        """Wait until a session may ask again, or until the process stops. Sessions of
        this process ask one after the other, in the order of their turns."""
        with self.lock:
            place, self.waiting = self.waiting, self.waiting + 1
        try:
            turn_s = wait_s + place * self.every.total_seconds()
            stopping.wait(min(turn_s, notifications.POLL_S))
        finally:
            with self.lock:
                self.waiting -= 1

    def lock_state(self, synchronous_commit: str | None) -> int:
        """Lock the state; return its id."""
        asked = {"queue_id": self.queue_id, "handler": self.handler}
        rows = sql.run("lock_limit", asked | {"synchronous_commit": synchronous_commit})
        if not rows:  # the queue was deleted; the dispatcher will notice
            raise OverLimit(notifications.POLL_S)
        return int(rows[0][0])

    def require(self, limit_id: int, now: datetime | None) -> None:
        """Refuse to begin over a limit.

        Raises:
            OverLimit: a limit is reached.
        """
        wait_s, running = sql.fetch_one("look_at_limit", limit_id=limit_id, now=now)
        if self.max_running is not None and running >= self.max_running:
            raise OverLimit(notifications.POLL_S)
        if self.every and wait_s > 0:
            raise OverLimit(wait_s)

    def note(self, limit_id: int, got: list[Delivery], now: datetime | None) -> None:
        sql.fetch_one(
            "note_start",
            limit_id=limit_id,
            uow=got[0].uow,
            takes=self.every * len(got),
            slack=SLACK,
            now=now,
        )


class Admission:
    """A finder of entries that takes none over the limits."""

    def __init__(self, limits: SharedLimits, search: Finder | None) -> None:
        self.limits = limits
        self.search = search

    def get(
        self,
        take: Callable[..., list[Delivery]],
        limit: int = 1,
        *,
        now: datetime | None = None,
    ) -> list[Delivery]:
        """As of ``Finder``.

        Raises:
            OverLimit: a limit is reached; nothing was taken.
        """
        # Asked before the transaction begins, as the answer depends on whether one is
        # open.
        how = commits_how()
        with short_transaction():
            limit_id = self.limits.lock_state(how)
            self.limits.require(limit_id, now)
            if self.search is None:
                got = take(None, limit)
            else:
                got = self.search.get(take, limit, now=now)
            if got:
                self.limits.note(limit_id, got, now)
        return got
