"""Fencing: what a process that hangs holds is taken from it by the database.

A process that is stopped or hangs keeps the locks of its open transactions, and whoever
takes over its work must never wait for it. So the database ends its sessions:

- after ``HANGS_AFTER_S``, a session that leaves a ``short_transaction`` idle. Such a
  transaction waits for nothing but the database, so only a process that hangs does so.
- at once, the sessions of a process that another one takes over (``end_sessions``). A
  role may end its own sessions.

Its open work is rolled back. When it goes on, it finds its connections closed, and that
it counts as dead (``processes.renew``).
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import timedelta

from django.db import DEFAULT_DB_ALIAS, connection, connections, transaction
from django.db import Error as DatabaseError

from broker import sql

logger = logging.getLogger(__name__)

OWNERS = 0x424B  # first key of the advisory locks that processes hold
HANGS_AFTER_S = 3
LIMIT = "SELECT set_config('idle_in_transaction_session_timeout', %s, true)"
MARK = " [backout {}]"  # end of a session's name: it has the owner's id


@contextmanager
def short_transaction() -> Iterator[None]:
    """A transaction in which this process does something that others leave to it
    meanwhile: they skip its locks. Also a decorator.

    Within another transaction, it is a part of that one, and has no limit of its own.
    """
    is_outermost = not connection.in_atomic_block
    with transaction.atomic():
        if is_outermost:
            with connection.cursor() as cursor:
                cursor.execute(LIMIT, [f"{HANGS_AFTER_S}s"])
        yield


def name_sessions(owner_id: int | None) -> None:
    """Name all further sessions of this process after its owner, so that another
    process can end them; None takes the name away. Closes this thread's session."""
    options = connections.settings[DEFAULT_DB_ALIAS].setdefault("OPTIONS", {})
    before, _, _ = str(options.get("application_name", "")).partition(MARK[:9])
    options.pop("application_name", None)
    if before or owner_id is not None:
        mark = "" if owner_id is None else MARK.format(owner_id)
        options["application_name"] = f"{before or session_name()}{mark}"
    connection.close()


def session_name() -> str:
    """The name that the database knows this thread's session by."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('application_name')")
        return str(cursor.fetchone()[0]).partition(MARK[:9])[0]


def end_hanging(owner_ids: Collection[int], kind: str) -> set[int]:
    """End those of some processes that hang; return which.

    Args:
        kind: of processes that use the connection of their lock every second.
    """
    silence = timedelta(seconds=HANGS_AFTER_S)
    asked = {"lock_class": OWNERS, "owners": list(owner_ids)}
    found = sql.fetch("hanging", int, owner_kind=kind, silence=silence, **asked)
    for owner_id in found:
        end_sessions(owner_id)
    return set(found)


def end_sessions(owner_id: int) -> None:
    """End all sessions of a process that named them, and the one that holds its lock:
    it counts as dead from here on."""
    try:
        ended = sql.run(
            "end_sessions",
            {
                "lock_class": OWNERS,
                "owner_id": owner_id,
                "mark": MARK.format(owner_id),
            },
        )
    except DatabaseError as error:
        logger.warning("Process %d hangs and cannot be ended: %s", owner_id, error)
        return
    logger.warning("Process %d hangs: %d of its sessions ended", owner_id, len(ended))
