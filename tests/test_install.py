"""The wheel installs into somebody else's project, by the blocks of docs/install.md.

That project sees the wheel and the packages that it depends on, and no other.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import distribution
from itertools import chain
from pathlib import Path
from threading import Timer
from zipfile import ZipFile

import psycopg
import pytest
from django.core.management import call_command
from packaging.requirements import Requirement
from psycopg.sql import SQL, Identifier

from tests.broker.bridges.other_backout import parameters

TREE = Path(__file__).resolve().parent.parent
PAGE = (TREE / "docs" / "install.md").read_text()
SETTINGS, CREATE, PUT, GET, HANDLER = re.findall(
    r"^```python\n(.*?)^```", PAGE, re.M | re.S
)
# Whoever gets a message and dies leaves it to the housekeeping.
DIE = """
import os, sys
from broker.client import UnitOfWork
UnitOfWork().get("orders")
sys.stdout.flush()
os._exit(0)
"""
BODY = '{"customer": 7}'
PINS = (TREE / "requirements.in").read_text()
PROJECT = tomllib.loads((TREE / "pyproject.toml").read_text())["project"]
APPS = ("broker", "console", "dashboards")
ENDS_WITHIN_S = 20
BUILD = "import sys; from hatchling.build import build_wheel as b; b(sys.argv[1])"
# The server of the tests, for libpq.
VARIABLES = {
    "host": "PGHOST", "port": "PGPORT", "user": "PGUSER", "password": "PGPASSWORD"
}  # fmt: skip


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an installed wheel, and of nothing else."""
    place = tmp_path_factory.mktemp("wheel")
    subprocess.run([sys.executable, "-c", BUILD, str(place)], cwd=TREE, check=True)
    (packed,) = place.glob("backout-*.whl")
    with ZipFile(packed) as opened:
        opened.extractall(place / "site")
    return place / "site"


@pytest.fixture
def database(transactional_db: None) -> Iterator[str]:
    """The name of an empty database on the tests' server."""
    name = f"install_{os.getpid()}"
    drop = SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(Identifier(name))
    with psycopg.connect(**parameters("postgres"), autocommit=True) as line:
        line.execute(drop)
        line.execute(SQL("CREATE DATABASE {}").format(Identifier(name)))
        yield name
        line.execute(drop)


@dataclass(frozen=True)
class Project:
    """A Django project and what its processes see."""

    folder: Path
    environment: dict[str, str]

    def start(self, *command: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-S", "-W", "error", "manage.py", *command],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, *command: str) -> str:
        """What a command prints; it must end well."""
        with self.start(*command) as started:
            written, _ = started.communicate()
        assert started.returncode == 0
        return written


@pytest.fixture
def project(wheel: Path, database: str, tmp_path: Path) -> Project:
    """A new project, changed as the page says; its database is empty."""
    call_command("startproject", "shop", str(tmp_path))
    (tmp_path / "trade").mkdir()
    call_command("startapp", "trade", str(tmp_path / "trade"))
    with (tmp_path / "shop" / "settings.py").open("a") as written:
        written.write(SETTINGS.replace('"shop"', f'"{database}"'))
        written.write('INSTALLED_APPS += ["trade"]\n')
    (tmp_path / "trade" / "handlers.py").write_text(HANDLER)
    return Project(tmp_path, alone(wheel))


def test_the_wheel_has_what_the_applications_need_and_no_tests(wheel: Path) -> None:
    packed = {str(one.relative_to(wheel)) for one in files(wheel)}
    tops = {one.partition("/")[0] for one in packed}
    (metadata,) = tops - set(APPS)
    assert metadata.endswith(".dist-info")
    assert {str(one.relative_to(TREE)) for app in APPS for one in files(TREE / app)} < (
        packed
    )
    for one in files(TREE / "templates"):
        name = str(one.relative_to(TREE))
        owner = "dashboards" if "/dashboards/" in name else "console"
        assert f"{owner}/{name}" in packed
    assert "console/static/css/base.css" in packed
    assert "console/static/vendor/htmx.min.js" in packed


def test_its_ranges_allow_what_is_pinned() -> None:
    pinned = dict(re.findall(r"^([\w.-]+)\S*?==(\S+)", PINS, re.M))
    extras = PROJECT["optional-dependencies"].values()
    ranges = [
        *map(Requirement, PROJECT["dependencies"]),
        *map(Requirement, chain(*extras)),
    ]
    wrong = [
        str(one)
        for one in ranges
        if one.name != "backout" and not one.specifier.contains(pinned[one.name])
    ]
    assert wrong == []


def test_a_new_project_puts_gets_and_handles(project: Project, database: str) -> None:
    assert "no issues" in project.run("check", "--fail-level", "WARNING")
    project.run("migrate", "--verbosity=0")
    assert project.run("makemigrations", "--check") == "No changes detected\n"
    script = "\n".join([CREATE, PUT, GET, PUT, DIE])
    assert project.run("shell", "--verbosity=0", "-c", script) == f"Got {BODY}\n"

    dispatcher = project.start("broker_dispatch")
    too_late = Timer(ENDS_WITHIN_S, dispatcher.kill)  # so that nothing is read for ever
    too_late.start()
    try:
        assert dispatcher.stdout is not None
        assert dispatcher.stdout.readline().startswith("orders → trade.handlers.book")
        assert dispatcher.stdout.readline() == f"Booked {BODY}\n"
        dispatcher.send_signal(signal.SIGINT)
        dispatcher.communicate()
    finally:
        too_late.cancel()
        dispatcher.kill()
    assert dispatcher.wait() == 0
    with psycopg.connect(**parameters(database)) as line:
        left = line.execute(
            "SELECT (SELECT count(*) FROM broker_ready), count(*) FROM broker_claim"
        ).fetchone()
    assert left == (0, 0)


def alone(wheel: Path) -> dict[str, str]:
    """The environment of processes that see a wheel and its dependencies only."""
    packages = wheel.parent / "packages"
    packages.mkdir()
    for name in dependencies():
        for top in {one.parts[0] for one in distribution(name).files or ()} - {".."}:
            link = packages / top
            if not link.exists():
                link.symlink_to(str(distribution(name).locate_file(top)))
    server = {
        VARIABLES[name]: str(value)
        for name, value in parameters("postgres").items()
        if name in VARIABLES and value
    }
    return {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.pathsep.join([str(wheel), str(packages)]),
        **server,
    }


def dependencies() -> set[str]:
    """The names of all distributions that the core needs, directly or not."""
    found: set[str] = set()
    wanted = [Requirement(one) for one in PROJECT["dependencies"]]
    while wanted:
        one = wanted.pop()
        name = one.name.lower()
        found.add(name)
        for extra in ("", *one.extras):
            for line in distribution(name).requires or ():
                needed = Requirement(line)
                is_met = not needed.marker or needed.marker.evaluate({"extra": extra})
                if is_met and needed.name.lower() not in found:
                    wanted.append(needed)
    return found


def files(folder: Path) -> Iterator[Path]:
    """All files of a folder that belong to it."""
    for one in folder.rglob("*"):
        if one.is_file() and "__pycache__" not in one.parts:
            yield one
