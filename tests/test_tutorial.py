"""The tutorial, word for word, in an empty directory with the wheel alone."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import Timer

import pytest

from tests import installed
from tests.installed import SCRIPT, TREE
from tests.test_install_console import PASSWORD, Browser, until, until_it_answers

pytestmark = pytest.mark.thorough

PAGE = (TREE / "docs" / "tutorial.md").read_text()
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.M | re.S)
CODE = [text for kind, text in BLOCKS if kind == "python"]
COMMANDS = [text for kind, text in BLOCKS if not kind]
FILES = ("shop/settings.py", "trade/models.py", "trade/handlers.py")
# What the reader is told to choose in the browser, in order.
CHOICES = re.findall(r"\b(?:[Cc]hoose|and) \*([^*]+)\*", PAGE)
ERROR = "Customer matching query does not exist."
WITHIN_S = 60
RUN = "python manage.py backout run --web"
MANAGE = "python manage.py "
# The lines of one block in one process, which saves the seconds of their starts.
LINES = """
import importlib, shlex, sys
import manage
for line in sys.argv[1].splitlines():
    importlib.invalidate_caches()
    sys.argv = shlex.split(line)[1:]
    manage.main()
"""


@dataclass(frozen=True)
class Shell:
    """A terminal in the reader's folder, with the environment activated."""

    folder: Path
    database: str
    environment: dict[str, str]

    def start(self, command: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            ["bash", "-ec", command],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, command: str) -> str:
        """What it prints; all its questions are answered with yes."""
        lines = command.strip().splitlines()
        if all(one.startswith(MANAGE) for one in lines):
            command = shlex.join(["python", "-c", LINES, "\n".join(lines)])
        process = self.start(command)
        said, _ = process.communicate("y\n", timeout=WITHIN_S)
        assert process.returncode == 0, (command, said)
        return said


@pytest.fixture
def shell(tmp_path: Path, transactional_db: None) -> Iterator[Shell]:
    """A terminal in which the first block of the page has been run."""
    assert 'pip install "backout[console]"' in COMMANDS[0]
    wheel = installed.build(tmp_path)
    python = installed.environment(tmp_path / "venv", wheel, ["console"])
    for name, code in {
        "backout": SCRIPT,
        "django-admin": "from django.core.management import *; "
        "execute_from_command_line()",
    }.items():
        program = python.parent / name
        program.write_text(f"#!{python}\n{code}\n")
        program.chmod(0o755)
    folder, database = tmp_path / "shop", f"tutorial_{os.getpid()}"
    folder.mkdir()
    installed.recreate(database)
    yield Shell(
        folder,
        database,
        {
            "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}",
            "DJANGO_SUPERUSER_PASSWORD": PASSWORD,
            **installed.of_server(),
        },
    )
    installed.recreate(database, create=False)


def test_from_an_empty_directory_to_a_resubmitted_dead_letter(
    shell: Shell, unused_tcp_port: int
) -> None:
    _, start, init, migrate, queues, web, put, listed, mend, resubmitted, count = (
        COMMANDS
    )
    assert web.strip() == RUN
    shell.run(start)
    for name, text in zip(FILES, CODE, strict=True):
        with (shell.folder / name).open("a") as written:
            written.write(text.replace('"shop"', f'"{shell.database}"'))
    assert "+++ b/shop/urls.py" in shell.run(init)
    # A password is asked for at a terminal only.
    shell.run(f"{migrate.strip()} --no-input")
    shell.run(queues)

    running = shell.start(f"exec {RUN} --port {unused_tcp_port}")
    late = Timer(2 * WITHIN_S, running.kill)  # so that nothing is read for ever
    late.start()
    try:
        site = f"http://127.0.0.1:{unused_tcp_port}/"
        until_it_answers(site)
        shell.run(put)
        send_back(shell, Browser(site), listed + mend + resubmitted)
        assert shell.run(count).split()[-1] == "2"
    finally:
        running.send_signal(signal.SIGINT)
        said, _ = running.communicate()
        late.cancel()
    assert said.endswith("Everything is stopped.\n"), said


def send_back(shell: Shell, ada: Browser, commands: str) -> None:
    """What the page says of the browser, and beside it in the second terminal."""
    letters, again, resubmit, begin = CHOICES
    home = ada.send(ada.ask("/ops/"), "", username="ada", password=PASSWORD)
    assert until(lambda: ERROR in ada.choose(home, letters).html)
    assert "matching query" in shell.run(commands)
    plan = ada.choose(ada.choose(home, again), resubmit)
    assert ada.choose(plan, begin).status == 200
    assert until(lambda: "processed" in ada.ask(plan.url).html)
    assert ERROR not in ada.choose(home, letters).html
    assert "No settings need to be fixed." in ada.choose(home, "Health").html


def test_the_tutorial_leaves_no_block_out() -> None:
    assert (len(CODE), len(COMMANDS)) == (len(FILES), 11)
    assert sys.version_info >= (3, 11)
