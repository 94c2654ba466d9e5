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
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
OPTIONS = ["-q", "-x", "--reuse-db", "--hypothesis-profile=exploring"]
MACHINE = "tests/broker/test_queue_machine.py"
IBM = "tests/broker/test_ibm_machine.py"
SCHEDULES = " ".join(
    f"tests/broker/test_interleavings{part}.py"
    for part in ("", "_ends", "_moves", "_poison")
)


@dataclass(frozen=True)
class Mutant:
    """One defect: a text in a file, and what it is replaced by."""

    name: str
    file: str
    before: str
    after: str
    tests: str = MACHINE


MUTANTS = [
    Mutant(
        "an accept without its fence",
        "broker/sql/accept.sql",
        "SELECT 1 / (EXISTS (",
        "SELECT 1 / (true OR EXISTS (",
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
        "broker/failures.py",
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
        "broker/failures.py",
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
        "    deadline <= coalesce(",
        "    deadline - interval '160 seconds' <= coalesce(",
    ),
    Mutant(
        "a deadline that never passes",
        "broker/sql/overdue.sql",
        "    deadline <= coalesce(",
        "    deadline + interval '1 hour' <= coalesce(",
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
        "SELECT new_queue_id, priority, new_id, new_id, expires_at FROM entry",
        "SELECT new_queue_id, priority, new_id, new_id, at + interval '1 s' FROM entry",
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
        "AND NOT paused\n",
        "\n",
    ),
    Mutant(
        "a part of a claim that is taken whole",
        "broker/sql/take_some.sql",
        "HAVING bool_and(goes))",
        "HAVING bool_or(goes))",
    ),
    Mutant(
        "a threshold that is one too many",
        "broker/poison.py",
        "return 0 < self.threshold <= backout_count",
        "return 0 < self.threshold < backout_count",
        IBM,
    ),
    Mutant(
        "a second mark",
        "broker/leased.py",
        "        if self.marked:",
        "        if self.marked and self.ended:",
        IBM,
    ),
    Mutant(
        "a mark that a backout by the system honours",
        "broker/leased.py",
        "if self.mark is not None and not by_system:",
        "if self.mark is not None:",
        IBM,
    ),
    Mutant(
        "a skipped backout that resets the count",
        "broker/settle.py",
        "        backout_count=held.backout_count,",
        "        backout_count=0,",
        IBM,
    ),
    Mutant(
        "a skipped backout that is counted",
        "broker/settle.py",
        "        backout_count=held.backout_count,",
        "        backout_count=held.backout_count + 1,",
        IBM,
    ),
    Mutant(
        "a move that its receiver's backout does not undo",
        "broker/leased.py",
        "        self.removing.append(removing)",
        "        self.remove_now(removing, last=poison.Last.DISCARD)",
        IBM,
    ),
    Mutant(
        "an accept without its fence, of a killed process",
        "broker/sql/accept.sql",
        "SELECT 1 / (EXISTS (",
        "SELECT 1 / (true OR EXISTS (",
        IBM,
    ),
    Mutant(
        "an expired message that a consumer gets",
        "broker/sql/get.sql",
        "AND (ready.expires_at IS NULL",
        "AND (true OR ready.expires_at IS NULL",
        IBM,
    ),
    Mutant(
        "a full queue that takes one more",
        "broker/capacity.py",
        "if depth + len(sizes_bytes) > queue.max_depth:",
        "if depth + len(sizes_bytes) > queue.max_depth + 1:",
        IBM,
    ),
    Mutant(
        "a report option that nobody reads",
        "broker/redelivery.py",
        "if report & Report.DISCARD_MSG:",
        "if not report & Report.DISCARD_MSG and False:",
        IBM,
    ),
    Mutant(
        "a report that is sent twice",
        "broker/disposal.py",
        "            report_messages.send(delivery,",
        "            report_messages.send(delivery, reason, **about)\n"
        "            report_messages.send(delivery,",
        IBM,
    ),
    Mutant(
        "a report that stays when its message could not go",
        "broker/disposal.py",
        "                raise refusal\n",
        "                report_messages.send(delivery, reason, **about)\n"
        "                return removal\n",
        IBM,
    ),
    Mutant(
        "a sweep that locks nothing",
        "broker/sql/overdue.sql",
        "\nFOR UPDATE SKIP LOCKED",
        "",
        SCHEDULES,
    ),
    Mutant(
        "an accept that does not count what left",
        "broker/sql/accept.sql",
        "coalesce(sum(cardinality(ids)), 0) = %(expected)s::integer",
        "0 * %(expected)s::integer = 0",
        SCHEDULES,
    ),
    Mutant(
        "gets that wait for each other",
        "broker/sql/get.sql",
        "FOR UPDATE SKIP LOCKED",
        "FOR UPDATE",
        SCHEDULES,
    ),
    Mutant(
        "a lost answer that is taken for a backout",
        "broker/leased.py",
        "if line is None or line.closed:",
        "if not connection.is_usable():",
        SCHEDULES,
    ),
    Mutant(
        "a tally that folds what is not final",
        "broker/sql/fold.sql",
        "pg_snapshot_xmin(pg_current",
        "pg_snapshot_xmax(pg_current",
        SCHEDULES,
    ),
    Mutant(
        "room that two see at once",
        "broker/capacity.py",
        ".select_for_update(no_key=True)",
        "",
        SCHEDULES,
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
