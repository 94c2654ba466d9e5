"""How each system is started natively: its command, and what its database needs before.

The harness's own adapters are run as they are, but not in containers. Their manifests
are copied where an extension stands for SQL that is installed here.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from tests.harness import peers
from tests.harness.peers import TREE

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class System:
    """One system that the harness can run.

    Attributes:
        command: the adapter's process, of the clone.
        manifest: the folder with its ``adapter.json``, of the clone.
        path: more folders for Python.
        install: installs it on this machine.
        prepare: what its database needs before, given the URL.
        environment: more environment variables.
    """

    command: Callable[[Path], Sequence[str]]
    manifest: Callable[[Path], Path]
    path: Sequence[Path] = ()
    install: Callable[[], object] = lambda: None
    prepare: Callable[[str], object] = lambda url: None
    environment: Mapping[str, str] = field(default_factory=dict)


def of_harness(name: str) -> Callable[[Path], Sequence[str]]:
    """The harness's own adapter, in Python."""
    return lambda clone: [sys.executable, str(clone / f"{name}-bench" / "main.py")]


def install_absurd() -> None:
    peers.install(["absurd-sdk==0.3.0"])
    peers.script("absurd")


def install_pgmq(url: str) -> None:
    """PGMQ as plain functions, in place of its extension."""
    with psycopg.connect(url, autocommit=True) as line:
        if line.execute("SELECT to_regnamespace('pgmq')").fetchone() == (None,):
            line.execute(peers.script("pgmq").read_bytes())


SYSTEMS: dict[str, System] = {
    "backout": System(
        command=lambda clone: [sys.executable, "-m", "tests.harness.backout"],
        manifest=lambda clone: HERE / "backout",
        path=[TREE],
    ),
    "awa-python": System(
        command=lambda clone: [sys.executable, "-m", "tests.harness.awa_python"],
        manifest=lambda clone: HERE / "awa_python",
        path=[peers.FOLDER, TREE],
        install=lambda: peers.install(["awa-pg==0.6.9"]),
    ),
    "procrastinate": System(
        command=of_harness("procrastinate"),
        manifest=lambda clone: clone / "procrastinate-bench",
        path=[peers.FOLDER],
        install=lambda: peers.install(["procrastinate==3.8.1"]),
    ),
    "pgmq": System(
        command=of_harness("pgmq"),
        manifest=lambda clone: clone / "pgmq-bench",
        path=[peers.FOLDER],
        install=lambda: peers.script("pgmq"),
        prepare=install_pgmq,
    ),
    "absurd": System(
        command=of_harness("absurd"),
        manifest=lambda clone: clone / "absurd-bench",
        path=[peers.FOLDER],
        install=install_absurd,
        environment={"ABSURD_SQL_PATH": str(peers.FOLDER / "absurd.sql")},
    ),
    "pgque": System(
        command=lambda clone: [sys.executable, str(peers.pgque_adapter(clone))],
        manifest=lambda clone: clone / "pgque-bench",
        path=[peers.FOLDER],
        install=lambda: peers.script("pgque"),
        environment={"PRODUCER_BATCH_MAX": "1000"},  # as in the harness's full sweep
    ),
    "pgboss": System(
        command=lambda clone: [peers.node(), str(clone / "pgboss-bench" / "main.js")],
        manifest=lambda clone: clone / "pgboss-bench",
        install=peers.install_node,
        environment={"NODE_PATH": str(peers.FOLDER / "npm" / "node_modules")},
    ),
}
ALIASES = {"awa": "awa-python", "pg-boss": "pgboss"}


def manifest_without_extensions(system: System, clone: Path, place: Path) -> Path:
    """A folder with the system's manifest, that asks for no extension."""
    manifest: dict[str, Any] = json.loads(
        (system.manifest(clone) / "adapter.json").read_text()
    )
    folder = place / str(manifest["system"])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "adapter.json").write_text(json.dumps(manifest | {"extensions": []}))
    return folder


def environment(system: System, theirs: Mapping[str, str], url: str) -> dict[str, str]:
    """The environment of an adapter: the harness's, and what the run says."""
    run = {
        name: os.environ[name]
        for name in ("JOB_WORK_MS", "PRODUCER_BATCH_MAX", "JOB_PAYLOAD_BYTES")
        if name in os.environ
    }
    path = os.pathsep.join(str(one) for one in system.path)
    return {
        **theirs,
        **run,
        **system.environment,
        "DATABASE_URL": url,
        "PYTHONPATH": path,
    }
