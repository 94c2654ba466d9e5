"""What came out of runs: a table of text, and JSON, from the harness's own files."""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from statistics import mean, median
from typing import Any

from tests.harness.processor import Processor

RATES = (
    "completion_rate",
    "enqueue_rate",
    "dead_letter_rate",
    "retryable_failure_rate",
)
TIMES = (
    "claim_p50_ms",
    "claim_p99_ms",
    "end_to_end_p50_ms",
    "end_to_end_p99_ms",
    "producer_p99_ms",
)
DEPTHS = ("queue_depth", "total_backlog", "dlq_depth")
AFTER_CHAOS = ("jobs_enqueued", "jobs_completed", "jobs_lost", "chaos_recovery_time_s")
EVERY_S = 5.0  # between samples, as the harness has it by default
LEAST_TICKS = 3
DEAD_ROWS, SIZE, DEAD_SHARE = (
    "n_dead_tup",
    "total_relation_size_mb",
    "pgstattuple_dead_pct",
)


@dataclass(frozen=True)
class Row:
    """One phase of one run of one system.

    Attributes:
        figures: medians of rates, latencies and depths; the processor time of the
            machine for each message; the most dead rows and megabytes of all event
            tables together; after chaos what was lost.
    """

    part: str
    run: str
    system: str
    phase: str
    figures: dict[str, float]


def rows_of(
    part: str, run: str, folder: Path, processor: Processor | None = None
) -> list[Row]:
    """The phases of one run, without those that only warm up."""
    with (folder / "raw.csv").open() as file:
        samples = list(csv.DictReader(file))
    chaos = after_chaos(folder)
    by_phase: dict[tuple[str, str], list[dict[str, str]]] = defaultdict(list)
    for one in samples:
        if one["phase_type"] != "warmup":
            by_phase[one["system"], one["phase_label"]].append(one)
    return [
        Row(
            part,
            run,
            system,
            phase,
            figures(of)
            | chaos.get((system, phase), {})
            | (spent(of, processor) if processor else {}),
        )
        for (system, phase), of in by_phase.items()
    ]


def figures(samples: Sequence[Mapping[str, str]]) -> dict[str, float]:
    """The figures of one phase, by their names; without what nobody measured."""
    ours = [one for one in samples if one["subject_kind"] == "adapter"]
    tables = [one for one in samples if one["subject_kind"] == "table"]
    found = {name: merged(ours, name, sum, median) for name in RATES}
    found |= {name: merged(ours, name, max, median) for name in (*TIMES, *DEPTHS)}
    found |= {
        "completion_rate_least": merged(ours, "completion_rate", sum, min),
        "queue_depth_last": merged(ours, "queue_depth", max, last),
        "dead_rows_most": merged(tables, DEAD_ROWS, sum, max),
        "tables_mb_most": merged(tables, SIZE, sum, max),
        "dead_percent_most": merged(tables, DEAD_SHARE, max, max),
    }
    return {name: value for name, value in found.items() if value is not None}


def spent(
    samples: Sequence[Mapping[str, str]], processor: Processor
) -> dict[str, float]:
    """The processor time of the whole machine for each completed message, in
    microseconds: without the first period, whose rates begin before the phase."""
    ours = [one for one in samples if one["subject_kind"] == "adapter"]
    ticks = per_tick(ours, "completion_rate", sum)
    times = sorted(time_of(one) for one in ours if one["metric"] == "completion_rate")
    if len(ticks) < LEAST_TICKS:
        return {}
    worked_s = processor.between(times[0], times[-1])
    completed = mean(ticks[1:]) * (times[-1] - times[0])
    if worked_s is None or not completed:
        return {}
    return {"processor_us": worked_s / completed * 1e6}


def time_of(sample: Mapping[str, str]) -> float:
    return datetime.fromisoformat(sample["sampled_at"]).timestamp()


def last(values: Sequence[float]) -> float:
    return values[-1]


def merged(
    samples: Iterable[Mapping[str, str]], metric: str, merge: Any, choose: Any
) -> float | None:
    """One value of a metric in a phase; None if there is none.

    Args:
        merge: makes one value of those of several replicas or tables at one time.
        choose: makes one of those at all times.
    """
    ticks = per_tick(samples, metric, merge)
    return float(choose(ticks)) if ticks else None


def per_tick(
    samples: Iterable[Mapping[str, str]], metric: str, merge: Any
) -> list[float]:
    """The values of a metric by time: replicas, or tables, are merged. Samples are
    taken by the clock, so those of one time have nearly the same."""
    ticks: dict[int, list[float]] = defaultdict(list)
    for one in samples:
        if one["metric"] == metric:
            ticks[round(time_of(one) / EVERY_S)].append(float(one["value"]))
    return [float(merge(values)) for _, values in sorted(ticks.items())]


def after_chaos(folder: Path) -> dict[tuple[str, str], dict[str, float]]:
    """What the harness says of phases after chaos."""
    summary = json.loads((folder / "summary.json").read_text())
    found = {}
    for system, of in summary["systems"].items():
        for phase, block in of["phases"].items():
            flat = {**block, **(block.get("chaos") or {})}
            known = {
                name: float(flat[name])
                for name in AFTER_CHAOS
                if isinstance(flat.get(name), int | float)
            }
            if known:
                found[system, phase] = known
    return found


def write(rows: Sequence[Row], failures: Sequence[str], file: Path) -> str:
    """Write the rows as JSON and as text beside it; return the text."""
    text = as_text(rows)
    if failures:
        text += "\n\nDid not end well:\n" + "\n".join(f"- {one}" for one in failures)
    said = {"rows": [asdict(one) for one in rows], "failures": list(failures)}
    file.with_suffix(".json").write_text(json.dumps(said, indent=1) + "\n")
    file.with_suffix(".txt").write_text(text + "\n")
    return text


def as_text(rows: Sequence[Row]) -> str:
    names = sorted({name for row in rows for name in row.figures}, key=place)
    header = ["part", "run", "phase", "system", *names]
    lines = [header] + [
        [row.part, row.run, row.phase, row.system]
        + [number(row.figures.get(name)) for name in names]
        for row in rows
    ]
    widths = [max(len(line[n]) for line in lines) for n in range(len(header))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        for line in lines
    )


ORDER = (
    "completion_rate",
    "completion_rate_least",
    "enqueue_rate",
    "processor_us",
    *TIMES,
    "queue_depth",
    "queue_depth_last",
    *AFTER_CHAOS,
)


def place(name: str) -> tuple[int, str]:
    return (ORDER.index(name) if name in ORDER else len(ORDER), name)


def number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"
