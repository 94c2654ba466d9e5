"""Runs each file of tests alone, as a person does who works on one of them.

A test must not need another to have run before: to fill a cache, to make a queue, to
register a process. Each file is run by a fork of this process, which has loaded the
project and run no test.

    manage.py with_servers python -m tests.tools.each_alone [PATH…]
"""

from __future__ import annotations

import os
import sys
import time
from importlib import import_module
from pathlib import Path

import django
import pytest

TREE = Path(__file__).resolve().parents[2]
LOADED = ("console.urls", "celery", "psycopg", "rich")
NOTHING_CHOSEN = 5  # as pytest exits where all tests of a file are left out
OPTIONS = ("-q", "-p", "no:cacheprovider", "--reuse-db", "-m", "not long")


def main(paths: list[str]) -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
    django.setup()
    for name in LOADED:
        import_module(name)
    files = [one for path in paths or ["tests"] for one in below(TREE / path)]
    failed = [one for one in files if run(one) not in (0, NOTHING_CHOSEN)]
    print(f"{len(files)} files, each run alone: {len(failed)} failed.")
    for one in failed:
        print(one.relative_to(TREE))
    return bool(failed)


def below(path: Path) -> list[Path]:
    return sorted(path.rglob("test_*.py")) if path.is_dir() else [path]


def run(file: Path) -> int:
    """The exit code of its tests; their output goes to standard output."""
    began = time.monotonic()
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        os._exit(pytest.main([*OPTIONS, str(file)]))
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    print(f"{code} {time.monotonic() - began:.0f} s {file.relative_to(TREE)}")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
