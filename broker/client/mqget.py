"""Gets as by IBM MQ's MQGET, with its options.

Backout thresholds are not applied: the program gets poison messages, and must handle
them itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from typing import Self

from django.db import transaction

from broker.client.matching_ids import IdSearch, Match, matching
from broker.config.names import local_queue
from broker.errors import LockLost
from broker.errors.mq_codes import GetOptions
from broker.errors.queues import GetInhibited, NoMessageUnderCursor
from broker.errors.units_of_work import WrongOptions
from broker.models import Queue
from broker.models import UnitOfWork as UnitRow
from broker.queueing import delayed, notifications
from broker.queueing.browse import Browsed, whole
from broker.queueing.get import Delivery, Lanes
from broker.queueing.low_watermarks import FLOORS
from broker.security import authorities
from broker.security.authorities import Principal
from broker.settlement import settle
from broker.settlement.outcomes import Release
from broker.sql import database_now
from broker.transactions.prefetch import places_of
from broker.transactions.scope import UnitOfWork

__all__ = ["Match", "OpenQueue", "get_message"]

Options = GetOptions
BROWSE = Options.BROWSE_FIRST | Options.BROWSE_NEXT
PLACES = BROWSE | Options.MSG_UNDER_CURSOR
IN_UNIT = Options.SYNCPOINT | Options.SYNCPOINT_IF_PERSISTENT
POINTS = IN_UNIT | Options.NO_SYNCPOINT
BESIDE_UNLOCK = Options.UNLOCK | Options.NO_SYNCPOINT | Options.FAIL_IF_QUIESCING
# A function that tests whether a rule is broken, from the options and whether there is
# a unit of work.
Rule = Callable[[GetOptions, bool], bool]
RULES: dict[str, Rule] = {
    "a get is in the unit of work or outside": (
        lambda options, _: (options & POINTS).bit_count() > 1
    ),
    "BROWSE_FIRST, BROWSE_NEXT and MSG_UNDER_CURSOR are different messages": (
        lambda options, _: (options & PLACES).bit_count() > 1
    ),
    "a browse is in no unit of work": (
        lambda options, _: bool(options & BROWSE and options & IN_UNIT)
    ),
    "a mark needs SYNCPOINT": (
        lambda options, _: (
            Options.MARK_SKIP_BACKOUT in options and Options.SYNCPOINT not in options
        )
    ),
    "only what is browsed can be locked": (
        lambda options, _: Options.LOCK in options and not options & BROWSE
    ),
    "UNLOCK stands alone": (
        lambda options, _: Options.UNLOCK in options and bool(options & ~BESIDE_UNLOCK)
    ),
    "there is no unit of work": (
        lambda options, has_unit: bool(options & IN_UNIT and not has_unit)
    ),
}


def get_message(
    queue: OpenQueue | str,
    options: GetOptions = GetOptions.NONE,
    *,
    match: Match | None = None,
    work: UnitOfWork | None = None,
    wait_s: float = 0,
    user: Principal = None,
) -> Delivery | None:
    """Get or browse one message; without options, outside a unit of work.

    Args:
        queue: the queue's name, or an ``OpenQueue``, which browse and lock need.
        options: the options, combined.
        match: the ids that the message must have; ignored with MSG_UNDER_CURSOR.
        work: the unit of work for SYNCPOINT.
        wait_s: the longest wait, with WAIT.
        user: the user whose authorities apply, if the queue is given by name.

    Returns:
        The message, or None for reason 2033: there is none. UNLOCK returns None.

    Raises:
        WrongOptions: the options contradict each other; reason 2046.
        SecondMark: the unit of work has a mark; 2062.
        MarkNotPossible: skipping a backout is not offered; 2274.
        NoMessageUnderCursor: with MSG_UNDER_CURSOR, there is none, or it was taken;
            2034. WAIT does not wait for it.
        GetInhibited: the queue is paused; 2016.
        NotAuthorized: the user may not get, or browse; 2035.
        LockLost: the system has backed the unit of work out; 2003.

    Source:
        IBM MQ, "MQGMO - Get-message options". A mark that gets nothing is not used up.
    """
    check_options(options, has_unit=work is not None)
    if isinstance(queue, str):
        now = work.now if work is not None else None
        with OpenQueue(queue, user=user, now=now) as opened:
            return get_message(opened, options, match=match, work=work, wait_s=wait_s)
    queue.check_authority("browse" if options & BROWSE else "get")
    if Options.UNLOCK in options:
        queue.close()
        return None
    until = time.monotonic() + (wait_s if Options.WAIT in options else 0)
    while True:
        seen = notifications.version(queue.id)
        queue.check_gives()
        delivery = once(queue, options, match, work)
        left_s = until - time.monotonic()
        if delivery is not None or left_s <= 0:
            return delivery
        notifications.wait(queue.id, seen, longest_s=min(left_s, queue.until_due_s()))


def once(
    queue: OpenQueue,
    options: GetOptions,
    match: Match | None,
    work: UnitOfWork | None,
) -> Delivery | None:
    """Get or browse one message without a wait."""
    if options & BROWSE:
        return look(queue, match, options)
    if Options.MSG_UNDER_CURSOR in options:
        return take_browsed(queue, work, options)
    search = None if match is None else IdSearch(queue.id, match)
    return take(queue, work, search, options)


def check_options(options: GetOptions, *, has_unit: bool) -> None:
    for why, is_broken in RULES.items():
        if is_broken(options, has_unit):
            raise WrongOptions(options, why)


class OpenQueue:
    """A queue opened for gets, with its browse cursor and browse lock.

    Args:
        name: the name of a queue, or an alias.
        user: the user whose authorities apply; None is the application itself.
        now: the time, for tests.

    Raises:
        NoSuchQueue: the name leads to no queue.
    """

    def __init__(
        self, name: str, *, user: Principal = None, now: datetime | None = None
    ) -> None:
        queue = local_queue(name)
        self.id, self.name = queue.pk, queue.name
        self.user = user
        self.now = now
        self.cursor = ""  # cursor after the last browsed entry
        self.browsed: Delivery | None = None  # the message under the cursor
        self.lock: UnitOfWork | None = None
        self.locked: Delivery | None = None

    def check_authority(self, authority: authorities.Authority) -> None:
        authorities.require(self.user, authority, self.name)

    def check_gives(self) -> None:
        if Queue.objects.filter(pk=self.id, paused=True).exists():
            raise GetInhibited(self.name)

    def until_due_s(self) -> float:
        return delayed.until_due_s(self.name)

    def lock_one(self, entry: Browsed) -> bool:
        """Lock an entry; return False if another consumer has locked it."""
        self.lock = UnitOfWork(now=self.now)
        only = Lanes([entry.priority], [entry.pos], [entry.pos + 1])
        self.locked = next(iter(self.lock.take(self.name, only, 1, pooled=False)), None)
        return self.locked is not None

    def close(self) -> None:
        """Unlock the locked message; no backout is counted."""
        lock, locked = self.lock, self.locked
        self.lock = self.locked = None
        if lock is None or locked is None:
            return
        try:
            lock.release(locked)
            lock.commit()
        except LockLost:
            return

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def take_browsed(
    queue: OpenQueue, work: UnitOfWork | None, options: GetOptions
) -> Delivery:
    """Get the message under the browse cursor; its lock ends with that, together or not
    at all.

    Source:
        IBM MQ, "MQGMO - Get-message options", MQGMO_MSG_UNDER_CURSOR.
    """
    if queue.browsed is None:
        raise NoMessageUnderCursor(queue.name)
    lock = queue.lock
    with nullcontext() if lock is None else undone_together():
        if lock is not None and lock.id is not None:
            settle.end_if_held(lock.id, Release(), now=queue.now)
        got = take(queue, work, Exactly(queue.browsed), options)
        if got is None:
            raise NoMessageUnderCursor(queue.name)
    queue.lock = queue.locked = queue.browsed = None
    return got


@dataclass(frozen=True, slots=True)
class Exactly:
    """Gets of one message, wherever in its priority it is, as ``IdSearch``."""

    browsed: Delivery

    def get(
        self,
        take: Callable[[Lanes, int], list[Delivery]],
        limit: int = 1,
        *,
        now: datetime | None = None,  # not used: ``take`` skips expired messages
    ) -> list[Delivery]:
        places = places_of({(self.browsed.priority, self.browsed.message_id)})
        priorities, lows = zip(*places, strict=True)
        return take(Lanes(list(priorities), list(lows), [low + 1 for low in lows]), 1)


def take(
    queue: OpenQueue,
    work: UnitOfWork | None,
    search: IdSearch | Exactly | None,
    options: GetOptions,
) -> Delivery | None:
    if work is None or not options & IN_UNIT:
        own = UnitOfWork(user=queue.user, now=queue.now)
        with undone_together():
            got = own.get(queue.name, search=search)
            if got:
                own.commit()
        return next(iter(got), None)
    if Options.SYNCPOINT in options:
        mark = Options.MARK_SKIP_BACKOUT in options
        got = work.get(queue.name, mark=mark, search=search)
    else:
        with undone_together():
            got = work.get(queue.name, search=search)
            if got and not got[0].durable:
                work.accept(got[0])
    if not got and work.id is not None and not is_open(work.id):
        raise LockLost(work.id)
    return next(iter(got), None)


def is_open(uow: int) -> bool:
    """Whether a unit of work is open: the system has not backed it out."""
    return UnitRow.objects.filter(pk=uow).exists()


@contextmanager
def undone_together() -> Iterator[None]:
    """Do a get and its accept together, or undo both: a get outside a unit of work is
    never counted as a backout."""
    try:
        with transaction.atomic():
            yield
    except BaseException:
        FLOORS.forget()
        raise


def look(queue: OpenQueue, match: Match | None, options: GetOptions) -> Delivery | None:
    """Unlock the message under the browse cursor, and move the cursor to the next
    message.

    Source:
        IBM MQ, "MQGMO - Get-message options", MQGMO_LOCK.
    """
    queue.close()
    if Options.BROWSE_FIRST in options:
        queue.cursor, queue.browsed = "", None
    now = queue.now or database_now()
    for entry in matching(queue.id, match, after=queue.cursor):
        queue.cursor = entry.cursor
        if entry.expires_at is not None and entry.expires_at <= now:
            continue
        if Options.LOCK not in options or queue.lock_one(entry):
            queue.browsed = next(iter(whole(queue.id, [entry])), None)
            return queue.browsed
    return None  # the cursor stays where it is
