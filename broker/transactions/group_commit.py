"""Group commit: the units of work of several server sessions end by one statement.

A commit waits for the disk, and a statement has its price, whether it ends one unit of
work or sixteen. So a thread collects the units of work that sessions of one handler
end, for at most ``BROKER_SETTLE_WITHIN_MS`` and only while others do the same; the
statement that accepts them gets the next messages, each in a unit of work of its own.
A session gets messages by it, too, so no session holds more than it works on. Sessions
are threads, which wait for their answers, or tasks of an event loop.

Either all of them are accepted, or none; then each session commits by itself, and hears
what has become of its own unit of work.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from queue import Empty, SimpleQueue
from typing import NamedTuple, Protocol

from django.conf import settings
from django.db import DataError, connection
from django.db import Error as DatabaseError

from broker import sql
from broker.errors import BrokerError
from broker.formats.exceptions import text_of
from broker.queueing import delayed, processes
from broker.queueing.get import Delivery, ending, get, statement_of
from broker.queueing.low_watermarks import FLOORS
from broker.settlement import expiry
from broker.transactions import session
from broker.transactions.stray_claims import StrayClaims

logger = logging.getLogger(__name__)


class Answered(Protocol):
    """Where a session waits for its answer."""

    def put(self, answer: GroupAnswer, /) -> object:
        """Pass the answer on, from the thread of the group: do not wait or raise."""


@dataclass(slots=True)
class Request:
    """What one session asks for, and where it waits for the answer."""

    uow: int | None  # the unit of work to accept; None: nothing is to be accepted
    held: int  # entries that it holds
    gets: int  # the largest number of messages that it goes on with
    answered: Answered
    returned: str | None = None  # what the task of its message returned, as JSON


class GroupAnswer(NamedTuple):
    """What has become of a request."""

    # The next messages, if any is ready. None: nothing was done, the session acts
    # alone.
    deliveries: list[Delivery] | None
    in_doubt: DatabaseError | None = None  # it is unknown what was done


ALONE = GroupAnswer(None)


class GroupCommit:
    """Ends units of work of one queue together, in a thread of its own.

    Args:
        queue: name of the queue that its sessions get from.
        actor: name that the journal records.
        sessions: the number of sessions.
    """

    def __init__(self, queue: str, actor: str, sessions: int) -> None:
        self.queue = queue
        self.actor = actor
        self.within_s = settings.BROKER_SETTLE_WITHIN_MS / 1000
        self.sessions = sessions
        self.lock = threading.Lock()
        self.thread: threading.Thread | None = None  # started by the first request
        self.is_closed = False
        self.requests: SimpleQueue[Request | None] = SimpleQueue()
        self.strays = StrayClaims(actor)
        self.usual = 1  # size of the last group; the next one waits to be as large

    def get(self, limit: int = 1) -> list[Delivery] | None:
        """The next messages, if any is ready; None: the session must get by itself."""
        return self.ask(None, 0, limit).deliveries

    def accept(
        self, uow: int, *, held: int, gets: bool, returned: str | None = None
    ) -> GroupAnswer:
        """Accept a unit of work, and get the next message for its session."""
        return self.ask(uow, held, gets, returned)

    def ask(
        self, uow: int | None, held: int, gets: int, returned: str | None = None
    ) -> GroupAnswer:
        answered: SimpleQueue[GroupAnswer] = SimpleQueue()
        if not self.takes(Request(uow, held, gets, answered, returned)):
            return ALONE
        return answered.get()

    def takes(self, request: Request) -> bool:
        """Take a request, to answer it later; return whether it is answered at all."""
        with self.lock:
            if self.is_closed:
                return False
            if self.thread is None:
                name = f"group commit of {self.queue}"
                self.thread = threading.Thread(target=self.run, name=name, daemon=True)
                self.thread.start()
            self.requests.put(request)
        return True

    def close(self) -> None:
        """GroupAnswer what was asked, and end the thread. Sessions act alone then."""
        with self.lock:
            self.is_closed = True
            self.requests.put(None)
        if self.thread is not None:
            self.thread.join()

    def run(self) -> None:
        while (first := self.requests.get()) is not None:
            group = self.collected(first)
            answers = self.answers_to(group)
            for request, answer in zip(group, answers, strict=True):
                request.answered.put(answer)
        self.strays.give_back()
        connection.close()

    def collected(self, first: Request) -> list[Request]:
        """A request and those that come with it: all that are there, and while it is
        smaller than the last group, those that come in time."""
        group = [first]
        until = time.monotonic() + self.within_s
        while len(group) < self.sessions:
            left_s = until - time.monotonic() if len(group) < self.usual else 0
            try:
                request = self.requests.get(timeout=max(left_s, 0))
            except Empty:
                break
            if request is None:  # it is the last group
                self.requests.put(None)
                break
            group.append(request)
        self.usual = len(group)
        return group

    def answers_to(self, group: Sequence[Request]) -> Sequence[GroupAnswer]:
        """Carry out what a group asks for. Nothing makes this fail: sessions wait."""
        try:
            deliveries = self.carry_out(group)
        except DataError as error:
            if not sql.is_refusal(error):
                logger.warning("%s: %s", self.queue, text_of(error))
            return [ALONE] * len(group)
        except DatabaseError as error:
            # What was got is released on the next connection.
            failed = GroupAnswer(None, error) if session.is_gone() else ALONE
            session.drop()
            FLOORS.forget()
            return [ALONE if one.uow is None else failed for one in group]
        except BrokerError as error:
            logger.warning("%s: %s", self.queue, error)
            return [ALONE] * len(group)
        except Exception:
            logger.exception("%s: sessions commit by themselves", self.queue)
            return [ALONE] * len(group)
        given = iter(deliveries)
        return [GroupAnswer(list(islice(given, request.gets))) for request in group]

    def carry_out(self, group: Sequence[Request]) -> list[Delivery]:
        """Accept the units of work of a group, and get as many messages as it wants.
        If there is nothing to accept and nothing is ready, get what is due."""
        session.renew()
        self.strays.give_back()
        uows = {one.uow: one.returned for one in group if one.uow is not None}
        limit = sum(one.gets for one in group)
        ends = ending(uows, sum(one.held for one in group))
        if not limit:
            sql.fetch_one(statement_of(ends), **ends, actor=self.actor, now=None)
            return []
        if uows:
            return self.fetch(limit, ends)
        found = self.fetch(limit)
        while not found and delayed.wake_due_on(self.queue, limit=limit):
            found = self.fetch(limit)
        if not found:
            expiry.expire_on(self.queue)
            processes.renew()
        return found

    def fetch(
        self, limit: int, ends: dict[str, object] | None = None
    ) -> list[Delivery]:
        with self.strays.watched() as by:
            return get(
                self.queue,
                owner=by.owner,
                claim_id=by.claim_id,
                limit=limit,
                each=True,
                pooled=True,
                ends=ends,
                actor=self.actor,
            )
