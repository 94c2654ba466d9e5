"""The other systems, installed below one folder; none is part of this project."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

FOLDER = Path(os.environ.get("BACKOUT_HARNESS_PEERS", "/tmp/peers"))
# What the harness itself imports.
HARNESS = ("psycopg[binary]", "matplotlib", "pandas", "numpy", "pydantic")
PGMQ = "pgmq-extension/sql/pgmq.sql"  # in the repository tembo-io/pgmq


def install(packages: Iterable[str]) -> None:
    """Install packages for Python that are not there yet."""
    missing = [one for one in packages if not is_installed(one)]
    if missing:
        FOLDER.mkdir(parents=True, exist_ok=True)
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target"]
        subprocess.run([*pip, str(FOLDER), *missing], check=True)


def is_installed(requirement: str) -> bool:
    name = requirement.partition("==")[0].partition("[")[0].replace("-", "_")
    return any(FOLDER.glob(f"{name}-*.dist-info"))


def pgmq_sql() -> str:
    """PGMQ as plain functions, from ``pgmq.sql`` in the folder, or from a repository
    that ``PGMQ_REPOSITORY`` names."""
    file = FOLDER / "pgmq.sql"
    if not file.exists():
        repository = os.environ["PGMQ_REPOSITORY"]
        command = ["git", "-C", repository, "show", f"HEAD:{PGMQ}"]
        file.write_bytes(
            subprocess.run(command, capture_output=True, check=True).stdout
        )
    return file.read_text()
