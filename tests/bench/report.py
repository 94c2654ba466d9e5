"""The table, and the page that keeps it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.bench.cells import BESIDE, CYCLE, FIRST, FLOOR, HELD, PLAIN, PUT
from tests.bench.slices import Result

PAGE = Path(__file__).resolve().parents[2] / "docs" / "benchmarks.md"
TARGETS = {  # the least ratio: what is done, in which batches, against what
    (PUT, 1, FLOOR): 0.6,
    (PUT, 100, FLOOR): 0.5,
    (PUT, 1000, FLOOR): 0.5,
    (CYCLE, 1, "procrastinate"): 1.5,
    (BESIDE, 1, PLAIN): 0.83,
    (HELD, 1, FIRST): 0.9,
    (HELD, 100, FIRST): 0.9,
}
HEAD = ("work", "batch", "messages/s", "against", "ratio", "of slices", "target", "")
LEFT = (0, 3)  # columns of words; the others are of numbers
PROSE = """# Benchmarks

Written by `make bench ARGS=--write`; do not edit. Judge by the ratios: rates belong to the
machine below, and to what else ran on it.

{table}

{machine}

## What was measured

Bodies of 512 bytes, {clients}, durable commits, everything on: journal, expiry,
partitions, hints on Redis. What is compared ran in the same minute, in slices of {seconds} s
in random order, {rounds} rounds after one to warm up. A ratio is the median of those of the
rounds; beside it, the lowest and the highest. After each comparison, what was sent less what
was received had to be what is ready, and the consistency check had to find nothing.

- **floor**: one `INSERT` of the same bytes, in the same batches, into a table without an
  index; committed, and no more.
- **put**: `put_many`. **get, accept**: a `unit_of_work` with one `get`, which takes a batch
  and commits. **put, get, accept**: one after the other.
- **procrastinate**: its SQL functions, called from prepared statements; no worker and no
  event loop stand between. It takes one at a time, so it is compared one by one.
- **back out 3 times, dead letter**: units of work that raise; a message is counted once, when
  it has become a dead letter.
- **beside delayed**: a queue with {delayed:,} delayed messages against a queue without.
- **under a held snapshot**: while another connection kept a snapshot open, after
  {held_singly:,} messages came and went one by one and {held:,} in batches of 1000, against
  the beginning; both taken as ratios to the floor beside them.

PGMQ and RabbitMQ are not Python packages and are not measured here.
"""


def table(results: Sequence[Result]) -> str:
    rows = [HEAD, *map(cells, results)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if number in LEFT else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def cells(result: Result) -> tuple[str, ...]:
    ratio = result.ratio
    target = TARGETS.get((result.work, result.batch, result.against))
    return (
        result.work,
        f"{result.batch}",
        f"{result.rate:,.0f}",
        result.against,
        "" if ratio is None else f"{ratio:.2f}",
        spread(result.ratios),
        "" if target is None else f"≥ {target}",
        "" if target is None or ratio is None else verdict(ratio, target),
    )


def spread(ratios: Sequence[float]) -> str:
    return f"{min(ratios):.2f} – {max(ratios):.2f}" if len(ratios) > 1 else ""


def verdict(ratio: float, target: float) -> str:
    return "reached" if ratio >= target else "missed"


def write(text: str, machine: Sequence[str], **facts: object) -> None:
    PAGE.write_text(
        PROSE.format(
            table=f"```\n{text}\n```",
            machine="\n".join(f"- {line}" for line in machine),
            **facts,
        )
    )
