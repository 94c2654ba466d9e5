"""Programs that start as forks: what they are, say, and leave."""

from __future__ import annotations

import io
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from django.conf import settings
from honcho.environ import parse_procfile

from console.runtime import forkserver, supervisor
from console.runtime.forkserver import IS_SAFE, ForkedProcess, python_command
from console.runtime.supervisor import Program, SupervisedProgram, Terminal
from tests.broker.forked import FORKS, LOADED
from tests.console.until import until

pytestmark = [
    pytest.mark.skipif(not IS_SAFE, reason="programs are forked on Linux only"),
    pytest.mark.thorough,
]

Keep = Callable[[list[str]], SupervisedProgram]
TIMED = ["python", "-m", "timeit", "-n", "1", "-r", "1"]
SLEEP = [*TIMED, "import time; time.sleep(100)"]
IGNORE = "import signal; signal.signal(15, signal.SIG_IGN); print('ready')"
STUBBORN = [*TIMED, f"{IGNORE}; import time; time.sleep(100)"]


@pytest.fixture(autouse=True, scope="module")
def own_server() -> Iterator[None]:
    """A process has one server of forks; the other tests load something else in it."""
    forkserver.stop()
    forkserver.start()
    yield
    forkserver.stop()
    FORKS.set_forkserver_preload(LOADED)


@pytest.fixture
def output() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def keep(output: io.StringIO) -> Iterator[Keep]:
    all_kept: list[SupervisedProgram] = []

    def keep(command: list[str]) -> SupervisedProgram:
        program = Program(
            name="example",
            arguments=["false"],
            environment=os.environ | {"PYTHONUNBUFFERED": "1"},
            forked=command,
            signals=[(signal.SIGTERM, 0.2)],
        )
        all_kept.append(SupervisedProgram(program, Terminal(output)))
        all_kept[-1].start()
        return all_kept[-1]

    yield keep
    supervisor.stop(all_kept)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("python -m http.server --bind $HOST", ["python", "-m", "http.server"]),
        ("nice python manage.py broker_listen", ["nice", "python", "manage.py"]),
        ('python -m uvicorn --host "$HOST"', ["python", "-m", "uvicorn"]),
        ("python manage.py x --level '$UNKNOWN'", ["python", "manage.py", "x"]),
    ],
)
def test_a_python_program_may_be_forked(command: str, words: list[str]) -> None:
    found = python_command(command, {"HOST": "a b"})

    assert found is not None
    assert found[:3] == words
    assert not [word for word in found if "$" in word]
    assert ("$HOST" in command) == (found[-1] == "a b")


@pytest.mark.parametrize(
    "command",
    ["sleep 100", "python -m a; python -m b", "python -m a > b", "python a.py", ""],
)
def test_other_programs_are_executed(command: str) -> None:
    assert python_command(command, {}) is None


def test_all_programs_of_the_procfile_may_be_forked() -> None:
    procfile = parse_procfile(Path(settings.BASE_DIR, "Procfile").read_text())

    for command in procfile.processes.values():
        assert python_command(command, {})


def test_its_output_and_exit_code_are_told(keep: Keep, output: io.StringIO) -> None:
    kept = keep([*TIMED, "print('Hello'); 1 / 0"])

    until(lambda: kept.ends)

    until(lambda: "Hello" in output.getvalue())
    until(lambda: "example ended (code 1)" in output.getvalue())


def test_it_has_a_session_and_the_environment_of_its_launcher(keep: Keep) -> None:
    kept = keep(SLEEP)
    process = forked(kept)

    assert os.getsid(process.pid) == process.pid != os.getsid(0)
    assert psutil.Process(process.pid).environ()["PATH"] == os.environ["PATH"]


def test_one_that_is_killed_is_started_again(keep: Keep, output: io.StringIO) -> None:
    kept = keep(SLEEP)
    first = forked(kept)
    os.kill(first.pid, signal.SIGKILL)

    second = forked(kept, after=first)

    assert psutil.pid_exists(second.pid)
    assert "example ended (signal SIGKILL); it is started again in 1 s." in (
        output.getvalue()
    )


def test_one_that_does_not_stop_when_asked_is_killed(
    keep: Keep, output: io.StringIO
) -> None:
    kept = keep(STUBBORN)
    until(lambda: "ready" in output.getvalue())
    process = forked(kept)

    supervisor.stop([kept])

    assert process.returncode == -signal.SIGKILL
    assert not kept.ends


def test_all_end_and_start_again_if_the_server_of_forks_is_killed(keep: Keep) -> None:
    kept = keep(SLEEP)
    first = forked(kept)
    server = psutil.Process(first.pid).parent()
    assert server is not None
    server.kill()

    second = forked(kept, after=first)

    assert psutil.pid_exists(second.pid)
    until(lambda: has_ended(first.pid))


def forked(
    kept: SupervisedProgram, after: ForkedProcess | None = None
) -> ForkedProcess:
    """The running process, which is another than ``after``."""
    until(lambda: kept.process not in (None, after))
    assert isinstance(kept.process, ForkedProcess)
    return kept.process


def has_ended(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True
