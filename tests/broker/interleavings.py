"""Every schedule of two sessions over the real statements.

Two scripts run in two threads, each on a connection of its own, and stand still before
each step until the scheduler lets one of them take it. After a schedule has run, the
broker is emptied, and the next differs from it in one choice, until none is left.

A step is a statement with all that it locks and sees, or the end of a transaction.
Where a session has to wait for a lock, which the database is asked and no clock, the
other goes on until the lock is free. A deadlock is an ending like others: PostgreSQL
breaks it, and the script of the victim gets the error.

BEGIN, SAVEPOINT, RELEASE and set_config neither lock nor look at anything; a message
never changes, no scene changes the map, and none has clients of AMQP or patches. So
where such a statement, or the reading of those, stands changes nothing, and it goes
with the step after it, unless ``every`` asks for more.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest
from django.db import DatabaseError, connection, connections
from django.db.backends.postgresql.base import DatabaseWrapper

from broker import sql
from broker.errors import BrokerError
from broker.monitoring import fsck
from broker.queueing import low_watermarks
from broker.sql import fencing
from tests.broker.arranging import Arranged, read_settings

Choices = tuple[int, ...]  # which session took each step: 0 is left, 1 is right

LONGEST_S = 20.0  # until a session has to be back, or to wait for a lock
GLANCE_S = 0.002  # between two looks at who waits for whom
MOVING, ENDED = "(moving)", "(ended)"
ANYWHERE = re.compile(  # statements that give the same in any place
    r"SAVEPOINT|RELEASE SAVEPOINT|SELECT pg_current_xact_id_if_assigned"
    r"|SELECT set_config"
    r'|SELECT (?!.* FOR ).* FROM "broker_(queue|address|addresssetting|message)"'
    r'|SELECT ((?! FROM ).)* FROM "broker_(clientconnection|operationpatch)"'
    r'|DELETE FROM "broker_(clientendpoint|connectionconsumer)"'
)
SOON = """SELECT set_config('deadlock_timeout', '20ms', false)
    FROM pg_roles WHERE rolname = current_user AND rolsuper"""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a script ended: with a result, or with an error a caller has to expect."""

    result: Any = None
    error: Exception | None = None


class Scene:
    """What two sessions do to one broker that is the same before each schedule."""

    settings: ClassVar[dict[str, Any]] = {}  # of the address "orders"
    queues: ClassVar[dict[str, dict[str, Any]]] = {}  # beside those of the map
    alike: ClassVar[frozenset[str]] = (
        frozenset()
    )  # that give the same in any place here
    # Whether it holds numbers and rows alone: then it is arranged once, and put back.
    is_put_back = False
    loses_answers = False  # whether the left may die between a commit and its answer
    left_pid = 0  # the server's process for the left session

    def arrange(self) -> None:
        """Make what both work on. The map is there; see the fixture ``explore``."""

    def left(self) -> object:
        raise NotImplementedError

    def right(self) -> object:
        raise NotImplementedError

    def check(self, left: Ending, right: Ending) -> None:
        """What has to hold after every schedule, beside ``fsck``."""


class SteppingConnection(DatabaseWrapper):
    """Stands still before each step."""

    def __init__(self, step: Callable[[str], None], *, every: bool) -> None:
        super().__init__(connection.settings_dict, "default")
        self.step = step
        self.every = every
        self.alike: frozenset[str] = frozenset()
        self.loses_answers = False
        self.execute_wrappers.append(self.before_statement)
        self.inc_thread_sharing()

    def before_statement(
        self, execute: Any, text: str, params: Any, many: bool, context: Any
    ) -> Any:
        if self.every or not (ANYWHERE.match(text) or brief(text) in self.alike):
            self.step(brief(text))
        return execute(text, params, many, context)

    def _set_autocommit(self, autocommit: bool) -> None:
        if self.every and not autocommit:
            self.step("BEGIN")
        super()._set_autocommit(autocommit)  # type: ignore[misc]

    def _commit(self) -> None:
        self.step("COMMIT")
        super()._commit()  # type: ignore[misc]
        if self.loses_answers and self.connection is not None:
            self.step("its answer")
            with self.wrap_database_errors:
                self.connection.execute("SELECT")  # fails where the answer would have
                self.connection.rollback()

    def _rollback(self) -> None:
        if self.connection is not None and not self.connection.closed:
            self.step("ROLLBACK")
        super()._rollback()  # type: ignore[misc]


class Session:
    """A thread that runs a script, and where it stands."""

    def __init__(self, name: str, *, every: bool) -> None:
        self.name = name
        self.turn = threading.Condition()
        self.at = ENDED
        self.is_free = False  # to run to its end without standing still
        self.connection = SteppingConnection(self.stand, every=every)
        self.result: object = None
        self.error: Exception | None = None
        self.thread: threading.Thread | None = None

    @property
    def pid(self) -> int:
        """The server's process for it, which is another after a new connection."""
        there = self.connection.connection
        return 0 if there is None or there.closed else there.info.backend_pid

    def connect(self) -> None:
        """Have a connection that works."""
        if not self.connection.is_usable():
            self.connection.close()
            self.connection.connect()
            self.connection.connection.execute(SOON)

    def begin(self, script: Callable[[], object]) -> None:
        self.result, self.error = None, None
        self.at, self.is_free = MOVING, False
        self.thread = threading.Thread(target=self.run, args=[script], daemon=True)
        self.thread.start()

    def run(self, script: Callable[[], object]) -> None:
        connections["default"] = self.connection
        try:
            self.result = script()
        except Exception as error:  # noqa: BLE001  # ``ending`` raises the unexpected
            self.error = error
        with self.turn:
            self.at = ENDED
            self.turn.notify_all()

    def stand(self, step: str) -> None:
        with self.turn:
            if self.is_free:
                return
            self.at = step
            self.turn.notify_all()
            self.turn.wait_for(lambda: self.at == MOVING)

    def go(self) -> None:
        with self.turn:
            self.at = MOVING
            self.turn.notify_all()

    def stands(self, within_s: float) -> bool:
        """Whether it is back from its last step, or ended."""
        with self.turn:
            return self.turn.wait_for(lambda: self.at != MOVING, within_s)

    def run_free(self) -> None:
        """Let it run to its end, whatever it is about to do."""
        with self.turn:
            self.is_free = True
        self.go()
        if self.thread is not None:
            self.thread.join(LONGEST_S)

    def ending(self) -> Ending:
        assert self.thread is not None
        self.thread.join(LONGEST_S)
        assert not self.connection.in_atomic_block, f"{self.name} left a transaction"
        if isinstance(self.error, BrokerError | DatabaseError) or self.error is None:
            return Ending(self.result, self.error)
        raise self.error


@dataclass(slots=True)
class Schedule:
    """One order of all steps, and where another session could have gone instead."""

    choices: Choices = ()
    steps: list[str] = field(default_factory=list)
    untried: list[Choices] = field(default_factory=list)
    ready: list[set[int]] = field(default_factory=list)  # before each step
    waited: set[str] = field(default_factory=set)  # who had to wait for a lock
    endings: tuple[Ending, ...] = ()

    def __str__(self) -> str:
        return "In this order: " + " | ".join(self.steps)


class Explorer:
    """Runs all schedules of a scene; depth first, each once."""

    def __init__(self, *, every: bool = False) -> None:
        self.sessions = [Session(name, every=every) for name in ("left", "right")]
        self.schedules: list[Schedule] = []

    def explore(self, scene: type[Scene]) -> list[Schedule]:
        self.schedules = []
        untried: list[Choices] = [()]
        arranged = Arranged(scene)
        with stepping():
            while untried:
                schedule = self.run(arranged.again(), untried.pop())
                untried += schedule.untried
                self.schedules.append(schedule)
        return self.schedules

    def run(self, scene: Scene, prefix: Choices) -> Schedule:
        schedule = Schedule()
        left, right = self.sessions
        for session in (left, right):
            session.connect()
            session.connection.alike = scene.alike
            session.is_free = True
            read_settings(session.connection)
        left.connection.loses_answers = scene.loses_answers
        scene.left_pid = left.pid
        try:
            left.begin(scene.left)
            right.begin(scene.right)
            self.take_steps(schedule, prefix)
            schedule.endings = tuple(session.ending() for session in self.sessions)
            found = fsck.violations()
            assert found == [], "\n".join(violation.sentence for violation in found)
            scene.check(*schedule.endings)
        except BaseException as error:
            for session in self.sessions:
                session.run_free()
            error.add_note(str(schedule))
            raise
        return schedule

    def take_steps(self, schedule: Schedule, prefix: Choices) -> None:
        """Follow the prefix; from there the left goes first wherever it can."""
        self.settle(schedule)
        while ready := [
            place
            for place, session in enumerate(self.sessions)
            if session.at not in (MOVING, ENDED)
        ]:
            done = len(schedule.choices)
            chosen = prefix[done] if done < len(prefix) else ready[0]
            assert chosen in ready, "a schedule does not run twice as it ran once"
            if done >= len(prefix):
                schedule.untried += [(*schedule.choices, one) for one in ready[1:]]
            session = self.sessions[chosen]
            schedule.ready.append(set(ready))
            schedule.choices += (chosen,)
            schedule.steps.append(f"{session.name} {session.at}")
            session.go()
            self.settle(schedule)

    def settle(self, schedule: Schedule) -> None:
        """Wait until each session stands, has ended, or waits for the other's lock.

        Where one waits, only the other's next step can free it: what the database
        said once stays true. Where both wait, PostgreSQL ends the deadlock.
        """
        left, right = self.sessions
        until = time.monotonic() + LONGEST_S
        while time.monotonic() < until:
            moving = [one for one in self.sessions if not one.stands(GLANCE_S)]
            if not moving:
                return
            other = right if moving[0] is left else left
            if len(moving) == 1 and waits_for(moving[0].pid, other.pid):
                schedule.waited.add(moving[0].name)
                return
        raise AssertionError(f"left is at {left.at}, right at {right.at}")

    def close(self) -> None:
        for session in self.sessions:
            session.run_free()
            session.connection.close()


def waits_for(pid: int, other: int) -> bool:
    """Whether one server process waits for a lock that the other holds."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT %s = ANY (pg_blocking_pids(%s))", [other, pid])
        (waits,) = cursor.fetchone()
    return bool(waits)


@contextmanager
def stepping() -> Iterator[None]:
    """Let the statements in files be steps, too, and floors look each time."""
    straight = sql.run

    def run(name: str, parameters: dict[str, Any]) -> list[tuple[Any, ...]]:
        session = connections["default"]
        if isinstance(session, SteppingConnection) and name not in session.alike:
            session.step(name)
        return straight(name, parameters)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sql, "run", run)
        patch.setattr(low_watermarks, "SAMPLE_S", 0.0)
        # A session that stands still between two steps does not hang.
        patch.setattr(fencing, "HANGS_AFTER_S", int(LONGEST_S))
        yield


def brief(text: str) -> str:
    """A statement of the ORM in two words."""
    verb = text.split(maxsplit=1)[0]
    table = re.search(r'"broker_(\w+)"', text)
    return f"{verb} {table[1]}" if table else text[:40]


def is_complete(schedules: list[Schedule]) -> bool:
    """Whether wherever a session could go, it did in one of the schedules."""
    went: dict[Choices, set[int]] = {}
    could: dict[Choices, set[int]] = {}
    for schedule in schedules:
        for done, chosen in enumerate(schedule.choices):
            before = schedule.choices[:done]
            went.setdefault(before, set()).add(chosen)
            could[before] = schedule.ready[done]
    return went == could
