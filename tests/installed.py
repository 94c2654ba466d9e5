"""The wheel in a virtual environment of its own, and somebody else's project there.

The environment sees the wheel and the packages that it depends on, and no other.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
import venv
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import distribution
from itertools import chain
from pathlib import Path
from zipfile import ZipFile

import psycopg
from packaging.requirements import Requirement
from psycopg.sql import SQL, Identifier

from tests.broker.bridges.other_backout import parameters

TREE = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((TREE / "pyproject.toml").read_text())["project"]
BUILD = "import sys; from hatchling.build import build_wheel as b; b(sys.argv[1])"
# What an installer would make of the entry point.
SCRIPT = (
    "from importlib.metadata import entry_points as e;"
    "e(group='console_scripts')['backout'].load()()"
)
# The server of the tests, for libpq.
VARIABLES = {
    "host": "PGHOST", "port": "PGPORT", "user": "PGUSER", "password": "PGPASSWORD"
}  # fmt: skip


TYPER = "ignore:In Typer, only the parameter:DeprecationWarning"  # of django-typer


@dataclass(frozen=True)
class Project:
    """A Django project, and the environment of its processes."""

    folder: Path
    python: Path

    def start(self, *command: str, **options: str) -> subprocess.Popen[str]:
        """A process of this Python; ``options`` are environment variables."""
        return subprocess.Popen(
            [str(self.python), "-W", "error", "-W", TYPER, *command],
            cwd=self.folder,
            env={"PATH": os.environ["PATH"], **of_server(), **options},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )

    def manage(self, *command: str) -> subprocess.Popen[str]:
        return self.start("manage.py", *command)

    def run(self, *command: str, **options: str) -> str:
        """What a command of manage.py prints; it must end well."""
        return ended(self.start("manage.py", *command, **options))

    def script(self, *command: str) -> subprocess.Popen[str]:
        """The program that the wheel installs."""
        return self.start("-c", SCRIPT, *command)


def ended(process: subprocess.Popen[str]) -> str:
    written, _ = process.communicate()
    assert process.returncode == 0, written
    return written


def build(place: Path) -> Path:
    """The wheel of this tree."""
    subprocess.run([sys.executable, "-c", BUILD, str(place)], cwd=TREE, check=True)
    (packed,) = place.glob("backout-*.whl")
    return packed


def environment(
    place: Path, wheel: Path, extras: Iterable[str] = (), *, beside: Iterable[str] = ()
) -> Path:
    """The Python of a new environment, in which a wheel is installed.

    Args:
        place: the folder of the environment.
        wheel: the wheel.
        extras: its extras.
        beside: other packages that the project has.
    """
    venv.create(place, symlinks=True, with_pip=False)
    (packages,) = place.glob("lib/python*/site-packages")
    with ZipFile(wheel) as opened:
        opened.extractall(packages)
    for name in dependencies(extras) | with_theirs(beside):
        for top in {one.parts[0] for one in distribution(name).files or ()} - {".."}:
            link = packages / top
            if not link.exists():
                link.symlink_to(str(distribution(name).locate_file(top)))
    return place / "bin" / "python"


def dependencies(extras: Iterable[str]) -> set[str]:
    """The names of all distributions that the wheel needs, directly or not."""
    more = (PROJECT["optional-dependencies"][one] for one in extras)
    return with_theirs(chain(PROJECT["dependencies"], *more))


def with_theirs(requirements: Iterable[str]) -> set[str]:
    """The names of these distributions, and of all that they need."""
    wanted = [Requirement(one) for one in requirements]
    found: set[tuple[str, str]] = set()
    while wanted:
        one = wanted.pop()
        name = one.name.lower()
        for extra in {"", *one.extras} - {b for a, b in found if a == name}:
            found.add((name, extra))
            for line in distribution(name).requires or ():
                needed = Requirement(line)
                if not needed.marker or needed.marker.evaluate({"extra": extra}):
                    wanted.append(needed)
    return {name for name, _ in found}


def of_server() -> dict[str, str]:
    """The variables by which libpq finds the tests' server."""
    return {
        VARIABLES[name]: str(value)
        for name, value in parameters("postgres").items()
        if name in VARIABLES and value
    }


def recreate(name: str, *, create: bool = True) -> None:
    """An empty database on the tests' server, or none of that name."""
    with psycopg.connect(**parameters("postgres"), autocommit=True) as line:
        line.execute(
            SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(Identifier(name))
        )
        if create:
            line.execute(SQL("CREATE DATABASE {}").format(Identifier(name)))
