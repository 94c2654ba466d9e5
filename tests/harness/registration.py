"""The harness's ``bench.py``, changed in its own process to run without containers.

    python -m tests.harness.registration CLONE run --systems backout …

Its PostgreSQL is a native one: phases that stop the container stop the server. Its
adapters are native processes, and Backout's is one. Nothing in its tree is changed.
"""

from __future__ import annotations

import importlib
import os
import sys
from functools import partial
from pathlib import Path
from typing import Any

from tests.harness import launches
from tests.harness.cluster import EXTENSION, Cluster, has_extension
from tests.harness.contract import say
from tests.harness.launches import SYSTEMS, System

PROGRAMS = "BACKOUT_HARNESS_POSTGRESQL"  # the folder with PostgreSQL's programs
FOLDER = "BACKOUT_HARNESS_FOLDER"  # where data and results go
PORT = "BACKOUT_HARNESS_PORT"


def main(clone: Path, arguments: list[str]) -> int:
    sys.path.insert(0, str(clone))
    adapters: Any = importlib.import_module("bench_harness.adapters")
    orchestrator: Any = importlib.import_module("bench_harness.orchestrator")
    folder = Path(os.environ[FOLDER])
    server = Cluster(
        folder / "server",
        Path(os.environ[PROGRAMS]),
        clone / "postgres.conf",
        int(os.environ[PORT]),
    )
    adapters.PG_PORT = server.port
    orchestrator.RESULTS_ROOT = folder / "results"
    replace_server(orchestrator, server)
    replace_preflight(orchestrator, server)
    for name, system in SYSTEMS.items():
        adapters.ADAPTERS[name] = adapters.AdapterEntry(
            bench_dir=launches.manifest_without_extensions(
                system, clone, folder / "manifests"
            ),
            builder=lambda skip: None,
            launcher=partial(launch, adapters, server, clone, system),
        )
    try:
        return int(orchestrator.main(arguments) or 0)
    finally:
        server.remove()


def replace_server(orchestrator: Any, server: Cluster) -> None:
    """Containers become the native server; ``down -v`` removes its data, too."""
    orchestrator.start_postgres = lambda image: server.start()
    orchestrator.stop_postgres = lambda image: server.remove()
    orchestrator._compose_stop_postgres = lambda image: server.stop()
    orchestrator._compose_start_postgres = lambda image: server.start()


def replace_preflight(orchestrator: Any, server: Cluster) -> None:
    """Without the extension, only its samples are missing."""
    if has_extension(server.programs):
        return
    say(f"This PostgreSQL has no {EXTENSION}: no percentages of dead rows.")
    theirs = orchestrator.psycopg.Cursor.execute

    def execute(cursor: Any, query: Any, *options: Any, **more: Any) -> Any:
        is_missing = isinstance(query, str) and query.startswith("CREATE EXTENSION")
        return theirs(cursor, "SELECT 1" if is_missing else query, *options, **more)

    preflight = orchestrator.preflight_database

    def without(manifest: Any, *, recreate: bool = False) -> None:
        orchestrator.psycopg.Cursor.execute = execute
        try:
            preflight(manifest, recreate=recreate)
        finally:
            orchestrator.psycopg.Cursor.execute = theirs

    orchestrator.preflight_database = without


def launch(
    adapters: Any,
    server: Cluster,
    clone: Path,
    system: System,
    manifest: Any,
    overrides: dict[str, str],
) -> Any:
    """The command and environment of an adapter, once its database is prepared."""
    url = server.url(manifest.db_name)
    system.prepare(url)
    environment = launches.environment(
        system, adapters._base_env(manifest, overrides), url
    )
    return adapters.LaunchSpec(argv=list(system.command(clone)), env=environment)


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1]), sys.argv[2:]))
