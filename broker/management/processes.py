"""Several processes, kept running until told to stop.

Some run a management command each, such as a listener on ports that all of them share
(``SO_REUSEPORT``), or those of a whole project (``backout run``). Others are forks of
this process, which has loaded the project: they start at once, and share its memory.
"""

from __future__ import annotations

import gc
import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence

from django.db import connections

PARENT = "BACKOUT_PROCESS_OF"  # environment variable with the process id of the parent
DJANGO = (sys.executable, "-m", "django")
LOOK_S = 0.1
LOOK_AT_FORK_S = 0.01
LONGEST_WAIT_S = 30.0
# After running this long, a process is restarted after one second.
STEADY_AFTER_S = 60.0


class ForkedProcess:
    """A child process without a program of its own; as ``subprocess.Popen``."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.code: int | None = None

    def poll(self) -> int | None:
        """How it ended, less than 0 by a signal; None while it runs."""
        if self.code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.code = os.waitstatus_to_exitcode(status) if pid else None
        return self.code

    def wait(self, timeout: float | None = None) -> int:
        until = time.monotonic() + (math.inf if timeout is None else timeout)
        while (code := self.poll()) is None:
            if time.monotonic() >= until:
                raise subprocess.TimeoutExpired("fork", timeout or 0)
            time.sleep(LOOK_AT_FORK_S)
        return code

    def terminate(self) -> None:
        self.send(signal.SIGTERM)

    def kill(self) -> None:
        self.send(signal.SIGKILL)

    def send(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)


Child = subprocess.Popen[bytes] | ForkedProcess


def spawned(command: Sequence[str]) -> Child:
    """A process that runs a management command with its options."""
    path = os.pathsep.join(sys.path)  # has the project's folder, added by manage.py
    return subprocess.Popen(  # noqa: S603 -- our own command
        [*DJANGO, *command],
        env=os.environ | {PARENT: str(os.getpid()), "PYTHONPATH": path},
        stdin=subprocess.DEVNULL,
    )


def forked(work: Callable[[], object]) -> Child:
    """A fork of this process that does some work. The fork then exits as a program
    does: it also does what this process has registered for its exit."""
    connections.close_all()  # a fork must not use its parent's connections
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    gc.freeze()  # else a collection in a fork copies the shared memory
    parent = os.getpid()
    pid = os.fork()
    if pid:
        return ForkedProcess(pid)
    os.environ[PARENT] = str(parent)
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    work()
    sys.exit()


class SupervisedProcess:
    """One process; it is restarted when it ends, with growing delays."""

    def __init__(self, begin: Callable[[], Child]) -> None:
        self.begin = begin
        self.process: Child | None = None
        self.quick_ends = 0
        self.began_at = 0.0
        self.next_at = 0.0

    def look(self) -> str | None:
        """Start the process if it is due; return a sentence if it has just ended."""
        if self.process is None:
            if time.monotonic() >= self.next_at:
                self.start()
            return None
        code = self.process.poll()
        if code is None:
            return None
        self.process = None
        if time.monotonic() - self.began_at > STEADY_AFTER_S:
            self.quick_ends = 0
        wait_s = min(2.0**self.quick_ends, LONGEST_WAIT_S)
        self.quick_ends += 1
        self.next_at = time.monotonic() + wait_s
        return f"A process ended (code {code}); it is started again in {wait_s:g} s."

    def start(self) -> None:
        self.began_at = time.monotonic()
        self.process = self.begin()

    def stop(self, until: float) -> None:
        """Terminate the process and wait for its end; kill it when the time is over."""
        if self.process is None:
            return
        try:
            self.process.wait(max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Processes:
    """Processes of this project."""

    def __init__(
        self,
        begin: Iterable[Callable[[], Child]],
        *,
        stopping: threading.Event | None = None,
        stop_within_s: float = math.inf,
    ) -> None:
        """Prepare the processes; none is started yet.

        Args:
            begin: starts each (``spawned``, ``forked``).
            stopping: set to stop them; None: an event of its own.
            stop_within_s: seconds after which a process that does not stop is killed.
        """
        self.pid = os.getpid()
        self.kept = [SupervisedProcess(one) for one in begin]
        self.stop_within_s = stop_within_s
        self.stopping = stopping or threading.Event()

    def run(self, say: Callable[[str], object]) -> None:
        """Keep them running until ``stopping`` is set; then stop them.

        Args:
            say: prints a sentence for the operator.
        """
        try:
            while not self.stopping.is_set():
                for one in self.kept:
                    if sentence := one.look():
                        say(sentence)
                self.stopping.wait(LOOK_S)
        finally:
            if os.getpid() == self.pid:  # a fork has no processes of its own
                self.stop()

    def stop(self) -> None:
        running = [one.process for one in self.kept if one.process is not None]
        for process in running:
            process.terminate()
        until = time.monotonic() + self.stop_within_s
        for one in self.kept:
            one.stop(until)


def is_orphan() -> bool:
    """Whether the process that started this one is gone."""
    parent = os.environ.get(PARENT)
    return parent is not None and os.getppid() != int(parent)


def is_one_of_several() -> bool:
    """Whether this process was started by one that keeps several."""
    return PARENT in os.environ


def usable_processors() -> int:
    """The number of processors that this process may use, at least 1."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # on macOS and Windows
        return os.cpu_count() or 1
