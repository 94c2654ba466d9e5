"""A thread that does the housekeeping where no worker of Celery does.

A worker does if one runs, and the project has django-celery-beat, in whose tables
``migrate`` writes the schedule of the tasks: other workers know nothing of the broker.

Each dispatcher has one. An advisory lock lets one of them work at a time; a lock that
is lost does no harm, as the work is safe to do twice. So the database takes it from one
that has not used its session for some seconds: it hangs, or one duty takes long.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

import psycopg
from django.apps import apps
from django.db import Error as DatabaseError
from django.db import InterfaceError, connection
from django.utils.module_loading import module_has_submodule

from broker.housekeeping.work import BEAT_S, DUTIES, Duty
from broker.queueing import processes
from broker.queueing.processes import LOCK_CLASS, connect
from broker.sql.fencing import HANGS_AFTER_S

logger = logging.getLogger(__name__)

HOUSEKEEPING = 0x424F  # first key of the advisory lock
TURN_S = 10.0  # a process releases the lock after this time, for others
WAIT_S = 1.0  # pause before another try to take the lock
STOPS_WITHIN_S = 5.0
FREE = """
SELECT NOT EXISTS (
    SELECT FROM pg_locks
    WHERE locktype = 'advisory' AND granted AND classid = %(housekeeping)s::int::oid
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
) AND NOT (%(is_scheduled)s AND EXISTS (
    SELECT FROM broker_owner JOIN pg_locks ON objid = id::bigint::oid
    WHERE kind = 'worker' AND locktype = 'advisory' AND granted
      AND classid = %(owners)s::int::oid
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
))"""
LIMIT = f"SET idle_session_timeout = '{HANGS_AFTER_S}s'"
TAKE = "SELECT pg_try_advisory_lock(%s::int, 0)"
LEAVE = "SELECT pg_advisory_unlock(%s::int, 0)"
NAME = "backout housekeeping"  # name of the session that holds the lock
# The id of the process in which ``beside`` has started a ``Housekeeper``.
beside_pids: list[int] = []


class Housekeeper:
    """The thread that does the housekeeping in this process."""

    def __init__(self) -> None:
        self.stopping = threading.Event()
        self.called: dict[int, float] = {}  # when each duty was last called
        self.others = of_applications()
        self.session: psycopg.Connection | None = None  # has the lock
        self.thread: threading.Thread | None = None

    def start(self) -> None:
        """Start; maybe in a fork of the process that made this object. From Python 3.13
        on, a thread that was made before a fork cannot be started after it."""
        self.thread = threading.Thread(
            target=self.run, name="housekeeping", daemon=True
        )
        self.thread.start()

    def stop(self) -> None:
        """Stop. What does not end soon ends with the process, and is rolled back."""
        self.stopping.set()
        if self.thread is not None:
            self.thread.join(STOPS_WITHIN_S)

    def run(self) -> None:
        while not self.stopping.is_set():
            try:
                with self.taken() as mine:
                    if mine:
                        self.turn()
                if mine:
                    continue
            except DatabaseError as error:
                logger.warning("The housekeeping waits for the database: %s", error)
            connection.close()
            self.stopping.wait(WAIT_S)
        connection.close()

    @contextmanager
    def taken(self) -> Iterator[bool]:
        """Hold the lock for a block. The block gets whether this process has the lock,
        so that it may do the housekeeping."""
        if not is_free():
            yield False
            return
        with connection.wrap_database_errors, connect(NAME) as session:
            session.execute(LIMIT)
            mine = session.execute(TAKE, [HOUSEKEEPING]).fetchone() == (True,)
            self.session = session if mine else None
            yield mine
            # Release the lock now: the server may notice the end of the session late.
            if self.keeps_turn():
                session.execute(LEAVE, [HOUSEKEEPING])
            self.session = None

    def keeps_turn(self) -> bool:
        """Use the session of the lock, so that it is kept; False if it is lost."""
        if self.session is not None:
            try:
                self.session.execute("SELECT")
            except psycopg.Error:
                self.session = None
        return self.session is not None

    def turn(self) -> None:
        """Do what is due, every second, for ten seconds, or until the lock is lost.

        Raises:
            DatabaseError: the connection is lost.
        """
        ends = time.monotonic() + TURN_S
        while self.keeps_turn() and time.monotonic() < ends:
            self.do_what_is_due()
            if self.stopping.wait(BEAT_S):
                return

    def do_what_is_due(self) -> None:
        for place, duty in enumerate((*DUTIES, *self.others)):
            now_s = time.monotonic()
            if now_s - self.called.get(place, -duty.every_s) < duty.every_s:
                continue
            try:
                if duty.is_due():
                    duty.run()
            except Exception as error:
                logger.exception("The housekeeping failed: %s", duty.run.__name__)
                if not connection.is_usable():
                    raise InterfaceError("The connection is lost.") from error
            self.called[place] = now_s
            self.keeps_turn()


def is_free() -> bool:
    """Whether nobody does the housekeeping: no other dispatcher has the lock, and no
    worker that has the schedule is alive. A worker that is dead may still be
    registered; only one that lives holds its lock."""
    asked = {
        "housekeeping": HOUSEKEEPING,
        "owners": LOCK_CLASS,
        "is_scheduled": apps.is_installed("django_celery_beat"),
    }
    (free,) = processes.ask(FREE, asked)
    return bool(free)


def beside() -> None:
    """Do the housekeeping in a thread of this process, once, until it ends."""
    if beside_pids != [os.getpid()]:
        beside_pids[:] = [os.getpid()]
        Housekeeper().start()


def of_applications() -> list[Duty]:
    """What other applications want done: ``DUTIES`` of their module ``duties``."""
    return [
        duty
        for one in apps.get_app_configs()
        if module_has_submodule(one.module, "duties")
        for duty in import_module(f"{one.name}.duties").DUTIES
    ]
