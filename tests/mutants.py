"""Seeds defects, one at a time, to see that a state machine catches each.

Run it with ``python -m tests.mutants`` and a DATABASE_URL, after changing the machine
or a statement. A harness that cannot go red proves nothing.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.defects import MUTANTS, Mutant

ROOT = Path(__file__).parent.parent
OPTIONS = ["-q", "-x", "--reuse-db", "--hypothesis-profile=exploring"]


def main(names: list[str]) -> int:
    chosen = [one for one in MUTANTS if not names or one.name in names]
    survivors = []
    for mutant in chosen:
        started = time.monotonic()
        caught = is_caught(mutant)
        took = time.monotonic() - started
        print(
            f"{'caught' if caught else 'MISSED':>7}  {took:5.1f} s  {mutant.name}",
            flush=True,
        )
        if not caught:
            survivors.append(mutant.name)
    print(f"{len(chosen) - len(survivors)} of {len(chosen)} seeded defects caught")
    return len(survivors)


def is_caught(mutant: Mutant) -> bool:
    """Whether the machine fails on a copy of the project with the defect in it."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "project"
        ignored = shutil.ignore_patterns(".*", "var")
        shutil.copytree(ROOT, copy, ignore=ignored)
        target = copy / mutant.file
        text = target.read_text()
        if mutant.before not in text:
            raise SystemExit(f"{mutant.file} no longer has the text of: {mutant.name}")
        target.write_text(text.replace(mutant.before, mutant.after))
        ended = subprocess.run(
            [sys.executable, "-m", "pytest", *OPTIONS, *mutant.tests.split()],
            cwd=copy,
            capture_output=True,
            text=True,
            check=False,
        )
        if ended.returncode not in (0, 1):
            raise SystemExit(ended.stdout + ended.stderr)
        return ended.returncode == 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
