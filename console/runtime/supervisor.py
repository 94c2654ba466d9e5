"""Supervises processes: restarts them until told to stop, and prints their output.

honcho's printer is used; its manager is not, because it stops everything when one
process ends. Here that process is restarted. Each process has its own session, so
Ctrl-C reaches only the launcher, which then stops them in order.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from types import FrameType
from typing import IO, NoReturn

import psutil
from honcho.printer import Message, Printer

from console.runtime.forkserver import ForkedProcess
from console.runtime.preflight import CannotStart

# A variable in the environment of a launcher's processes and their children. Its value
# is the launcher's directory, which identifies processes that an earlier launcher left
# behind.
MARK = "BACKOUT_STARTED_FOR"
ADDRESS = "BACKOUT_STARTED_AT"  # also in their environment: the URL of the pages
LONGEST_WAIT_S = 30
LEFT_BEHIND_STOP_WITHIN_S = 10
STEADY_AFTER_S = 60  # a process that ran this long starts again after a second

Process = subprocess.Popen[bytes] | ForkedProcess
Say = Callable[[str], None]  # prints a sentence to the terminal


def own_environment() -> dict[str, str]:
    """The environment of this process, without what a launcher adds."""
    added = (MARK, ADDRESS)
    return {name: value for name, value in os.environ.items() if name not in added}


@dataclass(frozen=True)
class Program:
    """A program to keep running, and how to stop it."""

    name: str
    arguments: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=own_environment)
    directory: Path | None = None
    # user and group to run as; None: those of this process
    run_as: tuple[int, int] | None = None
    log: Path | None = None  # file for the program's output; None: the terminal
    colour: str | None = None
    # The words of the command, if it may start as a fork; see ``forkserver``.
    forked: Sequence[str] | None = None
    # Each signal is sent if the one before had no effect within its seconds.
    signals: Sequence[tuple[signal.Signals, float]] = ((signal.SIGTERM, 10),)


class Terminal:
    """One output for all processes: whole lines, each with the process's name.

    A closed terminal or window stops nothing.
    """

    def __init__(self, output: IO[str], names: Iterable[str] = ()) -> None:
        self.output = output
        self.printer = Printer(output, width=max(map(len, names), default=0))
        self.lock = threading.Lock()

    def say(self, sentence: str, /) -> None:
        with self.lock, suppress(OSError):
            print(sentence, file=self.output, flush=True)

    def line(self, program: Program, data: bytes) -> None:
        now = datetime.now().astimezone()
        message = Message("line", data, now, program.name, program.colour)
        with self.lock, suppress(OSError):
            self.printer.write(message)


class SupervisedProgram:
    """A running program that is restarted when it ends, with growing delays."""

    def __init__(self, program: Program, terminal: Terminal) -> None:
        self.program = program
        self.terminal = terminal
        self.ends = 0  # how often the process ended unexpectedly
        self.stopping = threading.Event()
        self.asked_at = 0.0  # when the stop was requested; monotonic seconds
        self.process: Process | None = None
        # Held to start, reap and signal the process: its id is used only while no
        # other process can have the same id. A second Ctrl-C may come while it is held.
        self.lock = threading.RLock()
        self.thread = threading.Thread(target=self._keep, daemon=True)

    def start(self) -> None:
        self.thread.start()

    def stop(self) -> None:
        """Ask the process to stop, without waiting."""
        with self.lock:
            self.stopping.set()
        self.asked_at = time.monotonic()
        self._signal(self.program.signals[0][0])

    def wait(self) -> None:
        """Wait until the process has stopped; send stronger signals if it is late."""
        if not self.thread.is_alive():
            return
        (_, seconds), *others = self.program.signals
        self.thread.join(max(0, self.asked_at + seconds - time.monotonic()))
        for number, seconds in others:
            self._signal(number)
            self.thread.join(seconds)
        self.kill()
        self.thread.join()

    def kill(self) -> None:
        with self.lock:
            self.stopping.set()
            if self.process:
                with suppress(ProcessLookupError):
                    os.killpg(self.process.pid, signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        with self.lock:
            if self.process:
                os.kill(self.process.pid, number)

    def _keep(self) -> None:
        quick_ends = 0
        while (process := self._start()) is not None:
            began = time.monotonic()
            code = self._see_it_end(process)
            if self.stopping.is_set():
                return
            self.ends += 1
            steady = time.monotonic() - began > STEADY_AFTER_S
            quick_ends = 0 if steady else quick_ends
            wait = min(2**quick_ends, LONGEST_WAIT_S)
            quick_ends += 1
            self.terminal.say(
                f"{self.program.name} ended ({how(code)}); it is started again in"
                f" {wait} s."
            )
            self.stopping.wait(wait)

    def _start(self) -> Process | None:
        with self.lock:
            if self.stopping.is_set():
                return None
            self.process = started(self.program)
        if self.process.stdout:
            relay = threading.Thread(target=self._relay, args=[self.process])
            relay.daemon = True
            relay.start()
        return self.process

    def _see_it_end(self, process: Process) -> int:
        # Wait until the process has ended, but do not reap it: so its id still names
        # its group, and the signal ends all processes left in the group, such as pool
        # workers or Java. macOS before Python 3.13 always reaps; a fork is reaped by
        # the server of forks.
        if sys.platform == "darwin" or isinstance(process, ForkedProcess):
            process.wait()
        else:
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        with self.lock:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            self.process = None
            return process.wait()

    def _relay(self, process: Process) -> None:
        assert process.stdout
        with process.stdout as lines:
            for line in lines:
                self.terminal.line(self.program, line)


def run_once(program: Program, say: Say) -> int:
    """Run a program to its end; return its exit code. It says its lines. An exception
    here kills it.

    Raises:
        CannotStart: it is forked, and what is loaded for that cannot be loaded.
    """
    try:
        process = started(program)
    except (EOFError, OSError) as error:
        raise CannotStart(
            "The programs cannot be loaded. The reason is above."
        ) from error
    assert process.stdout
    try:
        with process.stdout as lines:
            for line in lines:
                say(line.decode(errors="replace").rstrip())
        return process.wait()
    except BaseException:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise


def started(program: Program) -> Process:
    """Start a program, as a fork if it may be one."""
    if program.forked:
        return ForkedProcess(program.forked, program.environment)
    return executed(program)


def executed(program: Program) -> subprocess.Popen[bytes]:
    """Start a program of any kind."""
    user, group = program.run_as or (None, None)
    with ExitStack() as files:
        log = files.enter_context(program.log.open("ab")) if program.log else None
        return subprocess.Popen(  # noqa: S603 -- our own table
            program.arguments,
            env=program.environment,
            cwd=program.directory,
            stdin=subprocess.DEVNULL,
            stdout=log or subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            user=user,
            group=group,
            extra_groups=None if user is None else [],
        )


def rest() -> NoReturn:
    """Wait for a signal. Not by ``signal.pause``: a signal that another thread gets
    would not end it."""
    while True:
        time.sleep(0.5)


def stop(kept: Sequence[SupervisedProgram]) -> None:
    """Stop programs together, each within its own time."""
    for one in kept:
        one.stop()
    for one in kept:
        one.wait()


@contextmanager
def stopped_by_signals(kept: Sequence[SupervisedProgram] = ()) -> Iterator[None]:
    """Raise KeyboardInterrupt, once, for any signal that asks this process to end.

    A second signal kills the programs instead of waiting for them.
    """

    def end(number: int, frame: FrameType | None) -> None:
        listen(hurry)
        raise KeyboardInterrupt

    def hurry(number: int, frame: FrameType | None) -> None:
        for one in kept:
            one.kill()

    def listen(handler: Callable[[int, FrameType | None], None]) -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, handler)

    listen(end)
    yield


def stop_left_behind(mark: str, say: Say) -> None:
    """Stop processes that a killed launcher could not stop."""
    mine = {os.getpid(), *(parent.pid for parent in psutil.Process().parents())}
    left = [
        process
        for process in psutil.process_iter()
        if process.pid not in mine and _mark(process) == mark
    ]
    if not left:
        return
    pids = ", ".join(str(process.pid) for process in left)
    say(f"Processes of an earlier run are still there ({pids}); they are stopped.")
    for process in left:
        with suppress(psutil.NoSuchProcess):
            process.terminate()
    for process in psutil.wait_procs(left, timeout=LEFT_BEHIND_STOP_WITHIN_S)[1]:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(left, timeout=LEFT_BEHIND_STOP_WITHIN_S)


def address_of(mark: str) -> str | None:
    """The URL of the pages that a launcher of this user runs; None if it runs none."""
    for process in psutil.process_iter(["environ"]):
        environment = process.info["environ"] or {}
        if environment.get(MARK) == mark and environment.get(ADDRESS):
            return str(environment[ADDRESS])
    return None


def _mark(process: psutil.Process) -> str | None:
    try:
        mark: str | None = process.environ().get(MARK)
    except (psutil.Error, OSError):  # a process of another user, or one that has ended
        return None
    return mark


def how(code: int) -> str:
    return f"code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"
