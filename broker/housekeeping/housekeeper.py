"""A thread that does the housekeeping where no worker of Celery does.

A worker does if one runs, and the project has django-celery-beat, in whose tables
``migrate`` writes the schedule of the tasks: other workers know nothing of the broker.

Each dispatcher has one. An advisory lock lets one of them work at a time; a lock that
is lost does no harm, as the work is safe to do twice.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

from django.apps import apps
from django.db import Error as DatabaseError
from django.db import InterfaceError, connection
from django.utils.module_loading import module_has_submodule

from broker.housekeeping.work import BEAT_S, DUTIES, Duty
from broker.queueing.processes import LOCK_CLASS, connect

logger = logging.getLogger(__name__)

HOUSEKEEPING = 0x424F  # first key of the advisory lock
TURN_S = 10.0  # how long one turn lasts, and how long others wait for theirs
STOPS_WITHIN_S = 5.0
# A worker that is dead may still be registered; only one that lives holds its lock.
TAKE = """
SELECT CASE WHEN %s AND EXISTS (
    SELECT FROM broker_owner JOIN pg_locks ON objid = id::bigint::oid
    WHERE kind = 'worker' AND locktype = 'advisory' AND granted
      AND classid = %s::int::oid
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
) THEN false ELSE pg_try_advisory_lock(%s::int, 0) END"""
LEAVE = "SELECT pg_advisory_unlock(%s::int, 0)"
NAME = "backout housekeeping"  # of the connection that holds the lock
beside_pids: list[int] = []  # the process in which ``beside`` has started one


class Housekeeper:
    """The thread of this process."""

    def __init__(self) -> None:
        self.stopping = threading.Event()
        self.called: dict[int, float] = {}  # when each duty was last called
        self.others = of_applications()
        self.thread = threading.Thread(
            target=self.run, name="housekeeping", daemon=True
        )

    def start(self) -> None:
        self.thread.start()

    def stop(self) -> None:
        """Stop. What does not end soon ends with the process, and is rolled back."""
        self.stopping.set()
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
            self.stopping.wait(TURN_S)
        connection.close()

    @contextmanager
    def taken(self) -> Iterator[bool]:
        """Take the turn for a block; whether it could be taken: nobody else does the
        housekeeping."""
        is_scheduled = apps.is_installed("django_celery_beat")
        with connection.wrap_database_errors, connect(NAME) as session:
            parameters = [is_scheduled, LOCK_CLASS, HOUSEKEEPING]
            mine = session.execute(TAKE, parameters).fetchone() == (True,)
            yield mine
            if mine:  # at once, and not when the server sees that nobody is connected
                session.execute(LEAVE, [HOUSEKEEPING])

    def turn(self) -> None:
        """Do what is due, every second, for ten seconds.

        Raises:
            DatabaseError: the connection, and the lock with it, is lost.
        """
        ends = time.monotonic() + TURN_S
        while not self.stopping.is_set() and time.monotonic() < ends:
            self.do_what_is_due()
            self.stopping.wait(BEAT_S)

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
