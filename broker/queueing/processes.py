"""Which processes are alive: each live process holds an advisory lock.

A process is dead when another process can take its lock. The lock is held on a
connection of its own, which ends with the process or with the server. A pooler that
gives server connections to one transaction after another would keep the locks of dead
processes: this connection leads past it (``BROKER_DIRECT_DATABASE_URL``).

A process that is stopped or hangs keeps its lock. So processes that must answer use
that connection every few seconds; ``broker.monitoring.silent_processes`` finds those
that do not.
"""

from __future__ import annotations

import atexit
import os
import socket
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from select import POLLIN, poll
from typing import Any, LiteralString

import psycopg
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import Error as DatabaseError
from django.db import connection
from django.db.backends.base.base import NO_DB_ALIAS
from psycopg.sql import SQL, Identifier

from broker.errors import PoolerHasLocks
from broker.sql.fencing import OWNERS

LOCK_CLASS = OWNERS  # first key of the two-key advisory locks
HEARTBEAT_S = 3.0
NAME = "backout owner"  # ``application_name`` of the connections that hold these locks
STARTING = 0  # second key of the lock of a process that starts; no owner has this id
LOCK = "SELECT pg_advisory_lock(%s::int, %s::int)"
UNLOCK = "SELECT pg_advisory_unlock(%s::int, %s::int)"
# The locks of other processes. The name excludes connections that only test whether an
# owner is dead: these take its lock for a moment.
OTHERS = """
SELECT 1 FROM pg_locks JOIN pg_stat_activity USING (pid)
WHERE locktype = 'advisory' AND granted AND classid = %s::int::oid
  AND objid <> %s::int::oid AND application_name = %s
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"""
MYSELF = "SELECT pid, backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()"
SEEN = """
SELECT FROM pg_stat_activity
WHERE pid = %s AND backend_start = %s AND datname = current_database()"""
# Functions that run when the first process of the broker starts.
AT_START: list[Callable[[], object]] = []
NOT_OURS = (
    *("cursor_factory", "context", "prepare_threshold", "pool"),
    "application_name",  # it must be ``NAME``
)

_lock = threading.Lock()
_current: Owner | None = None
_others: list[psycopg.Connection] = []  # of ``session_until_resigned``


@dataclass(frozen=True, slots=True)
class Owner:
    """This process as an owner in the database."""

    id: int
    pid: int  # process id; after a fork, the child is another process
    session: psycopg.Connection
    # What ``listen`` is to call; any thread that uses the connection may be told first.
    listeners: list[Callable[[str], None]] = field(default_factory=list)

    def tell(self, payload: str) -> None:
        for heard in self.listeners:
            heard(payload)

    def is_alive(self) -> bool:
        """Whether the database still counts this process as alive. One round trip."""
        if self.pid != os.getpid():
            return False
        try:
            row = self.session.execute(
                "SELECT FROM broker_owner WHERE id = %s", [self.id]
            ).fetchone()
        except psycopg.Error:
            return False
        return row is not None


def current(kind: str = "application") -> int:
    """The id of this process; it is registered on first use."""
    global _current  # noqa: PLW0603
    with _lock:
        if _current is None or _current.pid != os.getpid():
            _current = register(kind, starts=_current is None)
        return _current.id


def renew(kind: str = "application") -> bool:
    """Register again if the database counts this process as dead; return whether it
    did."""
    global _current  # noqa: PLW0603
    with _lock:
        if _current is not None and _current.is_alive():
            return False
        starts = _current is None
        close(_current)
        _current = register(kind, starts=starts)
        return True


def ask(query: LiteralString, parameters: Mapping[str, Any]) -> Any:
    """The first row of a query on the connection of this process's lock, which is at
    hand in each thread.

    Raises:
        django.db.Error: the database does not answer.
    """
    current()
    with _lock, connection.wrap_database_errors:
        assert _current is not None, "it is registered"
        return _current.session.execute(query, parameters).fetchone()


def listen(channel: str, heard: Callable[[str], None]) -> None:
    """Call a function with the payload of each notification of PostgreSQL, on the
    connection of this process's lock. It returns when the process is no longer
    registered on this connection; at once if it never was.

    Each thread that uses this connection may call the function: it must not block.

    Raises:
        django.db.Error: the database does not answer.
    """
    with connection.wrap_database_errors:
        with _lock:
            if (owner := _current) is None or owner.pid != os.getpid():
                return
            session = owner.session
            owner.listeners.append(heard)
            session.execute(SQL("LISTEN {}").format(Identifier(channel)))
        readable = poll()
        readable.register(session.fileno(), POLLIN)
        while _current is owner:
            readable.poll(1000 * HEARTBEAT_S)
            with _lock:
                session.pgconn.consume_input()
                while found := session.pgconn.notifies():
                    owner.tell(found.extra.decode())


def session_until_resigned(name: str) -> psycopg.Connection:
    """As ``connect``; closed when this process is unregistered."""
    session = connect(name)
    with _lock:
        _others[:] = [one for one in _others if not one.closed] + [session]
    return session


class Heartbeat:
    """A thread that keeps this process registered, and proves that it runs.

    Args:
        kind: what the process does.
        beat: called at each beat, to write what this process counts.
    """

    def __init__(self, kind: str, beat: Callable[[], object] = bool) -> None:
        self.kind = kind
        self.beat = beat
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self.run, name="heartbeat", daemon=True)

    def start(self) -> None:
        current(self.kind)
        self.thread.start()

    def run(self) -> None:
        while not self.stopping.wait(HEARTBEAT_S):
            with suppress(DatabaseError):  # the next heartbeat tries again
                renew(self.kind)
                self.beat()

    def stop(self) -> None:
        """Stop, and unregister this process."""
        self.stopping.set()
        self.thread.join()
        resign()


def resign() -> None:
    """Unregister this process. Its claims are backed out at once."""
    global _current  # noqa: PLW0603
    with _lock:
        if _current is not None and _current.pid == os.getpid():
            with suppress(psycopg.Error):  # the server ends the connection later
                _current.session.execute("SELECT pg_advisory_unlock_all()")
        close(_current)
        _current = None
        while _others:
            _others.pop().close()


def resign_for_databases(*, connection: Any, **_: object) -> None:
    """Unregister before a database is copied or dropped, for which nobody may be
    connected to it. Whoever does that connects to no database, as Django does for the
    databases of tests; a receiver of ``connection_created``."""
    if connection.alias == NO_DB_ALIAS:
        resign()


def register(kind: str, *, starts: bool = False) -> Owner:
    """Take the lock, then insert the row: a row without a lock means a dead process.

    Args:
        kind: what the process does.
        starts: whether the process starts, and so may be the first one of the broker.
            Then ``AT_START`` runs before any process is registered.

    Raises:
        django.db.Error: the database does not answer.
    """
    with connection.wrap_database_errors, ExitStack() as failed:
        session = connect()
        failed.callback(session.close)
        if starts:
            # The first process may hold the lock for long.
            session.execute("SET lock_timeout = 0")
            session.execute(LOCK, [LOCK_CLASS, STARTING])
            if not session.execute(OTHERS, [LOCK_CLASS, STARTING, NAME]).fetchall():
                run_at_start()
        row = session.execute("SELECT nextval('broker_owner_id_seq')").fetchone()
        assert row is not None, "nextval gives a row"
        owner_id = row[0]
        session.execute(LOCK, [LOCK_CLASS, owner_id])
        session.execute(
            "INSERT INTO broker_owner (id, kind, host, pid) VALUES (%s, %s, %s, %s)",
            [owner_id, kind, socket.gethostname(), os.getpid()],
        )
        if starts:
            session.execute(UNLOCK, [LOCK_CLASS, STARTING])
        failed.pop_all()
    owner = Owner(owner_id, os.getpid(), session)
    session.add_notify_handler(lambda one: owner.tell(one.payload))
    return owner


def run_at_start() -> None:
    """Run ``AT_START`` in a thread, outside of the caller's transaction."""

    def run() -> None:
        try:
            for each in AT_START:
                each()
        finally:
            connection.close()

    with ThreadPoolExecutor(max_workers=1) as thread:
        thread.submit(run).result()


def connect(name: str = NAME) -> psycopg.Connection:
    """A connection to the server itself, which may hold locks.

    Args:
        name: its application name.

    Raises:
        PoolerHasLocks: a pooler is in between.
        ImproperlyConfigured: ``BROKER_DIRECT_DATABASE_URL`` is of another database.
    """
    url = settings.BROKER_DIRECT_DATABASE_URL
    parameters = connection.get_connection_params() if not url else {}
    ours = {key: value for key, value in parameters.items() if key not in NOT_OURS}
    with ExitStack() as failed:
        session = psycopg.connect(url, **ours, autocommit=True, application_name=name)
        failed.callback(session.close)
        if url:
            refuse_another_database(session)
        elif is_pooled(session):
            raise PoolerHasLocks
        failed.pop_all()
    return session


def refuse_another_database(session: psycopg.Connection) -> None:
    """Refuse a session that a connection of Django does not see in its database."""
    with connection.cursor() as cursor:
        cursor.execute(SEEN, session.execute(MYSELF).fetchone())
        if not cursor.fetchall():
            raise ImproperlyConfigured(
                "BROKER_DIRECT_DATABASE_URL is of another database than DATABASES."
            )


def is_pooled(session: psycopg.Connection) -> bool:
    """Whether another process answers than the one that the connection was made to.
    One round trip."""
    row = session.execute("SELECT pg_backend_pid()").fetchone()
    return row != (session.info.backend_pid,)


def close(owner: Owner | None) -> None:
    if owner is not None and owner.pid == os.getpid():
        owner.session.close()


def leave_to_parent() -> None:
    """In a child process after a fork: close the parent's session, or the parent would
    count as alive as long as the child is. Nothing is said to the server."""
    global _lock  # noqa: PLW0603
    _lock = threading.Lock()  # in the parent, another thread may have held the old lock
    while _others:
        of_parents.append(one := _others.pop())
        if not one.closed:
            os.close(one.fileno())
    if _current is not None and not _current.session.closed:
        os.close(_current.session.fileno())
        of_parents.append(_current)


def close_at_exit() -> None:
    """The server sees the end at once, and Python does not warn of what is open."""
    close(_current)
    for one in _others:
        one.close()


# Kept, so that Python does not close their sessions.
of_parents: list[Owner | psycopg.Connection] = []
os.register_at_fork(after_in_child=leave_to_parent)
atexit.register(close_at_exit)
