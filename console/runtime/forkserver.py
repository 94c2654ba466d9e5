"""Starts Python programs as forks of one process that has loaded what they need.

Each shares the memory of that process until it changes it, and starts in a tenth of the
time. The process is that of ``multiprocessing``'s start method "forkserver"; its
children are not of this process, so it reports when they end. It loads the settings,
and is started when the environment is complete.

Linux only: on macOS, forks of a process that has loaded system libraries are not safe.
"""

from __future__ import annotations

import ctypes
import gc
import multiprocessing
import os
import runpy
import shlex
import signal
import string
import sys
import threading
from collections import defaultdict
from collections.abc import Mapping, Sequence
from multiprocessing import forkserver, resource_tracker
from multiprocessing.connection import Connection, wait
from typing import IO, Any

IS_SAFE = sys.platform == "linux"
CONTEXT = multiprocessing.get_context("forkserver")  # Windows has no such context
LOADED = "console.runtime.loaded"  # imports what the programs need
# The start of a process also collects processes that have ended, which must not happen
# in two threads at once.
LOCK = threading.Lock()
NAME = "BACKOUT_PROGRAM"  # environment variable with the name of a program
SET_NAME = 15  # PR_SET_NAME of prctl(2)
# Signals that a terminal or a user sends to the whole process group. The server of
# forks ignores them, because the supervisor ends all processes in order.
IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class ForkedProcess:
    """A running program; as much of ``subprocess.Popen`` as the supervisor needs."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        """Start a program in the present directory.

        Args:
            command: as in ``python_command``.
            environment: variables of the program.
        """
        output, write = CONTEXT.Pipe(duplex=False)
        self.returncode: int | None = None
        with LOCK:
            self.process = CONTEXT.Process(
                target=run, args=(write, list(command), dict(environment))
            )
            self.process.start()
        write.close()
        assert self.process.pid is not None
        self.pid: int = self.process.pid
        self.stdout: IO[bytes] | None = os.fdopen(os.dup(output.fileno()), "rb")
        output.close()
        self.stdout.read(1)  # the fork has its own session now, and can be signalled

    def wait(self) -> int:
        """Wait for the end; return the exit code, negative for a signal."""
        wait([self.process.sentinel])
        with LOCK:
            self.process.join()
        assert self.process.exitcode is not None
        self.returncode = self.process.exitcode
        return self.returncode


def start() -> None:
    """Start the server of forks, with the environment of this process, and do not wait
    until it has loaded the programs. If it ends, the next program starts another."""
    with LOCK:
        CONTEXT.set_forkserver_preload([LOADED])
        forkserver.ensure_running()


def python_command(command: str, environment: Mapping[str, str]) -> list[str] | None:
    """The words of a Procfile's command if it is one of Python, perhaps behind
    ``nice``; otherwise None. Variables are replaced."""
    given = defaultdict(str, environment)
    words = [string.Template(word).substitute(given) for word in shlex.split(command)]
    first = words[1:] if words[:1] == ["nice"] else words
    is_plain = first[:1] == ["python"] and not set(command) & set(";&|<>`(")
    is_known = first[1:2] == ["-m"] or first[1:2] == ["manage.py"]
    return words if IS_SAFE and is_plain and is_known else None


def run(
    output: Connection, command: Sequence[str], environment: Mapping[str, str]
) -> None:
    """Run the program, in the forked process."""
    os.setsid()
    for number in IGNORED:
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for stream in (sys.stdout, sys.stderr):
        os.dup2(output.fileno(), stream.fileno())
    os.write(output.fileno(), b"!")
    output.close()
    os.environ.update(environment)
    if command[0] == "nice":
        os.nice(10)
    words = command[command.index("python") + 1 :]
    name_process(environment.get(NAME, words[-1]))
    if words[0] == "-m":
        sys.argv = list(words[1:])
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = list(words)
        runpy.run_path(words[0], run_name="__main__")


def name_process(name: str) -> None:
    """Name this process in ``ps -e`` and ``top``; the kernel keeps 15 characters."""
    ctypes.CDLL(None).prctl(SET_NAME, f"backout {name}".encode()[:15], 0, 0, 0)


def stop() -> None:
    """Kill the server of forks and its companion; all programs have ended. They would
    end soon after this process; nothing public ends them earlier."""
    server: Any = forkserver._forkserver
    tracker: Any = resource_tracker._resource_tracker
    with LOCK:
        for pid in (server._forkserver_pid, tracker._pid):
            if pid is not None:
                os.kill(pid, signal.SIGKILL)
        server._stop()
        tracker._stop()


def ignore_signals() -> None:
    """Called in the server of forks before it loads anything."""
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)


def settle() -> None:
    """Called when everything is loaded: later changes of memory stay small."""
    gc.collect()
    gc.freeze()
