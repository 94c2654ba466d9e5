"""Ends of tasks that no worker sees, told to whoever waits for their results.

Celery stores how a task ended that a worker ran. A task whose workers died until its
attempts were used up, or that somebody put aside or purged, ends in the database. So a
thread of each worker looks for dead letters and discards of the queues that it
consumes, and stores a failure for those whose result is still open.
"""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib.util import find_spec
from typing import Any

from django.db import Error as DatabaseError
from django.db import connection
from kombu.utils.json import loads

from broker.client.celery_transport.messages import REST, json_of
from broker.formats.exceptions import described
from broker.models import DeadLetter, Discarded, Message
from broker.sql import database_now
from broker.sql.fencing import short_transaction

HAS_CELERY = "celery" in sys.modules or find_spec("celery") is not None
if HAS_CELERY:
    from celery import signals
    from celery.app.task import Context
    from celery.backends.base import DisabledBackend
    from celery.exceptions import TaskError
    from celery.states import READY_STATES

logger = logging.getLogger(__name__)

TRANSPORT = "backout"  # the name of the transport
LOOK_S = 2.0
MOST = 500  # most ended tasks that are read at once
# The first read is of tasks that ended within this time before the worker started.
FIRST = timedelta(hours=1)
# Each read repeats this last part of the time read before: transactions commit in
# another order than they begin.
OVERLAP = timedelta(minutes=1)
TAKE = "SELECT pg_try_advisory_xact_lock(%s::int, 0)"
# First key of an advisory lock: one worker at a time reports ends of tasks.
TELLS = 0x4253


@dataclass(frozen=True, slots=True)
class UnseenEnd:
    """A message of a task that has ended, and why."""

    message_id: int
    why: str


class Teller:
    """Looks for the ends of the tasks of one worker.

    Args:
        app: its application.
        queues: the names of the queues that it consumes; read at each look.
    """

    def __init__(self, app: Any, queues: Iterable[str]) -> None:
        self.app = app
        self.queues = queues
        self.since: datetime | None = None
        self.floor = 0  # dead letters up to this message id are not read again
        self.seen: set[int] = set()
        self.stopping = threading.Event()

    def start(self) -> None:
        threading.Thread(target=self.run, name="celery-ends", daemon=True).start()

    def run(self) -> None:
        while not self.stopping.wait(LOOK_S):
            try:
                self.look()
            except DatabaseError as error:
                logger.warning("Ends of tasks wait for the database: %s", error)
                connection.close()
            except Exception:  # the result backend may be away
                logger.exception("Ends of tasks could not be stored.")
        connection.close()

    @short_transaction()
    def look(self) -> None:
        """Tell what ended since the last look, unless another worker does."""
        with connection.cursor() as cursor:
            cursor.execute(TAKE, [TELLS])
            if cursor.fetchone() != (True,):
                return
        now = database_now()
        since = (self.since or now - FIRST) - OVERLAP
        ends = [*self.dead(since), *self.discarded(since)]
        new = {one.message_id: one for one in ends if one.message_id not in self.seen}
        for message in Message.objects.filter(pk__in=new).iterator():
            self.tell(message, new[message.pk].why)
            self.seen.add(message.pk)
        self.seen &= {one.message_id for one in ends}
        if len(ends) < MOST:
            self.since = now

    def dead(self, since: datetime) -> Iterator[UnseenEnd]:
        """Dead letters of which Celery does not know. It knows those that a worker
        rejected."""
        letters = DeadLetter.objects.filter(
            message_id__gt=self.floor, origin_queue__in=list(self.queues)
        ).exclude(cause=DeadLetter.Cause.REJECTED)
        for one in letters.order_by("message_id")[:MOST]:
            if one.died_at > since:
                yield UnseenEnd(
                    one.message_id, f"{one.get_cause_display()}: {one.error}"
                )
            else:
                self.floor = one.message_id

    def discarded(self, since: datetime) -> Iterator[UnseenEnd]:
        gone = Discarded.objects.filter(
            discarded_at__gt=since, queue__in=list(self.queues)
        )
        for one in gone.order_by("discarded_at", "message_id")[:MOST]:
            yield UnseenEnd(one.message_id, f"discarded: {one.why}")

    def tell(self, message: Message, why: str) -> None:
        """Store a failure, if the result of the task is open."""
        task_id = message.properties.get("id")
        if REST not in message.properties or not isinstance(task_id, str):
            return
        backend = self.app.backend
        request = request_of(message)
        if request.ignore_result or backend.get_state(task_id) in READY_STATES:
            return
        try:
            backend.mark_as_failure(task_id, TaskError(why), request=request)
        except Exception as error:  # noqa: BLE001  # errbacks are foreign code
            logger.error("%s was not told that it ended: %s", task_id, described(error))


def request_of(message: Message) -> Any:
    """What Celery needs of a task: whom to tell of its failure."""
    rest = json_of(message.properties[REST])
    said = {**rest.get("headers", {}), **message.properties}
    said |= {"correlation_id": message.correlation_id, "reply_to": message.reply_to}
    try:
        args, kwargs, after = loads(bytes(message.body))
        said |= {"args": args, "kwargs": kwargs, **after}
    except (TypeError, ValueError):  # the arguments are not in JSON
        pass
    return Context(said)


def begin(sender: Any = None, **_: Any) -> None:
    """Receive Celery's signal ``worker_ready``."""
    app = sender.app
    line = getattr(sender, "connection", None)
    is_ours = line is not None and line.transport.driver_type == TRANSPORT
    if not is_ours or isinstance(app.backend, DisabledBackend):
        return
    teller = Teller(app, app.amqp.queues.consume_from)
    signals.worker_shutdown.connect(lambda **_: teller.stopping.set(), weak=False)
    teller.start()


if HAS_CELERY:
    signals.worker_ready.connect(begin, dispatch_uid="backout ends")
