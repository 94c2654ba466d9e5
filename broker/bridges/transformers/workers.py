"""The worker process of one link, for transformers with a time limit.

It is started at its first use, in its own process group. It inherits only the
environment: no connection, no lock, no terminal. Foreign code may kill or stop it, or
fork; then the current message fails, and the next one gets a new process.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import weakref
from contextlib import suppress
from dataclasses import dataclass
from typing import NoReturn

from broker.bridges.transformers.carrying import outcome_of
from broker.bridges.transformers.frames import receive, send
from broker.bridges.transformers.registry import Outcome
from broker.errors.bridges import TransformerFailed

PROGRAM = "broker.bridges.transformers.worker"
STARTS_WITHIN_S = 60.0  # loading Django and all applications takes seconds
ENDS_WITHIN_S = 10.0  # time for the end after a kill; it usually takes milliseconds
FAULTS = (EOFError, LookupError, OSError, RecursionError, TypeError, ValueError)
STDERR = 2  # file descriptor that also receives the standard output


@dataclass(frozen=True, slots=True)
class Started:
    """A running process, and the channel to it."""

    process: subprocess.Popen[bytes]
    channel: socket.socket
    lifeline: int  # our end of a pipe; closing it ends the process

    def is_waiting(self) -> bool:
        """Whether the process runs, and has sent nothing unexpected."""
        self.channel.settimeout(0)
        try:
            self.channel.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return True
        except OSError:
            pass
        return False

    def end(self) -> None:
        """Kill its process group."""
        self.channel.close()
        os.close(self.lifeline)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(ENDS_WITHIN_S)


class Worker:
    """One process at a time, used by one thread."""

    def __init__(self) -> None:
        self._started: Started | None = None
        self._end: weakref.finalize | None = None

    @property
    def pid(self) -> int | None:
        """The id of the process, if there is one."""
        return None if self._started is None else self._started.process.pid

    def ask(self, name: str, request: bytes, time_limit_s: float) -> Outcome:
        """Have a transformer run in the process; the result is not validated.

        Args:
            name: the name of the transformer.
            request: the frame; see ``carrying.encode_request``.
            time_limit_s: the time limit, without the start of the process.

        Raises:
            TransformerFailed: it failed, or took too long.
        """
        started = self._ready(name)
        until = time.monotonic() + time_limit_s
        try:
            send(started.channel, request, until)
            answer = receive(started.channel, until)
            if answer.said["outcome"] != "failed":
                return outcome_of(answer)
            why = str(answer.said["why"])
        except FAULTS as error:
            late = f"It took longer than {time_limit_s:g} s and was stopped."
            self._fail(name, error, late)
        except BaseException:  # a late answer must not be taken for the next
            self.close()
            raise
        raise TransformerFailed(name, why)

    def close(self) -> None:
        """End the process, if there is one. The next message starts another."""
        if self._end is not None:
            self._end()
        self._started = self._end = None

    def _ready(self, name: str) -> Started:
        """The process, ready for a request; it is started if there is none."""
        if self._started is not None and self._started.is_waiting():
            return self._started
        self.close()
        try:
            self._started = started = start()
            self._end = weakref.finalize(self, started.end)
            answer = receive(started.channel, time.monotonic() + STARTS_WITHIN_S)
        except FAULTS as error:
            late = f"Its worker process was not ready within {STARTS_WITHIN_S:g} s."
            self._fail(name, error, late)
        except BaseException:
            self.close()
            raise
        if not answer.said.get("is_ready"):
            self.close()
            why = f"Its worker process cannot start. {answer.said.get('why')}"
            raise TransformerFailed(name, why)
        return started

    def _fail(self, name: str, error: BaseException, late: str) -> NoReturn:
        """Kill the process, and raise the reason.

        Args:
            late: the sentence for a time-out.
        """
        started = self._started
        self.close()
        if isinstance(error, TimeoutError):
            why = late
        elif not isinstance(error, OSError | EOFError):
            why = "Its worker process sent an answer that cannot be read."
        elif started is not None:
            why = f"Its worker process {how(started.process.returncode)}."
        else:
            why = f"Its worker process cannot be started: {error}."
        raise TransformerFailed(name, why) from None


def start() -> Started:
    """Start a process, which reports when it is ready.

    Raises:
        OSError: the machine lacks resources for a process.
    """
    ours, theirs = socket.socketpair()
    alive, lifeline = os.pipe()
    try:
        process = subprocess.Popen(  # noqa: S603 -- our own module
            [sys.executable, "-m", PROGRAM, str(theirs.fileno()), str(alive)],
            stdin=subprocess.DEVNULL,
            stdout=STDERR,
            pass_fds=(theirs.fileno(), alive),
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            start_new_session=True,
        )
    except BaseException:
        ours.close()
        os.close(lifeline)
        raise
    finally:
        theirs.close()
        os.close(alive)
    return Started(process, ours, lifeline)


def how(code: int | None) -> str:
    """How a process ended, as the end of a sentence.

    Args:
        code: the return code of ``subprocess``; None: it could not be killed.
    """
    if code is None:
        return "cannot be killed"
    if code >= 0:
        return f"ended by itself, with exit status {code}"
    with suppress(ValueError):
        return f"was killed by {signal.Signals(-code).name}"
    return f"was killed by signal {-code}"
