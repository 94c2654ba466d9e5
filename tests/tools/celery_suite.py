r"""Celery's own integration tests with a broker of choice: counts, and what failed.

    manage.py with_servers python -m tests.tools.celery_suite celery-5.7.0 \
        backout:// redis://127.0.0.1:6379/0 [test_tasks …]

The first argument is the unpacked source package of Celery, the second the broker, the
third the result backend; its Redis must be nobody else's, as tests compare its channels.
Each file runs in a process of its own. The tests need ``pytest-timeout`` and
``pytest-rerunfailures``, which may lie on ``PYTHONPATH``; those of other result backends
need more, and are not of interest here.

pytest loads this module as a plug-in, so that Django is there before Celery.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit
from xml.etree import ElementTree

import django
from django.conf import settings
from django.core.management import call_command

django.setup()

FILE_LASTS_S = 3000
OPTIONS = (
    *("-p", "tests.tools.celery_suite", "-p", "celery.contrib.pytest"),
    *("-p", "no:django", "-p", "no:randomly"),
    *("-p", "no:cacheprovider", "-rfExXR", "--tb=short", "--timeout=300"),
)


def main(source: Path, broker: str, backend: str, names: list[str]) -> None:
    call_command("migrate", verbosity=0)
    folder = Path(settings.VAR_DIR) / "celery-suite" / (urlsplit(broker).scheme)
    folder.mkdir(parents=True, exist_ok=True)
    files = sorted((source / "t/integration").glob("test_*.py"))
    for file in files:
        if not names or file.stem in names:
            told = run(file, source, folder, environment(broker, backend))
            print(f"{file.stem}: {told}", flush=True)


def environment(broker: str, backend: str) -> dict[str, str]:
    path = [str(settings.BASE_DIR), os.environ.get("PYTHONPATH", "")]
    redis = urlsplit(backend)
    return os.environ | {
        "PYTHONPATH": os.pathsep.join(filter(None, path)),
        "DJANGO_SETTINGS_MODULE": os.environ["DJANGO_SETTINGS_MODULE"],
        "TEST_BROKER": broker,
        "TEST_BACKEND": backend,
        "REDIS_HOST": redis.hostname or "",
        "REDIS_PORT": str(redis.port or 6379),
    }


def run(file: Path, source: Path, folder: Path, env: dict[str, str]) -> str:
    """Run one file; return its counts. Its output and results go to the folder."""
    results, began = folder / f"{file.stem}.xml", time.monotonic()
    results.unlink(missing_ok=True)
    command = (sys.executable, "-m", "pytest", str(file.relative_to(source)), *OPTIONS)
    with (folder / f"{file.stem}.log").open("wb") as log:
        try:
            subprocess.run(
                [*command, f"--junitxml={results}"],
                cwd=source,
                env=env,
                stdout=log,
                stderr=subprocess.STDOUT,
                timeout=FILE_LASTS_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"not ended within {FILE_LASTS_S} s"
    if not results.exists():
        return f"no results; see {log.name}"
    return f"{counts(results)} in {time.monotonic() - began:.0f} s"


def counts(results: Path) -> str:
    (suite,) = ElementTree.parse(results).getroot()  # noqa: S314 -- pytest's own
    tests, errors, failed, skipped = (
        int(suite.get(name, 0)) for name in ("tests", "errors", "failures", "skipped")
    )
    passed = tests - errors - failed - skipped
    return f"{passed} passed, {failed} failed, {errors} errors, {skipped} skipped"


if __name__ == "__main__":
    root, url, backend_url, *wanted = sys.argv[1:]
    main(Path(root).resolve(), url, backend_url, wanted)
