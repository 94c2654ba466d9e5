"""The wheel installs into somebody else's project, by the blocks of docs/install.md.

That project sees the wheel and the packages that it depends on, and no other.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from threading import Timer
from zipfile import ZipFile

import psycopg
import pytest
from django.core.management import call_command
from packaging.requirements import Requirement

from tests import installed
from tests.broker.bridges.other_backout import parameters
from tests.installed import PROJECT, TREE, Project

pytestmark = pytest.mark.thorough

PAGE = (TREE / "docs" / "install.md").read_text()
SETTINGS, CREATE, PUT, GET, HANDLER, *_ = re.findall(
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
PINS = "".join(
    (TREE / name).read_text() for name in ("requirements.in", "requirements-dev.in")
)
APPS = ("broker", "console", "dashboards")
ENDS_WITHIN_S = 20


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return installed.build(tmp_path_factory.mktemp("wheel"))


@pytest.fixture
def database(transactional_db: None) -> Iterator[str]:
    """The name of an empty database on the tests' server."""
    name = f"install_{os.getpid()}"
    installed.recreate(name)
    yield name
    installed.recreate(name, create=False)


@pytest.fixture
def project(wheel: Path, database: str, tmp_path: Path) -> Project:
    """A new project, changed as the page says; its database is empty."""
    folder = tmp_path / "project"
    folder.mkdir()
    call_command("startproject", "shop", str(folder))
    (folder / "trade").mkdir()
    call_command("startapp", "trade", str(folder / "trade"))
    with (folder / "shop" / "settings.py").open("a") as written:
        written.write(SETTINGS.replace('"shop"', f'"{database}"'))
        written.write('INSTALLED_APPS += ["trade"]\n')
    (folder / "trade" / "handlers.py").write_text(HANDLER)
    return Project(folder, installed.environment(tmp_path / "venv", wheel))


def test_the_wheel_has_what_the_applications_need_and_no_tests(wheel: Path) -> None:
    packed = set(ZipFile(wheel).namelist())
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
    assert "console/static/console/css/base.css" in packed
    assert "console/static/console/vendor/htmx.min.js" in packed


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

    dispatcher = project.manage("broker_dispatch")
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


def files(folder: Path) -> Iterator[Path]:
    """All files of a folder that belong to it."""
    for one in folder.rglob("*"):
        if one.is_file() and "__pycache__" not in one.parts:
            yield one
