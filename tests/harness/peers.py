"""The harness and the other systems, fetched below one folder; none is part of this
project, and nothing of them is committed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

TREE = Path(__file__).resolve().parent.parent.parent
FOLDER = Path(
    os.environ.get("BACKOUT_HARNESS_PEERS", TREE / "var" / "harness" / "peers")
)
# Where repositories are cloned from; another pattern may name copies on this machine.
REPOSITORIES = os.environ.get("BACKOUT_HARNESS_GIT", "https://github.com/{}/{}")
HARNESS = ("hardbyte", "postgresql-job-queue-benchmarking")
# What the harness itself imports.
PACKAGES = ("psycopg[binary]", "matplotlib", "pandas", "numpy", "pydantic")
NODE = (
    "node@22",
    "pg-boss@12.18.2",
)  # pg-boss needs a newer Node than many systems have


@dataclass(frozen=True)
class Script:
    """A file of SQL that installs a system."""

    owner: str
    repository: str
    revision: str
    path: str


SCRIPTS = {
    "pgmq": Script("tembo-io", "pgmq", "HEAD", "pgmq-extension/sql/pgmq.sql"),
    "absurd": Script("earendil-works", "absurd", "0.3.0", "sql/absurd.sql"),
    "pgque": Script(
        "NikolayS", "PgQue", "4cb5c0617d62d65fef7ce0d44bfdeafabf434f5f", "sql/pgque.sql"
    ),
}


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


def install_node() -> None:
    """Node and pg-boss, by npm."""
    folder = FOLDER / "npm"
    if not (folder / "node_modules" / "pg-boss").exists():
        folder.mkdir(parents=True, exist_ok=True)
        npm = ["npm", "install", "--no-audit", "--no-fund", "--silent", *NODE]
        subprocess.run(npm, cwd=folder, check=True)


def node() -> str:
    return str(FOLDER / "npm" / "node_modules" / ".bin" / "node")


def script(name: str) -> Path:
    """The file of SQL of a system, fetched if it is not there yet."""
    file = FOLDER / f"{name}.sql"
    if not file.exists():
        one = SCRIPTS[name]
        clone = FOLDER / "git" / name
        if not clone.exists():
            fetch(one.owner, one.repository, clone)
        show = ["git", "-C", str(clone), "show", f"{one.revision}:{one.path}"]
        file.write_bytes(subprocess.run(show, capture_output=True, check=True).stdout)
    return file


def fetch(owner: str, repository: str, clone: Path) -> None:
    """Clone a repository without its files."""
    git = ["git", "clone", "--quiet", "--filter=blob:none", "--no-checkout"]
    url = REPOSITORIES.format(owner, repository)
    if subprocess.run([*git, url, str(clone)], check=False).returncode:
        raise SystemExit(
            f"{url} could not be cloned. BACKOUT_HARNESS_GIT may name another place."
        )


def harness(given: str) -> Path:
    """The harness: the clone that is named, or one that is fetched."""
    clone = Path(given) if given else FOLDER / "git" / "harness"
    if not clone.exists():
        fetch(*HARNESS, clone)
        # Its results are hundreds of megabytes.
        git = ["git", "-C", str(clone)]
        wanted = [*git, "sparse-checkout", "set", "--no-cone", "/*", "!/results/"]
        subprocess.run(wanted, check=True)
        subprocess.run([*git, "checkout", "--quiet"], check=True)
    if not (clone / "bench.py").exists():
        raise SystemExit(f"{clone} is no clone of the harness.")
    return clone.resolve()


def pgque_adapter(clone: Path) -> Path:
    """The harness's adapter of PgQue, beside the SQL that it reads from a submodule."""
    folder = FOLDER / "pgque-bench"
    sql = folder / "vendor" / "pgque" / "sql"
    sql.mkdir(parents=True, exist_ok=True)
    shutil.copy(clone / "pgque-bench" / "main.py", folder)
    shutil.copy(script("pgque"), sql)
    return folder / "main.py"
