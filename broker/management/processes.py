"""Several processes, kept running until told to stop.

They run one command, such as a listener on ports that all of them share
(``SO_REUSEPORT``), or those of a whole project (``backout run``).
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence

PARENT = "BACKOUT_PROCESS_OF"  # environment variable with the process id of the parent
DJANGO = (sys.executable, "-m", "django")
LOOK_S = 0.1
LONGEST_WAIT_S = 30.0
# After running this long, a process is restarted after one second.
STEADY_AFTER_S = 60.0


class SupervisedProcess:
    """One process; it is restarted when it ends, with growing delays."""

    def __init__(self, arguments: Sequence[str]) -> None:
        self.arguments = arguments
        self.process: subprocess.Popen[bytes] | None = None
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
        path = os.pathsep.join(sys.path)  # manage.py puts its folder there
        self.process = subprocess.Popen(  # noqa: S603 -- our own command
            self.arguments,
            env=os.environ | {PARENT: str(os.getpid()), "PYTHONPATH": path},
            stdin=subprocess.DEVNULL,
        )

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
        self, commands: Iterable[Sequence[str]], stop_within_s: float = math.inf
    ) -> None:
        """Prepare the processes; none is started yet.

        Args:
            commands: the management command of each, with its options.
            stop_within_s: seconds after which a process that does not stop is killed.
        """
        self.kept = [SupervisedProcess([*DJANGO, *one]) for one in commands]
        self.stop_within_s = stop_within_s
        self.stopping = threading.Event()

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
