"""Options that several subcommands share, and their validation."""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path
from typing import Annotated

from django.conf import settings
from django.core.management.base import CommandError
from typer import Option

from broker.errors import MessageTooLarge
from console.edges import time_range
from console.edges.commands.actors import REFUSED, USAGE

User = Annotated[
    str | None, Option("--user", help="Who acts; else the process itself.")
]
Json = Annotated[bool, Option("--json", help="One JSON document, for programs.")]
Yes = Annotated[
    bool, Option("--yes", help="Do it; otherwise only say what it would do.")
]
Limit = Annotated[
    int, Option("--limit", min=1, max=1000, help="The most messages to return.")
]
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
EveryQueue = Annotated[
    bool,
    Option(
        "--every-queue",
        help="Also the other queues of the address, where a queue is named as it.",
    ),
]
Reason = Annotated[str, Option("--reason", help="Why, for the record.")]

Unmask = Annotated[
    str,
    Option("--unmask", help="Why what is masked is to be shown, to those who may."),
]


def moment(text: str, name: str) -> datetime | None:
    """The time of an option; without an offset, one of ``TIME_ZONE``."""
    try:
        return time_range.moment(text, name, None)
    except time_range.NoRange as error:
        raise CommandError(str(error), returncode=USAGE) from None


def body_of(text: str, file: Path | None) -> tuple[bytes, str]:
    """The body to put, and its default content type.

    Raises:
        MessageTooLarge: the file is larger than a message may be.
    """
    if file is None and text != "-":
        return text.encode(), "text/plain; charset=utf-8"
    most = settings.BROKER_MAX_MESSAGE_BYTES
    if file is None:
        return sys.stdin.buffer.read(most + 1), "application/octet-stream"
    content = contents(file, most)
    if len(content) > most:
        raise MessageTooLarge(max(file.stat().st_size, len(content)), most)
    return content, "application/octet-stream"


def contents(file: Path, most: int) -> bytes:
    """The bytes of a file; of a larger one, one byte more than is taken."""
    try:
        with file.open("rb") as source:
            return source.read(most + 1)
    except OSError as error:
        raise unreadable(file, error) from None


def properties_of(pairs: list[str]) -> dict[str, str]:
    """Properties from ``name=text``."""
    if not all("=" in pair for pair in pairs):
        raise CommandError("--property takes name=text.", returncode=USAGE)
    return dict(pair.split("=", 1) for pair in pairs)


def unreadable(file: Path, error: OSError) -> CommandError:
    return CommandError(f"{file} cannot be read: {error.strerror}.", returncode=REFUSED)
