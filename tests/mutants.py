"""Seeds defects, one at a time, to see that the state machine catches each.

Run it with ``python -m tests.mutants`` and a DATABASE_URL, after changing the machine
or a statement. A harness that cannot go red proves nothing.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
OPTIONS = ["-q", "-x", "--reuse-db", "--hypothesis-profile=no-shrinking"]
MACHINE = "tests/broker/test_queue_machine.py"


@dataclass(frozen=True)
class Mutant:
    """One defect: a text in a file, and what it is replaced by."""

    name: str
    file: str
    before: str
    after: str


MUTANTS = [
    Mutant(
        "an accept without its fence",
        "broker/sql/accept.sql",
        "SELECT count(*) FROM ended;",
        "SELECT 1;",
    ),
    Mutant(
        "a settlement of what another unit of work holds",
        "broker/sql/take_some.sql",
        "WHERE uow = %(uow)s::bigint AND queue_id",
        "WHERE queue_id",
    ),
    Mutant(
        "a get that goes on in a unit of work that ended",
        "broker/sql/get.sql",
        "ELSE EXISTS (SELECT FROM unit) END",
        "ELSE true END",
    ),
    Mutant(
        "newest first",
        "broker/sql/get.sql",
        "ORDER BY ready.pos\n",
        "ORDER BY ready.pos DESC\n",
    ),
    Mutant(
        "priorities upside down",
        "broker/get.py",
        "range(9, -1, -1) for _",
        "range(10) for _",
    ),
    Mutant(
        "what came back stands behind what is new",
        "broker/sql/put_back.sql",
        "SELECT queue_id, priority, id - 4611686018427387904, id,",
        "SELECT queue_id, priority, id + 1000000000, id,",
    ),
    Mutant(
        "a limit that is one too many",
        "broker/redelivery.py",
        "if 0 < limit <= attempts:",
        "if 0 < limit < attempts:",
    ),
    Mutant(
        "a delivery that is not counted",
        "broker/settle.py",
        "backout_count=entry.backout_count + 1",
        "backout_count=entry.backout_count",
    ),
    Mutant(
        "a release that is counted",
        "broker/settle.py",
        "    put_back(held, [0] * len(held), record)",
        "    held = [replace(h, backout_count=h.backout_count + 1) for h in held]\n"
        "    put_back(held, [0] * len(held), record)",
    ),
    Mutant(
        "an expired message that is delivered",
        "broker/sql/get.sql",
        "AND (ready.expires_at IS NULL",
        "AND (true OR ready.expires_at IS NULL",
    ),
    Mutant(
        "an expired message that is redelivered",
        "broker/settle.py",
        "expired = [entry for entry in held if entry.expired]",
        "expired: list[Held] = []",
    ),
    Mutant(
        "a delay that ends early",
        "broker/sql/wake.sql",
        "WHERE due_at <= coalesce(",
        "WHERE due_at - interval '6 seconds' <= coalesce(",
    ),
    Mutant(
        "a deadline that passes early",
        "broker/sql/overdue.sql",
        "WHERE deadline <= coalesce(",
        "WHERE deadline - interval '160 seconds' <= coalesce(",
    ),
    Mutant(
        "a deadline that never passes",
        "broker/sql/overdue.sql",
        "WHERE deadline <= coalesce(",
        "WHERE deadline + interval '1 hour' <= coalesce(",
    ),
    Mutant(
        "a copy that leaves the original behind",
        "broker/sql/take_ready.sql",
        "DELETE FROM broker_ready\n    WHERE ctid = ANY (ARRAY(",
        "SELECT * FROM broker_ready\n    WHERE ctid = ANY (ARRAY(",
    ),
    Mutant(
        "a dead letter that keeps its expiry",
        "broker/sql/copy.sql",
        "INSERT INTO broker_ready (queue_id, priority, pos, id)\n"
        "    SELECT new_queue_id, priority, new_id, new_id FROM entry",
        "INSERT INTO broker_ready (queue_id, priority, pos, id, expires_at)\n"
        "    SELECT new_queue_id, priority, new_id, new_id, at + interval '1 s'"
        " FROM entry",
    ),
    Mutant(
        "dead letters that arrive in another order",
        "broker/sql/copy.sql",
        "ORDER BY source.ord\n    ) AS entry",
        "ORDER BY source.ord DESC\n    ) AS entry",
    ),
    Mutant(
        "a backout that the journal forgets",
        "broker/sql/put_back.sql",
        "FROM entry GROUP BY at, queue_id, due_at IS NULL",
        "FROM entry WHERE due_at IS NULL GROUP BY at, queue_id, due_at IS NULL",
    ),
    Mutant(
        "a paused queue that gives",
        "broker/sql/get.sql",
        "AND NOT paused)",
        ")",
    ),
    Mutant(
        "a part of a claim that is taken whole",
        "broker/sql/take_some.sql",
        "HAVING bool_and(goes))",
        "HAVING bool_or(goes))",
    ),
]


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
        ignored = shutil.ignore_patterns(".*", "var", "vendor", "node_modules")
        shutil.copytree(ROOT, copy, ignore=ignored)
        target = copy / mutant.file
        text = target.read_text()
        if mutant.before not in text:
            raise SystemExit(f"{mutant.file} no longer has the text of: {mutant.name}")
        target.write_text(text.replace(mutant.before, mutant.after))
        ended = subprocess.run(
            [sys.executable, "-m", "pytest", *OPTIONS, MACHINE],
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
