"""Written runs, a small file for each day, and the last two beside each other."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from django.conf import settings

from tests.bench.aligned import aligned
from tests.bench.figures import Figure
from tests.bench.slices import Result

LEFT = (0, 2)  # columns of words
HEAD = (
    *("work", "batch", "against", "{0}", "{1}", "times"),
    *("cpu {0}", "cpu {1}", "times"),
)
ONE = "So far one run is stored, that of {date}; the next one will stand beside it."
TWO = """\
The ratios of the tables above, of the last two runs that were written. *Times* is the
newer by the older; *cpu* are ratios by processor. They were on these machines:

- {older.date}, at commit {older.commit}: {older.size}; {older.machine}
- {newer.date}, at commit {newer.commit}: {newer.size}; {newer.machine}

```
{table}
```"""

Key = tuple[str, int | str, str]  # work, batch, against


@dataclass(frozen=True)
class Ratio:
    """One comparison: by time, and by processor where it was metered."""

    work: str
    batch: int | str  # "" of a figure
    against: str
    ratio: float
    processor: float | None = None

    @property
    def key(self) -> Key:
        return self.work, self.batch, self.against


@dataclass(frozen=True)
class Run:
    """What is stored of a run; rates are not: they belong to its machine."""

    date: str
    commit: str
    size: str
    machine: str
    ratios: Sequence[Ratio]


def ratios(results: Sequence[Result], figures: Sequence[Figure]) -> Iterator[Ratio]:
    for one in results:
        if one.ratio is not None:
            by = None if one.processor is None else round(one.processor, 2)
            ratio = round(one.ratio, 2)
            yield Ratio(one.work, one.batch, one.against, ratio, by)
    for figure in figures:
        if figure.ratio is not None:
            yield Ratio(figure.work, "", figure.against, round(figure.ratio, 2))


def commit() -> str:
    found = subprocess.run(
        ["git", "rev-parse", "--short=8", "HEAD"],
        cwd=settings.BASE_DIR,
        capture_output=True,
        text=True,
        check=False,
    )
    return found.stdout.strip() or "unknown"


def store(folder: Path, run: Run) -> None:
    """Instead of an earlier one of the same day."""
    folder.mkdir(exist_ok=True)
    (folder / f"{run.date}.json").write_text(json.dumps(asdict(run)) + "\n")


def stored(folder: Path) -> list[Run]:
    """The last two, or fewer; the older first."""
    return [read(file) for file in sorted(folder.glob("????-??-??.json"))[-2:]]


def read(file: Path) -> Run:
    found = json.loads(file.read_text())
    return Run(**found | {"ratios": [Ratio(**one) for one in found["ratios"]]})


def beside(runs: Sequence[Run]) -> str:
    """What the page says of one run, or of two."""
    if len(runs) == 1:
        return ONE.format(date=runs[0].date)
    older, newer = runs
    head = [words.format(older.date, newer.date) for words in HEAD]
    text = aligned([tuple(head), *rows(older, newer)], LEFT)
    return TWO.format(older=older, newer=newer, table=text)


def rows(older: Run, newer: Run) -> Iterator[tuple[str, ...]]:
    """What both have measured."""
    before = {one.key: one for one in older.ratios}
    for one in newer.ratios:
        if one.key in before:
            was = before[one.key]
            yield (
                *(one.work, f"{one.batch}", one.against),
                *pair(was.ratio, one.ratio),
                *pair(was.processor, one.processor),
            )


def pair(older: float | None, newer: float | None) -> tuple[str, str, str]:
    times = f"{newer / older:.2f}" if older and newer else ""
    return number(older), number(newer), times


def number(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.2f}"
