"""Options that several subcommands share, and their validation."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from django.core.management.base import CommandError
from typer import Option

from console.cli.people import REFUSED, USAGE

User = Annotated[
    str | None, Option("--user", help="Who acts; else the process itself.")
]
Json = Annotated[bool, Option("--json", help="One JSON document, for programs.")]
Yes = Annotated[
    bool, Option("--yes", help="Do it; otherwise only say what it would do.")
]
Limit = Annotated[int, Option("--limit", min=1, max=1000, help="Messages at most.")]
Filters = Annotated[
    list[str],
    Option(
        "-f",
        "--filter",
        help="Which messages, as under Search; several have to be met together.",
    ),
]
Only = Annotated[
    list[str] | None,
    Option("-f", "--filter", help="Only these of it, as under Search."),
]
Reason = Annotated[str, Option("--reason", help="Why, for the record.")]

Unmask = Annotated[
    str,
    Option("--unmask", help="Why what is masked is to be shown, to those who may."),
]


def body_of(text: str, file: Path | None) -> tuple[bytes, str]:
    """The body to put, and its default content type."""
    if file is not None:
        try:
            return file.read_bytes(), "application/octet-stream"
        except OSError as error:
            raise unreadable(file, error) from None
    if text == "-":
        return sys.stdin.buffer.read(), "application/octet-stream"
    return text.encode(), "text/plain; charset=utf-8"


def properties_of(pairs: list[str]) -> dict[str, str]:
    """Properties from ``name=text``."""
    if not all("=" in pair for pair in pairs):
        raise CommandError("--property takes name=text.", returncode=USAGE)
    return dict(pair.split("=", 1) for pair in pairs)


def unreadable(file: Path, error: OSError) -> CommandError:
    return CommandError(f"{file} cannot be read: {error.strerror}.", returncode=REFUSED)
