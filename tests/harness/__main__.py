"""Run a part of the harness, for Backout and its peers; see docs/harness.md.

python -m tests.harness PART [--systems backout,awa] [--minutes 2] [--harness CLONE]
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from console.runtime import wheels
from tests.harness import peers, table
from tests.harness.cluster import PORT, has_extension
from tests.harness.contract import say
from tests.harness.launches import ALIASES, SYSTEMS
from tests.harness.parts import PARTS, Run
from tests.harness.peers import TREE
from tests.harness.processor import watched

SYSTEM_PROGRAMS = "/usr/lib/postgresql"
RESULTS = re.compile(r"results at: (.+)$", re.M)
MORE_S = 240.0  # beside the phases: servers, migrations, plots


@dataclass(frozen=True)
class Place:
    """Where things are.

    Attributes:
        clone: the harness.
        programs: PostgreSQL's.
        folder: of data, logs and results.
    """

    clone: Path
    programs: Path
    folder: Path
    port: int

    def environment(self, run: Run) -> dict[str, str]:
        return {
            **os.environ,
            **run.environment,
            "BACKOUT_HARNESS_POSTGRESQL": str(self.programs),
            "BACKOUT_HARNESS_FOLDER": str(self.folder),
            "BACKOUT_HARNESS_PORT": str(self.port),
            "PYTHONPATH": os.pathsep.join([str(peers.FOLDER), str(TREE)]),
            "MPLBACKEND": "agg",
        }


def main() -> int:
    options = parsed()
    part = PARTS[options.part]
    names = options.systems.split(",") if options.systems else list(part.systems)
    systems = [ALIASES.get(name, name) for name in names]
    if unknown := set(systems) - SYSTEMS.keys():
        raise SystemExit(f"Unknown: {', '.join(unknown)}; known: {', '.join(SYSTEMS)}.")
    minutes = options.minutes or part.minutes
    folder = Path(options.folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    place = Place(
        peers.harness(options.harness),
        Path(options.postgresql) if options.postgresql else programs(),
        folder,
        options.port,
    )
    peers.install(peers.PACKAGES)
    for name in systems:
        SYSTEMS[name].install()
    runs = [one for one in part.runs() if options.only in one.name]
    rows: list[table.Row] = []
    failures: list[str] = []
    file = folder / f"{options.part}-{time.strftime('%Y%m%d-%H%M%S')}"
    for run in runs:
        for system in systems:
            say(f"{options.part}, {run.name}: {system}, {minutes:g} minutes")
            with watched() as processor:
                results = measured(place, run, system, minutes)
            if results is None:
                failures.append(
                    f"{run.name}: {system}; see {log_of(place, run, system)}"
                )
            else:
                rows += table.rows_of(options.part, run.name, results, processor)
            text = table.write(rows, failures, file)
    print(text if runs else "No run has this name.")
    return 1 if failures else 0


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.harness")
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--systems", help="with commas between; all that fit if absent")
    parser.add_argument("--minutes", type=float, help="of the longest phase")
    parser.add_argument("--only", default="", help="runs whose name has this text")
    parser.add_argument(
        "--harness",
        default=os.environ.get("BACKOUT_HARNESS", ""),
        help="a clone of the harness (BACKOUT_HARNESS); fetched if absent",
    )
    parser.add_argument(
        "--postgresql", default="", help="the folder with PostgreSQL's programs"
    )
    parser.add_argument("--port", type=int, default=PORT)
    parser.add_argument("--folder", default=str(TREE / "var" / "harness"))
    return parser.parse_args()


def programs() -> Path:
    """The newest PostgreSQL of this machine that has the harness's extension, or else
    the embedded one."""
    for place in sorted(Path(SYSTEM_PROGRAMS).glob("*/bin"), reverse=True):
        if (place / "postgres").exists() and has_extension(place):
            return place
    return wheels.postgresql() / "bin"


def log_of(place: Place, run: Run, system: str) -> Path:
    name = re.sub(r"\W+", "-", f"{run.name} {system}")
    return place.folder / "logs" / f"{name}.txt"


def measured(place: Place, run: Run, system: str, minutes: float) -> Path | None:
    """Run the harness once; the folder of its results, or None if it failed."""
    log = log_of(place, run, system)
    log.parent.mkdir(exist_ok=True)
    shutil.rmtree(place.folder / "server", ignore_errors=True)
    command = [
        *(sys.executable, "-m", "tests.harness.registration", str(place.clone)),
        *("run", "--skip-build", f"--systems={system}", *run.arguments(minutes)),
    ]
    longest_s = run.seconds(minutes) + MORE_S
    with log.open("wb") as file:
        process = subprocess.Popen(
            command,
            env=place.environment(run),
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            start_new_session=True,
        )
        code = waited(process, longest_s)
    found = RESULTS.findall(log.read_text(errors="replace"))
    return Path(found[-1]) if found and code == 0 else None


def waited(process: subprocess.Popen[bytes], longest_s: float) -> int:
    """Its code; what takes too long is ended, with all that it started."""
    try:
        return process.wait(longest_s)
    except subprocess.TimeoutExpired:
        say(f"It has not ended in {longest_s:.0f} s.")
    except KeyboardInterrupt:
        ended(process)
        raise
    return ended(process)


def ended(process: subprocess.Popen[bytes]) -> int:
    process.send_signal(signal.SIGINT)
    try:
        return process.wait(30) or 1
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return process.wait()


if __name__ == "__main__":
    raise SystemExit(main())
