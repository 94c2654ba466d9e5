"""Celery's own integration tests with a broker of choice: counts, and what failed.

    manage.py with_servers python -m tests.tools.celery_suite SOURCE BROKER RESULTS

SOURCE is the unpacked source package of Celery, BROKER ``backout://`` or another one,
RESULTS a Redis of their own, as the tests look at all of its channels. Names of modules
may follow, as ``test_tasks``; else all run.

Each file runs in a process of its own: ``test_worker`` leaves an event loop behind in
which no countdown ends, whatever the broker. It also configures Django; so pytest loads
this module as a plug-in, which does that before. The tests need ``pytest-timeout``,
``pytest-rerunfailures`` and ``tblib``, which may lie on ``PYTHONPATH``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path
from urllib.parse import urlsplit

import django
from django.conf import settings
from django.core.management import call_command

django.setup()

LONGEST_S = 3000  # for one file
OPTIONS = (
    *("-p", "tests.tools.celery_suite", "-p", "celery.contrib.pytest"),
    *("-p", "no:django", "-p", "no:randomly"),
    *("-p", "no:cacheprovider", "-rfEsxXR", "--tb=short", "--timeout=300"),
)


def main(source: Path, broker: str, backend: str, names: list[str]) -> None:
    call_command("migrate", verbosity=0)
    folder = Path(settings.VAR_DIR) / "celery-suite" / urlsplit(broker).scheme
    folder.mkdir(parents=True, exist_ok=True)
    env = environment(broker, backend, plug_in(folder))
    for file in sorted((source / "t/integration").glob("test_*.py")):
        if not names or file.stem in names:
            told = run(file, source, folder / f"{file.stem}.log", env)
            print(f"{file.stem}: {told}", flush=True)


def plug_in(folder: Path) -> Path:
    """A folder that says what pip says where this package is installed; the program
    ``celery`` finds ``backout://`` by it."""
    project = tomllib.loads((settings.BASE_DIR / "pyproject.toml").read_text())
    path = folder / "installed/backout-0.dist-info"
    path.mkdir(parents=True, exist_ok=True)
    (path / "METADATA").write_text("Metadata-Version: 2.1\nName: backout\nVersion: 0\n")
    points = project["project"]["entry-points"]["celery.commands"]
    lines = [f"{name} = {value}\n" for name, value in points.items()]
    (path / "entry_points.txt").write_text("".join(["[celery.commands]\n", *lines]))
    return path.parent


def environment(broker: str, backend: str, installed: Path) -> dict[str, str]:
    path = [str(settings.BASE_DIR), str(installed), os.environ.get("PYTHONPATH", "")]
    redis = urlsplit(backend)
    return os.environ | {
        "PYTHONPATH": os.pathsep.join(filter(None, path)),
        "TEST_BROKER": broker,
        "TEST_BACKEND": backend,
        "REDIS_HOST": redis.hostname or "",
        "REDIS_PORT": str(redis.port or 6379),
    }


def run(file: Path, source: Path, log: Path, env: dict[str, str]) -> str:
    """Run one file; return its counts. Its output goes to ``log``."""
    command = (sys.executable, "-m", "pytest", str(file.relative_to(source)), *OPTIONS)
    with log.open("wb") as output:
        try:
            subprocess.run(
                command,
                cwd=source,
                env=env,
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=LONGEST_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"not ended within {LONGEST_S} s"
    *_, told = log.read_text(errors="replace").splitlines()
    return told.strip("= ")


if __name__ == "__main__":
    root, url, backend_url, *wanted = sys.argv[1:]
    main(Path(root).resolve(), url, backend_url, wanted)
