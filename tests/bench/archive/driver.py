"""What the reports worker does, step by step, in a process of its own; after each step
DuckDB does the same, behind all others as Java is.

    python -m tests.bench.archive.driver <database> <var> <run>

Prints a line of JSON after each step, and one after DuckDB.
"""

from __future__ import annotations

import sys
from pathlib import Path

import django


def main(database: str, var: str, run: str) -> None:
    django.setup()
    from django.conf import settings  # noqa: PLC0415

    settings.DATABASES["default"]["NAME"] = database
    settings.VAR_DIR = Path(var)
    from tests.bench.archive import sides  # noqa: PLC0415  loads Spark

    sides.perform(Path(var), int(run))


if __name__ == "__main__":
    main(*sys.argv[1:])
