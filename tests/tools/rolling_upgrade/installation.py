"""A version of Backout in a project of its own, and the processes of its Procfile."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from urllib.request import urlopen

from tests import installed
from tests.installed import TREE

PROJECT = Path(__file__).parent / "project"
STARTS_WITHIN_S = 120.0
ENDS_WITHIN_S = 60.0
PINNED = re.compile(r"^([\w.-]+)(?:\[[\w,]+\])?==(\S+)", re.M)
NOT_RUN = {"pyspark"}  # reports are not made here


@dataclass(frozen=True)
class Installation:
    """Code with its Python."""

    name: str
    python: Path
    paths: list[Path]
    procfile: str

    def start(
        self, *command: str, log: Path, is_asked: bool = True, **more: str
    ) -> subprocess.Popen[str]:
        """A process of this Python.

        Args:
            log: the file to which it writes.
            is_asked: whether somebody reads what it prints, or else the log has it.
            more: of its environment.
        """
        paths = ":".join(map(str, [*self.paths, PROJECT]))
        with log.open("a") as written:
            return subprocess.Popen(
                [str(self.python), *command],
                cwd=PROJECT,
                env={
                    **os.environ,
                    "DJANGO_SETTINGS_MODULE": "upgraded.settings",
                    "PYTHONPATH": paths,
                    "PYTHONUNBUFFERED": "1",
                    **more,
                },
                stdout=subprocess.PIPE if is_asked else written,
                stderr=written,
                text=True,
            )

    def run(self, *command: str, log: Path, **more: str) -> str:
        """What a command prints; it must end well."""
        process = self.start(*command, log=log, is_asked=True, **more)
        said, _ = process.communicate()
        if process.returncode:
            raise RuntimeError(f"{self.name}: {command} failed:\n{log.read_text()}")
        return said

    def program(self, name: str, log: Path, **more: str) -> Program:
        """Start a line of the Procfile."""
        environment = {**os.environ, **more}
        (line,) = re.findall(rf"^{name}: (?:nice )?python (.+)$", self.procfile, re.M)
        words = [
            re.sub(r"\$(\w+)", lambda found: environment[found[1]], word)
            for word in shlex.split(line)
        ]
        return Program(name, self, self.start(*words, log=log, is_asked=False, **more))


@dataclass(frozen=True)
class Program:
    """A running line of the Procfile."""

    name: str
    installation: Installation
    process: subprocess.Popen[str]

    def end(self) -> None:
        """As an operator ends it."""
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.communicate(timeout=ENDS_WITHIN_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise


def of_commit(commit: str, place: Path) -> Installation:
    """The tree of a commit, as it was run before there were wheels, with the packages
    that it pins and this environment lacks."""
    tree, packages = place / "tree", place / "packages"
    tree.mkdir(parents=True)
    archive = subprocess.run(
        ["git", "archive", commit], cwd=TREE, check=True, capture_output=True
    )
    subprocess.run(["tar", "x", "-C", tree], input=archive.stdout, check=True)
    pins = PINNED.findall((tree / "requirements.txt").read_text())
    lacking = [f"{name}=={pin}" for name, pin in pins if not is_here(name)]
    if lacking:
        print("packages of the old version:", *lacking, flush=True)
        install = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps")
        subprocess.run([*install, "--target", packages, *lacking], check=True)
    procfile = (tree / "Procfile").read_text()
    return Installation("old", Path(sys.executable), [tree, packages], procfile)


def is_here(name: str) -> bool:
    try:
        version(name)
    except PackageNotFoundError:
        return name in NOT_RUN
    return True


def of_wheel(place: Path) -> Installation:
    """The wheel of this tree in an environment of its own."""
    place.mkdir()
    python = installed.environment(
        place / "venv", installed.build(place), ["amqp", "console"]
    )
    return Installation("new", python, [], (TREE / "Procfile").read_text())


def is_ready(port: int) -> bool:
    """Whether a web process would get requests from a load balancer."""
    try:
        with urlopen(f"http://127.0.0.1:{port}/readyz", timeout=2) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def until(holds: Callable[[], bool]) -> None:
    ends = time.monotonic() + STARTS_WITHIN_S
    while not holds():
        if time.monotonic() > ends:
            raise TimeoutError
        time.sleep(0.1)
