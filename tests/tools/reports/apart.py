"""A journal of its own for a tool, and a process of its own for what the tool watches.

The tool calls itself: with ``--database`` it is the process that works.
"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import django


def perform(
    parser: ArgumentParser,
    watch: Callable[[str, str, Namespace], None],
    work: Callable[[Path], None],
) -> None:
    """
    Args:
        parser: with the tool's own options.
        watch: called with the database, the folder of the archive, and the options,
            once the database has a journal.
        work: called with the folder of the archive, in a process that ``command``
            starts.
    """
    parser.add_argument("--millions", type=int, default=1, help="of events")
    parser.add_argument("--database", help="to work on, and nothing else")
    parser.add_argument("--var", type=Path, help="the folder of the archive")
    asked = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
    django.setup()
    from django.conf import settings  # noqa: PLC0415  needs the set-up

    if asked.database:
        settings.DATABASES["default"]["NAME"] = asked.database
        settings.VAR_DIR = asked.var
        return work(asked.var)
    from tests.bench.ground import own_database  # noqa: PLC0415
    from tests.tools.reports import stories  # noqa: PLC0415

    with own_database() as database, TemporaryDirectory() as var:
        stories.begin()
        stories.write(asked.millions)
        settings.VAR_DIR = Path(var)
        return watch(database, var, asked)


def command(module: str, database: str, var: str) -> list[str]:
    """What starts the process that works for a tool."""
    return [sys.executable, "-m", module, "--database", database, "--var", var]
