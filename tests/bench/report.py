"""The table, and the page that keeps it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

from tests.bench.cells import (
    BESIDE,
    CYCLE,
    FIRST,
    FLOOR,
    GET,
    HELD,
    PLAIN,
    PUT,
    PUT_AND_DIE,
)
from tests.bench.clients import Slice
from tests.bench.engine import MOST_US
from tests.bench.figures import Figure
from tests.bench.slices import Result

PAGE = Path(__file__).resolve().parents[2] / "docs" / "benchmarks.md"
TARGETS = {  # the least ratio: what is done, in which batches, against what
    (PUT, 1, FLOOR): 0.6,
    (PUT, 100, FLOOR): 0.5,
    (PUT, 1000, FLOOR): 0.5,
    (CYCLE, 1, "procrastinate"): 1.5,
    (CYCLE, 1, "RabbitMQ"): 1,
    (PUT, 1, "PGMQ"): 1.1,
    (CYCLE, 1, "PGMQ"): 1.5,
    (CYCLE, 100, "PGMQ"): 2,
    (CYCLE, 1000, "PGMQ"): 2.5,
    (PUT_AND_DIE, 1, "PGMQ"): 1.3,
    (PUT_AND_DIE, 100, "PGMQ"): 1.6,
    (BESIDE, 1, PLAIN): 0.83,
    (HELD, 1, FIRST): 0.9,
    (HELD, 100, FIRST): 0.9,
}
HEAD = ("work", "batch", "messages/s", "against", "ratio", "of slices", "target", "")
LEFT = (0, 3)  # columns of words; the others are of numbers
MORE = ("work", "", "", "against", "ratio", "target", "")
COSTS = ("work", "batch", "µs", "", "client", "server", "waiting", "bytes written")
CHARTED = (PUT, GET, CYCLE)  # against the floor, at each batch
CHART = """```mermaid
xychart-beta
  title "{work}: messages a second, as a share of the floor"
  x-axis "messages a batch" [{batches}]
  y-axis "of the floor" 0 --> 1
  bar [{ratios}]
```"""
APART = "<!-- measured apart -->\n"
PROSE = """# Benchmarks

Written by `make bench ARGS=--write`; do not edit. Judge by the ratios: rates belong to the
machine below, and to what else ran on it.

{table}

{figures}

{machine}

{charts}

## Where the time goes

```
{costs}
```

The same slices, by message: how long it took; what the processor worked for it in the
client and in the two connections of the server; the rest, which is waiting for the disk and
for each other; and the bytes that the server wrote ahead. The floor writes one row to one
table. A put writes the message, an entry for each queue and a row of the journal for each
statement, with an index each; a get deletes the entry and writes a claim, a unit of work and
a row of the journal; to accept deletes those and writes another row.

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
- **RabbitMQ**: durable queues, publisher confirms awaited for each batch, manual
  acknowledgement of each batch, by py-amqp. Its dead letters come back as a shovel brings
  them: taken, published, confirmed, acknowledged.
- **beside delayed**: a queue with {delayed:,} delayed messages against a queue without, and
  against as many tasks of tomorrow in procrastinate.
- **under a held snapshot**: while another connection kept a snapshot open, after
  {held_singly:,} messages came and went one by one and {held:,} in batches of 1000, against
  the beginning; both taken as ratios to the floor beside them, ten rounds each, and
  those after to the median of those before.

- **AMQP**: durable messages of 1 KiB through a process that listens, from one client that puts
  and one that gets, each a process of its own, with as many messages under way as the batches
  of **the API** have that is called in its place; against RabbitMQ's plug-in with the same
  clients. **The engine** is the protocol alone, frames, codec, sessions and AMQP links, on the
  server's side: it is driven in the bench's own process with what these clients send. The
  target of {engine_us} µs is about it. **The listener's loop** is the thread in which the engine
  lives: sockets, TLS, rights and the translation of messages are in it, too. It has no target
  of its own; the database has other threads.
- **dead letters**: {letters:,} of one queue, planned, looked at, sent back and taken back by
  one worker, while a live consumer sends, takes and accepts one message after the other.
- **a herd**: {herd:,} messages due in one second, beside {delayed:,} due tomorrow; one process
  releases as the worker does, one consumer gets, another works on a queue of its own. Early
  and late by the journal, against the times that were due.
- **backed out {times} times**: {again:,} messages in batches of 100, with the worker's vacuum on
  each beat; sizes before are those after each message was delivered once.
- **pages**: of 50 messages, at random positions, by the cursor that the console uses.
- **hot tables**: of entries, claims and units of work with their indexes; not the bodies.

- **PGMQ**: its SQL functions, installed from the file that `BENCH_PGMQ` names, by prepared
  statements; without it, it is not measured. A message is deleted when it is done, so no history
  is kept. Its failures are written as its users write them: read, make visible again, and after
  three deliveries send to another queue and delete, in one transaction.
"""


def table(results: Sequence[Result]) -> str:
    return aligned([HEAD, *map(cells, results)])


def table_of_figures(figures: Sequence[Figure]) -> str:
    return aligned([MORE, *map(cells_of_figure, figures)])


def table_of_costs(results: Sequence[Result]) -> str:
    """What a message costs, where slices tell."""
    return aligned([COSTS, *(costs(result) for result in results if result.slices)])


def costs(result: Result) -> tuple[str, ...]:
    def each(cost: Callable[[Slice], float]) -> float:
        return median(cost(one) / one.messages for one in result.slices)

    took_us = each(lambda one: one.seconds) * 1e6
    client_us = each(lambda one: one.spent.client_s) * 1e6
    server_us = each(lambda one: one.spent.server_s) * 1e6
    return (
        result.work,
        f"{result.batch}",
        f"{took_us:,.1f}",
        "",
        f"{client_us:,.1f}",
        f"{server_us:,.1f}",
        f"{max(took_us - client_us - server_us, 0):,.1f}",
        f"{each(lambda one: one.spent.wal):,.0f}",
    )


def aligned(rows: Sequence[tuple[str, ...]]) -> str:
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


def cells_of_figure(figure: Figure) -> tuple[str, ...]:
    return (
        figure.work,
        f"{figure.value:,.2f}",
        figure.unit,
        figure.against,
        "" if figure.ratio is None else f"{figure.ratio:.2f}",
        figure.target,
        figure.verdict,
    )


def chart(results: Sequence[Result]) -> str:
    """The ratios to the floor, as pictures that a reader of Markdown sees."""
    pictures = []
    for work in CHARTED:
        mine = [r for r in results if (r.work, r.against) == (work, FLOOR)]
        batches = ", ".join(f'"{result.batch}"' for result in mine)
        shares = ", ".join(f"{result.ratio:.2f}" for result in mine)
        pictures.append(CHART.format(work=work, batches=batches, ratios=shares))
    return "\n\n".join(pictures)


def spread(ratios: Sequence[float]) -> str:
    return f"{min(ratios):.2f} – {max(ratios):.2f}" if len(ratios) > 1 else ""


def verdict(ratio: float, target: float) -> str:
    return "reached" if ratio >= target else "missed"


def parts_apart() -> str:
    """What the page has that other measurements have written."""
    written = PAGE.read_text() if PAGE.exists() else ""
    return "".join(f"\n{APART}{part}" for part in written.split(APART)[1:])


def write_part(title: str, said: str) -> None:
    """Write one of them, instead of what there was under its title, or as the last."""
    parts = [part.strip() for part in PAGE.read_text().split(APART)]
    heads = [part.partition("\n")[0] for part in parts]
    written, head = f"## {title}\n\n{said}", f"## {title}"
    at = heads.index(head) if head in heads else len(parts)
    parts[at : at + 1] = [written]
    PAGE.write_text(f"\n\n{APART}".join(parts) + "\n")


def write(
    text: str,
    more: str,
    costs: str,
    charts: str,
    machine: Sequence[str],
    **facts: object,
) -> None:
    PAGE.write_text(
        PROSE.format(
            table=f"```\n{text}\n```",
            figures=f"```\n{more}\n```",
            costs=costs,
            charts=charts,
            machine="\n".join(f"- {line}" for line in machine),
            engine_us=MOST_US,
            **facts,
        )
        + parts_apart()
    )
