"""Output of commands: tables for people, one JSON document for programs, progress."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, TextIO

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from console.edges.glyphs import glyph

WIDTH = 10_000  # the width if the output is no terminal: nothing is cut


def as_json(file: TextIO, told: Any) -> None:
    """One JSON document."""
    file.write(json.dumps(told, indent=2, ensure_ascii=False, default=plain) + "\n")


def plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, set | frozenset | tuple):
        return list(value)
    return str(value)


def as_table(file: TextIO, rows: Sequence[Mapping[str, Any]]) -> None:
    """One line per row; empty columns are left out. Control characters are escaped."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    columns = [name for name in rows[0] if any(has(row[name]) for row in rows)]
    for name in columns:
        is_number = all(isinstance(row[name], int | None) for row in rows)
        table.add_column(
            name.replace("_", " "), justify="right" if is_number else "left"
        )
    for row in rows:
        table.add_row(*(escape(in_words(row[name])) for name in columns))
    console(file).print(table)


def as_messages(file: TextIO, rows: Sequence[Mapping[str, Any]]) -> None:
    """The fields of each message, one per line, then its body."""
    for row in rows:
        for name, value in row.items():
            if name != "body" and has(value):
                file.write(f"{name.replace('_', ' ')}: {in_words(value)}\n")
        lines = str(row["body"]).replace("\r\n", "\n").split("\n")
        file.write("\n" + "".join(f"    {in_words(one)}\n" for one in lines) + "\n")


def has(value: Any) -> bool:
    return value not in (None, "", {}, [])


def lines(text: str) -> str:
    """A text of several lines, without characters that a terminal obeys."""
    return "\n".join(map(in_words, text.splitlines()))


def in_words(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        return value.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")
    if isinstance(value, list | tuple):
        return ", ".join(map(in_words, value))
    text = f"{value:,}" if isinstance(value, int) else str(value)
    return "".join(one if one.isprintable() else glyph(one) for one in text)


def console(file: TextIO) -> Console:
    is_terminal = file.isatty()
    return Console(
        file=file, width=None if is_terminal else WIDTH, force_terminal=is_terminal
    )


@contextmanager
def progress(file: TextIO, what: str, total: int) -> Iterator[Progress]:
    """A progress bar, on terminals only; ``advance`` its first task."""
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console(file),
        disable=not file.isatty(),
    )
    bar.add_task(what, total=total)
    with bar:
        yield bar
