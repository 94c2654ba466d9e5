"""The table, and the page that keeps it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

from tests.bench import quotes, runs
from tests.bench.aligned import aligned
from tests.bench.cells import (
    AT_ONCE,
    BESIDE,
    CYCLE,
    FIRST,
    FLOOR,
    GET,
    HELD,
    HELD_WITH_ID,
    LOOP_AND_DIE,
    PLAIN,
    PUT,
    PUT_AND_DIE,
)
from tests.bench.clients import Slice
from tests.bench.engine import MOST_US
from tests.bench.figures import Figure
from tests.bench.prose import PROSE
from tests.bench.slices import Result

PAGE = Path(__file__).resolve().parents[2] / "docs" / "benchmarks.md"
RUNS = PAGE.with_suffix("")  # a file for each day
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
    (LOOP_AND_DIE, 1, "PGMQ"): 1.3,
    (PUT_AND_DIE, 100, "PGMQ"): 1.6,
    (BESIDE, 1, PLAIN): 0.83,
    (HELD, 1, FIRST): 0.9,
    (HELD, 100, FIRST): 0.9,
    (HELD_WITH_ID, 1, FIRST): 0.9,
    (HELD_WITH_ID, 100, FIRST): 0.9,
}
HEAD = (
    *("work", "batch", "messages/s", "against", "ratio", "of slices", "processor"),
    *("target", ""),
)
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


def tables(results: Sequence[Result], figures: Sequence[Figure]) -> dict[str, str]:
    """What is printed, and what the page has, by the name that it has there."""
    return {
        "table": table(results),
        "figures": table_of_figures(figures),
        "costs": table_of_costs(results),
    }


def table(results: Sequence[Result]) -> str:
    return aligned([HEAD, *map(cells, results)])


def table_of_figures(figures: Sequence[Figure]) -> str:
    return aligned([MORE, *map(cells_of_figure, figures)])


def table_of_costs(results: Sequence[Result]) -> str:
    """What a message costs, each work once."""
    works = {(one.work, one.batch): one for one in results if one.slices}
    return aligned([COSTS, *map(costs, works.values())])


def costs(result: Result) -> tuple[str, ...]:
    def each(cost: Callable[[Slice], float]) -> float:
        return median(cost(one) / one.messages for one in result.slices)

    took_us = each(lambda one: one.seconds * one.clients) * 1e6
    client_us = each(lambda one: one.spent.client_s) * 1e6
    server_us = each(lambda one: one.spent.server_s) * 1e6
    wal = each(lambda one: one.spent.wal)
    known = server_us > 0
    return (
        result.work,
        f"{result.batch}",
        f"{took_us:,.1f}",
        "",
        f"{client_us:,.1f}",
        f"{server_us:,.1f}" if known else "",
        f"{max(took_us - client_us - server_us, 0):,.1f}" if known else "",
        f"{wal:,.0f}" if wal else "",
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
        "" if result.processor is None else f"{result.processor:.2f}",
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
    save(f"\n\n{APART}".join(parts) + "\n")


def save(text: str) -> None:
    """The page, and the figures of those that quote it."""
    PAGE.write_text(text)
    quotes.write()


def write(
    results: Sequence[Result],
    figures: Sequence[Figure],
    machine: Sequence[str],
    **facts: object,
) -> None:
    """The page, and a file of this run's ratios."""
    size = f"slices of {facts['seconds']} s, {facts['rounds']} rounds"
    today = time.strftime("%Y-%m-%d")
    ratios = list(runs.ratios(results, figures))
    runs.store(RUNS, runs.Run(today, runs.commit(), size, machine[0], ratios))
    save(
        PROSE.format(
            **tables(results, figures),
            runs=runs.beside(runs.stored(RUNS)),
            charts=chart(results),
            machine="\n".join(f"- {line}" for line in machine),
            engine_us=MOST_US,
            several=AT_ONCE,
            **facts,
        )
        + parts_apart()
    )
