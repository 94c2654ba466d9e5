"""What keeps the processes running, with small processes that misbehave."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from console.runtime import supervisor
from console.runtime.supervisor import (
    Program,
    SupervisedProgram,
    Terminal,
    stop_left_behind,
)
from tests.console.until import until

Keep = Callable[[str], SupervisedProgram]
STUBBORN = "trap '' TERM; echo ready; while :; do sleep 1; done"


@pytest.fixture
def output() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def keep(output: io.StringIO, tmp_path: Path) -> Iterator[Keep]:
    all_kept: list[SupervisedProgram] = []

    def keep(script: str) -> SupervisedProgram:
        program = Program(
            name="example",
            arguments=["/bin/sh", "-c", script],
            environment=os.environ | {supervisor.MARK: str(tmp_path)},
            signals=[(signal.SIGTERM, 0.2)],
        )
        all_kept.append(SupervisedProgram(program, Terminal(output)))
        all_kept[-1].start()
        return all_kept[-1]

    yield keep
    supervisor.stop(all_kept)


def test_a_program_that_is_killed_is_started_again(
    keep: Keep, output: io.StringIO
) -> None:
    kept = keep("exec sleep 100")
    first = until(lambda: process_id(kept))
    os.kill(first, signal.SIGKILL)

    second = until(lambda: (now := process_id(kept)) != first and now)

    assert psutil.pid_exists(second)
    assert "example ended (signal SIGKILL); it is started again in 1 s." in (
        output.getvalue()
    )


def test_what_a_killed_program_started_ends_with_it(
    keep: Keep, output: io.StringIO
) -> None:
    kept = keep("sleep 100 & echo child $!; wait")
    line = until(lambda: "child" in output.getvalue() and output.getvalue())
    child = psutil.Process(int(line.split()[-1]))
    os.kill(until(lambda: process_id(kept)), signal.SIGKILL)

    until(lambda: kept.ends)

    until(lambda: has_ended(child))


def test_a_program_that_does_not_stop_when_asked_is_killed(
    keep: Keep, output: io.StringIO
) -> None:
    kept = keep(STUBBORN)
    until(lambda: "ready" in output.getvalue())
    process = kept.process

    supervisor.stop([kept])

    assert process
    assert process.returncode == -signal.SIGKILL
    assert not kept.ends


def test_a_program_that_never_ran_can_be_stopped() -> None:
    kept = SupervisedProgram(
        Program(name="example", arguments=["true"]), Terminal(sys.stdout)
    )

    supervisor.stop([kept])

    assert kept.process is None


def test_programs_of_a_killed_launcher_are_stopped(tmp_path: Path) -> None:
    launcher = subprocess.run(
        ["/bin/sh", "-c", "sleep 100 >/dev/null & echo $!"],
        env=os.environ | {supervisor.MARK: str(tmp_path)},
        stdout=subprocess.PIPE,
        check=True,
    )
    left = psutil.Process(int(launcher.stdout))
    said: list[str] = []

    stop_left_behind("the directory of another launcher", said.append)
    assert not said
    stop_left_behind(str(tmp_path), said.append)

    assert f"({left.pid}); they are stopped." in said[0]
    until(lambda: has_ended(left))


def process_id(kept: SupervisedProgram) -> int | None:
    process = kept.process
    return process.pid if process is not None else None


def has_ended(process: psutil.Process) -> bool:
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
